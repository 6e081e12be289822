"""Why is one number wrong? Usual slips of the pen, each tried: does it give what was written?

Sums first (a term too often, left out, with the wrong sign), then digits (exchanged, cut off, the
last one), then the right number of another place.
"""

import math
from collections import Counter
from collections.abc import Iterator
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

from torch import Tensor

from regard.draw.worksheet.numbers import DECIMALS, LARGEST_WRITTEN_OUT, MINUS, number
from regard.explain.by_hand.diagnosis import Case
from regard.explain.by_hand.numbers import is_whole
from regard.explain.by_hand.reader import BY_KEY

MOST_PLACES = 64  # among more numbers, one is too often the same by chance
TIMES = ("", "once", "twice", "three times", "four times", "five times", "six times")
PenSlip = tuple[str, float]  # a cause, and the number as it would be because of it


def cell_cause(case: Case, row: int, column: int) -> str:
    """The first slip that gives the number at (row, column); "" where none does."""
    wrote = float(case.written.values[row, column])
    for cause, value in _slips(case, row, column):
        if abs(value - wrote) <= case.written.half:
            return cause
    return ""


def show(value: float, decimals: int) -> str:
    """A number as the person would have written it."""
    return number(value, decimals if decimals or is_whole(value) else DECIMALS)


def _slips(case: Case, row: int, column: int) -> Iterator[PenSlip]:
    right = float(case.right[row, column])
    decimals = case.written.decimals
    if not math.isfinite(right):  # −∞ is a masked score; NaN follows from own lines only
        hidden = "the mask hides this score: −∞" if math.isinf(right) else ""
        yield hidden, float(case.written.values[row, column])
        return
    yield from _cut_off(right, decimals)
    yield from _sums(case, row, column)
    yield "the sign is wrong", -right
    yield from _digits(case.written.texts[row, column], right, decimals)
    yield from _elsewhere(case, row, column)


def _cut_off(right: float, decimals: int) -> Iterator[PenSlip]:
    if abs(right) > LARGEST_WRITTEN_OUT:
        return
    unit = Decimal(1).scaleb(-decimals)
    cut = Decimal(right).quantize(unit, ROUND_DOWN)
    if cut != Decimal(right).quantize(unit, ROUND_HALF_UP):
        yield f"cut off after {_places(decimals)}, not rounded", float(cut)
    for fewer in range(max(1, decimals)):
        yield f"rounded to {_places(fewer)}", round(right, fewer)


def _places(decimals: int) -> str:
    return "a whole number" if decimals == 0 else f"{decimals} decimal{'s' * (decimals != 1)}"


def _sums(case: Case, row: int, column: int) -> Iterator[PenSlip]:
    """Every step that is a sum: what if one of its terms was taken wrongly?"""
    decimals = case.written.decimals
    exact = [(name, float(value)) for name, value in terms(case, row, column)]
    # A person adds numbers that are already rounded: 3 × 0.4223 is 1.2669, not 1.2670.
    for parts in ([(n, round(v, decimals)) for n, v in exact] if decimals else exact, exact):
        total = sum(value for _, value in parts)
        count = Counter(value for _, value in parts if value)
        names = {value: name for name, value in reversed(parts)}
        for value, times in count.items():
            shown = show(value, decimals)
            which = names[value] if times == 1 else ""
            whose = f"{which}, {shown}," if which else shown
            fewer = f"{whose} was left out" if times == 1 else _instead(shown, times - 1, times)
            yield fewer, total - value
            for more in (1, 2, 3):
                yield _instead(shown, times + more, times), total + more * value
            yield f"{whose} has the wrong sign", total - 2 * value


def _instead(shown: str, times: int, right: int) -> str:
    def word(n: int) -> str:
        return TIMES[n] if n < len(TIMES) else f"{n} times"

    return f"{shown} was added {word(times)} instead of {word(right)}"


def terms(case: Case, row: int, column: int) -> list[tuple[str, Tensor]]:
    """The terms whose sum is the number at (row, column), each with a name; none for no sum."""
    values, step = case.values, case.step
    if step == "X" and "P" in values:
        return [(name, values[name][row, column]) for name in ("E", "P")]
    if step in ("Q", "K", "V") and f"W_{step}" in case.sheet.matrices:
        products = values["X"][row] * case.sheet.matrices[f"W_{step}"][:, column]
        return [(f"the product of column {i}", p) for i, p in enumerate(products, start=1)]
    if step == "scores" and "Q" in values:
        products = values["Q"][row] * values["K"][column]
        return [(f"the product of column {i}", p) for i, p in enumerate(products, start=1)]
    if step == "output":
        products = values["weights"][row] * values["V"][:, column]
        names = [f'the part of "{word}"' for word in case.sheet.key_words]
        return list(zip(names, products, strict=True))
    if step == "add":
        return [
            ("the input", values["X"][row, column]),
            ("the output", values["output"][row, column]),
        ]
    return []


def _digits(wrote: str, right: float, decimals: int) -> Iterator[PenSlip]:
    """The right number with its digits treated badly."""
    text = show(right, decimals)
    for place in range(len(text) - 1):
        pair = text[place : place + 2]
        if pair.isdigit() and pair[0] != pair[1]:
            changed = text[:place] + pair[::-1] + text[place + 2 :]
            yield f"the digits {pair[0]} and {pair[1]} are exchanged", _float(changed)
    if right:
        for power, where in {10: "right", 100: "right", 0.1: "left", 0.01: "left"}.items():
            yield f"the decimal point is too far to the {where}", right * power
    written = wrote.rjust(len(text))
    if len(written) == len(text):
        wrong = [i for i, (a, b) in enumerate(zip(written, text, strict=True)) if a != b]
        if len(wrong) == 1 and decimals:
            last = wrong[0] == len(text) - 1
            yield ("the last digit" if last else "one digit differs"), _float(wrote)


def _float(text: str) -> float:
    return float(text.replace(MINUS, "-"))


def _elsewhere(case: Case, row: int, column: int) -> Iterator[PenSlip]:
    """The right number of another place of the same matrix."""
    rows, columns = case.right.shape
    if rows * columns > MOST_PLACES:
        return
    words = case.sheet.row_words(case.step)
    heads = case.sheet.key_words if case.step in BY_KEY else None
    for other in range(columns):
        if other != column:
            name = f'"{heads[other]}"' if heads else f"column {other + 1}"
            yield f"this is the number of {name}", float(case.right[row, other])
    for other in range(rows):
        if other != row:
            yield f'this is the number of "{words[other]}"', float(case.right[other, column])
