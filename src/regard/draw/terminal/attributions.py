"""Words with two numbers each, side by side as bars: what an answer rests on, and where it looked.

The first number has a sign: words that speak against the answer have a bar of another shade, and
of another colour where there are colours.
"""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from regard.draw.labels import pad_left, shorten_cells, visible
from regard.draw.palette import TRAINING, VALIDATION
from regard.draw.terminal.heat_map import bar

LONGEST_WORD = 16  # terminal cells
BAR_WIDTH = 22
AGAINST = "▒"


def attribution_table(
    words: Sequence[str], signed: Sequence[float], shares: Sequence[float], titles: tuple[str, str]
) -> Text:
    """One line a word; each column's longest bar is its largest number."""
    names = [shorten_cells(visible(word), LONGEST_WORD) for word in words]
    margin = max(cell_len(name) for name in names)
    widest = max((abs(value) for value in signed), default=0.0)
    most = max(shares, default=0.0)
    table = Text(no_wrap=True, overflow="crop")
    table.append(f"{'':{margin}}  {titles[0]:<{BAR_WIDTH + 8}}{titles[1]}", "bold")
    for name, value, share in zip(names, signed, shares, strict=True):
        table.append("\n" + pad_left(name, margin))
        table.append(f" {value:+7.3f} ")
        table.append(_signed_bar(value, widest), VALIDATION if value < 0 else TRAINING)
        table.append(f" {share:5.3f} " + bar(share, most, BAR_WIDTH).rstrip())
    return table


def _signed_bar(value: float, widest: float) -> str:
    if value >= 0:
        return bar(value, widest, BAR_WIDTH)
    cells = round(-value / widest * BAR_WIDTH) if widest else 0
    return (AGAINST * cells).ljust(BAR_WIDTH)
