"""`regard similar`: the cosine of two texts, or of many pairs beside the scores people gave."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli import declare
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.similar import TextPairs
    from regard.api.model import Model


@declare.command(
    """
  regard similar minilm "A cat sleeps." "A dog naps."
  regard similar path/to/bert --file pairs.tsv
  regard similar path/to/bert --set stsb --json""",
    pairs="--file",
)
@declare.model
@click.argument("first", required=False)
@click.argument("second", required=False)
@declare.file("A table with two texts a row, and a score or none: .csv, .tsv, .jsonl, .parquet.")
@click.option("--set", "dataset", help="The test pairs of a data set: see `regard data`.")
@declare.columns("text", "pair", "label", text="of the first texts", label="of the scores")
@declare.device
@declare.json("Print one JSON object.")
def command(
    model: Path,
    first: str | None,
    second: str | None,
    file: Path | None,
    dataset: str | None,
    device: str,
    as_json: bool,
    **options: str,
) -> None:
    """Print how alike FIRST and SECOND are: the cosine of their vectors, 1 for the same direction.

    With --file, the cosine of each pair of a file; where the file has scores, the correlations of
    cosines and scores instead (Spearman, Pearson). MODEL is a published folder of an encoder,
    its name on the hub, or minilm.
    """
    from regard.answer.similar import read_pairs
    from regard.cli.inputs import opened

    if dataset is not None:
        from regard.datasets.find import scored_files

        if file is not None:
            raise click.UsageError("--set names the file; leave --file out")
        file = scored_files(dataset)[0]
    if file is None and second is None:
        raise click.UsageError("expected FIRST and SECOND, or --file, or --set")
    if file is not None and first is not None:
        raise click.UsageError("expected FIRST and SECOND or --file, not both")
    columns = declare.named_columns(options)
    if columns and not file:
        raise click.UsageError("columns belong to --file")
    table = None
    if file:
        table, columns_read = read_pairs(file, columns)
        click.echo(columns_read.said(), err=True)
    loaded = opened(model, "embed", device)
    if table is None or file is None:
        assert first is not None and second is not None
        cosine = float(loaded.similar(first, second))
        row = {"first": first, "second": second, "cosine": round(cosine, 6)}
        click.echo(valid_json(row) if as_json else f"{cosine:.4f}")
    elif table.scores:
        _print_agreement(loaded, file.name, table, as_json)
    else:
        _print_each(loaded, table, as_json)


def _compared(model: "Model", firsts: list[str], seconds: list[str]) -> list[float]:
    from regard.draw.terminal.progress import progress_bar

    with progress_bar("embedding", len({*firsts, *seconds})) as bar:
        cosines: list[float] = model.similar(firsts, seconds, advance=bar.advance).tolist()
    return cosines


def _print_each(model: "Model", pairs: "TextPairs", as_json: bool) -> None:
    """One line a pair, as in the file."""
    from regard.cli.inputs import one_line

    cosines = _compared(model, pairs.firsts, pairs.seconds)
    if as_json:
        rounded = [round(cosine, 6) for cosine in cosines]
        click.echo(valid_json({"pairs": len(cosines), "cosines": rounded}))
        return
    for first, second, cosine in zip(pairs.firsts, pairs.seconds, cosines, strict=True):
        click.echo(f"{cosine:.4f}\t{one_line(first)}\t{one_line(second)}")


def _print_agreement(model: "Model", name: str, pairs: "TextPairs", as_json: bool) -> None:
    """Both correlations, and the mean cosine of low, middle and high scores as bars."""
    import numpy as np

    from regard.answer.similar import agreement, by_score
    from regard.draw.terminal.console import Console
    from regard.draw.terminal.tables import bars
    from regard.printable import counted

    cosines = np.array(_compared(model, pairs.firsts, pairs.seconds))
    score = agreement(cosines, pairs.scores)
    if as_json:
        numbers = {"spearman": round(score.spearman, 6), "pearson": round(score.pearson, 6)}
        rounded = [round(cosine, 6) for cosine in cosines.tolist()]
        report = {"pairs": len(cosines), **numbers, "cosines": rounded}
        click.echo(valid_json(report, gaps=True))  # equal scores have no correlation
        return
    click.echo(f"{counted(len(cosines), 'pair')} of {name}")
    click.echo(f"Spearman {score.spearman:7.4f}   ranks of cosines and scores")
    click.echo(f"Pearson  {score.pearson:7.4f}   cosines and scores themselves")
    rows = [row for row in by_score(cosines, pairs.scores) if row[1]]
    click.echo("\nmean cosine of the pairs with these scores")
    means = [max(0.0, mean) for _, _, mean in rows]
    Console().print(bars(means, [name for name, _, _ in rows]), highlight=False)
