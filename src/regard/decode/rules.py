"""What a model's published settings demand of every output, whatever the search is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """Ids that are never output, the id that is output first, and how an output ends."""

    never: tuple[int, ...] = ()
    first: int | None = None
    must_end: bool = False  # an output that reaches its limit ends there instead of being cut off

    def __bool__(self) -> bool:
        return bool(self.never) or self.first is not None or self.must_end


NO_RULES = Rules()
