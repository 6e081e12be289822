"""The pass that is looked at: a model and a text go in, a traced pass and a place in it come out.

The whole output is fed in at once (teacher forcing on the model's own translation, or on one that
is given), so the numbers are those with which each output token was predicted.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Shaped

from regard.answer.loaded import LoadedModel
from regard.explain.place import KINDS, Place, Tokens, check_place, source_ids, tokens_of
from regard.model.spec import Spec
from regard.model.trace import Trace
from regard.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Pass:
    """One traced pass over a sentence and its output."""

    text: str
    output: str
    spec: Spec
    tokenizer: Tokenizer
    sides: dict[str, Tokens]  # source, and target as it is fed in: <s> first
    predicted: list[int]  # the token that each target position should give
    trace: Trace

    def numbers(self, name: str) -> Shaped[np.ndarray, "..."]:
        """What the pass recorded under `name`, without the batch."""
        recorded = self.trace[name]
        if not name.endswith(".position"):  # positions are the same for every sentence of a batch
            recorded = recorded[0]
        values: np.ndarray = recorded.cpu().numpy()
        return values


@torch.inference_mode()
def trace_pass(model: LoadedModel, text: str, translation: str | None = None) -> Pass:
    """Translate `text` (or take `translation` for its output) and trace one pass over both."""
    tokenizer = model.bundle.own_tokenizer
    special = tokenizer.special
    source = source_ids(tokenizer, text)
    if translation is None:
        best = model.translator.translations([text], split=False)[0][0]
        target, translation = list(best.ids), best.text
    else:
        target = tokenizer.encode(translation)
    fed = [special.bos, *target]
    device = next(model.transformer.parameters()).device
    trace = Trace()
    model.transformer(
        torch.tensor([source], device=device), torch.tensor([fed], device=device), trace=trace
    )
    sides = {"source": tokens_of(tokenizer, source), "target": tokens_of(tokenizer, fed)}
    spec = model.transformer.spec
    return Pass(text, translation, spec, tokenizer, sides, [*target, special.eos], trace)


def choose(done: Pass, kind: str, layer: int, head: int, query: str | None) -> Place:
    """The place that was asked for, checked against the model and the text."""
    number = check_place(done.spec, kind, layer, head)
    return Place(kind, number, head, done.sides[KINDS[kind][2]].find(query))
