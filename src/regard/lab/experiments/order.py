"""order: without positional encoding "Nithish killed lion" is "lion killed Nithish".

Twice: by arithmetic on random weights, where permuted words must give permuted vectors; and by
training on the phrasebook's pairs whose subject and object change places. An encoder that does not
know places gives both sentences of a pair the same memory, so a decoder cannot tell them apart.
"""

import torch

from regard.draw.figure.chart import Chart, Measurements
from regard.lab import variants
from regard.lab.experiment import Experiment, LabResult
from regard.lab.learn import answers, exact_share, learn, small_spec
from regard.lab.lesson import Lesson, lesson_of
from regard.lab.rule import Condition, difference, number
from regard.model.transformer import Transformer

POSITIONS = ("sinusoidal", "learned", "rotary", "none")
QUICK = ("sinusoidal", "none")
STEPS, QUICK_STEPS = 500, 200
ROUNDING = 1e-6


def measure(variant: str, seed: int, quick: bool) -> dict[str, float]:
    lesson = lesson_of(("order",))
    kind = "sinusoidal" if variant == "none" else variant
    spec = small_spec(lesson, positions=kind)
    change = variants.without_positions if variant == "none" else None
    model = Transformer(spec, seed)
    if change is not None:
        change(model)
    steps = QUICK_STEPS if quick else STEPS
    learned = learn(lesson, seed, steps, spec, change)
    return {
        "moved": permutation_error(model, seed),
        "exact": exact_share(learned.model, lesson),
        "told apart": told_apart(learned.model, lesson),
        "loss": learned.end,
    }


@torch.no_grad()
def permutation_error(model: Transformer, seed: int) -> float:
    """The largest difference between the memory of permuted words and the permuted memory."""
    chance = torch.Generator().manual_seed(seed)
    words = torch.randint(4, model.spec.vocabulary, (8, 12), generator=chance)
    order = torch.randperm(12, generator=chance)
    wide = model.double().eval()
    apart = wide.encode(words[:, order]) - wide.encode(words)[:, order]
    return float(apart.abs().max())


def told_apart(model: Transformer, lesson: Lesson) -> float:
    """The share of pairs of sentences of the same words whose translations differ."""
    pairs = same_words(lesson)
    one, other = (answers(model, lesson, side) for side in zip(*pairs, strict=True))
    return sum(a != b for a, b in zip(one, other, strict=True)) / len(pairs)


def same_words(lesson: Lesson) -> list[tuple[str, str]]:
    """Sentences that are asked, each with another one of the same words in another order."""
    known: dict[tuple[int, ...], set[str]] = {}
    for entry in (*lesson.train, *lesson.test):
        known.setdefault(_bag(lesson, entry.source), set()).add(entry.source)
    pairs = []
    for entry in lesson.test:
        others = known[_bag(lesson, entry.source)] - {entry.source}
        pairs += [(entry.source, other) for other in sorted(others)]
    return pairs


def _bag(lesson: Lesson, text: str) -> tuple[int, ...]:
    return tuple(sorted(lesson.tokenizer.encode(text)))


def rule(quick: bool) -> tuple[Condition, ...]:
    return (
        Condition(
            f"without positions permuted words give permuted vectors, to {ROUNDING:g}",
            number("none", "moved"),
            most=ROUNDING,
        ),
        Condition(
            "with sinusoids they do not: some number moves by 0.01 or more",
            number("sinusoidal", "moved"),
            least=0.01,
        ),
        Condition(
            "trained without positions no pair is told apart",
            number("none", "told apart"),
            most=0.0,
        ),
        Condition(
            "trained with sinusoids at least 0.25 more of the pairs are told apart",
            difference("told apart", "sinusoidal", "none"),
            least=0.25,
        ),
    )


def chart(outcome: LabResult) -> Chart:
    lines = [
        Measurements(
            name,
            [(i, outcome.mean(v, measure)) for i, v in enumerate(outcome.variants)],
            [outcome.spread(v, measure) for v in outcome.variants],
        )
        for name, measure in (
            ("pairs told apart", "told apart"),
            ("translated exactly", "exact"),
        )
    ]
    title = "Who did it to whom?"
    subtitle = "Sentences of the same words in another order, not trained on"
    return Chart(title, subtitle, "positions", "share", lines, outcome.variants)


def paragraph(outcome: LabResult) -> str:
    trained = len(lesson_of(("order",)).train)
    told = ", ".join(
        f"{variant} {outcome.said(variant, 'told apart')} "
        f"(exactly right: {outcome.said(variant, 'exact')})"
        for variant in outcome.variants
    )
    return (
        f"With random weights and no positions, permuted words give permuted vectors up to "
        f"{outcome.mean('none', 'moved'):.0e}; with sinusoids numbers move by "
        f"{outcome.mean('sinusoidal', 'moved'):.2f}. After training on {trained:,} pairs, of "
        "sentences whose words stand elsewhere in another order this share was told apart from "
        f"the other, by positions: {told}."
    )


EXPERIMENT = Experiment(
    "order",
    "Without positions order is lost",
    'Without positional encoding "Nithish killed lion" is "lion killed Nithish".',
    "2-from-words-to-attention.md#positions",
    lambda quick: QUICK if quick else POSITIONS,
    measure,
    rule,
    chart,
    paragraph,
    120,
)
