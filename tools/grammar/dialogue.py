"""Short conversations made by the grammar's lexicon: kinds of questions in, dialogues out.

What is held out: a fifth of all words and names that fill slots (a tenth for dev), and a wording of
what is asked in each kind, which is its `test` (dev has every tenth of the others). So a test
dialogue asks about words that training never saw, in a way that training never asked. Two in three
begin with something else.

Most slots of a training dialogue hold a coined word: real ones are so few that a model learns them
by heart instead of learning to repeat what it hears.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path

from grammar.coined import coined
from grammar.english import finish, plural
from grammar.tables import Lexeme, Lexicon, read_lexicon
from regard.data.phrasebook.corpus import SPLITS, PhrasebookError

FOLDER = Path(__file__).parent
SEED = 1
FRAMES = (
    "Can you tell me {}?",
    "Please tell me {}.",
    "Do you know {}?",
    "I would like to know {}.",
    "Tell me {}.",
    "Could you tell me {}?",
    "I want to know {}.",
    "Please say {}.",
)
# of the words of a class: a share, and at least so many
HELD_OUT = (("test", 0.2, 2), ("dev", 0.08, 1))
# syllables of made names, which nobody can know by heart
FIRST = "Ba Be Da Do Fe Fi Ga Go Ha Jo Ka Ko La Li Ma Mo Ne Ni Pa Pe Ro Sa Su Ta Ti Vi Zo"
LAST = "bel dan dor fia gor hil jan kos lan lin mir nek nos pia ria sen tor vas wen zar"
# of each kind: dialogues with slots, those that need an earlier turn, those without slots
COUNTS = {"train": (300, 480, 240), "dev": (8, 8, 6), "test": (12, 12, 12)}
TENTH = 10  # of the wordings, those for dev: of many, so that it says how new ones fare
MOST_BEFORE = 2  # exchanges that have nothing to do with the question
TRIES = 20  # to make a dialogue that is not there yet
OTHER_KINDS = ("buy ", "visit ")  # of a longer filler: kinds of their own answer differently
COINED = 0.7  # how often a slot of a training dialogue gets a word that nobody knows

Turns = list[tuple[str, str]]  # what the user says, what is answered


@dataclass
class Kind:
    """One kind of question."""

    name: str
    slots: dict[str, str] = field(default_factory=dict)  # letter → what fills it
    wordings: dict[str, list[str]] = field(default_factory=dict)  # tell, ask, test, …

    def tells_same(self, other: Kind) -> bool:
        """Whether both may begin with the same, so that a later question could mean either."""
        first, second = (
            kind.wordings.get("reply", kind.wordings["answer"]) for kind in (self, other)
        )
        return first == second

    def asks(self, split: str) -> list[str]:
        """What may be asked, in this split."""
        if split == "test":
            return self.wordings["test"]
        clauses = [text for text in self.wordings["ask"] if text[-1] not in ".?!"]
        whole = [text for text in self.wordings["ask"] if text not in clauses]
        if split == "dev":
            return whole[TENTH::TENTH]
        framed = [frame.format(clause) for frame in FRAMES for clause in clauses]
        return [text for n, text in enumerate(whole) if n % TENTH or n == 0] + framed


@cache
def kinds() -> tuple[Kind, ...]:
    """Those of dialogues.txt, in their order."""
    read: list[Kind] = []
    lines = (FOLDER / "dialogues.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            read.append(Kind(line.strip()))
            continue
        key, colon, rest = line.strip().partition(":")
        if not colon or not read:
            raise PhrasebookError(f"dialogues.txt, line {number}: expected `key: …` below a kind")
        if key in ("tell", "reply", "ask", "test", "answer"):
            read[-1].wordings.setdefault(key, []).extend(t.strip() for t in rest.split("|"))
        else:
            slots = (slot.partition(":") for slot in line.strip().split(";"))
            read[-1].slots = {name.strip(): spec.strip() for name, _, spec in slots}
    return tuple(read)


@cache
def split_of_words() -> dict[str, str]:
    """Word → where it may be used, in whatever slot; small classes choose first.

    A word is taken by its hash, so that a new one moves few of the others.
    """
    splits: dict[str, str] = {}
    specs = {spec: _members(spec) for kind in kinds() for spec in kind.slots.values()}
    for members in sorted(specs.values(), key=len):
        words = sorted(members, key=lambda word: hashlib.sha256(word.encode()).hexdigest())
        for split, share, least in HELD_OUT:
            wanted = max(least, round(share * len(words)))
            wanted -= sum(splits.get(word) == split for word in words)
            free = [word for word in words if word not in splits]
            splits |= dict.fromkeys(free[: max(0, wanted)], split)
        splits |= dict.fromkeys((word for word in words if word not in splits), "train")
    return splits


@cache
def _members(spec: str) -> dict[str, Lexeme]:
    """What can fill a slot, by its word: "noun food,fruit", "name | made", "say"."""
    lexicon = _lexicon()
    members: list[Lexeme] = []
    for one in spec.split("|"):
        kind, _, classes = one.strip().partition(" ")
        if kind == "made":
            names = ("".join(pair) for pair in product(FIRST.split(), LAST.split()))
            members += [Lexeme("name", name, name, frozenset(), {}) for name in names]
        elif kind == "say":
            members += [row for row in lexicon.lexemes if row.en.isalpha() and row.kind != "word"]
        elif classes:
            members += lexicon.members(kind, classes)
        else:
            members += [row for row in lexicon.lexemes if row.kind == kind]
    words = {row.en: row for row in members if "one's" not in row.en}
    return {word: row for word, row in words.items() if not word.startswith(OTHER_KINDS)}


@cache
def fillers(spec: str, split: str) -> tuple[Lexeme, ...]:
    """What can fill a slot in this split."""
    splits = split_of_words()
    return tuple(row for word, row in _members(spec).items() if splits[word] == split)


@cache
def _real_words() -> frozenset[str]:
    """Those of all fillers, in lower case, one by one."""
    rows = (
        row for kind in kinds() for spec in kind.slots.values() for row in _members(spec).values()
    )
    texts = (text for row in rows for text in (row.en, plural(row)))
    return frozenset(word for text in texts for word in text.lower().split())


@cache
def _lexicon() -> Lexicon:
    """All rows of the tables; German and Hindi have most of them in common."""
    rows: dict[tuple[str, str], Lexeme] = {}
    for language in ("de", "hi"):
        for table in read_lexicon(FOLDER / "lexicon", language).values():
            for row in table:
                rows.setdefault((row.kind, row.en), row)
    return Lexicon(list(rows.values()))


def _said(text: str, chosen: dict[str, Lexeme]) -> str:
    def form(match: re.Match[str]) -> str:
        row = chosen[match[1]]
        is_plural = match[2] == ".pl" or (match[2] == ".some" and not row.flag("mass"))
        return plural(row) if is_plural else row.en

    return finish(re.sub(r"\{(\w)(\.\w+)?\}", form, text))


def _exchanges(kind: Kind, split: str, chance: random.Random) -> Turns:
    """The turns of one question: what is told before, if anything, and the question itself."""
    chosen: dict[str, Lexeme] = {}
    for letter, spec in kind.slots.items():
        taken = {row.en for row in chosen.values()}
        row = chance.choice([r for r in fillers(spec, split) if r.en not in taken])
        if split == "train" and chance.random() < COINED:
            row = coined(row, _real_words(), chance, one_word=spec == "say")
        chosen[letter] = row
    words, turns = kind.wordings, []
    if "tell" in words:
        turns = [(_said(chance.choice(words["tell"]), chosen), _said(words["reply"][0], chosen))]
    question = chance.choice(kind.asks(split))
    return [*turns, (_said(question, chosen), _said(words["answer"][0], chosen))]


def _dialogue(number: int, split: str, chance: random.Random) -> Turns:
    """Of one kind: other exchanges may stand before it, and before its question."""
    every = kinds()
    turns = _exchanges(every[number], split, chance)
    others = [n for n, kind in enumerate(every) if not kind.tells_same(every[number])]
    before: Turns = []
    for _ in range(chance.randint(0, MOST_BEFORE)):
        other = chance.choice(others)
        before.append(_exchanges(every[other], split, chance)[0])
    cut = chance.randint(0, len(before)) if len(turns) > 1 else len(before)
    return [*before[:cut], *turns[:-1], *before[cut:], turns[-1]]


def dialogues(split: str) -> Iterator[tuple[str, Turns]]:
    """All of a split, each once, in an order of chance: the kind of the last question, turns."""
    assert split in SPLITS
    chance, seen = random.Random(f"{SEED} {split}"), dict[str, tuple[str, Turns]]()
    for number, kind in enumerate(kinds()):
        simple, remembered, fixed = COUNTS[split]
        count = remembered if "tell" in kind.wordings else simple if kind.slots else fixed
        for _ in range(count):
            for _ in range(TRIES):
                turns = _dialogue(number, split, chance)
                if str(turns) not in seen:
                    seen[str(turns)] = (kind.name, turns)
                    break
    rows = list(seen.values())
    chance.shuffle(rows)
    yield from rows
