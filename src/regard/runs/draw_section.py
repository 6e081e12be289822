"""The section [draw] of a recipe: what objective "draw" makes of pictures and captions."""

from dataclasses import dataclass

from regard.data.scenes.layouts import WAYS
from regard.errors import ConfigError


@dataclass(frozen=True)
class DrawSection:
    """`made` scenes are learned from; 0: as many as is usual. A patch has `patch` pixels on a side,
    and at most `codes` different ones are told apart. Of the share `unsaid` of all groups a caption
    leaves the colour out. Scenes are in good order, in one of `ways` (data/scenes/layouts.py); 0:
    things lie anywhere."""

    made: int = 0
    patch: int = 6
    codes: int = 1024
    unsaid: float = 0.2
    ways: int = WAYS

    def __post_init__(self) -> None:
        if not 0 <= self.made <= 10_000_000:
            raise ConfigError("made", got=self.made, expected="0 to 10,000,000 pictures")
        if not 0 <= self.ways <= WAYS:
            raise ConfigError("ways", got=self.ways, expected=f"0 to {WAYS}")
        for name, most in (("patch", 1024), ("codes", 65_536)):
            if not 1 <= vars(self)[name] <= most:
                raise ConfigError(name, got=vars(self)[name], expected=f"1 to {most:,}")
        if not 0 <= self.unsaid < 1:
            raise ConfigError("unsaid", got=self.unsaid, expected="0 ≤ share < 1")
