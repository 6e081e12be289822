"""Add & norm: the residual connection around each sub-layer, and layer normalisation (section 3.1).

post-norm (the paper)    LayerNorm(x + dropout(sublayer(x)))
pre-norm                 x + dropout(sublayer(LayerNorm(x)))
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from regard.model.dropout import add_dropout
from regard.model.spec import Spec
from regard.model.trace import Trace


def make_norm(spec: Spec) -> nn.Module:
    """LayerNorm(x) = γ · (x - mean) / √(variance + ε) + β, over the D features of one position.

    RMSNorm(x) = γ · x / √(mean of x² + ε): without the mean and without β.
    """
    if spec.norm == "rms":
        return nn.RMSNorm(spec.d_model, eps=spec.norm_epsilon)
    return nn.LayerNorm(spec.d_model, eps=spec.norm_epsilon)


class AddAndNorm(nn.Module):
    """Wraps one sub-layer; the order of its norm is data."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.norm = make_norm(spec)
        self.norm_first = spec.norm_order == "pre"
        self.dropout = spec.dropout

    def forward(
        self,
        x: Float[Tensor, "B L D"],
        sublayer: Callable[[Tensor], Tensor],
        trace: Trace | None = None,
    ) -> Float[Tensor, "B L D"]:
        read = self.norm(x) if self.norm_first else x
        inside = sublayer(read)
        added = add_dropout(x, inside, self.dropout, self.training)
        normed: Tensor = added if self.norm_first else self.norm(added)
        if trace:
            trace.record("input", read)  # what the sub-layer reads: x, or its norm in pre-norm
            trace.record("add", added)
            trace.record("norm", normed)
        return normed
