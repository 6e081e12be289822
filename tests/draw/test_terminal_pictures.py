"""Pictures in a terminal: two pixels in a cell; several in a line as long as there is room."""

from io import StringIO

import numpy as np

from regard.draw.figure.pictures import BETWEEN, pasted
from regard.draw.terminal.console import Console
from regard.draw.terminal.pictures import PictureRow


def printed(pictures: list[np.ndarray], width: int) -> list[str]:
    out = StringIO()
    Console(file=out, width=width, force_terminal=True, color_system="truecolor").print(
        PictureRow(pictures)
    )
    return out.getvalue().splitlines()


def test_the_upper_pixel_is_ink_and_the_lower_one_its_ground() -> None:
    picture = np.array([[[255, 0, 0]], [[0, 0, 255]]], np.uint8)
    (line,) = printed([picture], 20)
    assert line.startswith("\x1b[38;2;255;0;0;48;2;0;0;255m▀")


def test_grey_and_an_odd_row() -> None:
    lines = printed([np.full((3, 2, 1), 7, np.uint8)], 20)
    assert len(lines) == 2 and lines[1].count("▀") == 2
    assert "38;2;7;7;7;48;2;7;7;7" in lines[1]


def test_what_has_no_room_goes_below() -> None:
    picture = np.zeros((4, 10, 3), np.uint8)
    assert len(printed([picture] * 3, 34)) == 2
    lines = printed([picture] * 3, 33)
    assert len(lines) == 5 and not lines[2].strip()
    assert [line.count("▀") for line in lines] == [20, 20, 0, 10, 10]


def test_a_large_one_is_thinned_out() -> None:
    lines = printed([np.zeros((100, 100, 3), np.uint8)], 60)
    assert max(line.count("▀") for line in lines) <= 40


def test_pictures_pasted_together() -> None:
    one, other = (np.full((2, 3, 3), colour, np.uint8) for colour in (10, 20))
    whole = pasted([[one, other], [other]], 2)
    assert whole.shape == (10, 14, 3)
    assert (whole[:4, :6] == 10).all() and (whole[:4, 8:] == 20).all()
    assert (whole[6:, :6] == 20).all()
    assert (whole[4:6] == BETWEEN).all() and (whole[6:, 6:] == BETWEEN).all()
