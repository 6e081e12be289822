"""`regard evaluate`: BLEU and chrF on a test set, and the phrasebook's slices."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare
from regard.cli.inputs import say_read
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.evaluate.translations import Scores, SliceScore, Slip

MOST_SLIPS = 5  # that are printed


@declare.command(
    """
  regard evaluate runs/demo --slices
  regard evaluate runs/mine --source test.en --reference test.de --json
  regard evaluate runs/mine --source test.tok.en --reference test.tok.de --tokenize none
  regard evaluate runs/multi30k-quick --set multi30k
  regard evaluate Helsinki-NLP/opus-mt-en-de --source test.en --reference test.de
  regard evaluate minilm --set scitldr --metric rouge --sentences 1
  regard evaluate runs/sst2 --file dev.tsv --svg confusion.svg
  regard evaluate runs/digits --set digits --worst worst.png
  regard evaluate runs/scenes-caption
  regard evaluate runs/scenes-draw --worst wrong.png""",
    texts="--file",
)
@declare.model
@declare.path("--source", help="Sentences to translate.")
@declare.path("--reference", help="Their right translations.")
@declare.file("Of a classifier: a table of texts and right labels; of pictures also a folder.")
@click.option("--set", "dataset", help="The test files of a data set: see `regard data`.")
@declare.columns("source", "target", "text", "pair", "label")
@declare.path("--png", help="Of a classifier: draw its mistakes.")
@declare.path("--svg", help="Of a classifier: draw its mistakes.")
@declare.path(
    "--worst", help="Draw mistakes: labels it was surest of, wrong drawings (.png, .svg)."
)
@declare.choice(
    "--metric",
    among=["auto", "bleu", "rouge"],
    help="rouge: of summaries; auto: by what the run learned from.",
)
@declare.lengths("Of summaries")
@declare.flag("--slices", help="Also score each slice (runs on the phrasebook).")
@declare.count("--beam", help="Beam size; 1 is greedy.")
@click.option("--alpha", type=float, help="Exponent of the length norm.")
@declare.choice(
    "--tokenize",
    among=["13a", "none", "intl", "char", "zh", "ja-mecab", "ko-mecab"],
    help="How BLEU finds words; none: the text is tokenised already.",
)
@declare.flag("--lowercase", help="Score without regard to capitals.")
@declare.output("Write the translations here.")
@declare.engines(shortlist=False, heading="Options")
@declare.json("Print one JSON object.")
def command(
    model: Path,
    source: Path | None,
    reference: Path | None,
    file: Path | None,
    dataset: str | None,
    png: Path | None,
    svg: Path | None,
    worst: Path | None,
    metric: str,
    length: int | None,
    sentences: int | None,
    slices: bool,
    tokenize: str,
    lowercase: bool,
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Translate a test set with a model and score it with sacreBLEU; or summarise it, with ROUGE.

    Without files it is the own test set of a run: the phrasebook's, or else the pairs held out for
    validation; each task of a text-to-text run. Others are asked for labels or words of --file.
    """
    from regard.cli.evaluate_readers import is_no_translator
    from regard.cli.evaluate_writers import evaluate_summaries
    from regard.evaluate.summaries import wants_rouge
    from regard.runs.folder import RunFolder

    if dataset:
        source, reference, file = _files_of(dataset, source, reference, file)
    columns, wanted = declare.named_columns(options), declare.named_length(length, sentences)
    if wants_rouge(RunFolder(model), metric, source is not None):
        files = (source, reference)
        evaluate_summaries(model, files, columns, wanted, options, output, as_json, dataset)
        return
    if wanted:
        raise click.UsageError("--length and --sentences belong to summaries: --metric rouge")
    if is_no_translator(model, file):
        if source or reference or slices or output:
            raise click.UsageError("--source, --reference, --slices, --output: for translations")
        drawn = png, svg, worst
        _evaluate_reader(model, file, columns, options, drawn, as_json, dataset)
        return
    if png or svg or worst:
        raise click.UsageError("--png, --svg and --worst belong to classifiers")
    files = (source, reference)
    how = {"tokenize": tokenize, "lowercase": lowercase}
    _evaluate_translations(model, files, columns, slices, how, output, as_json, dataset, options)


