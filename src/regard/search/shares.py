"""What a semantic match rests on: each token's share of the cosine of query and passage.

With the passage's token vectors x_i (i = 1 … n, special ones too), its pooled vector v and the
query's vector q:

    mean   v = Σ x_i / n                     share_i = (x_i · q) / (n |v| |q|)
    cls    v = x_1                           share_1 = cos, all others 0
    max    v_d = max_i x_id                  share_i = Σ_d x_id q_d / (|v| |q|) where i is the max

    Σ_i share_i = v · q / (|v| |q|) = cos

exactly: nothing is estimated. Several poolings side by side add up in the same way. A share says
from which places the cosine comes; x_i holds what the token has read from its neighbours, so it
does not say what would happen without the word.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from regard.search.encoder import Encoder

OUTSTANDING = 1.5  # a highlighted word has so many times the share of an average one
MOST = 0.25  # and at most this part of the words is highlighted


@dataclass(frozen=True)
class WordShare:
    """A word of a text, from `start` to `end`, and its share of the score."""

    word: str
    start: int
    end: int
    share: float


@dataclass(frozen=True)
class Shares:
    """The words of a passage; `rest`: what falls to special tokens, or to words that were cut off
    or cannot be told apart."""

    words: list[WordShare]
    rest: float

    @property
    def score(self) -> float:
        """The cosine."""
        return sum(word.share for word in self.words) + self.rest

    def outstanding(self) -> list[WordShare]:
        """The words to highlight: far above the average, and few; a dash or a bar is none."""
        if not self.words:
            return []
        average = sum(abs(word.share) for word in self.words) / len(self.words)
        high = sorted(
            (word for word in self.words if word.share > OUTSTANDING * average and _says(word)),
            key=lambda word: -word.share,
        )[: max(1, int(MOST * len(self.words)))]
        return sorted(high, key=lambda word: word.start)


def _says(word: WordShare) -> bool:
    return any(character.isalnum() for character in word.word)


@torch.inference_mode()
def token_shares(encoder: Encoder, text: str, query: NDArray[np.float32]) -> NDArray[np.float64]:
    """The share of each token of the text, in order."""
    model = encoder.model.transformer
    ids = encoder.tokenizer.encode(encoder.ready(text), limit=encoder.limit).ids
    device = next(model.parameters()).device
    row = torch.tensor([ids], device=device)
    x = model.encode(row, torch.ones_like(row, dtype=torch.bool))[0].double().cpu().numpy()
    parts = []
    for mode in encoder.pooling.modes:
        weights = np.zeros_like(x)  # v_d = Σ_i weights_id x_id
        if mode == "mean":
            weights[:] = 1 / len(x)
        elif mode == "max":
            weights[x.argmax(axis=0), np.arange(x.shape[1])] = 1
        else:
            assert mode == "cls", mode
            weights[0] = 1
        parts.append(weights * x)
    products = np.concatenate(parts, axis=1)
    q = query.astype(np.float64)
    size = float(np.linalg.norm(products.sum(axis=0)) * np.linalg.norm(q))
    shares: NDArray[np.float64] = products @ q / max(size, 1e-12)
    return shares


def word_shares(encoder: Encoder, text: str, query: NDArray[np.float32]) -> Shares:
    """The shares of a text's words, which lie between its white space."""
    shares = token_shares(encoder, text, query)
    places = _places(text)
    counts = _tokens_of_words(encoder, text, [text[start:end] for start, end in places])
    words: list[WordShare] = []
    if counts:
        before, after = _frame(encoder)
        at = before
        for (start, end), count in zip(places, counts, strict=True):
            part = shares[at : min(at + count, len(shares) - after)]
            if len(part) == count:
                words.append(WordShare(text[start:end], start, end, float(part.sum())))
            at += count
    return Shares(words, float(shares.sum()) - sum(word.share for word in words))


def _places(text: str) -> list[tuple[int, int]]:
    """Start and end of each word."""
    places, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        places.append((start, at))
    return places


def _frame(encoder: Encoder) -> tuple[int, int]:
    """How many tokens stand before and after a text: the special ones, and the prompt."""
    ids = encoder.tokenizer.encode(encoder.ready("")).ids
    special = set(encoder.tokenizer.codec.special.values())
    after = 0
    while after < len(ids) and ids[-1 - after] in special and len(ids) - after > 1:
        after += 1
    return len(ids) - after, after


def _tokens_of_words(encoder: Encoder, text: str, words: list[str]) -> list[int]:
    """The number of tokens of each word; [] where words on their own are cut in another way."""
    before, after = _frame(encoder)
    prompt = encoder.pooling.prompt

    def inner(piece: str) -> tuple[int, ...]:
        ids = encoder.tokenizer.encode(encoder.ready(piece)).ids
        return ids[before : len(ids) - after]

    whole = inner(text)
    for space in ("", " ") if not prompt else (" ",):  # byte-level tokens begin with their space
        alone = [inner((space if n else "") + word) for n, word in enumerate(words)]
        if tuple(i for ids in alone for i in ids) == whole:
            return [len(ids) for ids in alone]
    return []
