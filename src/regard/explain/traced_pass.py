"""The pass that is looked at: a model and a text in, a traced pass and a place in it out."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Shaped

from regard.answer.loaded import LoadedModel
from regard.bundle.bundle import AnyTokenizer
from regard.explain.feed import any_tokenizer, feed
from regard.explain.place import KINDS, Place, Tokens, check_place, tokens_of
from regard.model.spec import Spec
from regard.model.trace import Trace


@dataclass(frozen=True)
class Pass:
    """One traced pass over a text and its output."""

    text: str
    output: str  # "": the model makes no text
    spec: Spec
    tokenizer: AnyTokenizer
    sides: dict[str, Tokens]  # source and target as they are fed in, those that the model has
    predicted: list[int]  # the token that each target position should give
    trace: Trace

    @property
    def title(self) -> str:
        """The text, and what became of it."""
        return f"{self.text} → {self.output}" if self.sides.get("target") else self.text

    def numbers(self, name: str) -> Shaped[np.ndarray, "..."]:
        """What the pass recorded under `name`, without the batch."""
        recorded = self.trace[name]
        if not name.endswith(".position"):  # positions are the same for every sentence of a batch
            recorded = recorded[0]
        values: np.ndarray = recorded.cpu().numpy()
        return values


def trace_pass(
    model: LoadedModel,
    text: str,
    output: str | None = None,
    pair: str | None = None,
    most: int | None = None,
) -> Pass:
    """Trace one pass over a text and its output: the model's own, or the one that is given."""
    fed = feed(model, text, output, pair, most)
    tokenizer, trace = any_tokenizer(model), Trace()
    with torch.inference_mode():
        fed.through(model.transformer, trace)
    rows = {"source": fed.source, "target": fed.target}
    sides = {name: tokens_of(tokenizer, ids) for name, ids in rows.items() if ids}
    spec = model.transformer.spec
    return Pass(fed.text, fed.output, spec, tokenizer, sides, fed.predicted, trace)


def choose(done: Pass, kind: str, layer: int, head: int, query: str | None) -> Place:
    """The place that was asked for, checked against the model and the text."""
    number = check_place(done.spec, kind, layer, head)
    return Place(kind, number, head, done.sides[KINDS[kind][2]].find(query))
