"""Which words of a text a model was never trained on.

A model of the phrasebook knows the phrasebook's words and no others: whatever else it is asked, it
answers with what it knows, and the answer looks like any other. So such a run keeps the words of
its training sources (data/words.txt), and whoever translates is told which words are not among
them. A model of a large corpus reads new words by their pieces and keeps no such list.
"""

from collections.abc import Iterable
from pathlib import Path

from regard import atomic
from regard.checksums import check
from regard.errors import DataError
from regard.text.words import split_words
from regard.untrusted import read_small_file

FILE = "words.txt"
MAX_WORDS = 1 << 28  # bytes
MOST_NAMED = 5
ADVICE = "A model for your own text: regard train --source yours.en --target yours.de --minutes 30"


class WordsSeen:
    """The words of a run's training sources, and what of the texts noted so far is not among them.

    Capitals do not count: a sentence may begin with any word.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(words)
        self.total = 0
        self.unseen: list[str] = []

    @classmethod
    def of_run(cls, data: Path) -> "WordsSeen | None":
        """From the run's folder of data; None for a run that keeps no such list."""
        file = data / FILE
        if not file.is_file():
            return None
        check(data.parent, [f"{data.name}/{FILE}"])
        words = read_small_file(file, MAX_WORDS, DataError).decode("utf-8", "replace")
        return cls(words.split("\n"))

    def new_in(self, text: str) -> list[str]:
        """The words of a text that were never trained on."""
        return [word for word in _words(text) if word.casefold() not in self._words]

    def note(self, text: str) -> None:
        """Count the words of a text."""
        self.total += len(_words(text))
        self.unseen += self.new_in(text)

    def sentence(self) -> str:
        """What was noted, for a person; empty where every word was seen."""
        if not self.unseen:
            return ""
        named = list(dict.fromkeys(self.unseen))
        more = ", …" if len(named) > MOST_NAMED else ""
        verb = "was" if len(self.unseen) == 1 else "were"
        return (
            f"{len(self.unseen):,} of {self.total:,} words ({len(self.unseen) / self.total:.0%}) "
            f"{verb} never in the training text: {', '.join(named[:MOST_NAMED])}{more}. "
            "The model answers with the words it knows."
        )


def write_words(data: Path, sources: Iterable[str]) -> None:
    """Keep the words of these sources."""
    words = {word.casefold() for source in sources for word in _words(source)}
    atomic.write_text(data / FILE, "\n".join(sorted(words)) + "\n")


def _words(text: str) -> list[str]:
    """Words in the narrow sense: signs are none."""
    return [word for word in split_words(text) if any(map(str.isalnum, word))]
