"""`regard walk`: every number of one pass, in the order in which a person would write them.

    tokens ─ embedding × √d_model ─ + position                  walk_input.py
    … layers … ─ attention ─ add & norm ─ FFN ─ add & norm      one layer, head and query in full
    … layers … ─ logits ─ the ten most probable next tokens     walk_output.py: or a label, vectors

The numbers are those that the model recorded while it computed (model/trace.py). A walk calculates
none of its own; tests compare each with the trace, and the equations with numpy.
"""

from collections.abc import Iterator

from regard.answer.loaded import LoadedModel
from regard.bundle.labels import Labels
from regard.draw.worksheet.worksheet import Matrix, Worksheet, WorksheetStep
from regard.explain.place import Place, kinds_of
from regard.explain.traced_pass import Pass, choose, trace_pass
from regard.explain.walk_attention import attention_steps
from regard.explain.walk_feed_forward import feed_forward_steps
from regard.explain.walk_input import input_steps, rows_of
from regard.explain.walk_norm import norm_note, norm_step
from regard.explain.walk_output import output_steps

NAMES = {
    "encoder": "encoder self-attention",
    "decoder": "masked self-attention of the decoder",
    "cross": "cross-attention",
}


def walk(
    model: LoadedModel,
    text: str,
    kind: str | None = None,
    layer: int = 1,
    head: int = 1,
    word: str | None = None,
    answer: str | None = None,
    pair: str | None = None,
    max_tokens: int | None = None,
) -> Worksheet:
    """The worksheet of one head (counted from 1) while the model works on `text`.

    Without a kind it is of the encoder, or of a decoder that stands alone. `word` is a word, or a
    position counted from 1, of the text (kind encoder) or of what the decoder is fed: `<s>` and the
    output, or the text with its continuation.
    """
    kind = kind or usual_kind(kinds_of(model.spec))
    done = trace_pass(model, text, answer, pair, max_tokens)
    place = choose(done, kind, layer, head, word)
    labels = model.bundle.labels if model.spec.head in ("classes", "labels") else None
    steps = [*input_steps(done, place), *_before(done, place)]
    for part in _parts(done, place):
        steps += _sub_layer(done, place, part)
    steps += _after(done, place, labels)
    title = f"{NAMES[kind].capitalize()}, layer {layer}, head {head}, query {_query(done, place)}"
    return Worksheet(title, done.title, steps)


def usual_kind(kinds: tuple[str, ...]) -> str:
    """The attention that is walked through where none is named."""
    return "encoder" if "encoder" in kinds else "decoder"


def _query(done: Pass, place: Place) -> str:
    side = done.sides[place.asks]
    where = f"{side.pieces[place.query]} (position {place.query + 1} of {len(side.ids)}"
    for word, places in side.words:
        if place.query in places and len(places) > 1:
            where += f", piece {places.index(place.query) + 1} of {len(places)} of {word}"
    return where + ")"


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
        parts=(rows_of(done, place, "x", f"{place.stack}.{below - 1}.ffn.norm", "x"),),
    )


def _parts(done: Pass, place: Place) -> list[str]:
    """The sub-layers of the chosen layer, in order."""
    crosses = place.stack == "decoder" and done.spec.encoder_layers
    return ["self", "cross", "ffn"] if crosses else ["self", "ffn"]


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
            parts=(rows_of(done, place, "x", f"{name}.norm", "x"),),
        )
        return
    first = done.spec.norm_order == "pre"
    if first:
        title = "Norm before the " + ("attention" if chosen else "feed-forward network")
        table = rows_of(done, place, "y", f"{name}.input", "y")
        yield norm_step(done.spec, title, "x", norm_note(done.spec), table, "y")
    if chosen and place.kind == "cross":
        yield _memory(done)
    yield from attention_steps(done, place) if chosen else feed_forward_steps(done, place, name)
    inside = "o" if chosen else "f"
    yield WorksheetStep(
        "Add",
        f"x + {inside}",
        f"x + {inside}",
        "The way around the sub-layer: what came in is kept, what was found is added."
        + (" This is the new x." if first else ""),
        (rows_of(done, place, f"x + {inside}", f"{name}.add", f"x + {inside}"),),
    )
    if not first:
        table = rows_of(done, place, "x", f"{name}.norm", "x")
        yield norm_step(done.spec, "Norm", f"x + {inside}", "This is the new x.", table)


def _memory(done: Pass) -> WorksheetStep:
    pieces = done.sides["source"].pieces
    return WorksheetStep(
        "The memory: the encoder's output",
        note="One vector for each token of the text, the same for every layer of the decoder. "
        "Keys and values are made from it.",
        parts=(Matrix("m", done.numbers("encoder.output"), pieces, latex="m"),),
    )


def _after(done: Pass, place: Place, labels: Labels | None) -> Iterator[WorksheetStep]:
    """The layers above, the last norm of pre-norm models, and what becomes of the last vectors."""
    spec = done.spec
    layers = spec.encoder_layers if place.stack == "encoder" else spec.decoder_layers
    if place.layer < layers:
        first = place.layer + 1
        which = f"Layer {first}" if first == layers else f"Layers {first} to {layers}"
        yield WorksheetStep(
            f"{which} of the {place.stack}",
            note="The same again with other weights; this is what comes out.",
            parts=(rows_of(done, place, "x", f"{place.stack}.{layers - 1}.ffn.norm", "x"),),
        )
    if spec.norm_order == "pre":
        note = "Norms stand before the sub-layers, so the last sum is still without one."
        table = rows_of(done, place, "x", f"{place.stack}.output", "x")
        yield norm_step(spec, f"The last norm of the {place.stack}", "x", note, table)
    yield from output_steps(done, place, labels)
