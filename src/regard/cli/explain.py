"""`regard explain`: attention maps in the terminal, as SVG and as PNG."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from regard.explain.heads import AttentionMap, Attentions


@click.command(
    epilog="""\b
Examples:
  regard explain runs/demo "The animal did not cross the street because it was too tired."
  regard explain runs/demo "How are you?" --kind encoder --layer 2 --head 3
  regard explain runs/demo "How are you?" --svg attention.svg --png attention.png"""
)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("text")
@click.option("--translation", help="Explain this output instead of the model's own.")
@click.option(
    "--kind",
    type=click.Choice(["cross", "encoder", "decoder"]),
    default="cross",
    show_default=True,
    help="Cross-attention, or the self-attention of either side.",
)
@click.option("--layer", type=click.IntRange(min=1), help="Which layer; default: the last.")
@click.option("--head", type=click.IntRange(min=1), help="Which head; default: the mean of all.")
@click.option("--heads", is_flag=True, help="SVG: all heads of the layer side by side.")
@click.option("--pieces", is_flag=True, help="Show sub-words instead of whole words.")
@click.option("--svg", type=click.Path(path_type=Path), help="Write the map as SVG.")
@click.option("--png", type=click.Path(path_type=Path), help="Write the map as PNG.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or mps.")
@click.option("--json", "as_json", is_flag=True, help="Print words and weights as JSON.")
def command(
    run: Path,
    text: str,
    translation: str | None,
    kind: str,
    layer: int | None,
    head: int | None,
    heads: bool,
    pieces: bool,
    svg: Path | None,
    png: Path | None,
    device: str,
    as_json: bool,
) -> None:
    """Show what the model of RUN attends to while it translates TEXT.

    Rows are the words that look, columns the words looked at; each row sums to 1.
    """
    from regard.explain.heads import attend
    from regard.tasks.load import load

    if heads and not svg:
        raise click.UsageError("--heads needs --svg")
    found = attend(load(run, device), text, translation, pieces)
    chosen = found.map(kind, layer)
    if as_json:
        click.echo(json.dumps(_as_json(found, chosen, head), ensure_ascii=False))
    else:
        _show(found, chosen, head)
    if svg:
        _write_svg(svg, found, chosen, head, heads)
        click.echo(f"Written: {svg}", err=True)
    if png:
        from regard.draw.plot import heatmap_png

        title = chosen.title(head)
        heatmap_png(png, chosen.head(head), chosen.rows, chosen.columns, title, _subtitle(found))
        click.echo(f"Written: {png}", err=True)


def _subtitle(found: "Attentions") -> str:
    return f"{found.source} → {found.output}"


def _show(found: "Attentions", chosen: "AttentionMap", head: int | None) -> None:
    from rich.console import Console

    from regard.draw.terminal import heatmap

    console = Console()
    console.print(_subtitle(found), style="bold", markup=False, highlight=False)
    weights = chosen.head(head)
    picture = heatmap(
        weights, chosen.rows, chosen.columns, title=chosen.title(head), width=console.width
    )
    console.print(picture)


def _write_svg(
    path: Path, found: "Attentions", chosen: "AttentionMap", head: int | None, heads: bool
) -> None:
    from regard import atomic
    from regard.draw.svg import heads_svg, heatmap_svg

    subtitle = _subtitle(found)
    if heads:
        title = chosen.title(None).replace("mean of all heads", "every head")
        picture = heads_svg(
            chosen.weights, chosen.rows, chosen.columns, title=title, subtitle=subtitle
        )
    else:
        picture = heatmap_svg(
            chosen.head(head),
            chosen.rows,
            chosen.columns,
            title=chosen.title(head),
            subtitle=subtitle,
        )
    atomic.write_text(path, picture)


def _as_json(found: "Attentions", chosen: "AttentionMap", head: int | None) -> dict[str, object]:
    return {
        "source": found.source,
        "output": found.output,
        "kind": chosen.kind,
        "layer": chosen.layer,
        "head": head,
        "rows": chosen.rows,
        "columns": chosen.columns,
        "weights": [[round(float(w), 6) for w in row] for row in chosen.head(head)],
    }
