"""`regard explain`: attention as a heat map, dots, equations or a filter; terminal, SVG, PNG."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from regard.cli import declare
from regard.cli.inputs import say_written
from regard.valid_json import valid_json

if TYPE_CHECKING:
    import numpy as np
    from rich.console import RenderableType

    from regard.draw.figure.canvas import Picture
    from regard.draw.terminal.tables import NumberTable
    from regard.explain.heads import AttentionMap, Attentions
    from regard.explain.views import Filter

# view → the attention it shows unless --kind says otherwise
VIEWS = {"heatmap": "cross", "dots": "cross", "equation": "encoder", "filter": "encoder"}


@declare.command(
    """
  regard explain runs/demo "The animal did not cross the street because it was too tired."
  regard explain runs/demo "How are you?" --kind encoder --layer 2 --head 3
  regard explain runs/demo "How are you?" --svg attention.svg --png attention.png
  regard explain runs/demo "He sat on the bank of the river." --as equation --word bank
  regard explain runs/demo "I like eating ice-cream." --as dots --svg grid.svg
  regard explain runs/demo "Hi, how are you?" --as filter --head 2 --word you
  regard explain minilm "A cat sleeps." --match "A kitten naps on the sofa."
  regard explain path/to/classifier "A fine film, if a little slow." --label positive""",
    all="--all-terms",
    steps="--points",
)
@click.argument("run", metavar="MODEL", type=declare.PATH)
@click.argument("text")
@declare.choice("--as", "view", among=list(VIEWS), help="How to show it: see the examples.")
@click.option("--translation", help="Explain this output instead of the model's own.")
@click.option(
    "--kind",
    type=click.Choice(["cross", "encoder", "decoder"]),
    help="Cross-attention (default of heatmap and dots), or the self-attention of either side "
    "(encoder: default of equation and filter).",
)
@declare.count("--layer", help="Which layer; default: the last.")
@declare.count("--head", help="Which head; default: the mean of all, for a filter the first.")
@click.option("--word", help="Equation, filter: only this word, or its position from 1.")
@declare.flag("--all-terms", "every", help="Equation: keep terms below 0.005.")
@declare.flag("--heads", help="SVG: all heads of the layer side by side.")
@declare.flag("--pieces", help="Show sub-words instead of whole words.")
@declare.path("--svg", help="Write the picture as SVG.")
@declare.path("--png", help="Write the picture as PNG.")
@click.option("--pair", help="Encoder: the second text, where the classifier compares two.")
@click.option("--match", help="Encoder: what the match of TEXT with this text rests on.")
@click.option("--label", help="Encoder: explain this label; default: the likeliest.")
@click.option(
    "--points",
    "steps",
    type=click.IntRange(min=1, max=4096),
    help="Encoder: points of the integral; default: as many as it needs.",
)
@declare.device
@declare.json("Print words and numbers as JSON.")
def command(
    run: Path,
    text: str,
    view: str,
    translation: str | None,
    kind: str | None,
    layer: int | None,
    head: int | None,
    word: str | None,
    every: bool,
    heads: bool,
    pieces: bool,
    svg: Path | None,
    png: Path | None,
    device: str,
    as_json: bool,
    **encoder: Any,
) -> None:
    """Show what MODEL attends to while it translates TEXT.

    In a heat map rows are the words that look and columns the words looked at, and each row sums
    to 1; a grid of dots is the same turned on its side.

    It may be an encoder instead, published or trained: then, which words its label of TEXT rests
    on, or with --match the likeness of two texts, by integrated gradients and by attention.
    """
    from regard.cli.explain_encoder import explain, is_model

    if is_model(run):
        _check_encoder(click.get_current_context())
        explain(run, text, device, as_json, **encoder)
        return
    if any(value is not None for value in encoder.values()):
        raise click.UsageError("--pair, --match, --label and --points are for encoders")
    _check(view, word, every, heads, svg, png)
    kind, pieces = kind or VIEWS[view], pieces or view == "filter"
    _check_place(run, text, translation, kind, layer, head, word, pieces)
    from regard.answer.loaded import TORCH, open_model
    from regard.explain.heads import attend  # here: torch takes seconds

    model = open_model(run, device, TORCH)
    attentions = attend(model, text, translation, pieces)
    chosen = attentions.map(kind, layer)
    if view == "filter":
        head = head or 1
    numbers, pictures = _view(view, attentions, chosen, head, word, every)
    if as_json:
        click.echo(valid_json(numbers))
    else:
        from regard.draw.terminal.console import Console

        console = Console()
        console.print(_subtitle(attentions), style="bold", markup=False, highlight=False)
        for picture in pictures:
            console.print(picture, highlight=False)
    _say_unknown(model.bundle.path, text)
    _write(svg, png, view, attentions, chosen, head, heads)


def _check(
    view: str, word: str | None, every: bool, heads: bool, svg: Path | None, png: Path | None
) -> None:
    """Options that do not go together, before a model is loaded."""
    if heads and not (svg and view == "heatmap"):
        raise click.UsageError("--heads needs --svg and --as heatmap")
    if word is not None and view not in ("equation", "filter"):
        raise click.UsageError("--word needs --as equation or --as filter")
    if every and view != "equation":
        raise click.UsageError("--all-terms needs --as equation")
    if (svg or png) and view == "equation":
        raise click.UsageError(
            "--as equation is text; --svg and --png draw --as heatmap, --as dots and --as filter"
        )


def _check_place(
    run: Path,
    text: str,
    translation: str | None,
    kind: str,
    layer: int | None,
    head: int | None,
    word: str | None,
    pieces: bool,
) -> None:
    """A layer, a head or a word that is not there, before torch is imported."""
    from regard.bundle.bundle import open_run_bundle
    from regard.explain.place import KINDS, check_place, find_word, groups_of, known_ids

    bundle = open_run_bundle(run)
    tokenizer = bundle.own_tokenizer
    check_place(bundle.spec, kind, layer, head)
    ids = known_ids(tokenizer, KINDS[kind][2], text, translation)
    if word is not None and ids is not None:
        ids = ids if kind == "encoder" else [*ids, tokenizer.special.eos]  # as it is predicted
        find_word([name for name, _ in groups_of(tokenizer, ids, pieces)], word)


def _check_encoder(context: click.Context) -> None:
    """Name an option that only the views of a translation have."""
    for_encoders = ("run", "text", "pair", "match", "label", "steps", "device", "as_json")
    for option in context.command.params:
        came_from = context.get_parameter_source(option.name or "")
        if option.name not in for_encoders and came_from is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option.opts[0]} is for runs that translate")


def _say_unknown(run: Path, text: str) -> None:
    """As `regard translate` does: what a model makes of words it has never met means little."""
    from regard.bundle.words_seen import WordsSeen

    seen = WordsSeen.of_run(run / "data")
    if seen is not None and seen.new_in(text):
        seen.note(text)
        click.echo(f"Note: {seen.sentence()}", err=True)


def _subtitle(attentions: "Attentions") -> str:
    return f"{attentions.source} → {attentions.output}"


def _view(
    view: str,
    attentions: "Attentions",
    chosen: "AttentionMap",
    head: int | None,
    word: str | None,
    every: bool,
) -> tuple[dict[str, object], list["RenderableType"]]:
    """The numbers of a view for JSON, and what the terminal prints."""
    numbers: dict[str, object] = {
        "source": attentions.source,
        "output": attentions.output,
        "kind": chosen.kind,
        "layer": chosen.layer,
        "head": head,
    }
    if view == "equation":
        more, pictures = _equations(chosen, head, word, every)
    elif view == "filter":
        more, pictures = _filter(attentions, chosen, head, word)
    else:
        more, pictures = _grid(view, chosen, head)
    return numbers | more, pictures


def _grid(
    view: str, chosen: "AttentionMap", head: int | None
) -> tuple[dict[str, object], list["RenderableType"]]:
    from regard.draw.grid import make_grid
    from regard.draw.terminal.dots import DotGrid
    from regard.draw.terminal.heat_map import HeatMap

    weights, rows, columns = _weights(view, chosen, head)
    picture = HeatMap if view == "heatmap" else DotGrid
    numbers = {"rows": rows, "columns": columns, "weights": _rounded(weights)}
    return numbers, [picture(make_grid(weights, rows, columns), chosen.title(head))]


def _weights(
    view: str, chosen: "AttentionMap", head: int | None
) -> tuple["np.ndarray", list[str], list[str]]:
    """Weights with their rows and columns; for dots turned on their side."""
    from regard.explain.views import dots

    if view == "heatmap":
        return chosen.head(head), chosen.rows, chosen.columns
    turned = dots(chosen, head)
    return turned.weights, turned.rows, turned.columns


def _equations(
    chosen: "AttentionMap", head: int | None, word: str | None, every: bool
) -> tuple[dict[str, object], list["RenderableType"]]:
    from regard.draw.terminal.tables import WrittenSums
    from regard.explain.views import equations

    lines = equations(chosen, head, word, every)
    numbers = [
        {
            "word": line.word,
            "terms": [{"word": name, "weight": round(weight, 6)} for weight, name in line.terms],
            "others": round(line.others, 6),
            "text": str(line),
        }
        for line in lines
    ]
    sums = [(line.word, line.summands()) for line in lines]
    return {"equations": numbers}, [WrittenSums(sums, chosen.title(head))]


def _filter(
    attentions: "Attentions", chosen: "AttentionMap", head: int | None, word: str | None
) -> tuple[dict[str, object], list["RenderableType"]]:
    from rich.text import Text

    from regard.draw.terminal.tables import bars
    from regard.explain.place import find_word
    from regard.explain.views import attention_filter

    steps = attention_filter(attentions, chosen.kind, chosen.layer, head)
    pictures: list[RenderableType] = [Text(chosen.title(head), style="bold")]
    for table in _filter_tables(steps):
        pictures += ["", table]
    for place in find_word(steps.rows, word) if word is not None else [0]:
        pictures += ["", Text(f"What passes the filter for {steps.rows[place]}", style="bold")]
        pictures += [bars([float(w) for w in steps.weights[place]], steps.columns)]
    named = {"products": steps.products, "scores": steps.scores, "weights": steps.weights}
    numbers: dict[str, object] = {"rows": steps.rows, "columns": steps.columns, "d_k": steps.d_k}
    return numbers | {name: _rounded(values) for name, values in named.items()}, pictures


def _filter_tables(steps: "Filter") -> list["NumberTable"]:
    """The three steps, each a table; weights are shaded from 0 to 1, scores over their range."""
    from regard.draw.terminal.tables import NumberTable

    scaled = f"÷ √d_k = √{steps.d_k}, d_k being the size of a head: the scores"
    softmax = "softmax of each row: the weights, the attention filter"
    return [
        NumberTable(steps.products, steps.rows, steps.columns, "Q Kᵀ: the dot products"),
        NumberTable(steps.scores, steps.rows, steps.columns, scaled),
        NumberTable(steps.weights, steps.rows, steps.columns, softmax, (0, 1)),
    ]


def _rounded(values: "np.ndarray") -> list[list[float | None]]:
    """Numbers for JSON, which has no NaN: what a mask forbids is null."""
    return [[None if v != v else round(float(v), 6) for v in row] for row in values]


def _write(
    svg: Path | None,
    png: Path | None,
    view: str,
    attentions: "Attentions",
    chosen: "AttentionMap",
    head: int | None,
    heads: bool,
) -> None:
    """Draw into files; the heads side by side are for SVG only."""
    from regard.draw.figure.png import write_png
    from regard.draw.figure.svg import write_svg

    if svg:
        write_svg(svg, _picture(view, attentions, chosen, head, heads))
        say_written(svg)
    if png:
        write_png(png, _picture(view, attentions, chosen, head, False))
        say_written(png)


def _picture(
    view: str, attentions: "Attentions", chosen: "AttentionMap", head: int | None, heads: bool
) -> "Picture":
    from regard.draw.figure import dots, heat_map, tables
    from regard.draw.grid import make_grid
    from regard.explain.views import attention_filter

    title, subtitle = chosen.title(head), _subtitle(attentions)
    if heads:
        title = chosen.title(None).replace("mean of all heads", "every head")
        grid = make_grid(chosen.weights, chosen.rows, chosen.columns)
        names = [f"head {number}" for number in range(1, len(chosen.weights) + 1)]
        return heat_map.heat_map(grid, title, subtitle, names)
    if view == "filter":
        steps = attention_filter(attentions, chosen.kind, chosen.layer, head)
        return tables.tables(_filter_tables(steps), title, subtitle)
    grid = make_grid(*_weights(view, chosen, head))
    return (dots.dots if view == "dots" else heat_map.heat_map)(grid, title, subtitle)
