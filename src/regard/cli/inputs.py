"""What a command works on: a model that offers the task, and texts as they arrive."""

import codecs
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from regard.errors import DataError

if TYPE_CHECKING:
    from io import BufferedReader

    from regard.answer.loaded import LoadedModel
    from regard.api.model import Model
    from regard.data.report import Report
    from regard.draw.figure.canvas import Picture
    from regard.engines.engines import EngineRequest

READ = 1 << 16  # bytes: about a thousand lines are worked on together


def opened(path: Path, task: str, device: str, precision: str = "auto") -> "Model":
    """The model, or an error that lists what it offers instead."""
    from regard.api.load import load

    model = load(path, device, precision=precision)
    model.demand(task)
    # What the folder asks for when text is made, and regard does not do.
    if task in ("complete", "generate") and model.bundle.settings.warning:
        click.echo(model.bundle.settings.warning, err=True)
    return model


def opened_with_engines(
    path: Path, task: str, device: str, request: "EngineRequest"
) -> "LoadedModel":
    """The same of a model that writes text; what takes a while is said, and what is not done."""
    from regard.answer.loaded import open_model

    model = open_model(path, device, request, say=lambda line: click.echo(line, err=True))
    model.demand(task)
    if model.bundle.settings.warning:
        click.echo(model.bundle.settings.warning, err=True)
    return model


def texts_of(
    texts: tuple[str, ...], file: Path | None = None, model: Path | None = None, column: str = ""
) -> Iterator[list[str]]:
    """The texts of the command line, or else of the file or of standard input.

    A table has one text a row, in `column` or in that of the run `model`; any other file one a
    line.
    """
    from regard.data.table import is_table

    if texts and file:
        raise click.UsageError("expected TEXT or --file, not both")
    if column and not (file and is_table(file)):
        raise click.UsageError("--text-column belongs to a table as --file")
    if file and is_table(file):
        rows = rows_of(file, ["text"], {"text": column}, model or Path())
        yield [text for (text,) in rows]
        return
    if texts:
        yield list(texts)
        return
    if file is None and sys.stdin.isatty():
        click.echo("Type a text and press Enter; Ctrl-D ends.", err=True)
    yield from arriving(file)


def rows_of(file: Path, roles: list[str], columns: dict[str, str], model: Path) -> list[list[str]]:
    """The cells of these columns of a table; standard error says which ones they are."""
    from regard.answer.table_files import column_texts
    from regard.data.report import Report

    report = Report()
    rows = column_texts(file, roles, columns, model, report)
    say_read(report)
    return rows


def say_read(report: "Report") -> None:
    """Which columns were read, and what was left out: not where the answers go."""
    if report.kept < report.total:
        for line in report.lines():
            click.echo(line, err=True)
    elif report.columns:
        click.echo(report.columns.said(), err=True)


def say_written(path: Path | str, more: str = "") -> None:
    """Where a result was written: not where the answers go."""
    click.echo(f"Written: {path}{more}", err=True)


def check_drawn(option: str, path: Path | None) -> None:
    """Refuse the name of a picture that is none, before anything slow begins."""
    if path and path.suffix not in (".png", ".svg"):
        raise click.UsageError(f"{option}: expected a name that ends in .png or .svg")


def draw_into(path: Path, picture: "Picture") -> None:
    """Write a picture as its name says, and say where."""
    from regard.draw.figure.png import write_png
    from regard.draw.figure.svg import write_svg

    (write_svg if path.suffix == ".svg" else write_png)(path, picture)
    say_written(path)


def arriving(file: Path | None) -> Iterator[list[str]]:
    """Lines of the file or of standard input, as many as are there at once.

    Whoever types, or a program that waits for each answer, is answered line by line; a file comes
    in large parts, which are worked on together.
    """
    name = str(file or "standard input")
    try:
        stream = cast("BufferedReader", file.open("rb") if file else sys.stdin.buffer)
    except OSError as error:
        raise DataError(name, f"cannot be read: {error.strerror}") from None
    with stream:
        number, rest = 0, b""
        while data := _read(stream, name):
            *whole, rest = (rest + data).split(b"\n")
            if number == 0 and whole:
                whole[0] = whole[0].removeprefix(codecs.BOM_UTF8)
            if whole:
                yield [_decoded(line, name, number + i) for i, line in enumerate(whole, start=1)]
            number += len(whole)
        if number == 0:
            rest = rest.removeprefix(codecs.BOM_UTF8)
        if rest:
            yield [_decoded(rest, name, number + 1)]


def _read(stream: "BufferedReader", name: str) -> bytes:
    try:
        return stream.read1(READ)
    except OSError as error:  # a folder, a disk that fails
        raise DataError(name, f"cannot be read: {error.strerror}") from None


def check_there(file: Path) -> None:
    """Say that a file is missing before anything slow begins; a pipe could not be opened twice."""
    try:
        file.stat()
    except OSError as error:
        raise DataError(file, f"cannot be read: {error.strerror}") from None
    if file.is_dir():
        raise DataError(file, "a folder", expected="a file with a text a line")


def _decoded(line: bytes, name: str, number: int) -> str:
    try:
        return line.decode("utf-8").rstrip("\r")
    except UnicodeDecodeError:
        raise DataError(name, f"line {number} is not valid UTF-8") from None


def one_line(text: str) -> str:
    """A line in is a line out, whatever the model wrote."""
    return " ".join(text.splitlines())
