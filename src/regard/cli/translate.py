"""`regard translate`: text, file or standard input, line by line."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare
from regard.cli.inputs import arriving, check_there, one_line, rows_of
from regard.cli.streams import echo_answer
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.translate import Translation, Translator
    from regard.bundle.words_seen import WordsSeen
    from regard.decode.engine import Engine
    from regard.engines.engines import Engines

PART = 4096  # lines of a file that are worked on together

beams = declare.section("Search")
draws = declare.section("Drawing instead of searching")
lengths = declare.section("Length and repetition")
lines = declare.section("Lines")
shown = declare.section("Output")


@declare.command("""
  regard translate runs/demo "How are you?"
  regard translate runs/demo --file letter.en > letter.de
  regard translate Helsinki-NLP/opus-mt-en-de "How are you?"
  cat letter.en | regard translate runs/demo --beam 8 --n-best 3 --json
  regard translate runs/demo "How are you?" --temperature 0.8 --seed 1 --n-best 5
  regard translate runs/demo --file test.en --check-batch""")
@click.argument("run", metavar="MODEL", type=declare.PATH)
@click.argument("text", nargs=-1)
@beams("--beam", type=click.IntRange(min=1), help="Beam size; 1 is greedy.")
@beams("--n-best", type=click.IntRange(min=1), help="Print so many translations of each.")
@beams("--alpha", type=float, help="Exponent of the length norm (paper: 0.6).")
@beams("--length-norm", type=click.Choice(["power", "paper"]), help="n^α or ((5+n)/6)^α.")
@beams("--stop", type=click.Choice(["first-k", "exact", "likely"]), help="When a beam is done.")
@beams("--coverage", type=float, help="β: how much words left untranslated cost; 0 is nothing.")
@draws("--temperature", type=float, help="Above 0: draw each token; 1 draws by its probability.")
@draws("--top-k", type=click.IntRange(min=1), help="Only from the k likeliest tokens.")
@draws("--top-p", type=float, help="Only from the fewest tokens that reach this probability.")
@draws("--seed", type=click.IntRange(min=0), help="The same seed draws the same.")
@lengths("--max-length", type=click.IntRange(min=1), help="Most output tokens of a sentence.")
@lengths("--min-length", type=click.IntRange(min=0), help="Fewest output tokens of a sentence.")
@lengths("--no-repeat-ngram", type=click.IntRange(min=0), help="No n tokens come twice.")
@lengths("--repetition-penalty", type=float, help="Above 1: used tokens become less likely.")
@lines("--file", type=declare.PATH, help="Translate a file line by line; or a table.")
@lines("--source-column", default="", help="Of a table: name or number; found if left out.")
@lines("--prefix", help="What each output begins with; then lines are not split.")
@lines("--no-split", is_flag=True, help="Do not split lines into sentences.")
@lines("--language", help="Of the source, for splitting: en, de, hi, …  [default: en]")
@declare.engines()
@shown("--pairs", is_flag=True, help="Print the source beside each translation.")
@shown("--json", "as_json", is_flag=True, help="One JSON object a line, with scores.")
@shown("--verbose", is_flag=True, help="Say which engine was taken, and why.")
@shown("--check-batch", is_flag=True, help="Do lines come out alike alone and in batches?")
def command(
    run: Path,
    text: tuple[str, ...],
    file: Path | None,
    source_column: str,
    pairs: bool,
    as_json: bool,
    verbose: bool,
    check_batch: bool,
    no_split: bool,
    **options: Any,
) -> None:
    """Translate TEXT with MODEL; without TEXT, the lines of --file or standard input.

    MODEL is the folder of a run, the folder of a published Marian model, or its name on the hub.
    A line of several sentences is split, and its translation joined again.
    """
    from regard.answer.loaded import open_model
    from regard.answer.translate import options_with
    from regard.bundle.words_seen import ADVICE, WordsSeen

    if text and file:
        raise click.UsageError("expected TEXT or --file, not both")
    if file:
        check_there(file)
    arrive = partial(_arriving, file, source_column, run)
    device = options.pop("device")
    request = declare.engine_request(options)
    chosen = {name: value for name, value in options.items() if value is not None}
    if chosen.get("prefix") == "":
        del chosen["prefix"]
    if no_split:
        chosen["split"] = False
    model = open_model(run, device, request, say=lambda line: click.echo(line, err=True))
    model.demand("translate")
    settings, engines, translator = model.bundle.settings, model.engines, model.translator
    if settings.warning:
        click.echo(settings.warning, err=True)
    search, _ = options_with(settings.search, "translate", chosen)  # said before any text is read
    if check_batch:
        from regard.cli.check_batch import show_check

        sources = list(text) or _whole(file, arrive())
        good = show_check(translator, engines, sources, chosen, as_json)
        _say_notes(engines, verbose)
        sys.exit(0 if good else 1)
    engine = engines.take(search, "prefix" in chosen)
    _say_notes(engines, verbose)
    as_text = _scored_writer(len(text) != 1) if search.n_best > 1 else _write_text
    write = _json_writer(engine) if as_json else _write_pairs if pairs else as_text
    seen = WordsSeen.of_run(model.bundle.path / "data")
    noted = write if seen is None else _noting(seen, write)
    _translate_all(translator, text, file, arrive, chosen, noted)
    if seen is not None and (sentence := seen.sentence()):
        click.echo(f"Note: {sentence}\n{ADVICE}", err=True)
    engines.close()


Write = Callable[[str, "list[Translation]"], None]


def _noting(seen: "WordsSeen", write: Write) -> Write:
    """Writes each answer, and notes which words of its source the model has never seen."""

    def noted(source: str, answers: "list[Translation]") -> None:
        seen.note(source)
        write(source, answers)

    return noted


def _translate_all(
    translator: "Translator",
    text: tuple[str, ...],
    file: Path | None,
    arrive: Callable[[], Iterator[list[str]]],
    options: dict[str, Any],
    write: Write,
) -> None:
    if text:
        _answer(translator, list(text), 1, options, write)
        return
    from regard.draw.terminal.progress import progress_bar

    if file is None and sys.stdin.isatty():
        click.echo("Type a sentence and press Enter; Ctrl-D ends.", err=True)
    first = 1
    with progress_bar("translating", None) as bar:
        for lines in _parts(file, arrive()):
            _answer(translator, lines, first, options, write, bar.advance)
            first += len(lines)


def _arriving(file: Path | None, column: str, run: Path) -> Iterator[list[str]]:
    """The sources: lines of the file or of standard input, or a column of a table."""
    from regard.data.table import is_table

    if file and is_table(file):
        texts = [text for (text,) in rows_of(file, ["source"], {"source": column}, run)]
        return (texts[i : i + PART] for i in range(0, len(texts), PART))
    if column:
        raise click.UsageError("--source-column belongs to a table as --file")
    return arriving(file)


def _parts(file: Path | None, arrived: Iterator[list[str]]) -> Iterator[list[str]]:
    """Lines of standard input as they arrive; of a file in larger parts, which are faster."""
    part: list[str] = []
    for lines in arrived:
        part += lines
        if file is None or len(part) >= PART:
            yield part
            part = []
    if part:
        yield part


def _whole(file: Path | None, arrived: Iterator[list[str]]) -> list[str]:
    """All lines; none where nothing was given."""
    if file is None and sys.stdin.isatty():
        return []
    return [line for lines in arrived for line in lines]


def _answer(
    translator: "Translator",
    texts: list[str],
    first: int,
    options: dict[str, Any],
    write: Write,
    advance: Callable[[int], None] = lambda count: None,
) -> None:
    translations = translator.translations(texts, advance=advance, first_line=first, **options)
    for text, answers in zip(texts, translations, strict=True):
        write(text, answers)
    sys.stdout.flush()


def _say_notes(engines: "Engines", verbose: bool) -> None:
    if verbose:
        for note in engines.notes:
            click.echo(note, err=True)


def _write_text(source: str, answers: "list[Translation]") -> None:
    echo_answer(one_line(answers[0].text))


def _scored_writer(numbered: bool) -> Write:
    """Several answers a line; where there are several lines, their numbers say which is whose."""
    numbers = count(1)

    def write(source: str, answers: "list[Translation]") -> None:
        number = next(numbers)
        for answer in answers:
            line = f"{answer.score:8.4f}\t{one_line(answer.text)}"
            echo_answer(f"{number}\t{line}" if numbered else line)

    return write


def _write_pairs(source: str, answers: "list[Translation]") -> None:
    for answer in answers:
        echo_answer(f"{one_line(source)}\t{one_line(answer.text)}")


def _json_writer(engine: "Engine") -> Write:
    facts = {"name": engine.name, **asdict(engine.layout)}

    def write(source: str, answers: "list[Translation]") -> None:
        rows = [{k: v for k, v in asdict(answer).items() if k != "ids"} for answer in answers]
        row = {"source": source, "translations": rows, "engine": facts}
        click.echo(valid_json(row))

    return write
