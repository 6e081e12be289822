"""Pictures with labels. In: a folder, a table, arrays. Out: pictures, and an exact report.

    shapes/circle/1.png …        a folder for each class, with files in it, or in folders in it
    pictures.csv                 .tsv, .jsonl: a file a row (beside the table) and its label
    pixels.csv                   a number for each pixel, and a label
    train-images-idx3-ubyte.gz   IDX, with its labels beside it; .npz (picture_arrays.py)

A file that cannot be read is left out, counted and named; if that is more than half of them, it is
an error. A table or an array that contradicts itself is one at once.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from regard.data.labelled import in_order
from regard.data.lines import Problem, find_file
from regard.data.picture import (
    SUFFIXES,
    WHITE,
    Colours,
    colours_of_numbers,
    read_picture,
)
from regard.data.picture_arrays import is_idx, read_idx, read_npz
from regard.data.role import Role
from regard.data.table import READ, Table, is_table
from regard.errors import DataError, MisuseError
from regard.printable import counted

SHOWN = 5  # files or classes that a sentence lists
LONGEST_ROW = 1 << 20  # characters of a table's row
PIXEL_COLUMNS = 17  # a table with more columns holds pixels: 4 × 4 and a label are the least
NUMBERS = "buif"


@dataclass(frozen=True, eq=False)
class LabelledPicture:
    """Its colours, its label, and the name by which a person finds it."""

    colours: Colours
    label: str
    name: str


@dataclass(frozen=True)
class PicturePlace:
    """Where pictures are, and how they are to be understood."""

    path: Path
    channels: int
    image: str = ""  # column of a table, or name of an array
    label: str = ""
    white: float = WHITE  # of pixels that are numbers
    names: tuple[str, ...] = ()  # of labels that are numbers, from 0
    said: Literal["label", "caption"] = "label"  # of a table: what else a row holds

    @property
    def is_files(self) -> bool:
        """Whether each picture is a file of its own, that a person can open."""
        return self.path.is_dir()


@dataclass
class PictureReport:
    """What was read, and what was left out and why."""

    kept: Counter[str] = field(default_factory=Counter)  # pictures of each label
    left_out: list[tuple[str, str]] = field(default_factory=list)  # name and reason
    others: int = 0  # files that are no pictures, by their names
    place: str = ""

    @property
    def total(self) -> int:
        return self.kept.total() + len(self.left_out)

    def lines(self, labels: tuple[str, ...]) -> list[str]:
        """For a person."""
        shown = ", ".join(f"{name} {self.kept[name]:,}" for name in labels[: 2 * SHOWN])
        more = ", …" if len(labels) > 2 * SHOWN else ""
        said = f"{self.place}: {counted(self.kept.total(), 'picture')}"
        lines = [f"{said} with {counted(len(labels), 'label')}: {shown}{more}."]
        if self.left_out:
            lines.append(f"{counted(len(self.left_out), 'file')} left out:")
            lines += [f"  {reason}" for _, reason in self.left_out[:SHOWN]]
        if self.others:
            lines.append(f"{counted(self.others, 'file')} of other kinds not looked at.")
        return lines


def read_pictures(place: PicturePlace, report: PictureReport) -> Iterator[LabelledPicture]:
    """The good ones in order; the others are in the report."""
    path, report.place = place.path, str(place.path)
    if path.is_dir():
        rows = _folder(place, report)
    elif is_idx(path):
        find_file(path)
        rows = _numbers(read_idx(path), place)
    elif path.suffix == ".npz":
        rows = _numbers(read_npz(path, place.image, place.label), place)
    elif is_table(path):
        rows = _table(place, report)
    else:
        find_file(path)
        expected = f"a folder, a table ({', '.join(READ)}), …images-idx3-ubyte(.gz) or .npz"
        raise MisuseError(path, "no pictures that regard reads", expected=expected)
    for row in rows:
        report.kept[row.label] += 1
        yield row
    if 2 * report.kept.total() < max(1, report.total):
        what = "more than half of its pictures cannot be read" if report.kept else "no picture"
        reasons = "".join(f"\n  {reason}" for _, reason in report.left_out[:SHOWN])
        raise DataError(path, f"{what}.{reasons}")


def class_order(labels: set[str], names: tuple[str, ...]) -> tuple[str, ...]:
    """The classes: those that the recipe names, in their order; else as people would list them."""
    return names if names and labels <= set(names) else in_order(labels)


def _folder(place: PicturePlace, report: PictureReport) -> Iterator[LabelledPicture]:
    """A folder for each class."""
    classes = sorted(
        inner
        for inner in place.path.iterdir()
        if inner.is_dir() and not inner.name.startswith((".", "__"))
    )
    if not classes:
        expected = "a folder for each class, named as it: cats/1.png, dogs/1.png"
        raise MisuseError(place.path, "has no folders in it", expected=expected)
    for folder in classes:
        files = [
            file
            for file in sorted(folder.rglob("*"))
            if file.is_file() and not file.name.startswith(".")
        ]
        pictures = [file for file in files if file.suffix.lower() in SUFFIXES]
        report.others += len(files) - len(pictures)
        if not pictures:
            expected = f"files that end in {', '.join(SUFFIXES)}"
            advice = "add some, or remove the folder: every folder is a class"
            raise DataError(folder, "a class without a picture", expected=expected, advice=advice)
        for file in pictures:
            yield from _read(file, _label(folder.name, place), place, report)


def _read(
    file: Path, label: str, place: PicturePlace, report: PictureReport
) -> Iterator[LabelledPicture]:
    """One file, or a line in the report."""
    name = str(file.relative_to(place.path)) if place.is_files else str(file)
    try:
        yield LabelledPicture(read_picture(file, place.channels), label, name)
    except DataError as error:
        report.left_out.append((name, str(error)))


def _numbers(rows: Iterator[tuple[Any, str]], place: PicturePlace) -> Iterator[LabelledPicture]:
    """Pictures of a file of arrays, named by their numbers from 1."""
    for number, (pixels, label) in enumerate(rows, start=1):
        where = f"{place.path}: picture {number:,}"
        colours = colours_of_numbers(pixels, place.channels, where, place.white)
        yield LabelledPicture(colours, _label(label, place), f"{place.path.name} #{number}")


def _label(label: str, place: PicturePlace) -> str:
    """Its name, where the recipe has names for numbers."""
    if not place.names or label in place.names:
        return label
    if not label.isdigit() or int(label) >= len(place.names):
        expected = f"one of see.names, or a number below {len(place.names)}"
        raise DataError(place.path, f"label {label!r}", expected=expected)
    return place.names[int(label)]


def _table(place: PicturePlace, report: PictureReport) -> Iterator[LabelledPicture]:
    """A row for each picture: the name of its file, or all its pixels."""
    label, names = Role(place.said, place.label), Role("file", place.image)
    wide = not place.image and _columns(place.path) >= PIXEL_COLUMNS
    table = Table(place.path, [label] if wide else [names, label], LONGEST_ROW)
    for number, row in enumerate(table.rows, start=1):
        where = f"{place.path}, row {number:,}"
        if isinstance(row, Problem):
            report.left_out.append((where, f"{where}: {row.value}"))
            continue
        value = table.value(row, place.said)
        if value is None or not str(value).strip():
            report.left_out.append((where, f"{where}: {Problem.UNLABELLED.value}"))
            continue
        named = _label(str(value).strip(), place)
        if not wide:
            file = place.path.parent / str(table.value(row, "file") or "").strip()
            yield from _read(file, named, place, report)
            continue
        at = table.chosen.places[place.said]
        pixels = _pixels(row[:at] + row[at + 1 :], where)
        colours = colours_of_numbers(pixels, place.channels, where, place.white)
        yield LabelledPicture(colours, named, f"{place.path.name} #{number}")


def _columns(path: Path) -> int:
    """How many columns the first good row has."""
    rows = (row for row in Table(path, [], LONGEST_ROW).rows if not isinstance(row, Problem))
    return len(next(rows, []))


def _pixels(cells: list[Any], where: str) -> Any:
    """A square of grey or of colours, row by row."""
    for channels in (1, 3):
        side = math.isqrt(len(cells) // channels)
        if side * side * channels == len(cells):
            break
    else:
        expected = "as many as a square has (784 for 28 × 28), or three times that"
        raise DataError(where, f"{len(cells)} pixels", expected=expected)
    try:
        numbers = np.array([float(cell) for cell in cells])
    except (TypeError, ValueError):
        raise DataError(where, "a pixel that is no number") from None
    return numbers.reshape((side, side) if channels == 1 else (side, side, channels))
