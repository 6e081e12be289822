"""One head, number by number: the steps of an attention sub-layer, from Q, K, V to W_O.

    Q = y W_Q   K = m W_K   V = m W_V        y asks, m is looked at (self-attention: m = y)
    softmax(Q Kᵀ / √d_k + mask) V            and for the query: Σ w·V written out
    concat(head 1 … head h) W_O

Every number is one that the pass recorded; nothing is calculated here.
"""

import math
from collections.abc import Iterator

from regard.draw.worksheet.numbers import number
from regard.draw.worksheet.worksheet import Matrix, Sum, WorksheetStep
from regard.explain.place import Place
from regard.explain.traced_pass import Pass


def attention_steps(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    """The steps of the chosen head."""
    yield _projections(done, place)
    yield from _weights(done, place)
    yield from _weighted_sum(done, place)
    yield from _heads(done, place)


def _symbols(done: Pass, place: Place) -> tuple[str, str]:
    """What the queries are made from, and what the keys and values are made from."""
    reads = "y" if done.spec.norm_order == "pre" else "x"
    return reads, "m" if place.kind == "cross" else reads


def _projections(done: Pass, place: Place) -> WorksheetStep:
    spec, head = done.spec, place.head - 1
    own, other = _symbols(done, place)
    asks, seen = done.sides[place.asks].pieces, done.sides[place.seen].pieces
    q, k, v = (done.numbers(f"{place.part}.{name}")[head] for name in "qkv")
    same = place.query if place.kind != "cross" else None
    origin = (
        "The decoder asks (Q), the encoder's output answers (K, V). "
        if place.kind == "cross"
        else "Each token asks with its q, is found by its k, and hands over its v. "
    )
    return WorksheetStep(
        f"Queries, keys and values of head {place.head}",
        f"Q = {own} W_Q + b_Q,  K = {other} W_K + b_K,  V = {other} W_V + b_V",
        rf"Q = {own} W_Q + b_Q, \quad K = {other} W_K + b_K, \quad V = {other} W_V + b_V",
        f"{origin}Each of the {spec.heads} heads has its own part of the three matrices, "
        f"{spec.d_model} × {spec.k}: d_k = {spec.k}.",
        (
            Matrix("Q", q, asks, None, place.query, "Q"),
            Matrix("K", k, seen, None, same, "K"),
            Matrix("V", v, seen, None, same, "V"),
        ),
    )


def _weights(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    """Q Kᵀ, ÷ √d_k, mask, softmax: four tables of queries × keys."""

    def table(recorded: str, name: str, latex: str) -> Matrix:
        values = done.numbers(f"{place.part}.{recorded}")[place.head - 1]
        asks, seen = done.sides[place.asks].pieces, done.sides[place.seen].pieces
        return Matrix(name, values, asks, seen, place.query, latex)

    size = done.spec.k
    root = number(math.sqrt(size))
    yield WorksheetStep(
        "Scores: every query with every key",
        "S = Q Kᵀ",
        r"S = Q K^{\top}",
        "Row i, column j: the dot product of query i and key j.",
        (table("products", "S", "S"),),
    )
    yield WorksheetStep(
        f"Divided by √d_k = √{size} = {root}",
        "s = S / √d_k",
        r"s = S / \sqrt{d_k}",
        "A sum of d_k products spreads √d_k times as far as one of them; the division takes that "
        "back, so that the softmax stays soft.",
        (table("scores", "s", "s"),),
    )
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
        "o = C W_O + b_O",
        "o = C W_O + b_O",
        f"W_O is {spec.heads * spec.k} × {spec.d_model}; this is what the attention adds to x.",
        (Matrix("o", done.numbers(f"{place.part}.output"), asks, None, query, "o"),),
    )
