"""Number tables as SVG and PNG: tables go in, one picture with each below the other comes out.

Every cell holds its number; the colour behind it is its place between the ends of its own table.
"""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.draw import palette
from regard.draw.figure import layout, svg
from regard.draw.figure.plot import PIXELS_PER_INCH, new_figure, save, write
from regard.draw.labels import ems, shorten_ems, visible, wrap_ems
from regard.draw.terminal.tables import NumberTable, written

CELL_HEIGHT, NARROWEST, LONGEST_LABEL_EMS = 25.0, 50.0, 9.0
FONT = 12.0
TABLE_GAP = 26.0
LEVELS = 32


@dataclass(frozen=True)
class Sheet:
    """Where everything stands, in pixels; y grows downwards."""

    width: float
    height: float
    left: float
    cell: float
    tops: tuple[float, ...]  # of the first row of numbers of each table
    title: tuple[str, ...]
    subtitle: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def _sheet(tables: Sequence[NumberTable], title: str, subtitle: str) -> Sheet:
    """Room for the longest label and number; tables of one sheet have the same words."""
    rows = tuple(shorten_ems(visible(name), LONGEST_LABEL_EMS) for name in tables[0].rows)
    columns = tuple(shorten_ems(visible(name), LONGEST_LABEL_EMS) for name in tables[0].columns)
    cell = float(math.ceil(max(NARROWEST, max(ems(name) for name in columns) * FONT + 8)))
    left = float(math.ceil(layout.PAD + max(ems(name) for name in rows) * FONT + layout.LABEL_GAP))
    title_lines = tuple(wrap_ems(title, layout.WIDEST_TEXT / layout.TITLE_SIZE / 1.06))
    subtitle_lines = tuple(wrap_ems(subtitle, layout.WIDEST_TEXT / layout.SUBTITLE_SIZE))
    y = layout.PAD + len(title_lines) * 24 + len(subtitle_lines) * 19
    tops = []
    for _ in tables:
        tops.append(y + TABLE_GAP + 22 + 18)  # the table's name, then its column labels
        y = tops[-1] + len(rows) * CELL_HEIGHT
    words = [ems(line) * layout.TITLE_SIZE * 1.06 for line in title_lines]
    words += [ems(line) * layout.SUBTITLE_SIZE for line in subtitle_lines]
    words += [ems(visible(table.title)) * layout.SUBTITLE_SIZE * 1.06 for table in tables]
    width = max(left + len(columns) * cell, layout.PAD + max(words)) + layout.PAD
    return Sheet(
        float(math.ceil(width)), y + layout.PAD, left, cell, tuple(tops),
        title_lines, subtitle_lines, rows, columns,
    )  # fmt: skip


