"""The section [caption] of a recipe: how many pictures objective "caption" makes, and of what."""

from dataclasses import dataclass

from regard.errors import ConfigError

MOST_WHITE = 65_535.0
FEWEST_NAMES = 3  # kinds of things, so that a grid can show two of them and another has others


@dataclass(frozen=True)
class CaptionSection:
    """`made` pictures are learned from, where they are drawn or put together; 0: as many as is
    usual. With `names`, which are nouns for labels from 0, pictures with labels become grids
    (data/scenes/grids.py). `white` is how arrays and tables write a white pixel."""

    made: int = 0
    names: tuple[str, ...] = ()
    white: float = 255.0

    def __post_init__(self) -> None:
        if not 0 <= self.made <= 10_000_000:
            raise ConfigError("made", got=self.made, expected="0 to 10,000,000 pictures")
        if not 0 < self.white <= MOST_WHITE:
            raise ConfigError("white", got=self.white, expected=f"above 0, to {MOST_WHITE:,.0f}")
        if self.names and len(set(self.names)) < max(FEWEST_NAMES, len(self.names)):
            problem = f"{len(self.names)}, of which {len(set(self.names))} differ"
            raise ConfigError("names", got=problem, expected=f"{FEWEST_NAMES} or more, all others")
        if any(not name.strip() or name != name.strip() for name in self.names):
            raise ConfigError("names", got=list(self.names), expected="words without spaces around")
