"""The position-wise feed-forward network (section 3.3): the same two linear maps at each position.

FFN(x) = max(0, x W_1 + b_1) W_2 + b_2        d_model → d_ff → d_model
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.model.dropout import dropout
from regard.model.spec import Spec
from regard.model.trace import Trace

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class FeedForward(nn.Module):
    """W_2 · activation(W_1 · x)"""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.inner = nn.Linear(spec.d_model, spec.ffn_size)  # W_1
        self.outer = nn.Linear(spec.ffn_size, spec.d_model)  # W_2
        self.activation = ACTIVATIONS[spec.activation]
        self.dropout = spec.ffn_dropout

    def forward(
        self, x: Float[Tensor, "B L D"], trace: Trace | None = None
    ) -> Float[Tensor, "B L D"]:
        hidden = self.activation(self.inner(x))
        y: Tensor = self.outer(dropout(hidden, self.dropout, self.training))
        if trace:
            trace.record("hidden", hidden)
            trace.record("output", y)
        return y
