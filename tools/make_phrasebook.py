"""`make phrasebook`: the grammar makes its pairs, and the package holds them from now on."""

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from typing import Any

from grammar.alignment import aligned
from grammar.book import GRAMMARS, book
from grammar.syntax import tree_of
from grammar.word_classes import OTHER_FORMS, verb_forms

from regard import atomic
from regard.checksums import sha256, write_checksums
from regard.data.phrasebook.corpus import FOLDER, Word
from regard.data.trees import linearised


def pairs(language: str) -> bytes:
    """A line of what is counted, then an entry a line."""
    entries = book(language)
    trained = (draft.lemmas for entry, draft in entries if entry.split == "train")
    lemmas = Counter(lemma for used in trained for lemma in used)
    forms = verb_forms(GRAMMARS[language]().lexicon)
    head = {
        "lemmas": [(word, kind, count) for (word, kind), count in lemmas.most_common()],
        "verb_forms": {subject: sorted(words) for subject, words in forms.items()},
        "other_forms": OTHER_FORMS,
    }
    return _lines([head, *(astuple(entry) for entry, _ in entries)])


def words(language: str) -> bytes:
    """The words of both sides of each pair, and which belong together."""
    return _lines(_rows(language))


def _rows(language: str) -> Iterator[list[str]]:
    for _, draft in book(language):
        pair = aligned(draft, GRAMMARS[language]())
        links = " ".join(f"{one}-{other}" for one, other in pair.links)
        yield [" ".join(map(_cell, pair.source)), " ".join(map(_cell, pair.target)), links]


def trees(language: str) -> bytes:
    """The tree of each English sentence, as signs; its words are those of the pair."""
    grammar = GRAMMARS[language]()
    drafts = (aligned(draft, grammar).source for _, draft in book(language))
    return _lines(" ".join(linearised(tree_of(words))) for words in drafts)


def _cell(word: Word) -> str:
    return "|".join((word.kind, word.agrees, word.slot, ",".join(word.agrees_with)))


def _lines(rows: Iterable[Any]) -> bytes:
    texts = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return "".join(f"{text}\n" for text in texts).encode()


if __name__ == "__main__":
    sums = {}
    for code in GRAMMARS:
        made = {"pairs": pairs(code), "words": words(code), "trees": trees(code)}
        for what, content in made.items():
            path = FOLDER / f"{code}.{what}.jsonl.gz"
            atomic.write_bytes(path, gzip.compress(content, 9, mtime=0))
            sums[path.name] = sha256(path)
            print(f"{path.name}: {path.stat().st_size:,} bytes, unpacked {len(content):,}")
    write_checksums(FOLDER, sums)
