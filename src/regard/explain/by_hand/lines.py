"""The written-out calculations of a worksheet: dot products, fractions of exponentials, sums.

The · cat = 1·0 + 0·1 + 1·0 + 0·1 = 0
The → cat: e^0 / (e^1 + e^0 + e^1) = 1 / 6.4366 = 0.1554
bank = 0.25 money + 0.70 bank + 0.05 grows
"""

import math
from collections.abc import Iterator, Sequence

from torch import Tensor

from regard.draw.worksheet.latex import escape
from regard.draw.worksheet.numbers import DECIMALS, number
from regard.draw.worksheet.worksheet import Line

LONGEST = 8  # terms that are written out; a longer sum is only named
SHORT = 4  # terms that are written out again and again; a longer sum is written once
LARGEST_EXPONENT = 12.0  # above it e^x is longer than the line


def text(value: float, decimals: int = DECIMALS) -> str:
    """A number as short as it is exact: 2 and 0.15, not 2.0000 and 0.1500; 0.4223."""
    shown = number(value, decimals)
    exact = math.isfinite(value) and abs(round(value, decimals) - value) < 1e-12
    return shown.rstrip("0").rstrip(".") if exact and "." in shown else shown


def _factor(value: float) -> str:
    """A number inside a product or a sum; what is below 0 is put in brackets."""
    return f"({text(value)})" if value < 0 else text(value)


def dot_products(
    query: Tensor, keys: Tensor, word: str, key_words: Sequence[str]
) -> Iterator[Line]:
    """q · k, one line for each key."""
    for key, name in zip(keys, key_words, strict=True):
        pairs = list(zip(query.tolist(), key.tolist(), strict=True))
        total = text(float(query @ key))
        if len(pairs) > LONGEST:
            yield Line(f"{word} · {name} = the sum of {len(pairs)} products = {total}")
            continue
        products = " + ".join(f"{_factor(a)}·{_factor(b)}" for a, b in pairs)
        yield Line(f"{word} · {name} = {products} = {total}")


def divisions(scores: Tensor, scaled: Tensor, divisor: float) -> Line:
    """The first row divided: "2 / 2 = 1, 0 / 2 = 0, 2 / 2 = 1"."""
    parts = [
        f"{text(a)} / {text(divisor)} = {text(b)}"
        for a, b in zip(scores.tolist(), scaled.tolist(), strict=True)
    ]
    return Line(", ".join(parts[:SHORT]) + (", …" if len(parts) > SHORT else ""))


def exponentials(
    scores: Tensor, weights: Tensor, word: str, key_words: Sequence[str]
) -> Iterator[Line]:
    """softmax of one row, one line for each key."""
    values = scores.tolist()
    if len(values) > LONGEST:
        return
    below = " + ".join(f"e^{_factor(v)}" for v in values)
    below_latex = " + ".join(f"e^{{{_latex(v)}}}" for v in values)
    if len(values) > SHORT:
        yield Line(f"Σ = {below}", rf"\Sigma = {below_latex}")
        below, below_latex = "Σ", r"\Sigma"
    else:
        below = f"({below})"
    for value, weight, name in zip(values, weights.tolist(), key_words, strict=True):
        result = text(weight)
        middle = ""
        if max(values) <= LARGEST_EXPONENT:
            total = sum(math.exp(v) for v in values)
            middle = f"{text(math.exp(value))} / {text(total)} = "
        yield Line(
            f"{word} → {name}: e^{_factor(value)} / {below} = {middle}{result}",
            rf"\text{{{escape(word)}}} \to \text{{{escape(name)}}}: "
            rf"\frac{{e^{{{_latex(value)}}}}}{{{below_latex}}} = {result}",
        )


def _latex(value: float) -> str:
    return text(value).replace("−", "-").replace("∞", r"\infty")


def renormalised(
    given_weights: Tensor, allowed: Tensor, weights: Tensor, word: str, key_words: Sequence[str]
) -> Line:
    """Given weights under a mask: those that may be seen, divided by their sum."""
    if bool(allowed.all()):
        return Line(f"{word}: nothing is hidden")
    rows = zip(given_weights.tolist(), allowed.tolist(), weights.tolist(), key_words, strict=True)
    shown = [(g, w, n) for g, a, w, n in rows if a]
    below = " + ".join(text(g) for g, _, _ in shown)
    parts = [f"{n} {text(g)} / ({below}) = {text(w)}" for g, w, n in shown]
    return Line(f"{word}: {', '.join(parts)}")


def equations(weights: Tensor, words: Sequence[str], key_words: Sequence[str]) -> Iterator[Line]:
    """Each word as a weighted sum of words, for weights without vectors."""
    for word, row in zip(words, weights.tolist(), strict=True):
        short = all(abs(round(w, 2) - w) < 1e-12 for w in row)  # where two decimals are enough
        pairs = [
            (number(w, 2 if short else DECIMALS), n) for w, n in zip(row, key_words, strict=True)
        ]
        terms = [f"{shown} {name}" for shown, name in pairs if float(shown)]
        rest = any(w and not float(shown) for w, (shown, _) in zip(row, pairs, strict=True))
        yield Line(f"{word} = {' + '.join(terms)}{' + …' if rest else ''}")
