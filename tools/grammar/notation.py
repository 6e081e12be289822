"""The pattern notation: text in, `Pattern` out.  A teacher can extend the pattern files.

A pattern file holds blocks separated by blank lines; `#` starts a comment line.  One block:

    modal-want 120 [everyday]          name, pairs to aim at, slices (both optional)
      S: pro | name | the role         slot S: a pronoun, or a name, or "the" + a noun of class role
      V: verb activity                 slot V: a verb (phrase) of class activity
      T: word future                   slot T: an adverbial of class future
      en: {S} {want:S} to {V:S} {T}.   English: holes in braces, the rest is literal
      de: {S} {wollen:S} [inf V:S | {T}].
      hi: {S} {T} {V.inf} {चाहना:S}।

A pattern exists in each language for which it has a line.

**Slots** (several on a line are separated by `;`).  A noun slot is `determiners class`, e.g.
`the/a/my+adj clothing.pl`: determiners apart by `/` (`S's` = the possessive of slot S; `+adj` adds
an adjective that suits the noun, `+comp` and `+sup` a graded one), classes apart by `,`;
`V.object` = the classes that verb V takes as its object.  Suffixes `.pl` (plural), `.m .f .n`
(target gender).  Other slots: `verb C`,
`adj C` or `adj O` (suits the noun in slot O), `word C` (a fixed phrase in both languages), `name`,
`pro` (all pronouns), `pro3`, or single pronouns `I`, `we`.  Alternatives are separated by `|`.

**Holes** are `{NAME.form:AGREE}`; NAME is a slot or a verb's lemma in that language, AGREE the
slot of the subject (or several slots: `S,O`).  English forms: nouns — nominative, `obj`, `poss`,
`self`, `pron`, `pron-obj`;
verbs — agreeing present with `:S`, else base form; `base`, `past`, `pp`, `ing`; adjectives — base,
`comp`, `sup`.  The forms of the target language are listed with its grammar; an upper-case
form such as `{O.V}` means "in the case that verb V governs".

**Brackets** (target side) place a verb and everything that hangs on it: `[main V:S x | y]`,
`[sub V:S x | y]`, `[inf …]`, `[zu …]`, `[pp …]`; the target language says what they expand to.

**Readings**, for sentences in which one word decides: lines `@answer slot; slot` give, for each
reading, the slots that differ; `@Bank|बैंक` names the answer in each target language, in the
order of `TARGETS`.  If the answer is the name of a slot, the deciding word is the
pronoun for it, and the slots so named always differ in gender.  All readings share the other
slots: their English sentence with the differing slots blanked is the *frame*.
Patterns named alike up to `--` (`it-cross`, `it-cross--present`) share their combinations: what
is tested in one is not trained in another.
`swap: A B` makes each pair also with A and B exchanged; `include: dog cat` makes sure that
these words meet.  A line starting with `+` continues.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regard.data.phrasebook.corpus import SLICES, PhrasebookError

TARGETS = ("de", "hi")
DEFAULT_COUNT = 49
_HEADER = re.compile(r"([a-z0-9][a-z0-9-]*)(?:\s+(\d+))?(?:\s+\[([a-z ]+)\])?$")
_HOLE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Hole:
    """A place in a template: which slot (or verb lemma), in which form, agreeing with what."""

    name: str
    form: str = ""
    agree: str = ""


Piece = str | Hole


@dataclass(frozen=True)
class Slot:
    """A named slot and the alternatives that may fill it."""

    name: str
    alternatives: tuple[str, ...]


@dataclass(frozen=True)
class PatternReading:
    """One of the readings of a frame: the deciding word (or slot) and the slots that differ."""

    answer: str
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class Pattern:
    """A clause pattern: slots and the two templates."""

    name: str
    count: int
    slices: tuple[str, ...]
    slots: tuple[Slot, ...]
    readings: tuple[PatternReading, ...]
    swap: tuple[str, ...]
    source: tuple[Piece, ...]
    target: tuple[Piece, ...]
    include: tuple[tuple[str, ...], ...] = ()  # words that must meet in one sentence
    always_train: bool = False  # set phrases: header tag `train`

    @property
    def family(self) -> str:
        """`it-cross` of `it-cross--present`: patterns that say the same of the same fillers."""
        return self.name.partition("--")[0]

    @property
    def deciding_slots(self) -> tuple[str, ...]:
        """The shared slots that readings point at: antecedents, which must differ in gender."""
        shared = {slot.name for slot in self.slots}
        return tuple(reading.answer for reading in self.readings if reading.answer in shared)


def read_patterns(path: Path, language: str, expand: Callable[[str], str]) -> list[Pattern]:
    """A language's patterns of a file; `expand` rewrites its brackets into holes."""
    patterns: list[Pattern] = []
    block: list[tuple[int, str]] = []
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate([*lines, ""], start=1):
        if line.lstrip().startswith("#"):
            continue
        if line.strip():
            block.append((number, line.strip()))
        elif block:
            pattern = _read_block(path.name, block, language, expand)
            patterns.extend([pattern] if pattern else [])
            block = []
    return patterns