def tables_svg(tables: Sequence[NumberTable], title: str, subtitle: str = "") -> str:
    """One self-contained SVG document; colours follow the reader's light or dark mode."""
    sheet = _sheet(tables, title, subtitle)
    light, dark = _colours(palette.LIGHT, False), _colours(palette.DARK, True)
    style = (
        f".regard-map{{max-width:100%;height:auto;font-family:{svg.FONTS};font-size:{FONT:g}px}}"
        f".regard-map .title{{font-size:{layout.TITLE_SIZE:g}px;font-weight:600}}"
        f".regard-map .subtitle{{font-size:{layout.SUBTITLE_SIZE:g}px}}"
        f".regard-map .name{{font-size:{layout.SUBTITLE_SIZE:g}px;font-weight:600}}"
        ".regard-map .end{text-anchor:end}.regard-map .middle{text-anchor:middle}"
        ".regard-map .number{font-variant-numeric:tabular-nums;pointer-events:none}"
        f"\n{light}\n@media (prefers-color-scheme:dark){{{dark}}}"
    )
    told = f"{len(tables)} tables of numbers: {'; '.join(table.title for table in tables)}."
    name = " ".join(sheet.title) or "Tables"
    parts = svg.opening(sheet.width, sheet.height, name, visible(told), style)
    for text, x, y, kind in _texts(tables, sheet):
        parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}">{svg.escape(text)}</text>')
    for text, x, y, level in _cells(tables, sheet):
        fill = "none" if level is None else f"k{level}"
        ink = "muted" if level is None else f"t{level}"
        parts.append(
            f'<rect class="{fill}" x="{x:g}" y="{y:g}" width="{sheet.cell - 1:g}" '
            f'height="{CELL_HEIGHT - 1:g}"/>'
            f'<text class="number middle {ink}" x="{x + sheet.cell / 2:g}" '
            f'y="{y + CELL_HEIGHT / 2 + 4:g}">{text}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _colours(theme: palette.Theme, dark: bool) -> str:
    rules = svg.surroundings(theme)
    for level in range(LEVELS + 1):
        colour = palette.scale(level / LEVELS, dark=dark)
        rules.append(f".regard-map .k{level}{{fill:{colour}}}")
        rules.append(f".regard-map .t{level}{{fill:{palette.ink_on(colour)}}}")
    return "".join(rules)


def _texts(tables: Sequence[NumberTable], sheet: Sheet) -> Iterator[tuple[str, float, float, str]]:
    """Every word: what, where (its baseline), and how it is set."""
    y = layout.PAD - 6
    for line in sheet.title:
        y += 24
        yield line, layout.PAD, y - 4, "title"
    for line in sheet.subtitle:
        y += 19
        yield line, layout.PAD, y - 2, "subtitle muted"
    for table, top in zip(tables, sheet.tops, strict=True):
        yield visible(table.title), layout.PAD, top - 28, "name"
        for column, label in enumerate(sheet.columns):
            yield label, sheet.left + (column + 0.5) * sheet.cell, top - 7, "middle"
        for row, label in enumerate(sheet.rows):
            middle = top + (row + 0.5) * CELL_HEIGHT
            yield label, sheet.left - layout.LABEL_GAP, middle + 4, "end"


def _cells(
    tables: Sequence[NumberTable], sheet: Sheet
) -> Iterator[tuple[str, float, float, int | None]]:
    """Every number: its text, its upper left corner, its step of the scale (none: no value)."""
    for table, top in zip(tables, sheet.tops, strict=True):
        for row in range(len(sheet.rows)):
            for column in range(len(sheet.columns)):
                value = float(table.values[row, column])
                level = None if math.isnan(value) else round(table.place(row, column) * LEVELS)
                x, y = sheet.left + column * sheet.cell, top + row * CELL_HEIGHT
                yield written(value, table.decimals), x, y, level


def tables_png(
    path: str | os.PathLike[str], tables: Sequence[NumberTable], title: str, subtitle: str = ""
) -> None:
    """The same sheet as PNG, at two dots per pixel."""
    sheet = _sheet(tables, title, subtitle)
    figure = new_figure(sheet.width / PIXELS_PER_INCH, sheet.height / PIXELS_PER_INCH)

    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, sheet.width), ylim=(sheet.height, 0))
    theme = palette.LIGHT
    sizes = {"title": layout.TITLE_SIZE, "subtitle": layout.SUBTITLE_SIZE, "name": 13.0}
    how = {"title": "bold left", "subtitle": "left", "name": "bold left", "middle": "center"}
    for text, x, y, kind in _texts(tables, sheet):
        first = kind.split()[0]
        colour = theme.muted if "muted" in kind else theme.ink
        size = sizes.get(first, FONT) * 0.92
        write(axes, (x, y - size * 0.35), text, size, colour, how.get(first, "right"))
    boxes, colours = [], []
    for text, x, y, level in _cells(tables, sheet):
        colour = theme.missing if level is None else palette.scale(level / LEVELS)
        boxes.append(Rectangle((x, y), sheet.cell - 1, CELL_HEIGHT - 1))
        colours.append(colour)
        middle = (x + sheet.cell / 2, y + CELL_HEIGHT / 2)
        write(axes, middle, text, FONT * 0.92, palette.ink_on(colour), "center")
    axes.add_collection(PatchCollection(boxes, facecolors=colours, linewidths=0))
    save(figure, path)
