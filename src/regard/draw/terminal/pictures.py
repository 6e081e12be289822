"""Small pictures in the terminal, side by side: two pixels in each cell, one above the other.

The upper one is the colour of the half block "▀", the lower one that of the cell behind it. A
terminal without colours shows nothing of it, so whoever prints one says in words what it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.color import Color
from rich.console import Console, ConsoleOptions
from rich.style import Style
from rich.text import Text

from regard.draw.terminal.console import whole_lines

HALF = "▀"
WIDEST = 40  # cells of a picture: larger ones are thinned out
GAP = 2  # cells between two pictures


@dataclass(frozen=True, eq=False)
class PictureRow:
    """Pictures (height, width, 1 or 3), as many in a line as there is room for."""

    pictures: Sequence[NDArray[np.uint8]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Lay out for the console."""
        room = options.max_width
        thin = [_thinned(picture, min(WIDEST, room)) for picture in self.pictures]
        if not thin:
            return
        across = max(1, (room + GAP) // (thin[0].shape[1] + GAP))
        for start in range(0, len(thin), across):
            if start:
                yield Text()
            parts = [_lines(picture) for picture in thin[start : start + across]]
            rows = (Text(" " * GAP).join(line) for line in zip(*parts, strict=True))
            yield from whole_lines(rows, strip=False)


def _thinned(picture: NDArray[np.uint8], most: int) -> NDArray[np.uint8]:
    """So many cells wide at most, with an even number of rows, in three colours."""
    step = -(-picture.shape[1] // most)
    thin = picture[step // 2 :: step, step // 2 :: step]
    thin = np.broadcast_to(thin, (*thin.shape[:2], 3))
    return np.concatenate((thin, thin[-1:])) if len(thin) % 2 else thin


def _lines(picture: NDArray[np.uint8]) -> list[Text]:
    """A line for every two rows of pixels."""
    lines = []
    for upper, lower in zip(picture[::2].tolist(), picture[1::2].tolist(), strict=True):
        line = Text()
        for above, below in zip(upper, lower, strict=True):
            line.append(HALF, Style(color=Color.from_rgb(*above), bgcolor=Color.from_rgb(*below)))
        lines.append(line)
    return lines
