"""learned: attention without parameters is not task specific; W_Q, W_K and W_V make it so.

A model whose encoder mixes words by softmax(X Xᵀ / √d) X, which nothing can teach, beside one with
the four matrices. Both learn the sentences in which "bank" has to be decided, and are asked for
some that they were not trained on.
"""

from regard.data.phrasebook.corpus import decided_right
from regard.draw.figure.chart import Chart, Measurements
from regard.lab import variants
from regard.lab.experiment import Experiment, LabResult
from regard.lab.learn import answers, learn, references, small_spec
from regard.lab.lesson import lesson_of
from regard.lab.rule import Condition, difference

LEARNED, BARE = "W_Q, W_K, W_V", "softmax(X Xᵀ) X"
STEPS, QUICK_STEPS = 600, 100


def measure(variant: str, seed: int, quick: bool) -> dict[str, float]:
    lesson = lesson_of(("bank",), asked=100 if quick else 298)
    change = variants.without_parameters if variant == BARE else None
    learned = learn(lesson, seed, QUICK_STEPS if quick else STEPS, small_spec(lesson), change)
    outputs = answers(learned.model, lesson, [entry.source for entry in lesson.test])
    pairs = list(zip(lesson.test, outputs, strict=True))
    rights = references(lesson, lesson.test)
    return {
        "decided right": sum(decided_right(entry, text) for entry, text in pairs) / len(pairs),
        "exact": sum(a == b for a, b in zip(outputs, rights, strict=True)) / len(pairs),
        "loss": learned.end,
    }


def rule(quick: bool) -> tuple[Condition, ...]:
    return (
        Condition(
            "with the matrices “bank” is decided right 0.1 more often",
            difference("decided right", LEARNED, BARE),
            least=0.1,
        ),
    )


def chart(outcome: LabResult) -> Chart:
    names = ("“bank” decided right", "translated exactly")
    lines = [
        Measurements(
            variant,
            [(0, outcome.mean(variant, "decided right")), (1, outcome.mean(variant, "exact"))],
            [outcome.spread(variant, "decided right"), outcome.spread(variant, "exact")],
        )
        for variant in (LEARNED, BARE)
    ]
    title = "Attention with and without parameters"
    subtitle = "In the encoder of a small model; sentences that were not trained on"
    return Chart(title, subtitle, "", "share of sentences", lines, names)


def paragraph(outcome: LabResult) -> str:
    return (
        "Of sentences not trained on, “bank” was decided right in "
        f"{outcome.said(LEARNED, 'decided right')} with learned matrices and in "
        f"{outcome.said(BARE, 'decided right')} without parameters in the encoder's attention; "
        f"exactly "
        f"translated were {outcome.said(LEARNED, 'exact')} and {outcome.said(BARE, 'exact')} "
        f"(final training "
        f"loss {outcome.said(LEARNED, 'loss')} and {outcome.said(BARE, 'loss')}). The decoder "
        f"and the "
        "feed-forward networks of both learn."
    )


EXPERIMENT = Experiment(
    "learned",
    "Attention without parameters",
    "Attention without parameters is not task specific; W_Q, W_K and W_V make it so.",
    "2-from-words-to-attention.md#attention-without-parameters",
    lambda quick: (LEARNED, BARE),
    measure,
    rule,
    chart,
    paragraph,
    120,
)
