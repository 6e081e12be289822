"""A person's results, step by step: which line is wrong first, and why.

A number is right where the right one rounds to it, or where the steps before it were rounded as
they were written and then give it. A line is also judged by the person's own line above: what
follows from a wrong line is not blamed again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from regard.draw.worksheet.numbers import DECIMALS, number, vector
from regard.errors import ConfigError
from regard.explain.by_hand.diagnosis import Case, causes, close
from regard.explain.by_hand.diagnosis_cells import cell_cause, show
from regard.explain.by_hand.numbers import LONGEST_ROW, Written, half_a_unit, is_whole, shape
from regard.explain.by_hand.reader import BY_KEY, Sheet
from regard.explain.by_hand.steps import SheetValues, calculate

MOST_ROWS, MOST_CELLS = 3, 4  # that are told of one by one
NO_CAUSE = "none of the usual slips gives this"
ORDINALS = ("1st", "2nd", "3rd")


@dataclass(frozen=True)
class Mistake:
    """One wrong line: what was written, what it is, why (NO_CAUSE where nothing fits)."""

    row: int
    word: str
    wrote: str
    right: str
    cause: str

    def sentence(self) -> str:
        return f"{self.word}: you wrote {self.wrote}, it is {self.right}: {self.cause}"


@dataclass(frozen=True)
class Judgement:
    """What is said of one step: right, following from an earlier wrong line, or wrong."""

    verdict: Literal["right", "follows", "wrong"]
    findings: tuple[Mistake, ...] = ()
    more: int = 0  # wrong rows that are not listed


def judge(sheet: Sheet, right: SheetValues) -> dict[str, Judgement]:
    """Each step that a person wrote, in order."""
    judged: dict[str, Judgement] = {}
    own: dict[str, Written] = {}
    for step, written in sheet.yours.items():
        _check_shape(step, written, right)
    for step, written in sheet.yours.items():
        judged[step] = _judge_step(sheet, step, right, own, any_wrong(judged))
        own[step] = written
    return judged


def any_wrong(judged: Mapping[str, Judgement]) -> bool:
    return any(judgement.verdict == "wrong" for judgement in judged.values())


def _check_shape(step: str, written: Written, right: SheetValues) -> None:
    if step not in right:
        raise ConfigError(f"yours.{step}: this sheet has no such step; it has {', '.join(right)}")
    if written.values.shape != right[step].shape:
        raise ConfigError(
            f"yours.{step} is {shape(written.values)} and {step} is {shape(right[step])}; "
            "expected equal shapes, or a row by word: "
            f"{step}.word = [{', '.join('…' for _ in range(right[step].shape[1]))}]"
        )


def _judge_step(
    sheet: Sheet, step: str, right: SheetValues, own: Mapping[str, Written], blamed: bool
) -> Judgement:
    written = sheet.yours[step]
    # Rounding each step to 0 or 1 decimals is not how anybody calculates.
    decimals = max(2, written.decimals)
    contexts = [right, calculate(sheet, None, decimals)]
    follows = [calculate(sheet, own), calculate(sheet, own, decimals)] if own else []
    fits = _any_close([c[step] for c in contexts], written)
    fits_own = fits | _any_close([c[step] for c in follows], written)
    wrong = [row for row in written.rows if not bool(fits_own[row].all())]
    if not wrong:
        unlike = any(not bool(fits[row].all()) for row in written.rows)
        return Judgement("follows" if unlike and blamed else "right")
    cases = [Case(sheet, step, context, written) for context in (*contexts, *follows)]
    findings = _findings(cases, wrong, fits_own)
    listed = len({finding.row for finding in findings})
    return Judgement("wrong", tuple(findings), len(wrong) - listed if listed > 1 else 0)


def _any_close(candidates: Sequence[Tensor], written: Written) -> Tensor:
    fits = torch.zeros_like(written.values, dtype=torch.bool)
    for candidate in candidates:
        fits |= close(candidate, written.values, written.half)
    return fits


def _findings(cases: Sequence[Case], wrong: Sequence[int], fits: Tensor) -> list[Mistake]:
    """One for all wrong rows where a mistake of method explains them, else row by row."""
    if cases[0].step == "E":
        return [_copied(cases[0], row) for row in wrong]
    for case in cases:
        likely = causes(case, wrong)
        if likely:
            return [_whole_row(cases[0], wrong[0], likely, len(wrong))]
    return [finding for row in wrong[:MOST_ROWS] for finding in _row_findings(cases, row, fits)]


def _row_findings(cases: Sequence[Case], row: int, fits: Tensor) -> list[Mistake]:
    """A mistake of method for the row, else the slips of its numbers, equal ones together."""
    for case in cases:
        likely = causes(case, [row])
        if likely:
            return [_whole_row(cases[0], row, likely, 1)]
    case = cases[0]
    places: dict[tuple[str, str], list[int]] = {}
    for column in range(case.right.shape[1]):
        if not fits[row, column]:
            right = number(*_exact(float(case.right[row, column]), case.written))
            places.setdefault((case.written.texts[row, column], right), []).append(column)
    whys = {pair: _cell_cause(cases, row, columns[0]) for pair, columns in places.items()}
    if len(places) > 1 and not any(whys.values()):
        return [_whole_row(case, row, [NO_CAUSE + _row_sum(case, row)], 1)]
    mistakes = [
        Mistake(row, _word(case, row) + _where(case, columns), *pair, whys[pair] or NO_CAUSE)
        for pair, columns in places.items()
    ][:MOST_CELLS]
    last = mistakes[-1]
    return [*mistakes[:-1], replace(last, cause=last.cause + _row_sum(case, row))]


def _cell_cause(cases: Sequence[Case], row: int, column: int) -> str:
    for case in cases:
        why = cell_cause(case, row, column)
        if why and torch.equal(case.right, cases[0].right):
            return why
        if why:  # a slip on the way from the person's own line, or from rounded ones
            start = show(float(case.right[row, column]), case.written.decimals)
            right = show(float(cases[0].right[row, column]), case.written.decimals)
            return why if start == right else f"from your line above it is {start}: {why}"
    return ""


def _whole_row(case: Case, row: int, likely: Sequence[str], rows: int) -> Mistake:
    written = case.written
    right = _vector(case.right[row], written)
    also = f" (and so for {rows} rows)" if rows > 1 else ""
    cause = ", or ".join(likely) + also
    return Mistake(row, _word(case, row), written.row(row), right, cause)


def _vector(values: Tensor, written: Written) -> str:
    """The right row, with at least the worksheet's decimals."""
    numbers: np.ndarray = values.numpy()
    return vector(numbers, max(DECIMALS, written.decimals), LONGEST_ROW)


