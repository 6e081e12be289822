"""Augmentation: another view of the same picture in every epoch. In, out: colours of a batch.

    crop     the picture on a black frame of so many pixels, cut out somewhere   (He et al. 2016)
    flip     left and right exchanged, of every second one
    erase    of that share of the pictures a rectangle becomes grey              (Zhong et al. 2017)

What happens to a picture follows from the seed, the epoch and its number alone, whatever batch it
is in: a run that is resumed sees the same.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.buckets import Numbers, uniform
from regard.data.picture import Colours

AREA = (0.02, 0.33)  # of an erased rectangle, as shares of the picture
RATIO = (0.3, 3.3)  # of its height to its width
GREY = 128
DRAWN = 8  # numbers of chance a picture


@dataclass(frozen=True)
class Augmentation:
    """What is done; nothing is without any of the three."""

    crop: int = 0
    flip: bool = False
    erase: float = 0.0

    def __call__(
        self, colours: Colours, chance: Sequence[int], examples: Numbers | Sequence[int]
    ) -> Colours:
        """(B, height, width, channels) of the `examples`; `chance` are the seed and the epoch."""
        if not (self.crop or self.flip or self.erase):
            return colours
        return np.stack(
            [
                self._one(picture, draw_chance(chance, int(number)))
                for picture, number in zip(colours, examples, strict=True)
            ]
        )

    def _one(self, picture: Colours, chance: Sequence[float]) -> Colours:
        down, right, turned, erased, *rectangle = chance
        height, width = picture.shape[:2]
        changed = picture
        if self.crop:
            frame = ((self.crop, self.crop), (self.crop, self.crop), (0, 0))
            top, left = (int(share * (2 * self.crop + 1)) for share in (down, right))
            changed = np.pad(picture, frame)[top : top + height, left : left + width]
        if self.flip and turned < 0.5:
            changed = changed[:, ::-1]
        if erased < self.erase:
            changed = changed.copy()
            changed[rectangle_of(rectangle, height, width)] = GREY
        return changed


def draw_chance(chance: Sequence[int], number: int) -> list[float]:
    """Numbers in [0, 1) for an example of an epoch."""
    bits = np.random.PCG64(np.random.SeedSequence([*chance, number]))
    drawn: list[float] = uniform(bits, DRAWN).tolist()
    return drawn


def rectangle_of(chance: Sequence[float], height: int, width: int) -> tuple[slice, slice]:
    """Rows and columns of what is erased: area and ratio (even in its logarithm), then a place."""
    area, ratio, down, right = chance
    cells = (AREA[0] + area * (AREA[1] - AREA[0])) * height * width
    shape = math.exp(math.log(RATIO[0]) + ratio * math.log(RATIO[1] / RATIO[0]))
    rows = min(height, max(1, round(math.sqrt(cells * shape))))
    columns = min(width, max(1, round(math.sqrt(cells / shape))))
    top, left = int(down * (height - rows + 1)), int(right * (width - columns + 1))
    return slice(top, top + rows), slice(left, left + columns)
