"""A picture as a sequence of numbers: which patch of a small book of patches stands at each place.

    picture (height, width, channels)  →  rows · columns patches, row by row  →  a code for each

The book is learned from pictures. Where they have no more different patches than the book has
pages, all of them are in it and nothing is lost. Where they have more, it is k-means: each patch is
written as the nearest one of the book,

    code(x) = argmin_k ‖x - c_k‖²        c_k = the mean of all patches whose code is k

and these two steps take turns until no code changes (Lloyd 1982). The first patches of the book are
drawn as k-means++ does (Arthur and Vassilvitskii 2007): each with a chance that grows with its
frequency and its squared distance from those that are in it already.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from regard.data.picture import Colours
from regard.errors import DataError

Codes = NDArray[np.int64]
ROUNDS = 20  # of k-means; what moves later moves by parts of a colour
TOGETHER = 4096  # patches whose distances are looked at together


@dataclass(frozen=True, eq=False)
class Codebook:
    """The patches (codes, side, side, channels), and how many of them a picture has."""

    patches: Colours
    rows: int
    columns: int

    def __len__(self) -> int:
        return len(self.patches)

    @property
    def side(self) -> int:
        """Pixels of a patch's side."""
        return int(self.patches.shape[1])

    @property
    def places(self) -> int:
        """How many codes a picture is."""
        return self.rows * self.columns

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of a picture: height, width, channels."""
        return self.rows * self.side, self.columns * self.side, int(self.patches.shape[3])

    def codes(self, pictures: Sequence[Colours]) -> Codes:
        """(pictures, places): the nearest patches of each."""
        flat = np.concatenate([patches_of(picture, self.side) for picture in pictures])
        keys = [patch.tobytes() for patch in flat]
        missing = {key: place for place, key in enumerate(keys) if key not in self._pages}
        pages = self._pages
        if missing:
            others = flat[list(missing.values())]
            nearest = nearest_to(others, self.patches.reshape(len(self), -1))[0]
            pages = {**pages, **dict(zip(missing, nearest.tolist(), strict=True))}
        found = np.fromiter((pages[key] for key in keys), np.int64, len(keys))
        return found.reshape(len(pictures), self.places)

    @cached_property
    def _pages(self) -> dict[bytes, int]:
        """The code of each patch that is in the book as it is."""
        flat = self.patches.reshape(len(self), -1)
        return {patch.tobytes(): code for code, patch in enumerate(flat)}

    def picture(self, codes: Sequence[int] | Codes) -> Colours:
        """Put the patches of these codes together."""
        grid = self.patches[np.asarray(codes)].reshape(
            self.rows, self.columns, *self.patches[0].shape
        )
        together: Colours = grid.swapaxes(1, 2).reshape(self.shape)
        return together


def learn_codebook(pictures: Iterable[Colours], side: int, most: int, seed: int) -> Codebook:
    """At most so many patches, the frequent ones first."""
    rest = iter(pictures)
    first = next(rest)
    height, width, channels = first.shape
    if height % side or width % side:
        problem = f"patches of {side} pixels do not fill {width} × {height} pixels"
        raise DataError("pictures", problem, advice="choose another side of a patch")
    different, counts = _different(patches_of(one, side) for one in chain([first], rest))
    if len(different) > most:
        different, counts = k_means(different, counts, _spread(different, counts, most, seed))
    order = np.argsort(-counts, kind="stable")
    patches = different[order].reshape(-1, side, side, channels)
    return Codebook(patches, height // side, width // side)


def patches_of(picture: Colours, side: int) -> Colours:
    """(places, side · side · channels), row by row."""
    height, width, channels = picture.shape
    grid = picture.reshape(height // side, side, width // side, side, channels).swapaxes(1, 2)
    return grid.reshape(-1, side * side * channels)


def _different(patches: Iterator[Colours]) -> tuple[Colours, NDArray[np.int64]]:
    """Each patch once, and how often it occurs; a part of the pictures is held at a time."""
    kept: dict[bytes, int] = {}
    size = 0
    for some in patches:
        size = some.shape[1]
        for patch in some:
            key = patch.tobytes()
            kept[key] = kept.get(key, 0) + 1
    flat = np.frombuffer(b"".join(kept), np.uint8).reshape(-1, size)
    return flat, np.array(list(kept.values()), np.int64)


def nearest_to(
    patches: NDArray[np.uint8], book: NDArray[np.number]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each patch the first of the nearest in the book, and ‖x - c‖²."""
    pages = book.astype(np.float64)
    squares = (pages**2).sum(axis=1)
    best = np.empty(len(patches), np.int64)
    apart = np.empty(len(patches), np.float64)
    for start in range(0, len(patches), TOGETHER):
        some = patches[start : start + TOGETHER].astype(np.float64)
        distances = squares - 2 * some @ pages.T
        found = distances.argmin(axis=1)
        best[start : start + len(some)] = found
        least = distances[np.arange(len(some)), found] + (some**2).sum(axis=1)
        apart[start : start + len(some)] = np.maximum(least, 0)
    return best, apart


def _spread(
    patches: Colours, counts: NDArray[np.int64], most: int, seed: int
) -> NDArray[np.float64]:
    """The patches that k-means begins with: the most frequent, then by chance, far apart."""
    chance = np.random.default_rng(seed)
    flat = patches.astype(np.float32)
    squares = (flat**2).sum(axis=1)
    chosen = [int(counts.argmax())]
    apart = np.full(len(flat), np.inf, np.float32)
    while len(chosen) < most:
        page = flat[chosen[-1]]
        apart = np.minimum(apart, np.maximum(squares - 2 * flat @ page + page @ page, 0))
        apart[chosen[-1]] = 0
        weights = (counts * apart).cumsum(dtype=np.float64)
        chosen.append(int(np.searchsorted(weights, chance.random() * weights[-1], side="right")))
    return patches[chosen].astype(np.float64)


def k_means(
    patches: Colours, counts: NDArray[np.int64], book: NDArray[np.float64], rounds: int = ROUNDS
) -> tuple[Colours, NDArray[np.int64]]:
    """The book after so many rounds, in whole colours, and how often each of its patches is used.

    A patch that none is nearest to is left out in the end.
    """
    weights = counts.astype(np.float64)
    before = np.full(len(patches), -1)
    for _ in range(rounds):
        codes, _ = nearest_to(patches, book)
        if (codes == before).all():
            break
        before = codes
        used = np.bincount(codes, weights, len(book))
        sums = np.stack(
            [np.bincount(codes, weights * column, len(book)) for column in patches.T], axis=1
        )
        book = np.where(used[:, None] > 0, sums / np.maximum(used, 1)[:, None], book)
    whole = np.rint(book).astype(np.uint8)
    codes, _ = nearest_to(patches, whole)
    used = np.bincount(codes, weights, len(whole)).astype(np.int64)
    return whole[used > 0], used[used > 0]
