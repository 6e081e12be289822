"""Why is a line wrong? Usual mistakes of method, each tried: does it give the person's numbers?

A mistake is a small calculation that yields a whole matrix. It is believed only where it gives
every number of the wrong rows, within their rounding. Slips of single numbers (a term too often, a
digit) are in diagnosis_cells.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.explain.by_hand.numbers import Written
from regard.explain.by_hand.reader import Sheet
from regard.explain.by_hand.steps import SheetValues
from regard.model.attention import attention_weights, masked_scores

FAR_BELOW = -1e4  # such a score has the weight 0 as well; code often writes −1e9 for −∞
MOST_SWAPPED = 12  # words; with more, exchanging any two takes too long
Guess = tuple[str, Tensor]  # a cause, and the step's matrix as it would be because of it


@dataclass(frozen=True)
class Case:
    """One wrong step; `values` are the steps that it is calculated from."""

    sheet: Sheet
    step: str
    values: SheetValues
    written: Written

    @property
    def right(self) -> Tensor:
        return self.values[self.step]

    def gives(self, guess: Tensor, rows: Sequence[int]) -> bool:
        """Does `guess` round to what was written in these rows?"""
        own = self.written.values
        if guess.shape != own.shape:
            return False
        return bool(close(guess[rows], own[rows], self.written.half).all())


def close(a: Tensor, b: Tensor, half: float) -> Tensor:
    """`b` is `a` but for rounding; for −∞ one may write −∞, or a number far below zero."""
    return (a == b) | ((a - b).abs() <= half) | ((a == -torch.inf) & (b <= FAR_BELOW))


def causes(case: Case, rows: Sequence[int]) -> list[str]:
    """The mistakes of method that give every number of `rows`; at most two."""
    matching: list[str] = []
    for cause, guess in (*METHODS[case.step](case), *_general(case)):
        if case.gives(guess, rows) and not case.gives(case.right, rows) and cause not in matching:
            matching.append(cause)
    return matching[:2]


def _general(case: Case) -> Iterator[Guess]:
    """Mistakes that any step may have."""
    right = case.right
    if right.shape[0] == right.shape[1]:
        yield "rows and columns are exchanged", right.T
    yield "every sign is turned round", -right
    for other, word in enumerate(case.sheet.row_words(case.step)):
        yield f'this is the row of "{word}"', right[[other]].expand_as(right)


def _positions(case: Case) -> Iterator[Guess]:
    """P, or E + P: mistakes in the sines and cosines."""
    base = case.values["E"] if case.step == "X" else torch.zeros_like(case.values["E"])
    if case.step == "X" and "P" in case.values:
        yield "the positions were not added", case.values["E"]
    if "positions" not in case.sheet.flags:
        return
    length, size = base.shape
    place = torch.arange(length, dtype=torch.float64)[:, None]
    column = torch.arange(size)
    pair = column // 2 * 2
    even = column % 2 == 0

    def table(start: int, exponent: Tensor, swap: bool = False) -> Tensor:
        angle = (place + start) / 10_000 ** (exponent / size)
        return base + torch.where(even ^ torch.tensor(swap), angle.sin(), angle.cos())

    yield "positions were counted from 1, not from 0", table(1, pair)
    yield "sine and cosine are exchanged", table(0, pair, swap=True)
    yield "the exponent was i/d for column i; both columns of a pair have 2i/d", table(0, column)
    yield "the exponent was i/d for pair i, not 2i/d", table(0, pair / 2)


def _projections(case: Case) -> Iterator[Guess]:
    """Q, K and V: the wrong matrix, or the wrong input."""
    sheet, values, own = case.sheet, case.values, f"W_{case.step}"
    if own not in sheet.matrices:
        return
    weight, x = sheet.matrices[own], values["X"]
    if "P" in values:
        yield f"the positions are missing: this is E·{own}, not (E + P)·{own}", values["E"] @ weight
    for name in ("W_Q", "W_K", "W_V"):
        if name != own and name in sheet.matrices:
            yield f"{name} was used, not {own}", x @ sheet.matrices[name]
    if weight.shape[0] == weight.shape[1]:
        yield f"{own} was used with rows and columns exchanged", x @ weight.T
    yield f"this is the input itself: it was not multiplied by {own}", x


def _scores(case: Case) -> Iterator[Guess]:
    """Q·Kᵀ."""
    values, divisor = case.values, case.sheet.scale.divisor
    if "Q" not in values:
        return
    q, k = values["Q"], values["K"]
    if k.shape[0] == q.shape[0]:
        yield "Q and K are exchanged: this is K·Qᵀ", k @ q.T
        yield "queries were multiplied with queries: this is Q·Qᵀ", q @ q.T
        yield "keys were multiplied with keys: this is K·Kᵀ", k @ k.T
    if "V" in values and values["V"].shape == k.shape:
        yield "values were taken for keys: this is Q·Vᵀ", q @ values["V"].T
    if divisor != 1:
        yield f"these are already divided by {case.sheet.scale.text}", case.right / divisor
    length = q.norm(dim=1)[:, None] * k.norm(dim=1)
    yield "these are cosines: the dot products were divided by the lengths", case.right / length
    yield "q and k were added, not multiplied", (q[:, None] + k[None]).sum(dim=2)


def divisors(sheet: Sheet) -> list[tuple[str, float]]:
    """What scores are divided by in place of the right divisor, and what to call it."""
    count = len(sheet.key_words)
    names = [("1", 1.0)]
    if sheet.scale.d_k is not None:
        size = sheet.scale.d_k
        names += [(f"d_k = {size}", float(size)), (f"√d_k = √{size}", math.sqrt(size))]
    names += [
        (f"{count}, the number of words", float(count)),
        (f"√{count}, the root of the number of words", math.sqrt(count)),
    ]
    if "E" in sheet.matrices:
        d_model = sheet.matrices["E"].shape[1]
        names += [
            (f"d_model = {d_model}", float(d_model)),
            (f"√d_model = √{d_model}", math.sqrt(d_model)),
        ]
    return [(n, d) for n, d in names if not math.isclose(d, sheet.scale.divisor)]


def _wrongly_scaled(case: Case) -> Iterator[Guess]:
    sheet, scores = case.sheet, case.values["scores"]
    right = sheet.scale.text or "1"
    for name, divisor in divisors(sheet):
        if divisor == 1:
            yield f"the scores were not divided by {right}", scores
        else:
            yield f"the scores were divided by {name}, not by {right}", scores / divisor


def _scaled(case: Case) -> Iterator[Guess]:
    yield from _wrongly_scaled(case)
    by = case.sheet.scale
    yield (
        f"the scores were multiplied by {by.text}, not divided",
        case.values["scores"] * by.divisor,
    )
    yield "the scores were divided twice", case.right / by.divisor


def _masked(case: Case) -> Iterator[Guess]:
    allowed, scaled = case.sheet.allowed, case.values["scaled"]
    assert allowed is not None
    yield "the mask was forgotten", scaled
    yield "hidden scores were set to 0; that is e^0 = 1 in the softmax, not 0", scaled * allowed
    if allowed.shape[0] == allowed.shape[1]:
        yield (
            "the mask is turned round: rows and columns are exchanged",
            masked_scores(scaled, allowed.T),
        )


def _weights(case: Case) -> Iterator[Guess]:
    """softmax, and the mask before it."""
    given_weights = case.sheet.matrices.get("weights")
    scaled = case.values["scaled"] if given_weights is None else given_weights.log()
    inside = masked_scores(scaled, case.sheet.allowed)
    if given_weights is None:
        for cause, scores in _wrongly_scaled(case):
            yield cause, attention_weights(scores, case.sheet.allowed)
        for base in (2, 3, 10):
            shown = (
                "e was taken as 3, it is 2.7183" if base == 3 else f"{base} was taken in place of e"
            )
            yield shown, attention_weights(inside * math.log(base), None)
        yield (
            "scores were divided by their sum, without exponentials",
            scaled / scaled.sum(dim=1, keepdim=True),
        )
        yield "exponentials were not divided by their sum", inside.exp()
        yield "softmax was taken of −score", attention_weights(-scaled, case.sheet.allowed)
        yield "softmax was taken over columns, not over rows", inside.softmax(dim=0)
    allowed = case.sheet.allowed
    if allowed is None:
        return
    plain = attention_weights(scaled, None)
    yield "the mask was forgotten", plain
    yield (
        "the mask was applied after the softmax, and what is left was not divided by its sum",
        (plain * allowed),
    )
    yield (
        "hidden scores were set to 0, not to −∞: e^0 = 1",
        attention_weights(scaled * allowed, None),
    )
    if allowed.shape[0] == allowed.shape[1]:
        turned = attention_weights(scaled, allowed.T)
        yield "the mask is turned round: it hides the earlier words", turned


def _output(case: Case) -> Iterator[Guess]:
    """Σ w·v."""
    values, words = case.values, case.sheet.key_words
    weights, v = values["weights"], values["V"]
    if weights.shape[0] == weights.shape[1]:
        yield "weights were taken from a column, not from a row", weights.T @ v
    for name, what in {"K": "keys", "Q": "queries", "X": "the inputs"}.items():
        if name in values and values[name].shape == v.shape:
            yield f"{what} were added up, not values (V)", weights @ values[name]
    for name in ("scaled", "scores"):
        if name in values:
            yield f"{name} scores were used as weights, without the softmax", values[name] @ v
    yield "the values were averaged, not weighted", v.mean(dim=0).expand_as(case.right)
    yield "the values were added up without weights", v.sum(dim=0).expand_as(case.right)
    if "X" in values and values["X"].shape == case.right.shape:
        yield "the word's own input was already added", case.right + values["X"]
    for a in range(len(words) if len(words) <= MOST_SWAPPED else 0):
        for b in range(len(words)):
            if a != b:
                other = v.clone()
                other[a] = v[b]
                yield f'V of "{words[b]}" was used for "{words[a]}"', weights @ other
            if a < b:
                other = v.clone()
                other[[a, b]] = v[[b, a]]
                yield f'V of "{words[a]}" and of "{words[b]}" are exchanged', weights @ other


def _add(case: Case) -> Iterator[Guess]:
    x, output = case.values["X"], case.values["output"]
    yield "the input was not added", output
    yield "the output was not added", x
    yield "the output was subtracted from the input", x - output
    yield "the input was subtracted from the output", output - x
    if "P" in case.values:
        yield "E was added without its positions", case.values["E"] + output


def _norm(case: Case) -> Iterator[Guess]:
    x = case.values.get("add", case.values["output"])
    deviation = x - x.mean(dim=1, keepdim=True)
    variance = deviation.square().mean(dim=1, keepdim=True)
    yield "nothing was normalised", x
    yield "the mean was subtracted, but nothing was divided", deviation
    yield "the mean was not subtracted", x / variance.sqrt()
    yield "it was divided by the variance, not by its root", deviation / variance
    if x.shape[1] > 1:
        yield "the variance was divided by n − 1, not by n", deviation / x.std(dim=1, keepdim=True)
    columns = x - x.mean(dim=0)
    yield (
        "each column was normalised (batch norm), not each row",
        columns / x.std(dim=0, correction=0),
    )


# without E, which is copied, not calculated
METHODS: dict[str, Callable[[Case], Iterator[Guess]]] = {
    "P": _positions,
    "X": _positions,
    "Q": _projections,
    "K": _projections,
    "V": _projections,
    "scores": _scores,
    "scaled": _scaled,
    "masked": _masked,
    "weights": _weights,
    "output": _output,
    "add": _add,
    "norm": _norm,
}
