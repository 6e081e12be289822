"""What the lab trains on: slices of the phrasebook, cut into words, small enough for seconds."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from regard.data.phrasebook.corpus import Entry, phrasebook
from regard.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Lesson:
    """Pairs to learn from, others to be asked for, and the words of the first."""

    train: tuple[Entry, ...]
    test: tuple[Entry, ...]
    tokenizer: Tokenizer

    def ids(self, entries: Sequence[Entry]) -> list[tuple[list[int], list[int]]]:
        """Source and target of each, without special tokens."""
        sources = self.tokenizer.encode_batch([entry.source for entry in entries])
        targets = self.tokenizer.encode_batch([entry.target for entry in entries])
        return list(zip(sources, targets, strict=True))


@cache
def lesson_of(
    slices: tuple[str, ...], longest: int = 60, most: int = 100_000, asked: int = 200
) -> Lesson:
    """Of these slices (none: all) the pairs with at most `longest` words on the longer side.

    What is trained on is the corpus's own part for training, asked are dev and test.
    """
    entries = [
        entry
        for entry in phrasebook("de")
        if (not slices or set(slices) & set(entry.slices)) and words_in(entry) <= longest
    ]
    train = [entry for entry in entries if entry.split == "train"]
    test = [entry for entry in entries if entry.split != "train"]
    chance = random.Random(1)
    train, test = (chance.sample(x, min(n, len(x))) for x, n in ((train, most), (test, asked)))
    texts = [text for entry in train for text in (entry.source, entry.target)]
    return Lesson(tuple(train), tuple(test), Tokenizer.train(texts, "words", 6000))


def words_in(entry: Entry) -> int:
    """Of the longer side."""
    return max(len(entry.source.split()), len(entry.target.split()))
