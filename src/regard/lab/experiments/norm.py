"""norm: batch norm suffers from padding and from small batches, layer norm does not.

First without training: the encoder's vectors of one sentence, while it learns, as padding behind it
and the other sentences of the batch change. Then a model is trained with each norm.
"""

import torch

from regard.draw.figure.chart import Chart, Measurements
from regard.lab import variants
from regard.lab.experiment import Experiment, LabResult
from regard.lab.learn import learn, loss_on, small_spec
from regard.lab.lesson import lesson_of
from regard.lab.rule import Condition, difference, number
from regard.model.transformer import Transformer

LAYER, BATCH = "layer norm", "batch norm"
STEPS, QUICK_STEPS = 300, 60
WORDS, ROWS = 8, 8
PADDINGS = (0, 8, 24, 56)  # padding tokens behind the sentence's 8 words


def measure(variant: str, seed: int, quick: bool) -> dict[str, float]:
    lesson = lesson_of(("order",))
    spec = small_spec(lesson)
    change = variants.with_batch_norm if variant == BATCH else None
    model = Transformer(spec, seed)
    if change is not None:
        change(model)
    learned = learn(lesson, seed, QUICK_STEPS if quick else STEPS, spec, change)
    return {
        **{f"moved by {n} padding": value for n, value in moved_by_padding(model, seed).items()},
        "moved by company": moved_by_company(model, seed),
        "loss in training": learned.end,
        "loss when asked": loss_on(learned.model, lesson, lesson.test),
    }


@torch.no_grad()
def moved_by_padding(model: Transformer, seed: int) -> dict[int, float]:
    """How far the vectors of the first sentence move as the batch is padded, in its own lengths."""
    words = _words(model, seed)
    model.train()  # batch norm takes the statistics of the batch while it learns
    alone = model.encode(words, torch.ones_like(words, dtype=torch.bool))[0]
    moved = {}
    for padding in PADDINGS[1:]:
        behind = torch.zeros(ROWS, padding, dtype=words.dtype)
        wide = torch.cat([words, behind], dim=1)
        real = torch.arange(wide.shape[1]) < WORDS
        vectors = model.encode(wide, real.expand(ROWS, -1))[0, :WORDS]
        moved[padding] = float((vectors - alone).norm() / alone.norm())
    return moved


@torch.no_grad()
def moved_by_company(model: Transformer, seed: int) -> float:
    """The same as the other sentences of the batch are others."""
    words, others = _words(model, seed), _words(model, seed + 1000)
    others[0] = words[0]
    model.train()
    one, other = model.encode(words)[0], model.encode(others)[0]
    return float((one - other).norm() / one.norm())


def _words(model: Transformer, seed: int) -> torch.Tensor:
    chance = torch.Generator().manual_seed(seed)
    return torch.randint(4, model.spec.vocabulary, (ROWS, WORDS), generator=chance)


def rule(quick: bool) -> tuple[Condition, ...]:
    most = f"moved by {PADDINGS[-1]} padding"
    return (
        Condition("layer norm: padding moves nothing", number(LAYER, most), most=1e-5),
        Condition(
            "layer norm: other sentences move nothing",
            number(LAYER, "moved by company"),
            most=1e-5,
        ),
        Condition(
            "batch norm: padding moves a sentence by a twentieth of its length or more",
            number(BATCH, most),
            least=0.05,
        ),
        Condition(
            "batch norm: other sentences do too",
            number(BATCH, "moved by company"),
            least=0.05,
        ),
        Condition(
            "trained with batch norm the loss on sentences that are asked is higher by 0.05 or "
            "more",
            difference("loss when asked", BATCH, LAYER),
            least=0.05,
        ),
    )


def chart(outcome: LabResult) -> Chart:
    lines = [
        Measurements(
            variant,
            [(0.0, 0.0)]
            + [(float(n), outcome.mean(variant, f"moved by {n} padding")) for n in PADDINGS[1:]],
            [0.0, *(outcome.spread(variant, f"moved by {n} padding") for n in PADDINGS[1:])],
        )
        for variant in (LAYER, BATCH)
    ]
    title = "How far padding moves a sentence"
    subtitle = f"The vectors of a sentence of {WORDS} words, in a batch of {ROWS}"
    return Chart(title, subtitle, "padding tokens behind it", "moved, in its own length", lines)


def paragraph(outcome: LabResult) -> str:
    most = f"moved by {PADDINGS[-1]} padding"
    return (
        f"{PADDINGS[-1]} padding tokens behind a sentence of {WORDS} words move its vectors by "
        f"{outcome.said(BATCH, most)} of their length under batch norm and by "
        f"{outcome.mean(LAYER, most):.0e} under layer norm; other sentences in the batch by "
        f"{outcome.said(BATCH, 'moved by company')} and "
        f"{outcome.mean(LAYER, 'moved by company'):.0e}. "
        f"Trained alike, the loss on sentences not trained on was "
        f"{outcome.said(LAYER, 'loss when asked')} with layer norm and "
        f"{outcome.said(BATCH, 'loss when asked')} with batch norm (in training "
        f"{outcome.said(LAYER, 'loss in training')} and {outcome.said(BATCH, 'loss in training')})."
    )


EXPERIMENT = Experiment(
    "norm",
    "Layer norm, not batch norm",
    "Batch norm suffers from padding and small batches, layer norm does not.",
    "2-from-words-to-attention.md#layer-norm-not-batch-norm",
    lambda quick: (LAYER, BATCH),
    measure,
    rule,
    chart,
    paragraph,
    90,
)
