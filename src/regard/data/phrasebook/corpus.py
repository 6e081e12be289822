"""The phrasebook's interface: a language in, pairs with their splits, slices and answers out.

A grammar makes the pairs (tools/grammar; `make phrasebook`), and the package holds what it made:

    de.pairs.jsonl.gz   a line of counts and forms, then an `Entry` a line
    de.words.jsonl.gz   of the same pairs the words of both sides, and which belong together:
                        ["pronoun||S| verb|singular|V|S …", "||S| |…", "0-0 1-2 …"]
    de.trees.jsonl.gz   the tree of each English sentence over its words (data/trees.py), as signs:
                        "(S (NP DT NN ) (VP VB ) . )"
    checksums.json      of all files
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from regard.checksums import check
from regard.data.trees import Tree, rebuilt
from regard.errors import DataError
from regard.text.words import LETTERS, split_words

FOLDER = Path(__file__).parent
LANGUAGES = ("de", "hi")
SPLITS = ("train", "dev", "test")
SLICES = ("everyday", "bank", "apple", "it", "order", "idiom", "long")
NOTES = "notes"  # the slice of the notes' own sentences: trained on, and asked for word by word
_TOKEN = re.compile(LETTERS + r"|[^\w\s]")


class PhrasebookError(DataError):
    """A language that there is not; of the grammar: a table or pattern that cannot be used."""


@dataclass(frozen=True)
class Entry:
    """One sentence pair."""

    source: str
    target: str
    pattern: str
    split: str
    slices: tuple[str, ...]
    frame: str = ""
    answer: str = ""
    rivals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statistics:
    """What the corpus amounts to; `slices` maps (slice, split) to pairs."""

    pairs: int
    per_split: dict[str, int]
    patterns: int
    lemmas: int  # distinct English lemmas with word class that occur in train
    rarest: tuple[tuple[str, str, int], ...]  # the ten rarest lemmas in train
    biggest_pattern: str
    biggest_share: float
    min_words: int
    max_words: int
    mean_words: float
    slices: dict[tuple[str, str], int]


@dataclass(frozen=True)
class Word:
    """A word of a sentence, and what the grammar knows of it.

    `slot` is what the word stands for in its pattern: S is the noun of slot S, S.determiner and
    S.adjective what goes with it, S.pronoun what refers to it, V the verb of slot V and V.rest
    what hangs on it. The same slot is the same in the other language; fixed text has none.
    """

    text: str
    kind: str  # its class: noun, verb …; "" of a target sentence's
    agrees: str = ""  # in what: I, singular, other (of a subject); number; sound; person
    slot: str = ""
    agrees_with: tuple[str, ...] = ()  # the slots that its form follows from


@dataclass(frozen=True)
class AlignedPair:
    """The words of both sentences, and which are translations of each other, by their places."""

    source: tuple[Word, ...]
    target: tuple[Word, ...]
    links: tuple[tuple[int, int], ...]


@cache
def _rows(language: str, what: str) -> list[Any]:
    """The lines of a file, each from JSON."""
    if language not in LANGUAGES:
        problem = f"no language {language!r}"
        raise PhrasebookError("phrasebook", problem, advice=f"there is {', '.join(LANGUAGES)}")
    name = f"{language}.{what}.jsonl.gz"
    check(FOLDER, [name])
    lines = gzip.decompress((FOLDER / name).read_bytes()).rstrip(b"\n")
    rows: list[Any] = json.loads(b"[" + lines.replace(b"\n", b",") + b"]")
    return rows


@cache
def phrasebook(language: str = "de") -> tuple[Entry, ...]:
    """All pairs of all splits."""
    entries = []
    for row in _rows(language, "pairs")[1:]:
        values: list[Any] = [tuple(cell) if isinstance(cell, list) else cell for cell in row]
        entries.append(Entry(*values))
    return tuple(entries)


@cache
def aligned_pairs(language: str = "de") -> tuple[AlignedPair, ...]:
    """The words of each pair, in the order of the pairs."""
    pairs = []
    for entry, row in zip(phrasebook(language), _rows(language, "words"), strict=True):
        source, target, links = (cell.split() for cell in row)
        places = (link.partition("-") for link in links)
        pairs.append(
            AlignedPair(
                tuple(map(_word, split_words(entry.source), source)),
                tuple(map(_word, split_words(entry.target), target)),
                tuple((int(one), int(other)) for one, _, other in places),
            )
        )
    return tuple(pairs)


def trees_of_sentences(language: str = "de") -> list[Tree]:
    """The tree of the English sentence of each pair, in the order of the pairs."""
    rows = zip(phrasebook(language), _rows(language, "trees"), strict=True)
    return [rebuilt(signs.split(), split_words(entry.source)) for entry, signs in rows]


@cache
def _word(text: str, cell: str) -> Word:
    """A word as the file has it: verb|singular|V|S; there are few that differ."""
    kind, agrees, slot, agrees_with = cell.split("|")
    return Word(text, kind, agrees, slot, tuple(agrees_with.split(",")) if agrees_with else ())


@cache
def words_of_sentences(language: str = "de") -> dict[str, list[Word]]:
    """Each English sentence with its words, their classes and what they agree with."""
    pairs = zip(phrasebook(language), aligned_pairs(language), strict=True)
    return {entry.source: list(pair.source) for entry, pair in pairs}


def forms_of(word: Word, language: str = "de") -> tuple[set[str], set[str]]:
    """Of a word that agrees, in small letters: the forms that agree too, and all that there are.

    For a finite verb these are the forms of all verbs; for other words those of its own kind.
    """
    lower = word.text.lower()
    head = _rows(language, "pairs")[0]
    by_subject: dict[str, list[str]] = head["verb_forms"]
    if word.agrees in by_subject:
        return set(by_subject[word.agrees]), set().union(*by_subject.values())
    return {lower}, next(set(group) for group in head["other_forms"] if lower in group)


def sample(language: str = "de", per_pattern: int = 10) -> dict[str, list[Entry]]:
    """A few pairs of every pattern, for reading."""
    grouped: dict[str, list[Entry]] = {}
    for entry in phrasebook(language):
        grouped.setdefault(entry.pattern, []).append(entry)
    rng = random.Random(1)
    return {
        name: rng.sample(entries, min(per_pattern, len(entries)))
        for name, entries in grouped.items()
    }


def statistics(language: str = "de") -> Statistics:
    """Sizes of everything the corpus promises, measured on the corpus itself."""
    entries = phrasebook(language)
    patterns = Counter(entry.pattern for entry in entries)
    lemmas = _rows(language, "pairs")[0]["lemmas"]  # of train, the most frequent first
    lengths = [len(text.split()) for e in entries for text in (e.source, e.target)]
    biggest, size = patterns.most_common(1)[0]
    return Statistics(
        pairs=len(entries),
        per_split=dict(Counter(entry.split for entry in entries)),
        patterns=len(patterns),
        lemmas=len(lemmas),
        rarest=tuple((word, kind, count) for word, kind, count in lemmas[:-11:-1]),
        biggest_pattern=biggest,
        biggest_share=size / len(entries),
        min_words=min(lengths),
        max_words=max(lengths),
        mean_words=sum(lengths) / len(lengths),
        slices={
            (name, part): sum(name in e.slices and e.split == part for e in entries)
            for name in (*SLICES, NOTES)
            for part in SPLITS
        },
    )


def decided_right(entry: Entry, output: str) -> bool:
    """Whether an output made the decision that an `it`, `bank` or `apple` sentence asks for.

    `bank`, `apple`: the answer occurs as a word and no rival does; there is one such word only.
    `it`: a pronoun may occur elsewhere too, so its *place* counts.  The place is found through
    the anchor, the reference's token right before the deciding pronoun (", weil" + er; if that
    token is itself a pronoun, as in "weil sie ihn", the two tokens before).  Right means: behind
    some anchor in the output stands the answer, and behind no anchor a rival.
    """
    words = [token.lower() for token in _TOKEN.findall(output)]
    answer = entry.answer.lower()
    rivals = {rival.lower() for rival in entry.rivals}
    if not answer:
        raise PhrasebookError("decided_right", f"{entry.source!r} has no deciding word")
    if "it" not in entry.slices:
        return answer in words and not rivals.intersection(words)
    anchor = _anchor([token.lower() for token in _TOKEN.findall(entry.target)], answer)
    size = len(anchor)
    followers = {
        words[place + size]
        for place in range(len(words) - size)
        if words[place : place + size] == anchor
    }
    return answer in followers and not rivals.intersection(followers)


def _anchor(reference: list[str], answer: str) -> list[str]:
    """The token (or two) before the last occurrence of the answer in the reference."""
    place = len(reference) - 1 - reference[::-1].index(answer)
    size = 2 if reference[place - 1] in ("er", "sie", "es", "ich", "wir", "du") else 1
    return reference[max(0, place - size) : place]
