"""Data that will not teach what was meant: pairs go in, sentences for a person come out.

A corpus can be clean line by line and wrong as a whole: the two files exchanged, one line missing
in the middle so that every later line has the wrong partner, the same text on both sides. Nothing
here is certain, so nothing is refused: each finding is said, with what to look at.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.data.corpus import plain
from regard.data.languages import NAMES, guess
from regard.errors import DataError, shown
from regard.printable import counted

LOOKED_AT = 200_000  # pairs, the first ones: enough to see what is wrong with a corpus
SAME_SIDES = 0.05  # share of pairs above which it is said
DUPLICATES = 0.3
SWAPPED = 0.02
SHARED_WORDS = 0.8  # of the words of both sides: one language, not two
BOUND_LENGTHS = 0.2  # correlation of the lengths of translations is far above, of strangers near 0
ENOUGH = 100  # pairs for a statement about all of them
PROFILE = 20_000  # pairs whose words tell the two sides apart


@dataclass
class Look:
    """Counts over the pairs seen so far; only hashes and the words of some are kept."""

    pairs: int = 0
    same: int = 0
    repeated: int = 0
    seen: set[int] = field(default_factory=set)
    words: tuple[Counter[str], Counter[str]] = field(default_factory=lambda: (Counter(), Counter()))
    sums: list[float] = field(default_factory=lambda: [0.0] * 5)  # x, y, x², y², xy of lengths
    first: list[tuple[str, str]] = field(default_factory=list)

    def see(self, source: str, target: str) -> None:
        """Count one pair."""
        self.pairs += 1
        self.same += source == target
        key = hash((source, target))
        self.repeated += key in self.seen
        self.seen.add(key)
        x, y = math.log(len(source)), math.log(len(target))
        for i, value in enumerate((x, y, x * x, y * y, x * y)):
            self.sums[i] += value
        if self.pairs <= PROFILE:
            self.first.append((source, target))
            for words, text in zip(self.words, (source, target), strict=True):
                words.update(text.casefold().split())

    def correlation(self) -> float:
        """Of the logarithms of the lengths of both sides; 1 where all are equally long."""
        n = max(1, self.pairs)
        x, y, xx, yy, xy = (total / n for total in self.sums)
        spread = math.sqrt(max(0.0, xx - x * x) * max(0.0, yy - y * y))
        return (xy - x * y) / spread if spread > 1e-9 else 1.0

    def shared_words(self) -> float:
        """How much of the text of both sides are the same words equally often: 0 to 1."""
        source, target = self.words
        all_source, all_target = max(1, source.total()), max(1, target.total())
        return sum(min(n / all_source, target[w] / all_target) for w, n in source.items())

    def looks_swapped(self, source: str, target: str) -> bool:
        """Whether the words of each side are rather those of the other side's other lines."""
        return self._leaning(source) < 0 < self._leaning(target)

    def _leaning(self, text: str) -> float:
        """Above 0: like the source side; a line's own words count little beside all others."""
        source, target = self.words
        words = text.casefold().split()
        return sum(math.log((source[w] + 0.5) / (target[w] + 0.5)) for w in words)


class Different:
    """Counts texts that are not the same as one before; beyond `most` it does not look any more.

    Only different texts can be parted into some to learn from and some to validate on.
    """

    def __init__(self, most: int = 1000) -> None:
        self._most, self._seen = most, set[str]()
        self.first = ""

    def see(self, text: str) -> None:
        """One text more."""
        self.first = self.first or text
        if len(self._seen) < self._most:
            self._seen.add(plain(text))

    def __len__(self) -> int:
        return len(self._seen)

    def check(self, where: str, total: int, unit: str, key: str) -> None:
        """Refuse texts that are all the same."""
        if total > 1 and len(self._seen) == 1:
            raise DataError(
                f"{where}: {counted(total, unit)}, duplicates all of them: {shown(self.first)} "
                "again and again; none can be held out for validation. Look at the file, or give "
                f"others to validate on ({key})"
            )


def look_at(pairs: Iterable[tuple[str, str]]) -> Look:
    """Count the first pairs of a corpus."""
    look = Look()
    for source, target in pairs:
        look.see(source, target)
        if look.pairs == LOOKED_AT:
            break
    return look


def suspicions(look: Look, files: tuple[Path | None, Path | None] = (None, None)) -> list[str]:
    """What is odd about a corpus, a sentence each; `files` are its sides, where they are two."""
    return [*_languages(look, files), *_pairing(look), *_repetition(look)]


def validation_suspicions(look: Look, valid: Sequence[tuple[str, str]]) -> list[str]:
    """The validation pairs beside the training pairs: in the same direction?"""
    swapped = sum(look.looks_swapped(source, target) for source, target in valid)
    if valid and look.shared_words() < SHARED_WORDS and swapped * 2 > len(valid):
        return [
            f"{swapped:,} of {len(valid):,} validation pairs run in the other direction than the "
            "training pairs: exchange data.valid_source and data.valid_target"
        ]
    return []


def _languages(look: Look, files: tuple[Path | None, Path | None]) -> list[str]:
    """File names against what is in them, and one language on both sides."""
    languages = tuple(guess(words) for words in look.words)
    said = []
    for path, mine, other in zip(files, languages, languages[::-1], strict=True):
        named = _named(path)
        if named in NAMES and mine and mine != named:
            swapped = ": are the two files exchanged?" if other == named else ""
            said.append(f"{path} is named {NAMES[named]} but looks {NAMES[mine]}{swapped}")
    if look.pairs >= ENOUGH and (shared := look.shared_words()) > SHARED_WORDS:
        said.append(
            f"both sides are made of the same words ({shared:.0%} of them): one language twice?"
        )
    return said


def _named(path: Path | None) -> str:
    """The language that a file's name ends in: train.de, train.de.gz, train_de.txt."""
    name = "" if path is None else path.name.removesuffix(".gz").removesuffix(".txt")
    return name.replace("_", ".").replace("-", ".").rpartition(".")[2].lower()


def _pairing(look: Look) -> list[str]:
    """Whether the lines belong together."""
    if look.pairs < ENOUGH:
        return []
    said = []
    if look.correlation() < BOUND_LENGTHS:
        said.append(
            f"long sentences have short partners as often as long ones (correlation of lengths "
            f"{look.correlation():.2f}): is a line missing somewhere, so that all later pairs are "
            "shifted?"
        )
    elif look.shared_words() < SHARED_WORDS:
        swapped = sum(look.looks_swapped(source, target) for source, target in look.first)
        if swapped > SWAPPED * len(look.first):
            share = swapped / len(look.first)
            said.append(f"about {share:.0%} of the pairs seem to run in the other direction")
    return said


def _repetition(look: Look) -> list[str]:
    said = []
    if look.pairs and look.same > SAME_SIDES * look.pairs:
        said.append(
            f"{look.same:,} of {look.pairs:,} pairs are the same on both sides: the model learns "
            "to copy them"
        )
    if look.pairs and look.repeated > DUPLICATES * look.pairs:
        said.append(f"{look.repeated:,} of {look.pairs:,} pairs are repetitions of an earlier one")
    return said
