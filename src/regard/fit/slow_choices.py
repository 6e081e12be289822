"""Choices that are known to learn slowly in the time given, each with the figure it rests on.

post-norm    Multi30k, small, 7 minutes: BLEU 15.5, and 31 with what regard chooses for own files;
             the demo after 1,000 steps: 41, and 82 with pre-norm; recipe multi30k-quick with
             post-norm: validation loss 2.97 after 800 steps and 2.32 after 1,600, pre-norm 2.74
             and 2.17. With 8,000 steps it is as good (recipe multi30k-tiny).
warm-up      longer than the run: the rate ends at steps / warm-up of its peak, by its formula.

What BLEU a corpus of some size reaches in some time is not said: it was measured for one corpus.
"""

from collections.abc import Iterator

from regard.model.spec import Spec
from regard.runs.sections import TrainSection

FEWEST = 100  # steps of a run that is meant to learn: below, somebody tries things out
POST_NORM = 2000  # steps below which post-norm is known to be behind


def slow_choices(train: TrainSection, spec: Spec, expected: float | None) -> Iterator[str]:
    """Sentences for a person; `expected` is the number of steps that the minutes allow."""
    steps = min(train.last_step or float("inf"), expected or float("inf"))
    if not FEWEST <= steps < float("inf") or train.start_from is not None:
        return
    many = f"{'about ' if train.minutes is not None else ''}{steps:,.0f} steps"
    is_translator = spec.encoder_layers and spec.decoder_layers
    if spec.norm_order == "post" and is_translator and steps < POST_NORM:
        yield (
            f"{many} are few for post-norm: on Multi30k for 7 minutes small with it came to BLEU "
            "15.5, what regard chooses to 31. Take model.norm_order=pre, or more steps"
        )
    if train.minutes is None and train.warmup > steps:
        yield (
            f"the warm-up ({train.warmup:,} steps) is longer than the run ({many}): the rate ends "
            f"at {steps / train.warmup:.0%} of its peak. Lower train.warmup, to a tenth of the run"
        )
