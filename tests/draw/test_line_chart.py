"""Curves in the terminal: where the dots are."""

from io import StringIO

import pytest
from rich.console import Console

from regard.draw.terminal.line_chart import HEIGHT, LineChart, Point, _between


def drawn(chart: LineChart, *, colour: bool = False, encoding: str = "utf-8") -> list[str]:
    class Stream(StringIO):
        pass

    stream = Stream()
    vars(stream)["encoding"] = encoding
    console = Console(file=stream, width=50, color_system="truecolor" if colour else None)
    console.print(chart)
    return stream.getvalue().splitlines()


FALL: list[Point] = [(0, 4.0), (50, 2.0), (100, 0.0)]


def test_a_falling_line_runs_from_corner_to_corner() -> None:
    lines = drawn(LineChart([("one", FALL)], "loss", "step"))
    assert lines[0] == "loss"
    rows = lines[1 : 1 + HEIGHT]
    assert rows[0].strip().startswith("4 ┤") and rows[-1].strip().startswith("0 ┤")
    first = [row.index(min(c for c in row if c > "⠀")) for row in rows if any(c > "⠀" for c in row)]
    assert len(first) == HEIGHT  # a line without gaps
    ends = [len(row) for row in rows]
    assert ends == sorted(ends) and ends[-1] == 50  # always further to the right
    assert lines[HEIGHT + 2].split() == ["0", "step", "100"]


def test_two_lines_without_colour_are_letters_with_a_legend() -> None:
    level: list[Point] = [(0, 1.0), (100, 1.0)]
    lines = drawn(LineChart([("fall", FALL), ("level", level)], "t", "s"))
    text = "\n".join(lines)
    assert "a" in lines[1] and "b" in text
    assert lines[-2:] == ["  a fall", "  b level"]
    assert "⠤" in drawn(LineChart([("fall", FALL), ("level", level)], "t", "s"), colour=True)[-1]


def test_a_gap_stays_a_gap_and_a_constant_has_a_place() -> None:
    gap: list[Point] = [(0, 1.0), (50, float("nan")), (100, 1.0)]
    rows = drawn(LineChart([("x", gap)], "t", "s"))[1 : 1 + HEIGHT]
    (row,) = [row for row in rows if any("⠀" < c <= "⣿" for c in row)]
    assert sum("⠀" < c <= "⣿" for c in row) == 2


def test_a_logarithmic_axis() -> None:
    """1, 10 and 100 are equally far apart."""
    points: list[Point] = [(1, 0.0), (10, 1.0), (100, 0.0)]
    chart = LineChart([("x", points)], "t", "s", logarithmic=True)
    rows = drawn(chart)[1 : 1 + HEIGHT]
    start = rows[0].index("┤") + 1
    middle = next(i for i, c in enumerate(rows[0][start:]) if "⠀" < c <= "⣿")
    assert middle == pytest.approx((50 - start) / 2, abs=1.5)


def test_between() -> None:
    assert list(_between((0, 0), (2, 4))) == [(0, 0), (0, 1), (1, 2), (2, 3), (2, 4)]
