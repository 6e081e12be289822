"""A folder of text files → passages that know their lines. In: files. Out: passages, and a count.

Paragraphs (lines between blank ones) are passages. Short ones, such as a heading or a formula, go
with what follows until there is enough to understand, but not over a heading. A paragraph over the
token budget is cut between lines, a line over it between sentences, a sentence over it between
words, a word over it anywhere: nothing is left out.

Only "\\n" ends a line, as everywhere in regard. A line that is not UTF-8, or holds NUL, is counted
and left out. Hidden files and folders and links are not looked at; files of other kinds are counted
by their suffix.
"""

import codecs
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.errors import DataError, MisuseError
from regard.text.sentences import split_sentences
from regard.untrusted import opened

SUFFIXES = (".txt", ".text", ".md", ".markdown", ".rst", ".adoc", ".org", ".tex")
MAX_FILE = 1 << 28  # bytes; a longer file is counted as too long, since it is read as a whole
MAX_PIECE = 20_000  # characters that a tokenizer is asked about at once
SHORT = 3 / 8  # of the budget: with fewer tokens a paragraph goes with what follows
HEADINGS = ("#", "= ", "==")  # how a heading begins in Markdown, in AsciiDoc and in wiki text


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a file and the lines, from 1, that it begins and ends in."""

    text: str
    first: int
    last: int


@dataclass(frozen=True)
class Cut:
    """The passages of a file, how many lines it has, and which of them are no text."""

    passages: list[Passage]
    lines: int
    bad_lines: list[int]


@dataclass
class PassageSurvey:
    """The files of a folder by name, and what else lies there."""

    files: dict[str, Path] = field(default_factory=dict)  # name below the folder → path, in order
    other: Counter[str] = field(default_factory=Counter)  # suffix → files of other kinds
    too_long: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)  # file or folder → why


@dataclass(frozen=True, slots=True)
class _Atom:
    """What is not cut any further: a piece of one line."""

    text: str
    line: int
    tokens: int


def survey(
    folder: Path, suffixes: Sequence[str] = SUFFIXES, without: Path | None = None
) -> PassageSurvey:
    """The text files below a folder, in the order of their names; `without`: a folder to pass by.

    An error is raised where there is no such folder, not where it holds no text.
    """
    if folder.is_file():
        raise MisuseError(folder, "is a file", expected="a folder of text files")
    if not folder.is_dir():
        raise MisuseError(folder, "no such folder", expected="a folder of text files")
    listing = PassageSurvey()
    passed_by = without.resolve() if without else None

    def skip(error: OSError) -> None:
        """Gone or locked meanwhile: one of many is passed by, the folder itself is needed."""
        path = Path(str(error.filename))
        if path == folder:
            raise DataError(folder, f"cannot be read: {error.strerror}") from None
        listing.unread[path.relative_to(folder).as_posix()] = error.strerror or str(error)

    for root, folders, names in os.walk(folder, onerror=skip):
        here = Path(root)
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and (here / name).resolve() != passed_by
        ]
        for name in names:
            path = here / name
            if name.startswith(".") or path.is_symlink() or not path.is_file():
                continue
            name = path.relative_to(folder).as_posix()
            if path.suffix.lower() not in suffixes:
                listing.other[path.suffix.lower() or "no suffix"] += 1
                continue
            try:
                is_long = path.stat().st_size > MAX_FILE
            except OSError as error:
                skip(error)
                continue
            if is_long:
                listing.too_long.append(name)
            else:
                listing.files[name] = path
    listing.files = dict(sorted(listing.files.items()))
    return listing


def content(path: Path) -> bytes:
    """The bytes of a file that was there a moment ago; an OSError if it is none any more."""
    with opened(path, follow=False) as file:
        return file.read()


def cut(data: bytes, count: Callable[[str], int], budget: int) -> Cut:
    """The passages of a file's bytes, each of at most `budget` tokens as `count` counts them."""
    bad: list[int] = []
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    passages: list[Passage] = []
    held: list[_Atom] = []
    for paragraph in _paragraphs(lines, bad):
        is_new = _is_heading(paragraph[0][1]) and not all(_is_heading(a.text) for a in held)
        if is_new or sum(atom.tokens for atom in held) >= SHORT * budget:
            passages.append(_joined(held))
            held = []
        for number, line in paragraph:
            for atom in _atoms(line, number, count, budget):
                if held and sum(each.tokens for each in held) + atom.tokens > budget:
                    passages.append(_joined(held))
                    held = []
                held.append(atom)
    if held:
        passages.append(_joined(held))
    return Cut(passages, len(lines), bad)


def _is_heading(line: str) -> bool:
    return line.lstrip().startswith(HEADINGS)


def _paragraphs(lines: Sequence[bytes], bad: list[int]) -> Iterator[list[tuple[int, str]]]:
    """Lines that stand together, with their numbers; those that are no text are noted in `bad`."""
    together: list[tuple[int, str]] = []
    for number, raw in enumerate(lines, start=1):
        try:
            line = raw.decode("utf-8").rstrip()
        except UnicodeDecodeError:
            line = "\0"
        if "\0" in line:
            bad.append(number)
        elif line.strip():
            together.append((number, line))
        elif together:
            yield together
            together = []
    if together:
        yield together


def _atoms(line: str, number: int, count: Callable[[str], int], budget: int) -> Iterator[_Atom]:
    """A line as a whole where it fits, else its sentences, else halves of them."""
    fits = len(line) <= MAX_PIECE and count(line) <= budget
    for text in [line] if fits else split_sentences(line)[1::2]:
        for piece in halves(text, count, budget):
            yield _Atom(piece, number, count(piece))


def halves(text: str, count: Callable[[str], int], budget: int) -> Iterator[str]:
    """The text, or its halves, or theirs: between words as long as there are several."""
    if len(text) == 1 or (len(text) <= MAX_PIECE and count(text) <= budget):
        yield text
        return
    words = text.split()
    middle = (len(words) if len(words) > 1 else len(text)) // 2
    parts = (
        (" ".join(words[:middle]), " ".join(words[middle:]))
        if len(words) > 1
        else (text[:middle], text[middle:])
    )
    for part in parts:
        yield from halves(part, count, budget)


def _joined(atoms: Sequence[_Atom]) -> Passage:
    """Atoms of one line with a space between them, lines under each other, paragraphs apart."""
    text = atoms[0].text
    for before, after in zip(atoms, atoms[1:], strict=False):
        apart = after.line - before.line
        text += (" ", "\n", "\n\n")[min(apart, 2)] + after.text
    return Passage(text.strip(), atoms[0].line, atoms[-1].line)
