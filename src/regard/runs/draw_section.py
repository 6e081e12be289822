"""The section [draw] of a recipe: what objective "draw" makes of pictures and captions."""

from dataclasses import dataclass

from regard.errors import ConfigError


@dataclass(frozen=True)
class DrawSection:
    """`patch` is the side of a patch in pixels, `codes` how many different ones are told apart;
    `unsaid` is the share of groups whose colour a caption leaves out."""

    patch: int = 6
    codes: int = 1024
    unsaid: float = 0.2

    def __post_init__(self) -> None:
        for name, most in (("patch", 1024), ("codes", 65_536)):
            if not 1 <= vars(self)[name] <= most:
                raise ConfigError(name, got=vars(self)[name], expected=f"1 to {most:,}")
        if not 0 <= self.unsaid < 1:
            raise ConfigError("unsaid", got=self.unsaid, expected="0 ≤ share < 1")
