"""The feed-forward network as steps: its hidden layer, gated or not, and its output."""

from collections.abc import Iterator

from regard.draw.worksheet.worksheet import WorksheetStep
from regard.explain.place import Place
from regard.explain.traced_pass import Pass
from regard.explain.walk_input import rows_of
from regard.model.spec import Spec

NAMES = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "silu": "SiLU"}
NOTES = {
    "relu": "What would be negative becomes exactly 0.",
    "gelu": "GELU(z) = z · Φ(z), Φ being the normal distribution.",
    "gelu_tanh": "GELU(z) = z/2 · (1 + tanh(√(2/π) · (z + 0.044715 z³))).",
    "silu": "SiLU(z) = z / (1 + exp(−z)).",
}


def activated(spec: Spec, inside: str) -> tuple[str, str]:
    """The activation of `inside`, as text and in LaTeX."""
    if spec.activation == "relu":
        return f"max(0, {inside})", rf"\max(0, {inside})"
    name = NAMES[spec.activation]
    return f"{name}({inside})", rf"\mathrm{{{name}}}({inside})"


def feed_forward_steps(done: Pass, place: Place, name: str) -> Iterator[WorksheetStep]:
    """The steps of the network that the trace calls `name`."""
    spec = done.spec
    reads = "y" if spec.norm_order == "pre" else "x"
    bias = [f" + b_{n}" if spec.ffn_bias else "" for n in (1, 2, 3)]
    text, latex = activated(spec, f"{reads} W_1{bias[0]}")
    sizes = f"Each token for itself: {spec.d_model} → {spec.ffn_size} numbers."
    if spec.gated:
        yield WorksheetStep(
            "Feed-forward network: what may pass the gate",
            f"a = {text}",
            f"a = {latex}",
            f"{sizes} {NOTES[spec.activation]}",
            (rows_of(done, place, "a", f"{name}.activated", "a"),),
        )
        yield WorksheetStep(
            "Feed-forward network: the gate",
            f"g = {reads} W_3{bias[2]}",
            f"g = {reads} W_3{bias[2]}",
            parts=(rows_of(done, place, "g", f"{name}.gate", "g"),),
        )
        text, latex, note = "a ⊙ g", r"a \odot g", "Number by number."
    else:
        note = f"{sizes} {NOTES[spec.activation]}"
    yield WorksheetStep(
        "Feed-forward network: the hidden layer",
        f"h = {text}",
        f"h = {latex}",
        note,
        (rows_of(done, place, "h", f"{name}.hidden", "h"),),
    )
    yield WorksheetStep(
        "Feed-forward network: the output",
        f"f = h W_2{bias[1]}",
        f"f = h W_2{bias[1]}",
        f"Back to {spec.d_model} numbers.",
        (rows_of(done, place, "f", f"{name}.output", "f"),),
    )