def _read_block(
    name: str, block: list[tuple[int, str]], language: str, expand: Callable[[str], str]
) -> Pattern | None:
    first, header = block[0]
    match = _HEADER.match(header)
    if not match:
        raise PhrasebookError(f"{name}, line {first}: not a header 'name count [slices]': {header}")
    tags = (match[3] or "").split()
    slices = tuple(tag for tag in tags if tag != "train")
    for tag in slices:
        if tag not in SLICES:
            raise PhrasebookError(f"{name}, line {first}: slice {tag!r} is none of {SLICES}")
    slots: list[Slot] = []
    readings: list[PatternReading] = []
    swap: tuple[str, ...] = ()
    include: list[tuple[str, ...]] = []
    text = {"en": "", **dict.fromkeys(TARGETS, "")}
    last = ""
    for number, line in block[1:]:
        where = f"{name}, line {number}"
        head, _, rest = line.partition(":")
        if line.startswith("+") and last:
            text[last] += " " + line[1:].strip()
        elif head in text:
            text[head], last = rest.strip(), head
        elif head == "include":
            include.append(tuple(rest.split()))
        elif head == "swap":
            swap = tuple(rest.split())
        elif line.startswith("@"):
            answer, _, rest = line[1:].partition(" ")
            answers = answer.split("|")
            place = TARGETS.index(language) if len(answers) > 1 else 0
            if place < len(answers):
                readings.append(PatternReading(answers[place], _read_slots(where, rest)))
        else:
            slots.extend(_read_slots(where, line))
    if not text["en"] or not any(text[target] for target in TARGETS):
        raise PhrasebookError(
            f"{name}, line {first}: pattern {match[1]} lacks its en: line or all of "
            + ", ".join(f"{target}:" for target in TARGETS)
        )
    if not text[language]:
        return None
    return Pattern(
        name=match[1],
        count=int(match[2] or DEFAULT_COUNT),
        slices=slices,
        slots=tuple(slots),
        readings=tuple(readings),
        swap=swap,
        source=read_template(text["en"]),
        target=read_template(expand(text[language])),
        include=tuple(include),
        always_train="train" in tags,
    )


def _read_slots(where: str, text: str) -> tuple[Slot, ...]:
    slots = []
    for part in text.split(";"):
        name, colon, spec = part.strip().partition(":")
        if not colon or not name.isalnum() or not spec.strip():
            raise PhrasebookError(f"{where}: expected 'NAME: what fills it', got {part.strip()!r}")
        alternatives = tuple(" ".join(alternative.split()) for alternative in spec.split("|"))
        slots.append(Slot(name, alternatives))
    return tuple(slots)


def read_template(text: str) -> tuple[Piece, ...]:
    """Cut a template into literal text and holes."""
    pieces: list[Piece] = []
    for index, part in enumerate(_HOLE.split(text)):
        if index % 2 == 0:
            pieces.append(part)
        else:
            body, _, agree = part.partition(":")
            name, _, form = body.partition(".")
            pieces.append(Hole(name, form, agree))
    return tuple(piece for piece in pieces if piece != "")
