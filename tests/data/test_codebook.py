"""A book of patches: lossless where it can be, else k-means, the same as scikit-learn has it."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from refusals import refused
from regard.data.codebook import Codebook, k_means, learn_codebook, nearest_to, patches_of
from regard.errors import DataError

RED, WHITE = (200, 30, 30), (255, 255, 255)


def picture(left: int, top: int, side: int = 4) -> np.ndarray:
    """A red square on white, 12 × 8 pixels."""
    colours = np.full((8, 12, 3), WHITE, np.uint8)
    colours[top : top + side, left : left + side] = RED
    return colours


def test_patches_are_those_that_slices_give() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (8, 12, 3)).astype(np.uint8)
    patches = patches_of(noise, 4)
    for place, patch in enumerate(patches):
        row, column = divmod(place, 3)
        part = noise[4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
        assert (patch.reshape(4, 4, 3) == part).all()


def test_few_patches_lose_nothing() -> None:
    pictures = [picture(left, top) for left in range(9) for top in range(5)]
    book = learn_codebook(pictures, 4, 500, seed=1)
    assert len({patch.tobytes() for patch in book.patches}) == len(book) <= 500
    assert (book.patches[0] == 255).all(), "the most frequent patch comes first"
    codes = book.codes(pictures)
    assert codes.shape == (len(pictures), book.places) == (45, 6)
    for row, known in zip(codes, pictures, strict=True):
        assert (book.picture(row) == known).all()


def test_many_patches_are_written_as_the_nearest() -> None:
    chance = np.random.default_rng(2)
    pictures = [chance.integers(0, 256, (8, 12, 3)).astype(np.uint8) for _ in range(30)]
    book = learn_codebook(pictures, 4, 20, seed=1)
    assert len(book) <= 20 and book.shape == (8, 12, 3)
    again = learn_codebook(pictures, 4, 20, seed=1)
    assert (again.patches == book.patches).all()
    flat = book.patches.reshape(len(book), -1).astype(int)
    for patch, code in zip(patches_of(pictures[7], 4), book.codes([pictures[7]])[0], strict=True):
        apart = ((flat - patch.astype(int)) ** 2).sum(axis=1)
        assert apart[code] == apart.min()


def test_k_means_is_that_of_scikit_learn() -> None:
    chance = np.random.default_rng(3)
    centres = chance.integers(40, 216, (6, 12))
    patches = np.unique(
        np.clip(np.repeat(centres, 40, axis=0) + chance.normal(0, 25, (240, 12)), 0, 255).astype(
            np.uint8
        ),
        axis=0,
    )
    counts = chance.integers(1, 9, len(patches))
    first = patches[chance.choice(len(patches), 6, replace=False)].astype(np.float64)
    theirs = KMeans(6, init=first, n_init=1, max_iter=100, tol=0, algorithm="lloyd")
    theirs.fit(patches.astype(np.float64), sample_weight=counts)
    ours, used = k_means(patches, counts, first, rounds=100)
    wanted = np.rint(theirs.cluster_centers_).astype(np.uint8)
    assert (ours == wanted).all()
    assert used.sum() == counts.sum()
    codes, apart = nearest_to(patches, theirs.cluster_centers_)
    assert (codes == theirs.labels_).all()
    assert np.isclose((apart * counts).sum(), theirs.inertia_)


def test_a_side_that_does_not_fit() -> None:
    with refused(DataError, problem="patches of 5 pixels do not fill 12 × 8 pixels"):
        learn_codebook([picture(0, 0)], 5, 10, seed=1)


@pytest.mark.parametrize("codes", [1, 2])
def test_a_book_of_one_or_two(codes: int) -> None:
    book = learn_codebook([picture(0, 0), picture(4, 4)], 4, codes, seed=1)
    assert isinstance(book, Codebook) and len(book) == codes
    assert len(book.codes([picture(4, 4)])[0]) == 6
