"""The steps of a sheet in double precision, with the model's own softmax, positions and epsilon.

    X = E + P                            Q = X·W_Q, K = X·W_K, V = X·W_V
    scores = Q·Kᵀ                        scaled = scores / √d_k
    masked = scaled, or −∞               weights = softmax(masked), each row for itself
    output = weights·V                   add = X + output, norm = LayerNorm(add)

The whole is tested equal to the model's attention. `calculate` can take a person's own numbers for
any step, so that the steps after it follow from them; and it can round each step, as a person does
who writes every step down.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.explain.by_hand.numbers import Written
from regard.explain.by_hand.reader import Sheet
from regard.model.attention import attention_weights, masked_scores
from regard.model.positions import sinusoids
from regard.model.spec import Spec

SheetValues = dict[str, Tensor]


def _embedding(sheet: Sheet, _: SheetValues) -> Tensor | None:
    return sheet.matrices.get("E")


def _positions(sheet: Sheet, so_far: SheetValues) -> Tensor | None:
    if "positions" in sheet.flags:
        return sinusoids(*so_far["E"].shape).double()
    return sheet.matrices.get("P")


def _input(sheet: Sheet, so_far: SheetValues) -> Tensor | None:
    if "P" in so_far:
        return so_far["E"] + so_far["P"]
    return so_far.get("E")


def _projected(name: str) -> Callable[[Sheet, SheetValues], Tensor | None]:
    def step(sheet: Sheet, so_far: SheetValues) -> Tensor | None:
        if f"W_{name}" in sheet.matrices:
            return so_far["X"] @ sheet.matrices[f"W_{name}"]
        return sheet.matrices.get(name)

    return step


def _scores(sheet: Sheet, so_far: SheetValues) -> Tensor | None:
    if "Q" in so_far:
        return so_far["Q"] @ so_far["K"].T
    return sheet.matrices.get("scores")


def _scaled(sheet: Sheet, so_far: SheetValues) -> Tensor | None:
    if "scores" not in so_far:
        return None
    return so_far["scores"] / sheet.scale.divisor


def _masked(sheet: Sheet, so_far: SheetValues) -> Tensor | None:
    if sheet.allowed is None or "scaled" not in so_far:
        return None
    return masked_scores(so_far["scaled"], sheet.allowed)


def _weights(sheet: Sheet, so_far: SheetValues) -> Tensor | None:
    given_weights = sheet.matrices.get("weights")
    if given_weights is None:
        return attention_weights(so_far["masked" if "masked" in so_far else "scaled"], None)
    if sheet.allowed is None:
        return given_weights
    # softmax(ln w) = w / Σ w: to mask weights is to drop some and divide by what remains.
    return attention_weights(given_weights.log(), sheet.allowed)


def _output(sheet: Sheet, so_far: SheetValues) -> Tensor | None:
    return so_far["weights"] @ so_far["V"] if "V" in so_far else None


def _add(sheet: Sheet, so_far: SheetValues) -> Tensor | None:
    return so_far["X"] + so_far["output"] if "add" in sheet.flags else None


def _norm(sheet: Sheet, so_far: SheetValues) -> Tensor | None:
    inside = so_far.get("add", so_far.get("output"))
    if "norm" not in sheet.flags or inside is None:
        return None
    return F.layer_norm(inside, inside.shape[-1:], eps=Spec.norm_epsilon)


STEPS: dict[str, Callable[[Sheet, SheetValues], Tensor | None]] = {
    "E": _embedding,
    "P": _positions,
    "X": _input,
    "Q": _projected("Q"),
    "K": _projected("K"),
    "V": _projected("V"),
    "scores": _scores,
    "scaled": _scaled,
    "masked": _masked,
    "weights": _weights,
    "output": _output,
    "add": _add,
    "norm": _norm,
}


def calculate(
    sheet: Sheet, instead: Mapping[str, Written] | None = None, decimals: int | None = None
) -> SheetValues:
    """Every step of the sheet by name; `instead` replaces numbers, `decimals` rounds each step."""
    values: SheetValues = {}
    for name, step in STEPS.items():
        value = step(sheet, values)
        if value is None:
            continue
        if decimals is not None:
            value = value.round(decimals=decimals)
        if instead and name in instead:
            own = instead[name].values
            value = torch.where(own.isnan(), value, own)
        values[name] = value
    return values
