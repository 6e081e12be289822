"""The tree of each English sentence: its words with their classes and slots in, brackets out.

The grammar of syntax.txt says which constituents there are and what each costs; the cheapest tree
is taken (regard/data/cky.py). What stands in a slot of the pattern (T: a time, P: a place, V: a
verb and what hangs on it …) is never torn apart: no bracket holds a part of it and something else.
So it is the pattern that decides what hangs on what:

    The animal  didn't cross the street  because it was too tired .
    (S (NP (DT The) (NN animal)) (VP (AUX didn't) (VP (VB cross) (NP (DT the) (NN street)) (SBAR
        (IN because) (S (NP (PRP it)) (VP (AUX was) (ADJP (RB too) (JJ tired))))))) (. .))

Tags are those of the word classes, spelled as the Penn Treebank does where it has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np

from regard.data.cky import Nested, WeightedGrammar, WeightedRule
from regard.data.phrasebook.corpus import PhrasebookError, Word
from regard.data.trees import Leaf, Tree

FILE = Path(__file__).parent / "syntax.txt"
START, JOINED = "TOP", "@"
TAGS = {
    "determiner": "DT", "noun": "NN", "name": "NNP", "pronoun": "PRP", "verb": "VB",
    "auxiliary": "AUX", "adjective": "JJ", "adverb": "RB", "number": "CD", "preposition": "IN",
    "conjunction": "IN", "particle": "RP", "interjection": "UH",
}  # fmt: skip
# What the grammar tells apart though the classes do not: word → (its name there, its tag).
WORDS = {
    "preposition": {"of": ("OF", "IN"), "as": ("AS", "IN"), "past": ("PAST", "IN")},
    "auxiliary": {"being": ("BEING", "VBG")},
    "conjunction": {
        **dict.fromkeys(("and", "or", "but", "nor"), ("CC", "CC")),
        "than": ("THAN", "IN"),
        "neither": ("NEITHER", "CC"),
    },
    "particle": {"to": ("TO", "TO"), "not": ("NOT", "RB")},
    "adverb": {
        "ago": ("AGO", "RB"),
        "enough": ("ENOUGH", "RB"),
        "most": ("RBS", "RBS"),
        "o'clock": ("O'CLOCK", "RB"),
        **dict.fromkeys(("when", "where", "why", "how"), ("WRB", "WRB")),
    },
    "pronoun": dict.fromkeys(("who", "whom", "what"), ("WP", "WP")),
    "determiner": dict.fromkeys(("which", "whose"), ("WDT", "WDT")),
}
MARKS = {",": ",", ";": ":", ":": ":", ".": ".", "!": ".", "?": "?"}
GERUND = "ing"
BARE = ("ring", "king", "bring", "sing")  # … of which these are none
MOST, NOT_MOST = ("est", "best", "worst"), ("honest",)
TITLES = ("mr", "mrs", "dr")


def tree_of(words: Sequence[Word]) -> Tree:
    """The cheapest tree over these words."""
    texts = tuple(word.text for word in words)
    kinds = tuple(_kind(words, place) for place in range(len(words)))
    chunks = tuple(_chunks(words))
    nested = _nested(tuple(name for name, _ in kinds), chunks)
    if nested is None:
        listed = " ".join(f"{text}/{name}" for text, (name, _) in zip(texts, kinds, strict=True))
        raise PhrasebookError(f"syntax.txt has no tree for {listed}")
    leaves = [Leaf(tag, text) for text, (_, tag) in zip(texts, kinds, strict=True)]
    (tree,) = _parts(nested, leaves)
    assert isinstance(tree, Tree)
    only = tree.children[0]
    return only if len(tree.children) == 1 and isinstance(only, Tree) else tree


def _kind(words: Sequence[Word], place: int) -> tuple[str, str]:
    """What the grammar calls a word, and its tag."""
    text, kind = words[place].text.lower(), words[place].kind
    if kind == "punctuation":
        if text == "." and place and words[place - 1].text.lower() in TITLES:
            return "ABBREV", "."
        if text not in MARKS:
            raise PhrasebookError(f"syntax.py knows no mark {text!r}")
        return MARKS[text], MARKS[text].replace("?", ".")
    if (own := WORDS.get(kind, {}).get(text)) is not None:
        return own
    if kind == "pronoun" and text == "that" and place and words[place - 1].kind == "noun":
        return "THAT", "WDT"
    if kind == "conjunction":
        return "SUB", "IN"
    if kind == "auxiliary" and place and words[place].text == "May":
        return "NNP", "NNP"
    if kind == "adjective" and text.endswith(MOST) and text not in NOT_MOST:
        return "JJS", "JJS"
    if kind in ("verb", "auxiliary") and text.endswith(GERUND) and text not in BARE:
        return "VBG", "VBG"
    return TAGS[kind], TAGS[kind]


def _chunks(words: Sequence[Word]) -> list[tuple[int, int]]:
    """Words in a row that stand in the same slot: from where to where.

    A preposition at the end ("is looking for" a verb of two words) belongs to what follows.
    """
    found, begin = [], 0
    for slot, group in groupby(words, key=lambda word: word.slot.partition(".")[0]):
        chunk = list(group)
        end = begin + len(chunk)
        while chunk and chunk[-1].kind in ("preposition", "conjunction"):
            chunk.pop()
        if slot and len(chunk) > 1:
            found.append((begin, begin + len(chunk)))
        begin = end
    return found


@cache
def _nested(names: tuple[str, ...], chunks: tuple[tuple[int, int], ...]) -> Nested | None:
    """Many sentences are alike."""
    grammar = _grammar()
    n = len(names)
    blocked = np.zeros((n + 1, n + 1), dtype=bool)
    for begin, end in chunks:  # spans that cross this one
        blocked[:begin, begin + 1 : end] = True
        blocked[begin + 1 : end, end + 1 :] = True
    table = grammar.words([{name: 0.0} for name in names])
    found = grammar.parse(table, blocked)
    return None if found is None else found[0]


def _parts(nested: Nested, leaves: Sequence[Leaf]) -> list[Tree | Leaf]:
    """Brackets for symbols that are some; the parts of the others."""
    assert not isinstance(nested, int)
    name, inner = nested
    if isinstance(inner[0], int):
        return [leaves[inner[0]]]
    parts = [part for each in inner for part in _parts(each, leaves)]
    if name.endswith("'") or name.startswith(JOINED):
        return parts
    label = name.partition(":")[0]
    if len(parts) == 1 and isinstance(parts[0], Tree) and parts[0].label == label:
        return parts  # a kind of the same
    return [Tree(label, tuple(parts))]


@cache
def _grammar() -> WeightedGrammar:
    """The rules of the file; one of three parts or more is several of two."""
    rules = []
    for number, line in enumerate(FILE.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        cost, left, sign, *right = line.split()
        if sign != "=" or not right:
            raise PhrasebookError(f"{FILE.name}, line {number}: expected COST LEFT = RIGHT …")
        while len(right) > 2:
            joined = f"{JOINED}{' '.join(right[:2])}"
            rules.append(WeightedRule(joined, (right[0], right[1]), 0.0))
            right = [joined, *right[2:]]
        rules.append(WeightedRule(left, tuple(right), -float(cost)))
    return WeightedGrammar(list(dict.fromkeys(rules)), START)
