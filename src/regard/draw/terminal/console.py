"""The console of pictures and progress bars: rich's, through which no text speaks to a terminal.

Colours and cursor movements come from rich, which keeps them apart from text; what stands in a text
is made printable.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from rich import console
from rich.segment import Segment
from rich.text import Text

from regard.printable import Careful, printable


class Console(console.Console):
    """Use it in place of rich's own."""

    @property
    def file(self) -> Any:
        """Where it writes: below the stream that makes texts printable (cli/streams.py).

        While a line is redrawn, rich puts a stream of its own above that one.
        """
        stream: Any = super().file
        return stream.plain if isinstance(stream, Careful) else stream

    @file.setter
    def file(self, stream: Any) -> None:
        self._file = stream

    def render(
        self, renderable: console.RenderableType, options: console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The parts of a picture, their texts printable."""
        for part in super().render(renderable, options):
            yield part if part.control else part._replace(text=printable(part.text))


def whole_lines(lines: Iterable[Text], *, strip: bool = True) -> Iterator[Text]:
    """The lines of a picture: a title (bold) may be broken, a picture may not."""
    for line in lines:
        if line.style != "bold":
            line.no_wrap, line.overflow = True, "crop"
        if strip:
            line.rstrip()
        yield line
