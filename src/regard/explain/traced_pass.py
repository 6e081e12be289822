"""The pass that is looked at: a model and a text go in, a traced pass and a place in it come out.

The whole output is fed in at once (teacher forcing on the model's own translation, or on one that
is given), so the numbers are those with which each output token was predicted.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Shaped

from regard.errors import MisuseError
from regard.model.spec import Spec
from regard.model.trace import Trace
from regard.tasks.load import Model
from regard.text.tokenizer import Tokenizer

# kind → (stack, sub-layer, which side asks, which side is looked at)
KINDS = {
    "encoder": ("encoder", "self", "source", "source"),
    "decoder": ("decoder", "self", "target", "target"),
    "cross": ("decoder", "cross", "target", "source"),
}
WORDS_IN_AN_ERROR = 40
LONGEST_POSITION = 9  # digits


@dataclass(frozen=True)
class Tokens:
    """One side of the pass: ids, a label for each, and the words they spell with their places."""

    ids: list[int]
    pieces: list[str]
    words: list[tuple[str, list[int]]]

    def find(self, query: str | None) -> int:
        """The place (from 0) of a word, else of a position counted from 1; None: the first."""
        if query is None:
            return 0
        wanted = query.strip()
        for alike in (str, str.casefold, _bare):
            for word, places in self.words:
                if wanted and alike(word) == alike(wanted):
                    return places[0]
        if wanted.isdecimal() and len(wanted) <= LONGEST_POSITION:
            position = int(wanted)
            if 1 <= position <= len(self.ids):
                return position - 1
        if wanted in self.pieces:
            return self.pieces.index(wanted)
        words = [word for word, _ in self.words]
        listed = " ".join(words[:WORDS_IN_AN_ERROR])
        more = " …" if len(words) > WORDS_IN_AN_ERROR else ""
        raise MisuseError(
            f"query: got {query!r}, the text has {len(self.ids)} tokens; expected a position from "
            f"1 to {len(self.ids)} or one of its words: {listed}{more}"
        )


def _bare(word: str) -> str:
    """A word without the punctuation that clings to it."""
    letters = [place for place, letter in enumerate(word) if letter.isalnum()]
    return word[letters[0] : letters[-1] + 1].casefold() if letters else word


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


@dataclass(frozen=True)
class Place:
    """What the walk looks at: one head of one attention, asked by one token."""

    kind: str
    layer: int  # from 1
    head: int  # from 1
    query: int  # from 0

    @property
    def stack(self) -> str:
        return KINDS[self.kind][0]

    @property
    def asks(self) -> str:
        return KINDS[self.kind][2]

    @property
    def seen(self) -> str:
        return KINDS[self.kind][3]

    @property
    def part(self) -> str:
        """The name of the attention in the trace."""
        return f"{self.stack}.{self.layer - 1}.{KINDS[self.kind][1]}"


@torch.inference_mode()
def trace_pass(model: Model, text: str, translation: str | None = None) -> Pass:
    """Translate `text` (or take `translation` for its output) and trace one pass over both."""
    tokenizer, special = model.tokenizer, model.tokenizer.special
    if not text.strip():
        raise MisuseError("got an empty text, expected a sentence")
    source = [*tokenizer.encode(text), special.eos]
    if translation is None:
        best = model.translations([text], split=False)[0][0]
        target, translation = list(best.ids), best.text
    else:
        target = tokenizer.encode(translation)
    fed = [special.bos, *target]
    device = next(model.transformer.parameters()).device
    trace = Trace()
    model.transformer(
        torch.tensor([source], device=device), torch.tensor([fed], device=device), trace=trace
    )
    sides = {
        name: Tokens(ids, tokenizer.pieces(ids), tokenizer.word_groups(ids))
        for name, ids in (("source", source), ("target", fed))
    }
    spec = model.transformer.spec
    return Pass(text, translation, spec, tokenizer, sides, [*target, special.eos], trace)


def layer_number(spec: Spec, kind: str, layer: int | None) -> int:
    """A layer counted from 1, None being the last, checked against the model."""
    if kind not in KINDS:
        raise MisuseError(f"kind: got {kind!r}, expected one of {', '.join(KINDS)}")
    stack = KINDS[kind][0]
    last = spec.encoder_layers if stack == "encoder" else spec.decoder_layers
    number = last if layer is None else layer
    if not 1 <= number <= last:
        raise MisuseError(f"layer: got {number}, the {stack} of this model has layers 1 to {last}")
    return number


def choose(done: Pass, kind: str, layer: int, head: int, query: str | None) -> Place:
    """The place that was asked for, checked against the model and the text."""
    number = layer_number(done.spec, kind, layer)
    if not 1 <= head <= done.spec.heads:
        raise MisuseError(f"head: got {head}, this model has heads 1 to {done.spec.heads}")
    return Place(kind, number, head, done.sides[KINDS[kind][2]].find(query))
