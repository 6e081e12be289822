"""The demo's encoder, word by word: what experiments/heads.py and experiments/bank.py look into.

The phrasebook knows the words of each sentence, the tokenizer cuts them into pieces: a word's
vector, and its row and column of attention, are those of its pieces together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from regard.answer.loaded import LoadedModel, open_model
from regard.data.phrasebook.corpus import Word
from regard.model.trace import Trace

DEMO = "demo-de"


@dataclass(frozen=True)
class SentencePass:
    """The trace of one pass, and which places hold each word."""

    trace: Trace
    places: list[list[int]]
    layers: int

    def vectors(self, layer: int) -> Float[Tensor, "words D"]:
        """After so many layers; 0 is the row of E itself, which knows no place."""
        name = "source.rows" if layer == 0 else f"encoder.{layer - 1}.ffn.norm"
        rows = self.trace[name][0]
        return torch.stack([rows[places].mean(dim=0) for places in self.places])

    def attention(self) -> Float[Tensor, "heads words words"]:
        """Of every head of every layer: from the pieces of a word (mean) to those of one (sum)."""
        weights = torch.cat(
            [self.trace[f"encoder.{n}.self.weights"][0] for n in range(self.layers)]
        )
        to = torch.stack([weights[:, :, p].sum(dim=2) for p in self.places], dim=2)
        return torch.stack([to[:, p].mean(dim=1) for p in self.places], dim=1)


@cache
def demo() -> LoadedModel:
    return open_model(DEMO, "cpu")


@torch.no_grad()
def look(words: Sequence[Word], text: str) -> SentencePass | None:
    """The pass over a sentence; None where its words and its pieces do not spell the same."""
    model = demo()
    ids = model.bundle.codec.encode([text])[0]
    labels = model.bundle.codec.pieces(ids)
    places = spelled(labels, [word.text for word in words])
    if places is None:
        return None
    trace = Trace()
    model.transformer.encode(torch.tensor([ids]), trace=trace)
    return SentencePass(trace, places, model.spec.encoder_layers)


def spelled(pieces: Sequence[str], words: Sequence[str]) -> list[list[int]] | None:
    """Of each word the places of its pieces; "▁" is a space, "</s>" at the end no word's.

    >>> spelled(["▁The", "▁anim", "al", ".", "</s>"], ["The", "animal", "."])
    [[0], [1, 2], [3]]
    """
    letters = [(place, letter) for place, piece in enumerate(pieces[:-1]) for letter in piece]
    letters = [(place, letter) for place, letter in letters if letter not in "▁ "]
    if "".join(letter for _, letter in letters) != "".join(words):
        return None
    places, start = [], 0
    for word in words:
        places.append(sorted({place for place, _ in letters[start : start + len(word)]}))
        start += len(word)
    return places
