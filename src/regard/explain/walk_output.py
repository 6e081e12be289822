"""What becomes of the last vectors: the next token, a hidden word, a label, or vectors alone."""

import math
from collections.abc import Iterator

import numpy as np
import torch

from regard.answer.labels import probabilities as label_probabilities
from regard.bundle.labels import Labels
from regard.draw.worksheet.numbers import number
from regard.draw.worksheet.worksheet import Line, Matrix, WorksheetStep
from regard.explain.place import Place
from regard.explain.traced_pass import Pass
from regard.explain.walk_feed_forward import NAMES, activated
from regard.explain.walk_input import rows_of
from regard.explain.walk_norm import FORMULAS
from regard.model.spec import Spec

MOST_PROBABLE = 10


def output_steps(done: Pass, place: Place, labels: Labels | None) -> Iterator[WorksheetStep]:
    """The steps after the last layer of the stack that asks."""
    spec = done.spec
    if place.stack == "encoder" and spec.decoder_layers:
        yield WorksheetStep(
            "The memory is ready",
            note="These vectors are what every layer of the decoder looks at; go on with "
            "--kind cross.",
        )
    elif spec.head == "tokens":
        yield from _prepared(done, place)
        yield _tokens(done, place)
    elif spec.head == "none":
        note = "One for each token; this model has no head, `regard embed` makes one of them all."
        yield WorksheetStep("The vectors are ready", note=note)
    else:
        yield from _labels(done, place, labels)


def _prepared(done: Pass, place: Place) -> Iterator[WorksheetStep]:
    """What some models do before the last product."""
    spec = done.spec
    if spec.output_transform:
        text, latex = activated(spec, "x W_T + b_T")
        norm = FORMULAS[spec.norm][0]
        yield WorksheetStep(
            "Before the logits: one more layer",
            f"y = {norm}({text})",
            rf"y = \mathrm{{{norm}}}({latex})",
            f"Its {NAMES[spec.activation]} and its norm are those of the layers, its weights not.",
            (rows_of(done, place, "y", "prepared", "y"),),
        )
    elif spec.output_scale:
        root = number(math.sqrt(spec.d_model))
        yield WorksheetStep(
            f"Divided by √d_model = √{spec.d_model} = {root}",
            "y = x / √d_model",
            r"y = x / \sqrt{d_{\text{model}}}",
            "The embedding that makes the logits is as large as this model's vectors.",
            (rows_of(done, place, "y", "prepared", "y"),),
        )


def _formula(spec: Spec) -> tuple[str, str]:
    """The last product."""
    reads = "y" if spec.output_transform or spec.output_scale else "x"
    tied = spec.tie in ("all", "target")
    bias = " + b" if spec.output_bias else ""
    text, latex = ("Eᵀ", r"E^{\top}") if tied else ("W", "W")
    return (
        f"logits = {reads} {text}{bias},  p = softmax(logits)",
        rf"\text{{logits}} = {reads} {latex}{bias}, \quad p = \mathrm{{softmax}}(\text{{logits}})",
    )


def _tokens(done: Pass, place: Place) -> WorksheetStep:
    logits, probabilities = (
        done.numbers(name)[place.query] for name in ("logits", "probabilities")
    )
    best = np.argsort(-logits, kind="stable")[:MOST_PROBABLE]
    piece = done.sides[place.asks].pieces[place.query]
    text, latex = _formula(done.spec)
    place_of = {int(token): row for row, token in enumerate(best)}
    table = np.stack([logits[best], probabilities[best]], axis=1)
    if place.asks == "target":
        title, name = f"Logits, and the most probable token after {piece}", "next token"
        follows = done.predicted[place.query]
        last: tuple[Line, ...] = (
            Line(f"The output goes on with {done.tokenizer.pieces([follows])[0]}."),
        )
    else:
        title, name = f"Logits, and the most probable token in the place of {piece}", "token"
        follows, last = done.sides["source"].ids[place.query], ()
    return WorksheetStep(
        title,
        text,
        latex,
        f"The {len(best)} best of {len(logits)} tokens; the softmax runs over all of them.",
        (
            Matrix(
                name,
                table,
                done.tokenizer.pieces(best),
                ["logit", "probability"],
                place_of.get(follows),
            ),
            *last,
        ),
    )


def _labels(done: Pass, place: Place, labels: Labels | None) -> Iterator[WorksheetStep]:
    """A label of the whole text, or of the token that asks."""
    spec = done.spec
    logits = done.numbers("logits")
    if spec.head == "classes":
        first = done.sides["source"].pieces[0]
        if spec.pool != "none":
            yield WorksheetStep(
                f"The pooler: the vector of {first} speaks for the text",
                f"v = {spec.pool}(x W_P + b_P)",
                rf"v = \mathrm{{{spec.pool}}}(x W_P + b_P)",
                f"Of the first token only, {spec.d_model} → {spec.d_model} numbers.",
                (Matrix("v", done.numbers("pooled")[None], [first], None, None, "v"),),
            )
        whose, reads = "the text", "v" if spec.pool != "none" else "x"
    else:
        whose, reads = done.sides["source"].pieces[place.query], "x"
        logits = logits[place.query]
    if spec.head == "spans" or labels is None or labels.kind == "regression":
        names = ["begins", "ends"] if spec.head == "spans" else [f"{n}" for n in range(len(logits))]
        table, columns = logits[:, None], ["logit"]
    else:
        names, columns = list(labels.names), ["logit", "probability"]
        p = label_probabilities(labels, torch.from_numpy(logits)).numpy()
        table = np.stack([logits, p], axis=1)
    yield WorksheetStep(
        f"Logits of {whose}",
        f"logits = {reads} W_C + b_C",
        rf"\text{{logits}} = {reads} W_C + b_C",
        "",
        (Matrix("label", table, names, columns, int(logits.argmax())),),
    )
