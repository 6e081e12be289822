"""`regard translate`: text, file or standard input, line by line."""

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare
from regard.cli.inputs import arriving, check_there, one_line, opened_to_write, rows_of
from regard.cli.streams import echo_answer
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.translate import Translation, Translator
    from regard.decode.engine import Engine

PART = 4096  # lines of a file that are worked on together

beams = declare.section("Search")
draws = declare.section("Drawing instead of searching")
lengths = declare.section("Length and repetition")
lines = declare.section("Lines")
shown = declare.section("Output")


@declare.command(
    """
  regard translate demo-de "How are you?"
  regard translate runs/demo --file letter.en > letter.de
  regard translate Helsinki-NLP/opus-mt-en-de "How are you?"
  cat letter.en | regard translate runs/demo --beam 8 --n-best 3 --json
  regard translate runs/demo "How are you?" --temperature 0.8 --seed 1 --n-best 5
  regard translate runs/demo --file test.en --check-batch""",
    pairs="--with-source",
    language="--source-language",
)
@click.argument("model", type=declare.PATH)
@click.argument("text", nargs=-1)
@beams("--beam", type=click.IntRange(min=1), help="Beam size; 1 is greedy.")
@beams("--n-best", type=click.IntRange(min=1), help="Print so many translations of each.")
@beams("--alpha", type=float, help="Exponent of the length norm (paper: 0.6).")
@beams("--length-norm", type=click.Choice(["power", "paper"]), help="n^α or ((5+n)/6)^α.")
@beams("--stop", type=click.Choice(["first-k", "exact", "likely"]), help="When a beam is done.")
@beams("--convention", type=click.Choice(["regard", "transformers"]), help="Whose rules in detail.")
@beams("--coverage", type=float, help="β: how much words left untranslated cost; 0 is nothing.")
@draws("--temperature", type=float, help="Above 0: draw each token; 1 draws by its probability.")
@draws("--top-k", type=click.IntRange(min=1), help="Only from the k likeliest tokens.")
@draws("--top-p", type=float, help="Only from the fewest tokens that reach this probability.")
@draws("--seed", type=click.IntRange(min=0), help="The same seed draws the same.")
@lengths("--max-length", type=click.IntRange(min=1), help="Most output tokens of a sentence.")
@lengths("--min-length", type=click.IntRange(min=0), help="Fewest output tokens of a sentence.")
@lengths("--no-repeat-ngram", type=click.IntRange(min=0), help="No n tokens come twice.")
@lengths("--repetition-penalty", type=float, help="Above 1: used tokens become less likely.")
@declare.file("Translate a file line by line; or a table.", lines)
@lines("--source-column", default="", help="Of a table: name or number; found if left out.")
@lines("--prefix", help="What each output begins with; then lines are not split.")
@lines("--no-split", is_flag=True, help="Do not split lines into sentences.")
@lines(
    "--source-language",
    "language",
    help="Of the source, for splitting: en, de, hi, …  [default: en]",
)
@declare.engines()
@shown("--with-source", "pairs", is_flag=True, help="Print the source beside each translation.")
@shown("--json", "as_json", is_flag=True, help="One JSON object a line, with scores.")
@shown("--check-batch", is_flag=True, help="Do lines come out alike alone and in batches?")
def command(
    model: Path,
    text: tuple[str, ...],
    file: Path | None,
    source_column: str,
    pairs: bool,
    as_json: bool,
    check_batch: bool,
    no_split: bool,
    **options: Any,
) -> None:
    """Translate TEXT with MODEL; without TEXT, the lines of --file or standard input.

    MODEL is a model in the box (`regard models` lists them), the folder of a run, the folder of a
    published Marian model, or its name on the hub. A line of several sentences is split, and its
    translation joined again.
    """
    from regard.answer.translate import options_with
    from regard.bundle.words_seen import ADVICE, WordsSeen

    if text and file:
        raise click.UsageError("expected TEXT or --file, not both")
    if file:
        check_there(file)
    arrive = partial(_arriving, file, source_column, model)
    device = options.pop("device")
    request = declare.engine_request(options)
    chosen = _chosen(options, no_split)
    loaded = opened_to_write(model, "translate", device, request)
    engines, translator = loaded.engines, loaded.translator
    # What is wrong with an option is said before any text is read.
    search, _ = options_with(translator.decoding, "translate", chosen)
    if check_batch:
        from regard.cli.check_batch import show_check

        sources = list(text) or _whole(file, arrive())
        good = show_check(translator, engines, sources, chosen, as_json)
        sys.exit(0 if good else 1)
    # Opened now, so that what it says comes before the text; the translator takes the same one.
    engine = engines.take(search, "prefix" in chosen)
    seen = WordsSeen.of_run(loaded.bundle.path / "data")
    with closing(_answered(translator, text, file, arrive, chosen)) as answered:
        for number, (source, answers) in enumerate(answered, start=1):
            if seen is not None:
                seen.note(source)
            if as_json:
                click.echo(valid_json(_row(source, answers, engine)))
                continue
            label = "" if len(text) == 1 else f"{number}\t"
            for line in _lines(source, answers, pairs, search.n_best > 1, label):
                echo_answer(line)
    if seen is not None and (sentence := seen.sentence()):
        click.echo(f"Note: {sentence}\n{ADVICE}", err=True)
    engines.close()


def _chosen(options: dict[str, Any], no_split: bool) -> dict[str, Any]:
    """The options that say something; an empty prefix is none."""
    chosen = {name: value for name, value in options.items() if value is not None}
    if chosen.get("prefix") == "":
        del chosen["prefix"]
    return chosen | ({"split": False} if no_split else {})


def _answered(
    translator: "Translator",
    text: tuple[str, ...],
    file: Path | None,
    arrive: Callable[[], Iterator[list[str]]],
    options: dict[str, Any],
) -> "Generator[tuple[str, list[Translation]], None, None]":
    """Each source with its translations, in order."""
    if text:
        yield from zip(text, translator.translations(text, **options), strict=True)
        return
    from regard.draw.terminal.progress import progress_bar

    if file is None and sys.stdin.isatty():
        click.echo("Type a sentence and press Enter; Ctrl-D ends.", err=True)
    first = 1
    with progress_bar("translating", None) as bar:
        for lines in _parts(file, arrive()):
            answers = translator.translations(
                lines, advance=bar.advance, first_line=first, **options
            )
            yield from zip(lines, answers, strict=True)
            first += len(lines)


def _arriving(file: Path | None, column: str, model: Path) -> Iterator[list[str]]:
    """The sources: lines of the file or of standard input, or a column of a table."""
    from regard.data.table import is_table

    if file and is_table(file):
        texts = [text for (text,) in rows_of(file, ["source"], {"source": column}, model)]
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


def _lines(
    source: str, answers: "list[Translation]", pairs: bool, scored: bool, label: str
) -> list[str]:
    """What is printed of a source's answers; `label` says whose they are where each has a score."""
    texts = [one_line(answer.text) for answer in answers]
    if pairs:
        return [f"{one_line(source)}\t{text}" for text in texts]
    if scored:
        scores = (answer.score for answer in answers)
        return [f"{label}{score:8.4f}\t{text}" for score, text in zip(scores, texts, strict=True)]
    return texts[:1]


def _row(source: str, answers: "list[Translation]", engine: "Engine") -> dict[str, Any]:
    """A line of JSON: what was translated, how, and by which engine."""
    rows = [{k: v for k, v in asdict(answer).items() if k != "ids"} for answer in answers]
    facts = {"name": engine.name, **asdict(engine.layout)}
    return {"source": source, "translations": rows, "engine": facts}
