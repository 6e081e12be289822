"""scale: dot products of d numbers have variance d; ÷ √d keeps it 1. And the gradients?

The notes say in one place that large scores make gradients explode, in another that they vanish.
Queries and keys of independent numbers decide it: what comes back through the softmax to a query.
One small model is then trained with the division, one without, from the same weights.
"""

import math

import torch

from regard.draw.figure.chart import Chart, Measurements
from regard.lab import variants
from regard.lab.experiment import Experiment, LabResult
from regard.lab.learn import learn, small_spec
from regard.lab.lesson import lesson_of
from regard.lab.rule import Condition, number, ratio

SIZES = (4, 16, 64, 256, 1024)
TRAINED = ("trained with ÷ √d", "trained without")
KEYS, QUERIES, QUICK_QUERIES = 64, 4096, 512
STEPS, QUICK_STEPS = 300, 40


def variants_of(quick: bool) -> tuple[str, ...]:
    return (*map(_name, SIZES), *TRAINED)


def _name(size: int) -> str:
    return f"d = {size}"


def measure(variant: str, seed: int, quick: bool) -> dict[str, float]:
    if variant in TRAINED:
        lesson = lesson_of(("order",))
        change = None if variant == TRAINED[0] else variants.undivided
        spec = small_spec(lesson, heads=1)  # d_k = 64
        learned = learn(lesson, seed, QUICK_STEPS if quick else STEPS, spec, change)
        return {"loss": learned.end}
    size = int(variant.removeprefix("d = "))
    return softmax_figures(size, QUICK_QUERIES if quick else QUERIES, seed)


def softmax_figures(size: int, queries: int, seed: int) -> dict[str, float]:
    """Variance, entropy and gradient of scores, divided and not, of independent N(0, 1) numbers."""
    chance = torch.Generator().manual_seed(seed)
    q = torch.randn(queries, size, generator=chance)
    k, v = (torch.randn(KEYS, size, generator=chance) for _ in range(2))
    wanted = torch.randn(queries, size, generator=chance)  # ∂loss/∂output: any direction
    figures = {}
    for name, divisor in (("divided", math.sqrt(size)), ("plain", 1.0)):
        query = q.clone().requires_grad_()
        scores = query @ k.T / divisor
        scores.retain_grad()
        weights = scores.softmax(dim=-1)
        ((weights @ v) * wanted).sum().backward()  # type: ignore[no-untyped-call]
        assert scores.grad is not None and query.grad is not None
        entropy = -(weights * weights.clamp(min=1e-30).log()).sum(dim=-1).mean()
        figures[f"variance, {name}"] = float(scores.detach().var())
        figures[f"entropy, {name}"] = float(entropy.detach())
        # Per number of v: a wider value alone would make all gradients longer.
        to_scores = scores.grad.norm(dim=-1).median() / math.sqrt(size)
        figures[f"gradient, {name}"] = float(to_scores)
    figures["variance / d"] = figures["variance, plain"] / size
    return figures


def rule(quick: bool) -> tuple[Condition, ...]:
    smallest, largest = _name(SIZES[0]), _name(SIZES[-1])
    near_one = {"least": 0.75, "most": 1.25}
    return (
        *(
            Condition(
                f"{_name(d)}: the variance is d, within a quarter",
                number(_name(d), "variance / d"),
                **near_one,
            )
            for d in SIZES
        ),
        *(
            Condition(
                f"{_name(d)}: divided it is 1, within a quarter",
                number(_name(d), "variance, divided"),
                **near_one,
            )
            for d in SIZES
        ),
        Condition(
            "without the division the gradient at the scores vanishes: the median of d = 1024 is "
            "at "
            "most a tenth of that of d = 4 (if it exploded, it would be 10 times as large)",
            ratio("gradient, plain", largest, smallest),
            most=0.1,
        ),
        Condition(
            "with it the two differ by less than a factor of 2",
            ratio("gradient, divided", largest, smallest),
            least=0.5,
            most=2.0,
        ),
    )


def chart(outcome: LabResult) -> Chart:
    lines = [
        Measurements(
            name, outcome.points(dict(zip(SIZES, map(_name, SIZES), strict=True)), measure)
        )
        for name, measure in (
            ("entropy of the weights, ÷ √d", "entropy, divided"),
            ("entropy, without", "entropy, plain"),
            ("gradient at the scores, ÷ √d", "gradient, divided"),
            ("gradient, without", "gradient, plain"),
        )
    ]
    title = "The softmax with and without ÷ √d"
    subtitle = f"{KEYS} keys, independent numbers of variance 1; entropy in nats, at most 4.16"
    return Chart(title, subtitle, "d", "nats, or norm", lines, log_x=True, log_y=True)


def paragraph(outcome: LabResult) -> str:
    first, last = _name(SIZES[0]), _name(SIZES[-1])
    return (
        f"The variance of the dot products is {outcome.mean(first, 'variance, plain'):.1f} for "
        f"d = 4 and {outcome.mean(last, 'variance, plain'):.0f} for d = 1024; divided by √d it is "
        f"{outcome.mean(last, 'variance, divided'):.2f}. At d = 1024 the weights' entropy is "
        f"{outcome.mean(last, 'entropy, plain'):.2f} nats without the division, "
        f"{outcome.mean(last, 'entropy, divided'):.2f} with it (0: all weight on one key). From "
        "d = 4 to d = 1024 the median gradient that comes back to the scores goes from "
        f"{outcome.mean(first, 'gradient, plain'):.2g} to "
        f"{outcome.mean(last, 'gradient, plain'):.2g} without the division, and from "
        f"{outcome.mean(first, 'gradient, divided'):.2g} to "
        f"{outcome.mean(last, 'gradient, divided'):.2g} with it. A model with one head of 64 ended "
        f"its training at a loss of {outcome.said(TRAINED[0], 'loss', '.3f')} with it and of "
        f"{outcome.said(TRAINED[1], 'loss', '.3f')} without."
    )


EXPERIMENT = Experiment(
    "scale",
    "Why scores are divided by √d_k",
    "Dot products of d-dimensional vectors have variance d; ÷ √d_k keeps it 1. Without it "
    "gradients vanish (one page says: explode).",
    "2-from-words-to-attention.md#why-d_k",
    variants_of,
    measure,
    rule,
    chart,
    paragraph,
    60,
)
