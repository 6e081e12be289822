"""Augmentation: what is done to a picture, by hand; the same again from seed, epoch and number."""

import numpy as np
import pytest

from regard.data.augment import GREY, Augmentation, draw_chance, rectangle_of

PICTURE = np.arange(1, 37, dtype=np.uint8).reshape(1, 6, 6, 1)


def test_without_any_it_is_the_picture() -> None:
    assert Augmentation()(PICTURE, (1, 2), [0]) is PICTURE


@pytest.mark.parametrize("epoch", range(8))
def test_a_crop_is_a_window_of_the_framed_picture(epoch: int) -> None:
    down, right, *_ = draw_chance((1, epoch), 5)
    top, left = int(down * 5), int(right * 5)
    framed = np.zeros((10, 10), np.uint8)
    framed[2:8, 2:8] = PICTURE[0, :, :, 0]
    got = Augmentation(crop=2)(PICTURE, (1, epoch), [5])[0, :, :, 0]
    assert np.array_equal(got, framed[top : top + 6, left : left + 6])


def test_half_are_flipped_and_a_share_erased() -> None:
    many = np.repeat(PICTURE, 2000, axis=0)
    flipped = Augmentation(flip=True)(many, (3, 0), range(2000))
    is_flipped = (flipped == PICTURE[:, :, ::-1]).all(axis=(1, 2, 3))
    assert ((flipped == PICTURE).all(axis=(1, 2, 3)) ^ is_flipped).all()
    assert abs(is_flipped.mean() - 0.5) < 0.04
    large = np.ones((2000, 40, 40, 1), np.uint8)  # so large that rounding a side does not matter
    erased = Augmentation(erase=0.3)(large, (3, 0), range(2000))
    changed = erased != large
    assert abs(changed.any(axis=(1, 2, 3)).mean() - 0.3) < 0.04
    assert (erased[changed] == GREY).all() and changed.mean(axis=(1, 2, 3)).max() <= 0.35
    assert (large == 1).all()  # nothing is done in place


def test_rectangles_by_hand() -> None:
    """Area 0.02 + ½ · 0.31 of 100 cells is 17.5; the middle of the ratios is √(0.3 · 3.3) ≈ 1."""
    rows, columns = rectangle_of([0.5, 0.5, 0.0, 0.999], 10, 10)
    assert (rows, columns) == (slice(0, 4), slice(6, 10))
    assert rectangle_of([0.0, 0.0, 0.9, 0.9], 1, 1) == (slice(0, 1), slice(0, 1))


def test_it_follows_from_seed_epoch_and_number_alone() -> None:
    many = np.repeat(PICTURE, 6, axis=0)
    change = Augmentation(crop=2, flip=True, erase=0.5)
    whole = change(many, (7, 3), [4, 9, 2, 5, 0, 1])
    assert np.array_equal(change(many[:2], (7, 3), [2, 0]), whole[[2, 4]])
    for other in ((7, 4), (8, 3)):
        assert not np.array_equal(change(many, other, [4, 9, 2, 5, 0, 1]), whole)
    assert draw_chance((7, 3), 2)[0] == 0.8116590994374309  # on every machine
