"""Charts: where numbers come to stand, and that all of them are told in words."""

import pytest

from regard.draw.figure.canvas import Circle, Rect, Stroke, Text, Tip
from regard.draw.figure.chart import AxisScale, Chart, Measurements, draw_chart

LINES = [
    Measurements("one", [(1, 0.0), (10, 5.0), (100, 10.0)], [0.0, 1.0, 0.0]),
    Measurements("other", [(1, 10.0), (10, 1.0), (100, 0.1)]),
]


def dots(chart: Chart) -> list[Circle]:
    shapes = draw_chart(chart).shapes
    return [
        s for tip in shapes if isinstance(tip, Tip) for s in tip.shapes if isinstance(s, Circle)
    ]


def test_a_logarithmic_axis_has_equal_steps_for_equal_factors() -> None:
    places = [dot.x for dot in dots(Chart("t", "", "x", "y", LINES[:1], log_x=True))]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1])
    ys = [dot.y for dot in dots(Chart("t", "", "x", "y", LINES[1:], log_y=True))]
    assert ys[2] - ys[1] == pytest.approx(ys[1] - ys[0])


def test_higher_numbers_stand_higher() -> None:
    ys = [dot.y for dot in dots(Chart("t", "", "x", "y", LINES[:1]))]
    assert ys[0] > ys[1] > ys[2]


def test_a_spread_is_a_whisker_around_its_point() -> None:
    chart = Chart("t", "", "x", "y", LINES[:1])
    middle = dots(chart)[1]
    strokes = [s for s in draw_chart(chart).shapes if isinstance(s, Stroke)]
    upright = [s.points for s in strokes if s.points[0][0] == s.points[1][0] == middle.x]
    ((_, low), (_, high)) = upright[0]
    assert (low + high) / 2 == pytest.approx(middle.y) and low > high


def test_bars_stand_on_zero_and_carry_their_number() -> None:
    chart = Chart("t", "", "", "y", [Measurements("a", [(0, 2.0), (1, 4.0)])], names=("p", "q"))
    shapes = draw_chart(chart).shapes
    bars = [s for tip in shapes if isinstance(tip, Tip) for s in tip.shapes if isinstance(s, Rect)]
    assert [bar.y + bar.height for bar in bars] == [pytest.approx(bars[0].y + bars[0].height)] * 2
    assert bars[1].height == pytest.approx(2 * bars[0].height)
    assert {"2", "4", "p", "q"} <= {s.text for s in shapes if isinstance(s, Text)}


@pytest.mark.parametrize(
    ("low", "high", "log", "ticks"),
    [
        (0.0, 1.0, False, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.0, 47.0, False, [0.0, 10.0, 20.0, 30.0, 40.0]),
        (0.01, 100.0, True, [0.01, 0.1, 1.0, 10.0, 100.0]),
    ],
)
def test_ticks_are_round(low: float, high: float, log: bool, ticks: list[float]) -> None:
    assert AxisScale(low, high, 0.0, 100.0, log).ticks() == pytest.approx(ticks)


def test_the_words_of_a_chart_have_all_its_numbers() -> None:
    words = draw_chart(Chart("t", "", "L", "MB", LINES)).words
    assert "one: 1: 0, 10: 5, 100: 10" in words and "100: 0.1" in words
