"""Whether a picture is what a caption asked for: four questions, each harder than the one before.

objects   every patch of ink is a shape, and the groups have the shapes that were asked for
colours   … and their colours
counts    … and as many things each
places    … and they lie as the caption says: all is right
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

from regard.data.scenes.asked import AskedGroup, AskedScene
from regard.data.scenes.reading import SceneReading
from regard.data.scenes.statement import Group, grouped


@dataclass(frozen=True)
class SceneVerdict:
    """Of one picture."""

    objects: bool
    colours: bool
    counts: bool
    places: bool

    @property
    def right(self) -> bool:
        """All of it."""
        return self.places


def verdict_on(reading: SceneReading, asked: AskedScene) -> SceneVerdict:
    """What of this is right."""
    groups = list(grouped(reading.things))
    whole = not reading.unread and len(groups) == len(asked.groups)
    shapes, colours, counts = (
        whole and _matched(groups, asked.groups, fits)
        for fits in (_is_shape, _is_colour, AskedGroup.fits)
    )
    return SceneVerdict(shapes, colours, counts, counts and asked.is_shown(reading.statement))


def _is_shape(asked: AskedGroup, group: Group) -> bool:
    return asked.shape == group.shape


def _is_colour(asked: AskedGroup, group: Group) -> bool:
    return _is_shape(asked, group) and asked.colour in (None, group.colour)


def _matched(
    groups: Sequence[Group],
    asked: Sequence[AskedGroup],
    fits: Callable[[AskedGroup, Group], bool],
) -> bool:
    """Whether each group is one of those that were asked for, in some order."""
    return any(
        all(fits(a, g) for a, g in zip(asked, order, strict=True)) for order in permutations(groups)
    )
