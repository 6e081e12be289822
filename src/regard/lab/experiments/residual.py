"""residual: residual connections keep gradients flowing through many layers.

An encoder of random weights, as deep as that, and the gradient that comes back to its input, of the
one that was given to its output. Nothing is trained. A third kind has neither residual connections
nor norms, to see which of the two keeps what.

The gradients of W_1 in the first and the last layer stand beside it. A first form of the rule
compared those; but a weight's gradient is what comes back times what went in, and where both shrink
from layer to layer, all layers have the same.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.draw.figure.chart import Chart, Measurements
from regard.lab import variants
from regard.lab.experiment import Experiment, LabResult
from regard.lab.rule import Condition, number, ratio
from regard.model.layer import Layer
from regard.model.masks import Mask
from regard.model.spec import Spec
from regard.model.transformer import Transformer

DEPTHS, QUICK_DEPTHS = (2, 4, 8, 12, 18, 24), (2, 8, 24)
WITH, WITHOUT, NEITHER = "with residual", "only norm", "neither"
KINDS = {WITH: None, WITHOUT: variants.without_residual, NEITHER: variants.without_either}
ROWS, WORDS = 8, 16


def depths(quick: bool) -> tuple[int, ...]:
    return QUICK_DEPTHS if quick else DEPTHS


def variants_of(quick: bool) -> tuple[str, ...]:
    return tuple(_name(kind, depth) for kind in KINDS for depth in depths(quick))


def _name(kind: str, depth: int) -> str:
    return f"{kind}, {depth} layers"


def measure(variant: str, seed: int, quick: bool) -> dict[str, float]:
    kind, _, rest = variant.partition(", ")
    depth = int(rest.removesuffix(" layers"))
    spec = Spec(
        100, d_model=32, encoder_layers=depth, decoder_layers=0, heads=4, ffn_size=64,
        head="none", dropout=0.0,
    )  # fmt: skip
    model = Transformer(spec, seed)
    change = KINDS[kind]
    if change is not None:
        change(model)
    backwards, first, last = gradients(model, seed)
    return {
        "share": backwards,
        "W_1, first ÷ last layer": first / last,
        "cosine of two words": likeness(model, seed),
    }


def gradients(model: Transformer, seed: int) -> tuple[float, float, float]:
    """‖∂loss/∂input‖ ÷ ‖∂loss/∂output‖ for a loss of random direction; then the norms of ∂loss/∂W_1
    in the first and in the last layer."""
    assert model.encoder is not None and model.source_embedding is not None
    x = model.source_embedding(_words(seed)).detach().requires_grad_()
    given = torch.randn(x.shape, generator=torch.Generator().manual_seed(seed))
    model.zero_grad()
    model.encoder(x, Mask()).backward(given)
    assert x.grad is not None
    layers = [part for part in model.modules() if isinstance(part, Layer)]
    weights = [layers[n].feed_forward.inner.weight.grad for n in (0, -1)]
    first, last = (0.0 if weight is None else float(weight.norm()) for weight in weights)
    return float(x.grad.norm() / given.norm()), first, last


@torch.no_grad()
def likeness(model: Transformer, seed: int) -> float:
    """The mean cosine of the memory's vectors of two words of a sentence: 1 where all are alike."""
    unit = F.normalize(model.encode(_words(seed)).double(), dim=-1)
    alike = unit @ unit.transpose(1, 2)
    other = ~torch.eye(WORDS, dtype=torch.bool)
    return float(alike[:, other].mean())


def _words(seed: int) -> Tensor:
    chance = torch.Generator().manual_seed(seed)
    return torch.randint(4, 100, (ROWS, WORDS), generator=chance)


def rule(quick: bool) -> tuple[Condition, ...]:
    deep = DEPTHS[-1]
    return (
        Condition(
            f"through {deep} layers at least 10 times as much of the gradient comes back with "
            "residual connections as with the norms alone",
            ratio("share", _name(WITH, deep), _name(WITHOUT, deep)),
            least=10.0,
        ),
        Condition(
            "with residual connections a tenth of it or more comes back",
            number(_name(WITH, deep), "share"),
            least=0.1,
        ),
    )


def chart(outcome: LabResult) -> Chart:
    lines = [
        Measurements(
            kind,
            [(float(d), outcome.mean(_name(kind, d), "share")) for d in depths(outcome.quick)],
        )
        for kind in KINDS
    ]
    title = "What comes back through many layers"
    subtitle = "Post-norm encoders of random weights"
    return Chart(
        title, subtitle, "layers", "gradient at the input ÷ at the output", lines, log_y=True
    )


def paragraph(outcome: LabResult) -> str:
    deep = DEPTHS[-1]
    shares = {kind: outcome.said(_name(kind, deep), "share", ".2g") for kind in KINDS}
    alike = {kind: outcome.said(_name(kind, deep), "cosine of two words", ".3f") for kind in KINDS}
    weights = {
        kind: outcome.said(_name(kind, deep), "W_1, first ÷ last layer", ".2g") for kind in KINDS
    }
    return (
        f"Through an encoder of {deep} layers {shares[WITH]} of the gradient comes back with "
        f"residual connections, {shares[WITHOUT]} with the norms alone and {shares[NEITHER]} with "
        f"neither. (The gradient of W_1 in the first layer is {weights[WITH]}, {weights[WITHOUT]} "
        f"and {weights[NEITHER]} of that in the last; two words of a sentence end with a cosine of "
        f"{alike[WITH]}, {alike[WITHOUT]} and {alike[NEITHER]}.)"
    )


EXPERIMENT = Experiment(
    "residual",
    "Residual connections keep gradients flowing",
    "A residual path lets a gradient reach the first of many layers.",
    "1-the-cat-sat.md#residual-connection-and-layer-norm",
    variants_of,
    measure,
    rule,
    chart,
    paragraph,
    15,
)
