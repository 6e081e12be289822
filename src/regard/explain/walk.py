"""`regard walk`: every number of one pass, in the order in which a person would write them.

    tokens ─ embedding × √d_model ─ + position
    … layers … ─ attention ─ add & norm ─ FFN ─ add & norm      one layer, head and query in full
    … layers … ─ logits ─ the ten most probable next tokens     (decoder and cross)

The numbers are those that the model recorded while it computed (model/trace.py). A walk calculates
none of its own; tests compare each with the trace, and the equations with numpy.
"""

import math
from collections.abc import Iterator

import numpy as np

from regard.answer.loaded import LoadedModel
from regard.draw.worksheet.numbers import number
from regard.draw.worksheet.worksheet import Line, Matrix, Worksheet, WorksheetStep
from regard.explain.place import Place
from regard.explain.traced_pass import Pass, choose, trace_pass
from regard.explain.walk_attention import attention_steps

NAMES = {
    "encoder": "encoder self-attention",
    "decoder": "masked self-attention of the decoder",
    "cross": "cross-attention",
}
MOST_PROBABLE = 10
LAYER_NORM = "LayerNorm(x) = γ · (x − mean) / √(variance + ε) + β"
LAYER_NORM_LATEX = (
    r"\mathrm{LayerNorm}(x) = \gamma \cdot "
    r"\frac{x - \mathrm{mean}}{\sqrt{\mathrm{variance} + \varepsilon}} + \beta"
)


def walk(
    model: LoadedModel,
    text: str,
    kind: str = "encoder",
    layer: int = 1,
    head: int = 1,
    word: str | None = None,
    translation: str | None = None,
) -> Worksheet:
    """The worksheet of one head (counted from 1) while the model works on `text`.

    `word` is a word, or a position counted from 1, of the text (kind encoder) or of the output as
    it is fed in, `<s>` first (kinds decoder and cross).
    """
    done = trace_pass(model, text, translation)
    place = choose(done, kind, layer, head, word)
    steps = [*_input(done, place), *_before(done, place)]
    for part in _parts(place):
        steps += _sub_layer(done, place, part)
    steps += _after(done, place)
    title = f"{NAMES[kind].capitalize()}, layer {layer}, head {head}, query {_query(done, place)}"
    return Worksheet(title, f"{done.text} → {done.output}", steps)


def _query(done: Pass, place: Place) -> str:
    side = done.sides[place.asks]
    where = f"{side.pieces[place.query]} (position {place.query + 1} of {len(side.ids)}"
    for word, places in side.words:
        if place.query in places and len(places) > 1:
            where += f", piece {places.index(place.query) + 1} of {len(places)} of {word}"
    return where + ")"


def _rows(done: Pass, place: Place, name: str, recorded: str, latex: str = "") -> Matrix:
    """One vector for each token of the side that asks."""
    pieces = done.sides[place.asks].pieces
    return Matrix(name, done.numbers(recorded), pieces, None, place.query, latex)


