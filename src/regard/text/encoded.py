"""What every published tokenizer gives, whichever library does the work."""

from dataclasses import dataclass

Places = list[int | None]  # of the first piece of each word; None: it has none, or was cut off


@dataclass(frozen=True)
class Encoded:
    """The ids of a text, or of a pair, and which of the two each belongs to."""

    ids: tuple[int, ...]
    segments: tuple[int, ...]


@dataclass(frozen=True)
class ContextWindow:
    """A question and a part of its context; of each place of the context, which of its characters
    it stands for, of all other places None."""

    text: Encoded
    offsets: tuple[tuple[int, int] | None, ...]

    @property
    def places(self) -> range:
        """Those of the context; none where it is empty."""
        known = [place for place, span in enumerate(self.offsets) if span is not None]
        return range(known[0], known[-1] + 1) if known else range(0)


def share(room: int, first: int, second: int) -> tuple[int, int]:
    """How many tokens of two texts fit into a room: the longer one loses first.

    >>> share(10, 30, 3), share(10, 30, 30), share(10, 2, 3)
    ((7, 3), (5, 5), (2, 3))
    """
    room = max(room, 0)
    kept = min(second, max(room // 2, room - first))
    return min(first, room - kept), kept
