"""One head, number by number: the steps of an attention sub-layer, from Q, K, V to W_O.

    Q = y W_Q   K = m W_K   V = m W_V        y asks, m is looked at (self-attention: m = y)
    softmax(Q Kᵀ / √d_k + mask) V            and for the query: Σ w·V written out
                                             (rotary: Q and K turned; relative: scores + bias)
    concat(head 1 … head h) W_O

Every number is one that the pass recorded; nothing is calculated here.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from regard.draw.worksheet.numbers import number
from regard.draw.worksheet.worksheet import Matrix, Sum, WorksheetStep
from regard.explain.place import Place
from regard.explain.traced_pass import Pass
from regard.model.spec import Spec


def attention_steps(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    """The steps of the chosen head."""
    yield from _projections(done, place)
    yield from _weights(done, place)
    yield from _weighted_sum(done, place)
    yield from _heads(done, place)


def _symbols(done: Pass, place: Place) -> tuple[str, str]:
    """What the queries are made from, and what the keys and values are made from."""
    reads = "y" if done.spec.norm_order == "pre" else "x"
    return reads, "m" if place.kind == "cross" else reads


def _projections(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    spec, head = done.spec, place.head - 1
    own, other = _symbols(done, place)
    asks, seen = done.sides[place.asks].pieces, done.sides[place.seen].pieces
    q, k, v = (done.numbers(f"{place.part}.{name}")[head] for name in "qkv")
    turned = spec.positions == "rotary" and place.kind != "cross"
    same = place.query if place.kind != "cross" else None
    shared = spec.heads // spec.groups  # query heads that have their keys and values in common
    origin = (
        "The decoder asks (Q), the encoder's output answers (K, V). "
        if place.kind == "cross"
        else "Each token asks with its q, is found by its k, and hands over its v. "
    )
    grouped = f" Heads share K and V by {shared}s; this is K and V {head // shared + 1}."
    bias = [f" + b_{name}" if spec.attention_bias and spec.qkv_bias else "" for name in "QKV"]
    maps = [
        f"{name} = {reads} W_{name}" for name, reads in zip("QKV", (own, other, other), strict=True)
    ]
    formulas = [text + more for text, more in zip(maps, bias, strict=True)]
    yield WorksheetStep(
        f"Queries, keys and values of head {place.head}",
        ",  ".join(formulas),
        r", \quad ".join(formulas),
        f"{origin}Each of the {spec.heads} heads has its own part of the three matrices, "
        f"{spec.d_model} × {spec.k}: d_k = {spec.k}." + (grouped if shared > 1 else ""),
        (
            Matrix("Q", _unturned(done, place, "q") if turned else q, asks, None, place.query, "Q"),
            Matrix("K", _unturned(done, place, "k") if turned else k, seen, None, same, "K"),
            Matrix("V", v, seen, None, same, "V"),
        ),
    )
    if turned:
        yield WorksheetStep(
            "Queries and keys are turned by their places",
            "(a, b) → (a cos θ − b sin θ, b cos θ + a sin θ),  θ = p · base^(−2i/d_k)",
            r"(a, b) \to (a \cos\theta - b \sin\theta,\ b \cos\theta + a \sin\theta), "
            r"\quad \theta = p \cdot \mathrm{base}^{-2i/d_k}",
            "a is number i of the first half of a row, b that of the second, p the place from 0, "
            f"base {spec.rotary_base:,.0f}{_stretched(spec)}. A dot product of two of them then "
            "depends on their distance.",
            (
                Matrix("Q, turned", q, asks, None, place.query, r"\hat{Q}"),
                Matrix("K, turned", k, seen, None, same, r"\hat{K}"),
            ),
        )


def _unturned(done: Pass, place: Place, name: str) -> np.ndarray:
    """Queries or keys of the head before their rotation; keys may serve several heads."""
    values = done.numbers(f"{place.part}.unturned_{name}")
    turned: np.ndarray = values[(place.head - 1) * len(values) // done.spec.heads]
    return turned


def _stretched(spec: Spec) -> str:
    """How the rotations are slowed down for longer texts."""
    if spec.rotary_scaling == "none":
        return ""
    which = "all" if spec.rotary_scaling == "linear" else "the slow ones"
    return f", {which} of them slowed down {spec.rotary_factor:g} times"


def _weights(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    """Q Kᵀ, ÷ √d_k, + bias, mask, softmax: tables of queries × keys."""

    def table(recorded: str, name: str, latex: str) -> Matrix:
        values = done.numbers(f"{place.part}.{recorded}")[place.head - 1]
        asks, seen = done.sides[place.asks].pieces, done.sides[place.seen].pieces
        return Matrix(name, values, asks, seen, place.query, latex)

    yield WorksheetStep(
        "Scores: every query with every key",
        "S = Q Kᵀ",
        r"S = Q K^{\top}",
        "Row i, column j: the dot product of query i and key j.",
        (table("products", "S", "S"),),
    )
    yield from _scaled(done, place, table)
    if place.kind == "decoder":
        yield WorksheetStep(
            "Mask: nobody looks ahead",
            "s_ij = −∞ where j > i",
            r"s_{ij} = -\infty \text{ where } j > i",
            "A token may look at itself and at what came before it.",
            (table("masked", "s, masked", r"s_{\text{masked}}"),),
        )
    else:
        yield WorksheetStep(
            "Mask: nothing to hide",
            note="One sentence has no padding, and its words may be seen from everywhere: the "
            "scores stay as they are.",
        )
    yield WorksheetStep(
        "Softmax: scores become weights",
        "w_ij = exp(s_ij) / Σ_j exp(s_ij)",
        r"w_{ij} = \frac{\exp s_{ij}}{\sum_{j'} \exp s_{ij'}}",
        "Each row sums to 1"
        + ("; where the mask stands, the weight is exactly 0." if place.kind == "decoder" else "."),
        (table("weights", "w", "w"),),
    )


def _scaled(
    done: Pass, place: Place, table: Callable[[str, str, str], Matrix]
) -> Iterator[WorksheetStep]:
    """From dot products to scores: divided by √d_k, and a number added for each distance."""
    spec = done.spec
    biased = spec.positions == "relative" and place.kind != "cross"
    if spec.score_scale:
        root = number(math.sqrt(spec.k))
        yield WorksheetStep(
            f"Divided by √d_k = √{spec.k} = {root}",
            "s = S / √d_k",
            r"s = S / \sqrt{d_k}",
            "A sum of d_k products spreads √d_k times as far as one of them; the division takes "
            "that back, so that the softmax stays soft.",
            (table("unbiased" if biased else "scores", "s", "s"),),
        )
    else:
        yield WorksheetStep(
            "Not divided by √d_k",
            "s = S",
            "s = S",
            "This model was trained without the division; its weights have learned to be smaller.",
        )
    if biased:
        yield WorksheetStep(
            "Relative positions: a number for each distance",
            "b_ij = B[bucket(j − i)]",
            r"b_{ij} = B[\mathrm{bucket}(j - i)]",
            f"{spec.relative_buckets} learned numbers of this head, the same in every layer; near "
            "distances have one each, far ones share.",
            (table("bias", "b", "b"),),
        )
        yield WorksheetStep(
            "Scores with their distances",
            "s + b",
            "s + b",
            parts=(table("scores", "s + b", "s + b"),),
        )


def _weighted_sum(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    head, query = place.head - 1, place.query
    asks, seen = done.sides[place.asks].pieces, done.sides[place.seen].pieces
    weights, values, outputs = (
        done.numbers(f"{place.part}.{name}")[head] for name in ("weights", "v", "heads")
    )
    # The mask leaves weights of exactly 0; a person would not write those terms down.
    terms = [j for j in range(len(seen)) if weights[query, j] != 0]
    note = f"The row of weights of {asks[query]}, each times the value of the token it belongs to."
    if len(terms) < len(seen):
        note += f" {len(seen) - len(terms)} terms with a weight of exactly 0 are left out."
    yield WorksheetStep(
        f"The weighted sum for {asks[query]}",
        "z_i = Σ_j w_ij v_j",
        r"z_i = \sum_j w_{ij} v_j",
        note,
        (
            Sum(
                f"z for {asks[query]}",
                weights[query, terms],
                values[terms],
                [seen[j] for j in terms],
                outputs[query],
                "z",
            ),
        ),
    )
    yield WorksheetStep(
        f"The same for every token: the output of head {place.head}",
        "Z = w V",
        "Z = w V",
        parts=(Matrix("Z", outputs, asks, None, query, "Z"),),
    )


def _heads(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    spec, query, head = done.spec, place.query, place.head - 1
    asks = done.sides[place.asks].pieces
    all_heads = done.numbers(f"{place.part}.heads")[:, query]
    names = [f"head {count + 1}" for count in range(spec.heads)]
    concat = done.numbers(f"{place.part}.concat")
    bias = " + b_O" if spec.attention_bias and spec.o_bias else ""
    yield WorksheetStep(
        f"All heads for {asks[query]}",
        "z of head 1 … head h",
        r"z^{(1)}, \ldots, z^{(h)}",
        f"The other {spec.heads - 1} heads did the same with their own Q, K and V."
        if spec.heads > 1
        else "This model has one head.",
        (Matrix(f"z of {asks[query]}", all_heads, names, None, head, "z"),),
    )
    yield WorksheetStep(
        "Concat: heads side by side",
        "C = [Z_1, …, Z_h]",
        r"C = [Z_1, \ldots, Z_h]",
        f"{spec.heads} × {spec.k} = {spec.heads * spec.k} numbers for each token; nothing is "
        "added up.",
        (Matrix("C", concat, asks, None, query, "C"),),
    )
    yield WorksheetStep(
        "W_O mixes the heads",
        f"o = C W_O{bias}",
        f"o = C W_O{bias}",
        f"W_O is {spec.heads * spec.k} × {spec.d_model}; this is what the attention adds to x.",
        (Matrix("o", done.numbers(f"{place.part}.output"), asks, None, query, "o"),),
    )