def _input(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    """Tokens, embedding, position, sum."""
    side, spec = done.sides[place.asks], done.spec
    numbered = np.array([[i + 1, token] for i, token in enumerate(side.ids)])
    fed = "" if place.asks == "source" else " <s> begins the output, so each token is fed in where "
    yield WorksheetStep(
        "Tokens",
        note=f"{len(side.ids)} of the {spec.vocabulary} pieces of the vocabulary; ▁ is a space."
        + (fed and fed + "the next one is to be predicted."),
        parts=(Matrix("token", numbered, side.pieces, ["position", "id"], place.query),),
    )
    yield WorksheetStep(
        "Embedding",
        "e = E[id]",
        r"e = E[\mathrm{id}]",
        f"Row id of the {spec.vocabulary} × {spec.d_model} matrix E.",
        (_rows(done, place, "e", f"{place.asks}.rows", "e"),),
    )
    root = number(math.sqrt(spec.d_model))
    yield WorksheetStep(
        f"Times √d_model = √{spec.d_model} = {root}",
        "e · √d_model",
        r"e \cdot \sqrt{d_{\text{model}}}",
        "So that the word is not drowned by its position.",
        (_rows(done, place, "e · √d_model", f"{place.asks}.embedding", r"e \sqrt{d}"),),
    )
    waves = spec.positions == "sinusoidal"
    yield WorksheetStep(
        "Position",
        "PE(p, 2i) = sin(p / 10000^(2i/d)),  PE(p, 2i+1) = cos(…)" if waves else "PE = P[p]",
        r"PE(p, 2i) = \sin(p / 10000^{2i/d}), \quad PE(p, 2i+1) = \cos(p / 10000^{2i/d})"
        if waves
        else "PE = P[p]",
        "p and 2i count from 0: the first row is p = 0, the first column 2i = 0. The vector "
        "depends on the place only, not on the word."
        if waves
        else "A learned row for each position.",
        (_rows(done, place, "PE", f"{place.asks}.position", "PE"),),
    )
    yield WorksheetStep(
        "Word and place together",
        "x = e · √d_model + PE",
        r"x = e \cdot \sqrt{d_{\text{model}}} + PE",
        parts=(_rows(done, place, "x", f"{place.asks}.sum", "x"),),
    )


def _before(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    """The layers below the chosen one, as one step."""
    if place.layer == 1:
        return
    below = place.layer - 1
    which = "Layer 1" if below == 1 else f"Layers 1 to {below}"
    yield WorksheetStep(
        f"{which} of the {place.stack}",
        note="The same calculation as below with other weights; this is what arrives at layer "
        f"{place.layer}. --layer {below} shows the layer before it.",
        parts=(_rows(done, place, "x", f"{place.stack}.{below - 1}.ffn.norm", "x"),),
    )


def _parts(place: Place) -> list[str]:
    """The sub-layers of the chosen layer, in order."""
    return ["self", "ffn"] if place.stack == "encoder" else ["self", "cross", "ffn"]


def _sub_layer(done: Pass, place: Place, part: str) -> Iterator[WorksheetStep]:
    """One sub-layer: in full if it is the chosen attention or the FFN, else its result."""
    name = f"{place.stack}.{place.layer - 1}.{part}"
    chosen = name == place.part
    if not chosen and part != "ffn":
        title = "Cross-attention" if part == "cross" else "Masked self-attention"
        kind = "cross" if part == "cross" else "decoder"
        yield WorksheetStep(
            f"{title} of this layer, with add & norm",
            note=f"Its result only; --kind {kind} shows it number by number.",
            parts=(_rows(done, place, "x", f"{name}.norm", "x"),),
        )
        return
    first = done.spec.norm_order == "pre"
    if first:
        yield WorksheetStep(
            "Norm before the " + ("attention" if chosen else "feed-forward network"),
            "y = " + LAYER_NORM,
            f"y = {LAYER_NORM_LATEX}",
            f"In each row: mean 0 and variance 1 over its {done.spec.d_model} numbers, then the "
            "learned γ and β.",
            (_rows(done, place, "y", f"{name}.input", "y"),),
        )
    if chosen and place.kind == "cross":
        yield _memory(done)
    yield from attention_steps(done, place) if chosen else _feed_forward(done, place, name)
    inside = "o" if chosen else "f"
    yield WorksheetStep(
        "Add",
        f"x + {inside}",
        f"x + {inside}",
        "The way around the sub-layer: what came in is kept, what was found is added."
        + (" This is the new x." if first else ""),
        (_rows(done, place, f"x + {inside}", f"{name}.add", f"x + {inside}"),),
    )
    if not first:
        yield WorksheetStep(
            "Norm",
            LAYER_NORM.replace("(x)", f"(x + {inside})", 1),
            LAYER_NORM_LATEX.replace("(x)", f"(x + {inside})", 1),
            "This is the new x.",
            (_rows(done, place, "x", f"{name}.norm", "x"),),
        )


def _memory(done: Pass) -> WorksheetStep:
    pieces = done.sides["source"].pieces
    return WorksheetStep(
        "The memory: the encoder's output",
        note="One vector for each token of the text, the same for every layer of the decoder. "
        "Keys and values are made from it.",
        parts=(Matrix("m", done.numbers("encoder.output"), pieces, latex="m"),),
    )


def _feed_forward(done: Pass, place: Place, name: str) -> Iterator[WorksheetStep]:
    spec = done.spec
    reads = "y" if spec.norm_order == "pre" else "x"
    relu = spec.activation == "relu"
    yield WorksheetStep(
        "Feed-forward network: the hidden layer",
        f"h = max(0, {reads} W_1 + b_1)" if relu else f"h = GELU({reads} W_1 + b_1)",
        rf"h = \max(0, {reads} W_1 + b_1)" if relu else rf"h = \mathrm{{GELU}}({reads} W_1 + b_1)",
        f"Each token for itself: {spec.d_model} → {spec.ffn_size} numbers."
        + (" What would be negative becomes exactly 0." if relu else ""),
        (_rows(done, place, "h", f"{name}.hidden", "h"),),
    )
    yield WorksheetStep(
        "Feed-forward network: the output",
        "f = h W_2 + b_2",
        "f = h W_2 + b_2",
        f"Back to {spec.d_model} numbers.",
        (_rows(done, place, "f", f"{name}.output", "f"),),
    )


def _after(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    """The layers above, the last norm of pre-norm models, and logits where there are some."""
    spec = done.spec
    layers = spec.encoder_layers if place.stack == "encoder" else spec.decoder_layers
    if place.layer < layers:
        first = place.layer + 1
        which = f"Layer {first}" if first == layers else f"Layers {first} to {layers}"
        yield WorksheetStep(
            f"{which} of the {place.stack}",
            note="The same again with other weights; this is what comes out.",
            parts=(_rows(done, place, "x", f"{place.stack}.{layers - 1}.ffn.norm", "x"),),
        )
    if spec.norm_order == "pre":
        yield WorksheetStep(
            f"The last norm of the {place.stack}",
            LAYER_NORM,
            LAYER_NORM_LATEX,
            "Norms stand before the sub-layers, so the last sum is still without one.",
            (_rows(done, place, "x", f"{place.stack}.output", "x"),),
        )
    if place.stack == "encoder":
        yield WorksheetStep(
            "The memory is ready",
            note="These vectors are what every layer of the decoder looks at; go on with "
            "--kind cross.",
        )
    else:
        yield _next_token(done, place)


def _next_token(done: Pass, place: Place) -> WorksheetStep:
    logits, probabilities = (
        done.numbers(name)[place.query] for name in ("logits", "probabilities")
    )
    best = np.argsort(-logits, kind="stable")[:MOST_PROBABLE]
    fed = done.sides["target"].pieces[place.query]
    follows = done.predicted[place.query]
    label = done.tokenizer.pieces([follows])[0]
    place_of = {int(token): row for row, token in enumerate(best)}
    table = np.stack([logits[best], probabilities[best]], axis=1)
    return WorksheetStep(
        f"Logits, and the most probable token after {fed}",
        "logits = x Eᵀ,  p = softmax(logits)",
        r"\text{logits} = x E^{\top}, \quad p = \mathrm{softmax}(\text{logits})",
        f"The {len(best)} best of {len(logits)} tokens; the softmax runs over all of them.",
        (
            Matrix(
                "next token",
                table,
                done.tokenizer.pieces(best),
                ["logit", "probability"],
                place_of.get(follows),
            ),
            Line(f"The output goes on with {label}."),
        ),
    )
