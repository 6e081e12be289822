"""positions-why: of the ways to number words, sinusoids alone have all four properties.

    bounded    no number beyond 1, however long the text
    smooth     a neighbour is near: at most half as far away as the farthest position
    unique     no two positions alike: the nearest two are 1/1000 of the farthest two apart, or more
    relative   PE(p+k) is a linear function of PE(p), the same for all p, in texts of any length

Then a small model is trained with each on short sentences and asked for longer ones.
"""

import torch
from torch import Tensor

from regard.data.phrasebook.corpus import Entry
from regard.draw.figure.chart import Chart, Measurements
from regard.lab import variants
from regard.lab.experiment import Experiment, LabResult
from regard.lab.learn import learn, loss_on, small_spec
from regard.lab.lesson import Lesson, lesson_of, words_in
from regard.lab.rule import Condition, Measured
from regard.model.positions import sinusoids

TABLES: dict[str, variants.PositionTable] = {
    "raw count": variants.raw_count,
    "count ÷ length": variants.share_of_length,
    "one sine": variants.one_sine,
    "binary digits": variants.binary_digits,
    "sinusoids": sinusoids,
}
PROPERTIES = ("bounded", "smooth", "unique", "relative")
LONG, SHORT, WIDTH, SHIFT = 512, 256, 64, 5
STEPS, QUICK_STEPS = 250, 30
TRAINED_UP_TO, ASKED_UP_TO = 7, 12  # words


def measure(variant: str, seed: int, quick: bool) -> dict[str, float]:
    table = TABLES[variant]
    lesson = lesson_of((), longest=TRAINED_UP_TO, most=6000)
    learned = learn(
        lesson,
        seed,
        QUICK_STEPS if quick else STEPS,
        small_spec(lesson),
        lambda model: variants.with_positions(model, table),
    )
    longer = _known_words(lesson, lesson_of((), longest=ASKED_UP_TO, most=1, asked=2000))
    return {
        **{name: float(has) for name, has in properties(table).items()},
        "loss": loss_on(learned.model, lesson, lesson.test),
        "loss on longer": loss_on(learned.model, lesson, longer[:200]),
    }


def _known_words(lesson: Lesson, other: Lesson) -> list[Entry]:
    """Longer sentences all of whose words were trained on: what is new is their length."""
    unknown = lesson.tokenizer.special.unk
    pairs = zip(other.test, lesson.ids(other.test), strict=True)
    return [
        entry
        for entry, (source, target) in pairs
        if words_in(entry) > TRAINED_UP_TO and unknown not in (*source, *target)
    ]


def properties(table: variants.PositionTable) -> dict[str, bool]:
    """Which of the four it has, over 512 positions of 64 dimensions, in double precision."""
    vectors, short = (table(length, WIDTH).double() for length in (LONG, SHORT))
    apart = torch.cdist(vectors, vectors, compute_mode="donot_use_mm_for_euclid_dist")
    farthest = float(apart.max())
    nearest = float((apart + torch.eye(LONG) * farthest).min())
    return {
        "bounded": float(vectors.abs().max()) <= 1 + 1e-9,
        "smooth": float(apart.diagonal(1).max()) <= 0.5 * farthest,
        "unique": nearest >= 1e-3 * farthest,
        "relative": linear_error(vectors, short) <= 1e-3,
    }


def linear_error(vectors: Tensor, short: Tensor) -> float:
    """How badly the best matrix M, fitted to one text, foretells the other: PE(p) M ≈ PE(p+k)."""
    fitted = torch.linalg.lstsq(vectors[:-SHIFT], vectors[SHIFT:], driver="gelsd").solution
    wanted = short[SHIFT:]
    wrong = short[:-SHIFT] @ fitted - wanted
    return float(wrong.norm() / wanted.norm())


def rule(quick: bool) -> tuple[Condition, ...]:
    def count(variant: str) -> Condition:
        def owned(measured: Measured) -> float:
            return sum(measured[variant][name] for name in PROPERTIES)

        if variant == "sinusoids":
            return Condition("sinusoids have all four properties", owned, least=4)
        return Condition(f"{variant}: at least one of them is missing", owned, most=3)

    return tuple(count(variant) for variant in TABLES)


def chart(outcome: LabResult) -> Chart:
    names = tuple(TABLES)
    lines = [
        Measurements(
            name,
            [(i, outcome.mean(variant, measure)) for i, variant in enumerate(names)],
            [outcome.spread(variant, measure) for variant in names],
        )
        for name, measure in (
            (f"loss, up to {TRAINED_UP_TO} words as trained", "loss"),
            (f"loss, {TRAINED_UP_TO + 1} to {ASKED_UP_TO} words", "loss on longer"),
        )
    ]
    title = "How to number words"
    subtitle = (
        "A small model with each; what it loses on sentences longer than any it was trained on"
    )
    return Chart(title, subtitle, "", "loss, nats per token", lines, names)


def paragraph(outcome: LabResult) -> str:
    said = []
    for variant in TABLES:
        missing = [name for name in PROPERTIES if outcome.mean(variant, name) < 1]
        lacks = f"not {' and not '.join(missing)}" if missing else "all four properties"
        said.append(
            f"{variant}: {lacks}; loss {outcome.said(variant, 'loss')}, on longer sentences "
            f"{outcome.said(variant, 'loss on longer')}"
        )
    return "; ".join(said) + "."


EXPERIMENT = Experiment(
    "positions-why",
    "Why sines and cosines",
    "Counts are unbounded, discrete, not relative; one sine repeats; sinusoids are bounded, "
    "smooth, "
    "unique and relative.",
    "2-from-words-to-attention.md#positions",
    lambda quick: tuple(TABLES),
    measure,
    rule,
    chart,
    paragraph,
    150,
)
