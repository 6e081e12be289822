"""How tokens become the first vectors: embedding, segment, position, and a norm, as there are."""

import math
from collections.abc import Iterator

import numpy as np

from regard.draw.worksheet.numbers import number
from regard.draw.worksheet.worksheet import Matrix, WorksheetStep
from regard.explain.place import Place
from regard.explain.traced_pass import Pass
from regard.explain.walk_norm import norm_step

# positions → (formula, LaTeX, note), for those that are added to the embedding
ADDED = {
    "sinusoidal": (
        "PE(p, 2i) = sin(p / 10000^(2i/d)),  PE(p, 2i+1) = cos(…)",
        r"PE(p, 2i) = \sin(p / 10000^{2i/d}), \quad PE(p, 2i+1) = \cos(p / 10000^{2i/d})",
        "p and 2i count from 0: the first row is p = 0, the first column 2i = 0. The vector "
        "depends on the place only, not on the word.",
    ),
    "halves": (
        "PE(p, i) = sin(p / 10000^(2i/d)),  PE(p, d/2 + i) = cos(…)",
        r"PE(p, i) = \sin(p / 10000^{2i/d}), \quad PE(p, d/2 + i) = \cos(p / 10000^{2i/d})",
        "p and i count from 0; all sines come first, then all cosines. The vector depends on the "
        "place only, not on the word.",
    ),
    "learned": ("PE = P[p]", "PE = P[p]", "A learned row for each position."),
}
# … and for those that attention itself is told
TOLD_LATER = {
    "rotary": "Nothing is added for the place: queries and keys are turned by it, below.",
    "relative": "Nothing is added for the place: each distance adds a number to the scores, below.",
}


def rows_of(done: Pass, place: Place, name: str, recorded: str, latex: str = "") -> Matrix:
    """One vector for each token of the side that asks."""
    pieces = done.sides[place.asks].pieces
    return Matrix(name, done.numbers(recorded), pieces, None, place.query, latex)


def input_steps(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    """Tokens, embedding, segment, position, their sum, its norm."""
    side, spec = done.sides[place.asks], done.spec
    numbered = np.array([[i + 1, token] for i, token in enumerate(side.ids)])
    yield WorksheetStep(
        "Tokens",
        note=f"{len(side.ids)} of the {spec.vocabulary} pieces of the vocabulary"
        f"{_marks(side.pieces)}{_fed(done, place)}",
        parts=(Matrix("token", numbered, side.pieces, ["position", "id"], place.query),),
    )
    yield WorksheetStep(
        "Embedding",
        "e = E[id]",
        r"e = E[\mathrm{id}]",
        f"Row id of the {spec.vocabulary} × {spec.d_model} matrix E.",
        (rows_of(done, place, "e", f"{place.asks}.rows", "e"),),
    )
    if spec.embedding_scale:
        root = number(math.sqrt(spec.d_model))
        yield WorksheetStep(
            f"Times √d_model = √{spec.d_model} = {root}",
            "e · √d_model",
            r"e \cdot \sqrt{d_{\text{model}}}",
            "So that the word is not drowned by its position.",
            (rows_of(done, place, "e · √d_model", f"{place.asks}.embedding", r"e \sqrt{d}"),),
        )
    yield from _added(done, place)
    if spec.embedding_norm:
        table = rows_of(done, place, "x", f"{place.asks}.norm", "x")
        yield norm_step(
            spec, "Norm of the embedding", "x", "This is the first x of the layers.", table
        )


def _added(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    """What is added to the embedding, and the sum."""
    spec, side = done.spec, place.asks
    if spec.segments:
        yield WorksheetStep(
            "Segment",
            "s = G[segment]",
            r"s = G[\mathrm{segment}]",
            f"One of {spec.segments} learned rows: which of two texts the token belongs to.",
            (rows_of(done, place, "s", f"{side}.segment", "s"),),
        )
    if spec.positions in TOLD_LATER:
        yield WorksheetStep("Position", note=TOLD_LATER[spec.positions])
    else:
        formula, latex, note = ADDED[spec.positions]
        table = rows_of(done, place, "PE", f"{side}.position", "PE")
        yield WorksheetStep("Position", formula, latex, note, (table,))
        word, latex = ("e · √d_model", r"e \cdot \sqrt{d_{\text{model}}}")
        if not spec.embedding_scale:
            word = latex = "e"
        more = " + s" * bool(spec.segments)
        yield WorksheetStep(
            "Word and place together",
            f"x = {word}{more} + PE",
            f"x = {latex}{more} + PE",
            parts=(rows_of(done, place, "x", f"{side}.sum", "x"),),
        )


def _marks(pieces: list[str]) -> str:
    """What signs in pieces mean."""
    if any(piece.startswith("##") for piece in pieces):
        return "; ## goes on with the word before it."
    return "; ▁ is a space." if any("▁" in piece for piece in pieces) else "."


def _fed(done: Pass, place: Place) -> str:
    """How a decoder's tokens are fed in."""
    if place.asks == "source":
        return ""
    each = "each token is fed in where the next one is to be predicted."
    if "source" not in done.sides:
        return f" The text and what follows it: {each}"
    return f" {done.sides['target'].pieces[0]} begins the output, so {each}"
