"""The output layer: linear + softmax over the vocabulary (section 3.4).

    logits = x Eᵀ        p(next token) = softmax(logits)

E is the embedding matrix itself when weights are tied. The softmax belongs to whoever uses the
logits: the loss and the search both want log-probabilities.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.model.spec import Spec


class Output(nn.Module):
    """The linear map to V logits."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(spec.vocabulary, spec.d_model))

    def forward(self, x: Float[Tensor, "*L D"]) -> Float[Tensor, "*L V"]:
        return F.linear(x, self.weight)
