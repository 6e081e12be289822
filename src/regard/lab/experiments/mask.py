"""mask: without the look-ahead mask training leaks the answer.

A decoder that sees the next token need not learn to predict it: its training loss falls to nothing,
and when it has to write by itself, where nothing is there to copy, it cannot.
"""

from sacrebleu import corpus_bleu

from regard.draw.figure.chart import Chart, Measurements
from regard.lab import variants
from regard.lab.experiment import Experiment, LabResult
from regard.lab.learn import answers, learn, references, small_spec
from regard.lab.lesson import lesson_of
from regard.lab.rule import Condition, difference, ratio

MASKED, UNMASKED = "masked", "unmasked"
STEPS, QUICK_STEPS = 500, 300
SLICES = ("order",)


def measure(variant: str, seed: int, quick: bool) -> dict[str, float]:
    lesson = lesson_of(SLICES, asked=100)
    change = variants.unmasked if variant == UNMASKED else None
    learned = learn(lesson, seed, QUICK_STEPS if quick else STEPS, small_spec(lesson), change)
    outputs = answers(learned.model, lesson, [entry.source for entry in lesson.test])
    rights = references(lesson, lesson.test)
    score = corpus_bleu(outputs, [rights], tokenize="none", force=True).score
    return {"training loss": learned.end, "BLEU": float(score)}


def rule(quick: bool) -> tuple[Condition, ...]:
    return (
        Condition(
            "without the mask the training loss ends at half of what it is with it, or less",
            ratio("training loss", UNMASKED, MASKED),
            most=0.5,
        ),
        Condition(
            "… and what it writes by itself is worse by 10 BLEU or more",
            difference("BLEU", MASKED, UNMASKED),
            least=10.0,
        ),
    )


def chart(outcome: LabResult) -> Chart:
    both = (MASKED, UNMASKED)
    names = ("BLEU of its own outputs", "100 × training loss")
    values = [
        Measurements(
            variant,
            [
                (0, outcome.mean(variant, "BLEU")),
                (1, 100 * outcome.mean(variant, "training loss")),
            ],
            [outcome.spread(variant, "BLEU"), 100 * outcome.spread(variant, "training loss")],
        )
        for variant in both
    ]
    title = "A decoder that sees what it should predict"
    return Chart(title, "The same model, the same steps", "", "", values, names)


def paragraph(outcome: LabResult) -> str:
    return (
        "The training loss ended at "
        f"{outcome.said(MASKED, 'training loss', '.3f')} nats per token with the mask and at "
        f"{outcome.said(UNMASKED, 'training loss', '.3f')} without. Asked to translate sentences "
        f"that were not "
        "trained on, word by word, the first reached "
        f"{outcome.said(MASKED, 'BLEU', '.1f')} BLEU, the second "
        f"{outcome.said(UNMASKED, 'BLEU', '.1f')}."
    )


EXPERIMENT = Experiment(
    "mask",
    "Without the look-ahead mask the answer leaks",
    "Without the look-ahead mask training leaks the answer.",
    "2-from-words-to-attention.md#masked-self-attention",
    lambda quick: (MASKED, UNMASKED),
    measure,
    rule,
    chart,
    paragraph,
    90,
)
