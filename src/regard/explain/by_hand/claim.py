"""Can these weights come from dot products of one set of vectors, without W_Q and W_K?

Then the scores are symmetric, s_ij = s_ji, and a softmax of them obeys for any three words

    w_ij · w_jk · w_ki = w_ji · w_kj · w_ik

because every row's own sum stands once on both sides. Weights that break it need W_Q ≠ W_K.
"""

from itertools import combinations

from torch import Tensor

from regard.draw.worksheet.worksheet import Line, Mark, WorksheetStep

EQUATION = "w12·w23·w31 = w21·w32·w13"
LATEX = r"w_{12} w_{23} w_{31} = w_{21} w_{32} w_{13}"


def symmetric_step(weights: Tensor, half: float, words: tuple[str, ...]) -> WorksheetStep:
    """The claim tested for every three words; rounded weights stand for all that round to them."""
    parts: list[Line] = []
    for i, j, k in combinations(range(len(words)), 3):
        there, back = [(i, j), (j, k), (k, i)], [(j, i), (k, j), (i, k)]
        low, product, high = (_product(weights, there, change) for change in (-half, 0.0, half))
        other_low, other, other_high = (_product(weights, back, c) for c in (-half, 0.0, half))
        if high < other_low or other_high < low:
            first = f"{words[i]}, {words[j]}, {words[k]}: {_written(weights, there)}"
            second = f"{_written(weights, back)} = {other:.4g}"
            parts.append(Line(f"{first} = {product:.4g}, but {second}"))
    if parts:
        message = "these weights cannot come from dot products of the embeddings alone; they need "
        mark = Mark("wrong", message + "W_Q and W_K that differ")
    else:
        mark = Mark("right", "these weights may come from dot products of one set of vectors")
    note = "a softmax of symmetric scores obeys this for any three words"
    return WorksheetStep("Q = K?", EQUATION, LATEX, note, parts, mark)


def _product(weights: Tensor, places: list[tuple[int, int]], change: float) -> float:
    """The weights at these places multiplied, each changed by the same; none is below 0."""
    result = 1.0
    for place in places:
        result *= max(0.0, float(weights[place]) + change)
    return result


def _written(weights: Tensor, places: list[tuple[int, int]]) -> str:
    return " · ".join(f"{float(weights[place]):g}" for place in places)
