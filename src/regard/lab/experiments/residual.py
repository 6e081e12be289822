"""residual: residual connections keep gradients flowing through many layers.

An encoder of random weights, as deep as that; what comes back to its first layer is compared with
what comes back to its last. Nothing is trained. A third kind has neither residual connections nor
norms, to see which of the two keeps what.
"""

from functools import partial

import torch
from torch.nn import functional as F

from regard.draw.figure.chart import Chart, ChartLine
from regard.lab import variants
from regard.lab.experiment import Experiment, Outcome
from regard.lab.rule import Condition, ratio
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
    first, last = (gradient_norm(model, seed, layer) for layer in (0, depth - 1))
    return {
        "gradient, first layer": first,
        "gradient, last layer": last,
        "share": first / last,
        "cosine of two words": likeness(model, seed),
    }


@torch.no_grad()
def likeness(model: Transformer, seed: int) -> float:
    """The mean cosine of the memory's vectors of two words of a sentence: 1 where all are alike."""
    chance = torch.Generator().manual_seed(seed)
    words = torch.randint(4, 100, (ROWS, WORDS), generator=chance)
    unit = F.normalize(model.encode(words).double(), dim=-1)
    alike = unit @ unit.transpose(1, 2)
    other = ~torch.eye(WORDS, dtype=torch.bool)
    return float(alike[:, other].mean())


def gradient_norm(model: Transformer, seed: int, layer: int) -> float:
    """The norm of ∂loss/∂W_1 of a layer's feed-forward network, for a loss of random direction."""
    chance = torch.Generator().manual_seed(seed)
    draw = partial(torch.randn, generator=chance)
    words = torch.randint(4, 100, (ROWS, WORDS), generator=chance)
    model.zero_grad()
    memory = model.encode(words)
    (memory * draw(memory.shape)).sum().backward()
    assert model.encoder is not None
    weight = model.encoder.layers[layer].feed_forward.inner.weight
    return float(weight.grad.norm())


def rule(quick: bool) -> tuple[Condition, ...]:
    deep = DEPTHS[-1]
    return (
        Condition(
            f"at {deep} layers at least 10 times as large a share of the gradient reaches the "
            f"first "
            "layer with residuals as without",
            ratio("share", _name(WITH, deep), _name(WITHOUT, deep)),
            least=10.0,
        ),
        Condition(
            f"with residuals the first of {deep} layers still gets a tenth of what the last gets",
            lambda measured: measured[_name(WITH, deep)]["share"],
            least=0.1,
        ),
    )


def chart(outcome: Outcome) -> Chart:
    lines = [
        ChartLine(
            kind,
            [(float(d), outcome.mean(_name(kind, d), "share")) for d in depths(outcome.quick)],
        )
        for kind in KINDS
    ]
    title = "What reaches the first of many layers"
    subtitle = "Post-norm encoders of random weights"
    return Chart(title, subtitle, "layers", "gradient of the first ÷ last layer", lines, log_y=True)


def paragraph(outcome: Outcome) -> str:
    deep = DEPTHS[-1]
    shares = {kind: outcome.said(_name(kind, deep), "share", ".2g") for kind in KINDS}
    alike = {kind: outcome.said(_name(kind, deep), "cosine of two words") for kind in KINDS}
    return (
        f"In an encoder of {deep} layers the gradient of the first layer is {shares[WITH]} of the "
        f"last one's with residual connections, {shares[WITHOUT]} with the norms alone and "
        f"{shares[NEITHER]} with neither. The vectors of two words of a sentence have a cosine of "
        f"{alike[WITH]} behind the last layer with residual connections, {alike[WITHOUT]} with the "
        f"norms alone and {alike[NEITHER]} with neither (1: they are all alike)."
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
