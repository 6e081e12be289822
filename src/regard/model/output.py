"""The output layer: what becomes of the last vectors.

    tokens    logits = x Eᵀ (+ b)       p(next token) = softmax(logits)          section 3.4
    classes   one answer for a text or an image, from the vector of its first token
    labels    an answer for each token
    spans     where an answer begins and ends: two logits for each token

E is the embedding matrix itself when weights are tied. The softmax belongs to whoever uses the
logits: the loss and the search both want log-probabilities.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.model.add_and_norm import make_norm
from regard.model.dropout import dropout
from regard.model.feed_forward import ACTIVATIONS
from regard.model.spec import Spec

POOLED_BY: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": F.relu}


class Output(nn.Module):
    """The linear map to V logits; some models transform, scale or shift around it."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(spec.vocabulary, spec.d_model))
        self.bias = nn.Parameter(torch.zeros(spec.vocabulary)) if spec.output_bias else None
        self.transform = nn.Linear(spec.d_model, spec.d_model) if spec.output_transform else None
        self.norm = make_norm(spec) if spec.output_transform else None
        self.activation = ACTIVATIONS[spec.activation]
        self.scale = 1 / math.sqrt(spec.d_model) if spec.output_scale else 1.0
        self.fast = True  # model/kernels.py; the loss asks

    def forward(self, x: Float[Tensor, "*L D"]) -> Float[Tensor, "*L V"]:
        return F.linear(self.prepared(x), self.weight, self.bias)

    def prepared(self, x: Float[Tensor, "*L D"]) -> Float[Tensor, "*L D"]:
        """What the last product with E is given."""
        if self.transform is not None and self.norm is not None:
            x = self.norm(self.activation(self.transform(x)))
        return x if self.scale == 1.0 else x * self.scale


class Pooler(nn.Module):
    """activation(W · x + b) of the first token's vector, which speaks for the whole text."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.map = nn.Linear(spec.d_model, spec.d_model)
        self.activation = POOLED_BY[spec.pool]

    def forward(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B D"]:
        return self.activation(self.map(x[:, 0]))


class Classifier(nn.Module):
    """Logits of classes from pooled vectors, of labels or span ends from each token's.

    While it learns, its input is dropped as every sub-layer's output is.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.dropout = spec.dropout
        self.map = nn.Linear(spec.d_model, 2 if spec.head == "spans" else spec.classes)

    def forward(self, x: Float[Tensor, "*L D"]) -> Float[Tensor, "*L C"]:
        logits: Tensor = self.map(dropout(x, self.dropout, self.training))
        return logits
