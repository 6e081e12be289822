"""SVG pictures: weights and labels go in, one self-contained SVG document (a string) comes out.

No scripts, no fonts, no links: it can be opened as a file, shown by <img> or pasted into a page
(every style rule is scoped to `.regard-map`). Colours follow the reader's light or dark mode, each
cell says its row, column and value in a tooltip, and <desc> tells the map in words.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from regard.draw import palette
from regard.draw.figure import layout
from regard.draw.figure.layout import Plan, plan
from regard.draw.grid import Grid, make_grid, number
from regard.draw.labels import visible

LEVELS = 64  # steps of the colour scale: each is one CSS class, so that dark mode can swap it
SCALE_STEPS = 32
ROWS_IN_WORDS = 60
FONTS = (
    "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',"
    "'Noto Sans Devanagari','Noto Sans CJK SC',Arial,sans-serif"
)
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def heatmap_svg(
    weights: Float[np.ndarray, "rows columns"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    subtitle: str = "",
    maximum: float | int | None = 1.0,
) -> str:
    """One attention map; `maximum=None` ends the colour scale at the largest weight."""
    grid = make_grid(np.asarray(weights)[None], rows, columns, maximum)
    return _document(grid, plan(grid, title, subtitle))


def heads_svg(
    weights: Float[np.ndarray, "heads rows columns"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    subtitle: str = "",
    names: Sequence[str] | None = None,
    maximum: float | int | None = 1.0,
) -> str:
    """All heads of a layer as small multiples on one scale; `names` default to head 1, head 2, …"""
    grid = make_grid(weights, rows, columns, maximum)
    heads = len(grid.weights)
    if names is None:
        names = [f"head {head + 1}" for head in range(heads)]
    if len(names) != heads:
        raise ValueError(f"heads_svg: got {len(names)} names for {heads} heads; expected one each")
    return _document(grid, plan(grid, title, subtitle, [visible(name) for name in names]))


def _document(grid: Grid, plan: Plan) -> str:
    """Put the parts together; the surface comes first, the tooltip cells after the labels."""
    levels = _levels(grid)
    title = " ".join(plan.title) or "Heat map"
    parts = opening(plan.width, plan.height, title, _in_words(grid, plan), _style(plan, levels))
    parts += words(plan)
    for panel in range(len(plan.names)):
        parts += panel_labels(plan, panel)
        parts += _cells(grid, plan, panel, levels[panel])
    return "\n".join([*parts, *_scale(grid, plan), "</svg>"]) + "\n"


def opening(width: float, height: float, title: str, told: str, style: str) -> list[str]:
    """The first lines of a document: size, name, the picture in words, rules, the page."""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="regard-map" role="img" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(told)}</desc>",
        f"<style>{style}</style>",
        f'<rect class="surface" width="{width:g}" height="{height:g}"/>',
    ]


def _levels(grid: Grid) -> list[list[list[int]]]:
    """The step of the scale of every cell; -1 where there is no value."""
    heads = range(len(grid.weights))
    shape = range(len(grid.rows)), range(len(grid.columns))
    places = [[[grid.fraction(h, r, c) for c in shape[1]] for r in shape[0]] for h in heads]
    return [
        [[-1 if math.isnan(place) else round(place * LEVELS) for place in row] for row in panel]
        for panel in places
    ]


def _style(plan: Plan, levels: list[list[list[int]]]) -> str:
    """Rules for both modes, only for the steps of the scale that occur."""
    steps = {level for panel in levels for row in panel for level in row if level >= 0}
    on_scale = {round(step / (SCALE_STEPS - 1) * LEVELS) for step in range(SCALE_STEPS)}
    light = _colours(palette.LIGHT, False, steps | on_scale, steps if plan.numbered else set())
    dark = _colours(palette.DARK, True, steps | on_scale, steps if plan.numbered else set())
    return f"{sizes(plan)}\n{light}\n@media (prefers-color-scheme:dark){{{dark}}}"


def sizes(plan: Plan) -> str:
    """The rules that hold in both modes: typefaces, sizes, where a text is anchored."""
    return (
        f".regard-map{{max-width:100%;height:auto;font-family:{FONTS}}}\n"
        f".regard-map .label{{font-size:{plan.font:g}px}}"
        f".regard-map .title{{font-size:{layout.TITLE_SIZE:g}px;font-weight:600}}"
        f".regard-map .subtitle{{font-size:{layout.SUBTITLE_SIZE:g}px}}"
        f".regard-map .small{{font-size:{layout.SMALL_SIZE:g}px}}"
        ".regard-map .number{font-size:12px;text-anchor:middle;pointer-events:none;"
        "font-variant-numeric:tabular-nums}"
        ".regard-map .end{text-anchor:end}.regard-map .middle{text-anchor:middle}"
    )


def surroundings(theme: palette.Theme) -> list[str]:
    """The rules of one mode for all that is not data."""
    return [
        f".regard-map .surface{{fill:{theme.surface}}}",
        f".regard-map text{{fill:{theme.ink}}}",
        f".regard-map .muted{{fill:{theme.muted}}}",
        f".regard-map .none{{fill:{theme.missing}}}",
        f".regard-map .cell:hover{{stroke:{theme.ink};stroke-width:1.5}}",
    ]


def _colours(theme: palette.Theme, dark: bool, steps: set[int], numbers: set[int]) -> str:
    rules = surroundings(theme)
    for step in sorted(steps):
        colour = palette.scale(step / LEVELS, dark=dark)
        rules.append(f".regard-map .k{step}{{fill:{colour}}}")
        if step in numbers:
            ink = theme.muted if step / LEVELS < layout.NEXT_TO_NOTHING else palette.ink_on(colour)
            rules.append(f".regard-map .t{step}{{fill:{ink}}}")
    return "".join(rules)


def words(plan: Plan) -> Iterator[str]:
    """Title and subtitle, one element per line."""
    y = layout.PAD - 6
    for line in plan.title:
        y += 24
        yield f'<text class="title" x="{layout.PAD:g}" y="{y - 4:g}">{escape(line)}</text>'
    for line in plan.subtitle:
        y += 19
        yield (
            f'<text class="subtitle muted" x="{layout.PAD:g}" y="{y - 2:g}">{escape(line)}</text>'
        )


def panel_labels(plan: Plan, panel: int) -> Iterator[str]:
    """Row labels left of the first panels, column labels above the top ones, names below all."""
    left, top = plan.corner(panel)
    middle = plan.font * 0.35  # from the middle of a letter to its baseline
    if panel % plan.across == 0:
        for row, label in enumerate(plan.rows):
            y = top + (row + 0.5) * plan.cell + middle
            x = left - layout.LABEL_GAP
            yield f'<text class="label end" x="{x:g}" y="{y:.1f}">{escape(label)}</text>'
    if panel < plan.across:
        for column, label in enumerate(plan.columns):
            x, y = plan.label_point(panel, column)
            place = (
                f'class="label" transform="translate({x + middle * 0.7:.1f} {y:g}) '
                f'rotate(-{plan.angle})"'
                if plan.angle
                else f'class="label middle" x="{x:g}" y="{y:g}"'
            )
            yield f"<text {place}>{escape(label)}</text>"
    if plan.names[panel]:
        name, y = escape(plan.names[panel]), top + len(plan.rows) * plan.cell + 16
        yield f'<text class="small muted" x="{left:g}" y="{y:g}">{name}</text>'


def _cells(grid: Grid, plan: Plan, panel: int, levels: list[list[int]]) -> Iterator[str]:
    """One square per weight, with its tooltip and, in a small map, its number."""
    left, top = plan.corner(panel)
    side = plan.cell - 1
    for row, name in enumerate(grid.rows):
        for column, other in enumerate(grid.columns):
            value = float(grid.weights[panel, row, column])
            level = levels[row][column]
            x, y = left + column * plan.cell, top + row * plan.cell
            told = "no value" if level < 0 else f"{value:.3f}"
            yield (
                f'<rect class="cell {"none" if level < 0 else f"k{level}"}" x="{x:g}" y="{y:g}" '
                f'width="{side:g}" height="{side:g}">'
                f"<title>{escape(f'{name} → {other}: {told}')}</title></rect>"
            )
            if plan.numbered:
                yield (
                    f'<text class="number {"muted" if level < 0 else f"t{level}"}" '
                    f'x="{x + side / 2:g}" y="{y + side / 2 + 4.2:g}">{number(value)}</text>'
                )


def _scale(grid: Grid, plan: Plan) -> Iterator[str]:
    """The colour scale from 0 to the maximum."""
    step_width = layout.SCALE_WIDTH / SCALE_STEPS
    x, y = plan.left + 14, plan.scale_top
    text = f'<text class="small muted" y="{y + layout.SCALE_HEIGHT - 1:g}"'
    yield f'{text} x="{plan.left:g}">0</text>'
    for step in range(SCALE_STEPS):
        level = round(step / (SCALE_STEPS - 1) * LEVELS)
        yield (
            f'<rect class="k{level}" x="{x + step * step_width:g}" y="{y:g}" '
            f'width="{step_width:g}" height="{layout.SCALE_HEIGHT:g}"/>'
        )
    end = x + layout.SCALE_WIDTH + 7
    yield f'{text} x="{end:g}">{number(grid.maximum)}</text>'


def _in_words(grid: Grid, plan: Plan) -> str:
    """The map for readers who do not see it: the strongest column of each row."""
    heads = len(plan.names)
    size = f"{len(grid.rows)} rows and {len(grid.columns)} columns"
    words = [f"Heat map of {size} of weights from 0 to {number(grid.maximum)}"]
    if heads > 1:
        words[0] = f"{heads} panels, each a h" + words[0][1:]
    for panel in range(heads if heads == 1 else 0):
        for row, name in list(enumerate(grid.rows))[:ROWS_IN_WORDS]:
            values = grid.weights[panel, row]
            if np.isfinite(values).any():
                best = int(np.nanargmax(values))
                words.append(f"{name}: mostly {grid.columns[best]} ({values[best]:.3f})")
    return ". ".join(words) + "."


def escape(text: str) -> str:
    """Text for XML; the labels were made visible before, so nothing illegal is left."""
    return text.translate(ESCAPES)
