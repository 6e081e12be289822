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
    broken = 0
    for i, j, k in combinations(range(len(words)), 3):
        there, back = [(i, j), (j, k), (k, i)], [(j, i), (k, j), (i, k)]
        products = [_product(weights, places) for places in (there, back)]
        ranges = [_range(weights, places, half) for places in (there, back)]
        if ranges[0][1] < ranges[1][0] or ranges[1][1] < ranges[0][0]:
            broken += 1
            parts.append(
                Line(
                    f"{words[i]}, {words[j]}, {words[k]}: {_written(weights, there)} = "
                    f"{products[0]:.4g}, but {_written(weights, back)} = {products[1]:.4g}"
                )
            )
    if broken:
        message = (
            "these weights cannot come from dot products of the embeddings alone; they need "
            "W_Q and W_K that differ"
        )
        mark = Mark("wrong", message)
    else:
        mark = Mark("right", "these weights may come from dot products of one set of vectors")
    note = "a softmax of symmetric scores obeys this for any three words"
    return WorksheetStep("Q = K?", EQUATION, LATEX, note, parts, mark)


def _product(weights: Tensor, places: list[tuple[int, int]]) -> float:
    result = 1.0
    for place in places:
        result *= float(weights[place])
    return result


def _range(weights: Tensor, places: list[tuple[int, int]], half: float) -> tuple[float, float]:
    low = high = 1.0
    for place in places:
        low *= max(0.0, float(weights[place]) - half)
        high *= float(weights[place]) + half
    return low, high


def _written(weights: Tensor, places: list[tuple[int, int]]) -> str:
    return " · ".join(f"{float(weights[place]):g}" for place in places)