def _evaluate_reader(
    model: Path,
    file: Path | None,
    columns: dict[str, str],
    options: dict[str, Any],
    drawn: tuple[Path | None, Path | None, Path | None],
    as_json: bool,
    dataset: str | None,
) -> None:
    """Of a model that reads, sees or draws: by what it offers."""
    from regard.cli.evaluate_captions import evaluate_captions
    from regard.cli.evaluate_drawings import evaluate_drawings
    from regard.cli.evaluate_pictures import evaluate_pictures, offers
    from regard.cli.evaluate_readers import evaluate_texts

    (png, svg, worst), device = drawn, options["device"]
    search = {name: options[name] for name in ("beam", "alpha") if options[name] is not None}
    if offers(model, "see"):
        evaluate_pictures(model, file, device, drawn, as_json, dataset)
    elif offers(model, "caption"):
        evaluate_captions(model, file, options, drawn, as_json, dataset)
    elif offers(model, "draw"):
        if png or svg:
            raise click.UsageError("--png and --svg: drawings have no such table, --worst has them")
        evaluate_drawings(model, file, device, worst, search, as_json)
    elif worst:
        raise click.UsageError("--worst belongs to models that see or draw")
    else:
        evaluate_texts(model, file, columns, device, png, svg, as_json, dataset, search)


def _evaluate_translations(
    model: Path,
    files: tuple[Path | None, Path | None],
    columns: dict[str, str],
    slices: bool,
    how: dict[str, Any],
    output: Path | None,
    as_json: bool,
    dataset: str | None,
    options: dict[str, Any],
) -> None:
    from regard.answer.loaded import open_model
    from regard.answer.translate import decoding_with
    from regard.cli.evaluate_writers import evaluate_tasks, write_outputs
    from regard.data.report import Report
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate import translations as scoring
    from regard.runs.folder import RunFolder

    loaded = open_model(model, options.pop("device"), declare.engine_request(options))
    report, run = Report(), RunFolder(loaded.bundle.path)
    chosen = {name: value for name, value in options.items() if value is not None}
    search = decoding_with(loaded.bundle.settings.search, "evaluate", **chosen)
    if not (any(files) or slices or output) and evaluate_tasks(loaded, search, as_json):
        return
    pairs = scoring.pairs_to_score(run, *files, slices, columns, report)
    say_read(report)
    with progress_bar("translating", len(pairs.sources)) as bar:
        outputs = scoring.translate_all(loaded, pairs.sources, search, bar.advance)
    scores = scoring.score(outputs, pairs.references, **how)
    rows = scoring.score_slices(pairs.entries, outputs) if slices else []
    notes, slips = scoring.score_notes(loaded, search) if slices else ([], [])
    write_outputs(output, outputs)
    if as_json:
        _print_json(dataset or pairs.name, scores, [*rows, *notes], slips, search.beam)
    else:
        _print(dataset or pairs.name, scores, rows, notes, slips, search.beam)


def _files_of(dataset: str, *others: Path | None) -> tuple[Path | None, Path | None, Path | None]:
    """Source, reference and texts to score: those of a data set's test part."""
    from regard.datasets.find import scored_files
    from regard.datasets.table import named

    if any(others):
        raise click.UsageError("--set names the files; leave --source, --reference, --file out")
    first, *second = scored_files(dataset)
    if named(dataset).kind in ("texts", "images"):
        return None, None, first
    return first, second[0] if second else None, None


def _print_json(
    name: str, scores: "Scores", rows: "list[SliceScore]", slips: "list[Slip]", beam: int
) -> None:
    lists = {"slices": [asdict(row) for row in rows], "slips": [asdict(slip) for slip in slips]}
    row = {"set": name, **asdict(scores), "beam": beam, **lists}
    click.echo(valid_json(row, gaps=True))


def _print_slips(notes: "list[SliceScore]", slips: "list[Slip]") -> None:
    """Say which sentences of the notes did not come out exactly."""
    if notes:
        right = notes[0].sentences - len(slips)
        click.echo(f"\nnotes are trained on: {right} of {notes[0].sentences} came out exactly")
    for slip in slips[:MOST_SLIPS]:
        click.echo(f"  {slip.source}\n    got      {slip.output}\n    expected {slip.expected}")
    if len(slips) > MOST_SLIPS:
        click.echo(f"  and {len(slips) - MOST_SLIPS} more; --json has them all")


def _print(
    name: str,
    scores: "Scores",
    slices: "list[SliceScore]",
    notes: "list[SliceScore]",
    slips: "list[Slip]",
    beam: int,
) -> None:
    from regard.printable import counted

    click.echo(f"{counted(scores.sentences, 'sentence')} of {name}, beam {beam}")
    click.echo(f"BLEU  {scores.bleu:6.2f}   {scores.bleu_signature}")
    click.echo(f"               {scores.made_of()}")
    click.echo(f"chrF  {scores.chrf:6.2f}   {scores.chrf_signature}")
    click.echo(f"exact {scores.exact:6.2f} % of the outputs equal the reference")
    if rows := [*slices, *notes]:
        click.echo("\nslice      sentences    BLEU   exact %   deciding word right %")
        for row in rows:
            decided = "" if row.decided is None else f"{row.decided:15.1f}"
            click.echo(
                f"{row.name:<10} {row.sentences:9,} {row.bleu:7.1f} {row.exact:9.1f} {decided}"
            )
    _print_slips(notes, slips)
