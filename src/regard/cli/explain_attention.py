"""The views of `regard explain` that show attention: heat map, dots, equations, filter."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.inputs import say_written
from regard.valid_json import valid_json

if TYPE_CHECKING:
    import numpy as np
    from rich.console import RenderableType

    from regard.bundle.bundle import Bundle
    from regard.draw.figure.canvas import Picture
    from regard.draw.terminal.tables import NumberTable
    from regard.explain.heads import AttentionMap, Attentions
    from regard.explain.views import Filter

# view → the attention it shows of an encoder–decoder unless --kind says otherwise
VIEWS = {"heatmap": "cross", "dots": "cross", "equation": "encoder", "filter": "encoder"}


@dataclass(frozen=True)
class View:
    """What is to be shown of a pass, and how."""

    view: str
    kind: str | None
    layer: int | None
    head: int | None
    word: str | None
    every: bool
    heads: bool
    pieces: bool
    svg: Path | None
    png: Path | None

    def check(self) -> None:
        """Options that do not go together, before a model is loaded."""
        if self.heads and not (self.svg and self.view == "heatmap"):
            raise click.UsageError("--heads needs --svg and --as heatmap")
        if self.word is not None and self.view not in ("equation", "filter"):
            raise click.UsageError("--word needs --as equation, --as filter or --as words")
        if self.every and self.view != "equation":
            raise click.UsageError("--all-terms needs --as equation")
        if (self.svg or self.png) and self.view == "equation":
            raise click.UsageError(
                "--as equation is text; --svg and --png draw --as heatmap, --as dots and "
                "--as filter"
            )


def explain_attention(
    bundle: "Bundle",
    look: View,
    text: str,
    device: str,
    as_json: bool,
    answer: str | None,
    pair: str | None,
    most: int | None,
) -> None:
    """Print one view of a pass, and draw it into files."""
    look.check()
    pieces = look.pieces or look.view == "filter"
    kind = _checked_kind(bundle, look, text, answer, pieces)
    from regard.answer.loaded import TORCH, LoadedModel
    from regard.explain.heads import attend  # here: torch takes seconds

    model = LoadedModel(bundle, device, TORCH)
    attentions = attend(model, text, answer, pieces, pair, most)
    chosen = attentions.map(kind, look.layer)
    head = look.head or 1 if look.view == "filter" else look.head
    numbers, pictures = _view(look.view, attentions, chosen, head, look.word, look.every)
    if as_json:
        click.echo(valid_json(numbers))
    else:
        from regard.draw.terminal.console import Console

        console = Console()
        console.print(attentions.title, style="bold", markup=False, highlight=False)
        for picture in pictures:
            console.print(picture, highlight=False)
    _say_unknown(bundle.path, text)
    _write(look, attentions, chosen, head)


def _checked_kind(bundle: "Bundle", look: View, text: str, answer: str | None, pieces: bool) -> str:
    """The attention to show; a layer, a head or a word that is not there is refused here, of a run
    that translates before torch is imported."""
    from regard.explain.place import KINDS, check_place, find_word, groups_of, kinds_of, known_ids

    spec = bundle.spec
    kinds = kinds_of(spec)
    kind = look.kind or (VIEWS[look.view] if len(kinds) > 1 else kinds[0])
    check_place(spec, kind, look.layer, look.head)
    if bundle.is_own_translator:
        tokenizer = bundle.own_tokenizer
        ids = known_ids(tokenizer, KINDS[kind][2], text, answer)
        if look.word is not None and ids is not None:
            ids = ids if kind == "encoder" else [*ids, tokenizer.special.eos]  # as it is predicted
            find_word([name for name, _ in groups_of(tokenizer, ids, pieces)], look.word)
    return kind


def _say_unknown(run: Path, text: str) -> None:
    """As `regard translate` does: what a model makes of words it has never met means little."""
    from regard.bundle.words_seen import WordsSeen

    seen = WordsSeen.of_run(run / "data")
    if seen is not None and seen.new_in(text):
        seen.note(text)
        click.echo(f"Note: {seen.sentence()}", err=True)


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

    softmax = "softmax of each row: the weights, the attention filter"
    return [
        NumberTable(steps.products, steps.rows, steps.columns, "Q Kᵀ: the dot products"),
        NumberTable(steps.scores, steps.rows, steps.columns, steps.step),
        NumberTable(steps.weights, steps.rows, steps.columns, softmax, (0, 1)),
    ]


def _rounded(values: "np.ndarray") -> list[list[float | None]]:
    """Numbers for JSON, which has no NaN: what a mask forbids is null."""
    return [[None if v != v else round(float(v), 6) for v in row] for row in values]


def _write(look: View, attentions: "Attentions", chosen: "AttentionMap", head: int | None) -> None:
    """Draw into files; the heads side by side are for SVG only."""
    from regard.draw.figure.png import write_png
    from regard.draw.figure.svg import write_svg

    if look.svg:
        write_svg(look.svg, _picture(look.view, attentions, chosen, head, look.heads))
        say_written(look.svg)
    if look.png:
        write_png(look.png, _picture(look.view, attentions, chosen, head, False))
        say_written(look.png)


def _picture(
    view: str, attentions: "Attentions", chosen: "AttentionMap", head: int | None, heads: bool
) -> "Picture":
    from regard.draw.figure import dots, heat_map, tables
    from regard.draw.grid import make_grid
    from regard.explain.views import attention_filter

    title, subtitle = chosen.title(head), attentions.title
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
