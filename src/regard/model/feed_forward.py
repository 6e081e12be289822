"""The position-wise feed-forward network (section 3.3): the same two linear maps at each position.

FFN(x) = max(0, x W_1 + b_1) W_2 + b_2        d_model → d_ff → d_model
gated    (activation(x W_1) ⊙ x W_3) W_2      SwiGLU with silu, GEGLU with gelu
"""

from collections.abc import Callable
from functools import partial

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.model.dropout import dropout
from regard.model.spec import Spec
from regard.model.trace import Trace

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class FeedForward(nn.Module):
    """W_2 · activation(W_1 · x), or W_2 · (activation(W_1 · x) ⊙ W_3 · x)"""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.inner = nn.Linear(spec.d_model, spec.ffn_size, bias=spec.ffn_bias)  # W_1
        self.gate = (
            nn.Linear(spec.d_model, spec.ffn_size, bias=spec.ffn_bias) if spec.gated else None
        )  # W_3
        self.outer = nn.Linear(spec.ffn_size, spec.d_model, bias=spec.ffn_bias)  # W_2
        self.activation = ACTIVATIONS[spec.activation]
        self.dropout = spec.ffn_dropout

    def forward(
        self, x: Float[Tensor, "B L D"], trace: Trace | None = None
    ) -> Float[Tensor, "B L D"]:
        hidden = self.activation(self.inner(x))
        if self.gate is not None:
            activated, gate = hidden, self.gate(x)
            hidden = activated * gate
            if trace:
                trace.record("activated", activated)
                trace.record("gate", gate)
        y: Tensor = self.outer(dropout(hidden, self.dropout, self.training))
        if trace:
            trace.record("hidden", hidden)
            trace.record("output", y)
        return y