def _exact(value: float, written: Written) -> tuple[float, int]:
    return value, 0 if is_whole(value) else max(DECIMALS, written.decimals)


def _row_sum(case: Case, row: int) -> str:
    """Weights that do not sum to 1 betray themselves."""
    if case.step != "weights":
        return ""
    total = float(case.written.values[row].sum())
    if abs(total - 1) <= case.right.shape[1] * half_a_unit(case.written.decimals):
        return ""
    return f"; a row must sum to 1, yours sums to {show(total, case.written.decimals)}"


def _copied(case: Case, row: int) -> Mistake:
    """A row of E that is not the sheet's; later lines may tell which of the two was used."""
    sheet, written = case.sheet, case.written
    cause = "this is not the E of the sheet"
    mine = calculate(sheet, {"E": written})
    for step, later in sheet.yours.items():
        if step == "E" or row not in later.rows:
            continue
        numbers = later.values[row]
        with_right = bool(close(case.values[step][row], numbers, later.half).all())
        with_own = bool(close(mine[step][row], numbers, later.half).all())
        if with_right and not with_own:
            cause += f", and only the sheet's gives your {step} {later.row(row)}"
            break
    right = _vector(case.right[row], written)
    return Mistake(row, _word(case, row), written.row(row), right, cause)


def _word(case: Case, row: int) -> str:
    return case.sheet.row_words(case.step)[row]


def _where(case: Case, columns: Sequence[int]) -> str:
    """Which numbers of a row: ", 1st and 3rd numbers" or " → cat"."""
    if case.step in BY_KEY:
        return " → " + " and ".join(case.sheet.key_words[c] for c in columns)
    names = [ORDINALS[c] if c < len(ORDINALS) else f"{c + 1}th" for c in columns]
    return f", {' and '.join(names)} number{'s' * (len(columns) > 1)}"
