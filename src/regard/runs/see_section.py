"""The section [see] of a recipe: what the pictures of objective "see" are, and how they vary."""

from dataclasses import dataclass

from regard.errors import ConfigError

MOST_WHITE = 65_535.0


@dataclass(frozen=True)
class SeeSection:
    """`crop`, `flip` and `erase` are data/augment.py's; `white` is how arrays and tables write a
    white pixel, `names` are the classes where the data has numbers, from 0."""

    crop: int = 0
    flip: bool = False
    erase: float = 0.0
    white: float = 255.0
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.crop <= 1024:
            raise ConfigError("crop", got=self.crop, expected="0 to 1024 pixels")
        if not 0 <= self.erase <= 1:
            raise ConfigError("erase", got=self.erase, expected="a share, 0 to 1")
        if not 0 < self.white <= MOST_WHITE:
            raise ConfigError("white", got=self.white, expected=f"above 0, to {MOST_WHITE:,.0f}")
        if len(set(self.names)) < len(self.names):
            raise ConfigError("names", "two classes have one name", advice="give each its own")
