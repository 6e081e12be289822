"""`regard walk --matrices sheet.toml`: a hand calculation goes in, a checked worksheet comes out.

The worksheet shows every step with the right numbers; where the sheet holds a person's own results
under [yours], each step is marked, and the first wrong line is pointed to with its likely cause.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from regard.draw.worksheet.worksheet import (
    Line,
    Mark,
    Matrix,
    StepPart,
    Sum,
    Worksheet,
    WorksheetStep,
)
from regard.errors import ConfigError, MisuseError, nearest
from regard.explain.by_hand import lines
from regard.explain.by_hand.claim import symmetric_step
from regard.explain.by_hand.marks import Judgement, judge
from regard.explain.by_hand.reader import BY_KEY, Sheet, read_sheet
from regard.explain.by_hand.steps import SheetValues, calculate

SHEETS = Path(__file__).parent / "sheets"


def included() -> list[str]:
    """The names of the sheets that come with regard."""
    return sorted(path.stem for path in SHEETS.glob("*.toml"))


def find_sheet(path: Path) -> Path:
    """A file, or the name of an included sheet."""
    if path.is_file():
        return path
    inside = SHEETS / f"{path}.toml"
    if len(path.parts) == 1 and path.suffix != ".toml" and inside.is_file():
        return inside
    names = included()
    hint = nearest(path.stem, names)
    listed = "" if hint.startswith("; known") else f" (included: {', '.join(names)})"
    raise MisuseError(f"sheet {path}: neither a file nor an included sheet{hint}{listed}")


def walk_sheet(path: Path) -> Worksheet:
    """The worksheet of a TOML sheet, a person's own results marked."""
    file = find_sheet(path)
    sheet = read_sheet(file)
    values = calculate(sheet)
    try:
        judged = judge(sheet, values)
    except ConfigError as error:
        raise error.within(file.name) from None
    steps: list[WorksheetStep] = []
    numbers: dict[str, int] = {}  # step → its number in the worksheet
    for name, make in BUILD.items():
        if name in values:
            step = make(sheet, values)
            if step is None:
                continue
            steps.append(_marked(step, judged.get(name)))
            numbers[name] = len(steps)
    if "symmetric" in sheet.flags:
        steps.append(symmetric_step(sheet.matrices["weights"], sheet.half, sheet.words))
    summary, closing = _summary(judged, numbers, steps)
    if closing is not None:
        steps.append(closing)
    return Worksheet(sheet.title, summary, steps)


def _marked(step: WorksheetStep, judgement: Judgement | None) -> WorksheetStep:
    if judgement is None:
        return step
    if judgement.verdict == "right":
        mark = Mark("right", "your numbers are right")
    elif judgement.verdict == "follows":
        mark = Mark("unchecked", "your numbers follow from your line above, so only that is wrong")
    else:
        more = f" {judgement.more} more rows are wrong." if judgement.more else ""
        mark = Mark("wrong", ". ".join(f.sentence() for f in judgement.findings) + "." + more)
    return replace(step, mark=mark)


def _summary(
    judged: dict[str, Judgement], numbers: dict[str, int], steps: list[WorksheetStep]
) -> tuple[str, WorksheetStep | None]:
    """One line on top, and a last step that lists what to correct."""
    if not judged:
        return "", None
    wrong = {name: j for name, j in judged.items() if j.verdict == "wrong"}
    if not wrong:
        return "Your results are right.", None
    parts: list[StepPart] = []
    for name, judgement in wrong.items():
        title = steps[numbers[name] - 1].title
        for finding in judgement.findings:
            first = "First wrong line" if not parts else "Further"
            parts.append(Line(f"{first}: step {numbers[name]} ({title}), {finding.sentence()}."))
    first_step = numbers[next(iter(wrong))]
    summary = f"Your results: the first wrong line is in step {first_step}."
    return summary, WorksheetStep("What to correct", parts=parts)


def _matrix(name: str, sheet: Sheet, values: SheetValues) -> Matrix:
    """A step's numbers, with a name for each row, and for each column that is a key."""
    grid: np.ndarray = values[name].numpy()
    columns = sheet.key_words if name in BY_KEY else None
    latex = r"\text{output}" if name == "output" else name if len(name) == 1 else ""
    return Matrix(name, grid, sheet.row_words(name), columns, latex=latex)


def _embedding(sheet: Sheet, values: SheetValues) -> WorksheetStep:
    return WorksheetStep(
        "Embeddings", note="one row for each word", parts=[_matrix("E", sheet, values)]
    )


def _positions(sheet: Sheet, values: SheetValues) -> WorksheetStep:
    sinusoidal = "positions" in sheet.flags
    return WorksheetStep(
        "Positions",
        "PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(same)" if sinusoidal else "",
        r"PE(p, 2i) = \sin(p / 10000^{2i/d}), \; PE(p, 2i+1) = \cos(p / 10000^{2i/d})"
        if sinusoidal
        else "",
        "the first word stands at position 0" if sinusoidal else "as the sheet gives them",
        [_matrix("P", sheet, values)],
    )


def _input(sheet: Sheet, values: SheetValues) -> WorksheetStep | None:
    if "P" not in values and "X" not in sheet.yours:
        return None  # X is E
    return WorksheetStep(
        "Embeddings + positions", "X = E + P", "X = E + P", parts=[_matrix("X", sheet, values)]
    )


def _identities(sheet: Sheet) -> bool:
    """Are Q, K and V all the input itself, and nothing to be said about one of them alone?"""
    weights = [sheet.matrices.get(name) for name in ("W_Q", "W_K", "W_V")]
    same = all(w is not None and torch.equal(w, torch.eye(len(w)).to(w)) for w in weights)
    return same and not {"Q", "K", "V"} & set(sheet.yours)


def _projected(name: str, title: str) -> Callable[[Sheet, SheetValues], WorksheetStep | None]:
    def build(sheet: Sheet, values: SheetValues) -> WorksheetStep | None:
        x = "X" if "P" in values else "E"
        equation = f"{name} = {x} W_{name}"
        result = _matrix(name, sheet, values)
        if _identities(sheet):
            if name != "Q":
                return None  # said with Q
            same = f"Q = K = V = {x}"
            note = "W_Q, W_K and W_V are the identity"
            return WorksheetStep("Queries, keys and values", same, same, note, [result])
        weight = sheet.matrices.get(f"W_{name}")
        if weight is None:
            return WorksheetStep(title, note="as the sheet gives them", parts=[result])
        rows = tuple(str(row + 1) for row in range(len(weight)))
        own = Matrix(f"W_{name}", weight.numpy(), rows, latex=f"W_{name}")
        return WorksheetStep(title, equation, equation, parts=[own, result])

    return build


def _scores(sheet: Sheet, values: SheetValues) -> WorksheetStep:
    matrix = _matrix("scores", sheet, values)
    if "Q" not in values:
        return WorksheetStep("Scores", note="as the sheet gives them", parts=[matrix])
    first = lines.dot_products(values["Q"][0], values["K"], sheet.words[0], sheet.key_words)
    note = f"the dot products of the first word, {sheet.words[0]}, written out"
    return WorksheetStep("Scores", "S = Q Kᵀ", r"S = Q K^{\top}", note, [*first, matrix])


def _scaled(sheet: Sheet, values: SheetValues) -> WorksheetStep | None:
    scale, count = sheet.scale, len(sheet.key_words)
    if not scale.text:
        return None if "scaled" not in sheet.yours else _unscaled(sheet, values)
    note = scale.text
    if scale.divisor == count**0.5 and "d_k" not in scale.text:
        note += (
            f"; {count} is the number of words here, while the paper divides by the root of d_k, "
            "the size of one key"
        )
    first = lines.divisions(values["scores"][0], values["scaled"][0], scale.divisor)
    root = "√d_k" if "d_k" in scale.text else scale.text.split(" ")[0]
    latex = root.replace("√d_k", r"\sqrt{d_k}")
    latex = rf"\sqrt{{{latex[1:]}}}" if latex.startswith("√") else latex
    matrix = _matrix("scaled", sheet, values)
    return WorksheetStep(f"Scores ÷ {root}", f"S / {root}", f"S / {latex}", note, [first, matrix])


def _unscaled(sheet: Sheet, values: SheetValues) -> WorksheetStep:
    matrix = _matrix("scaled", sheet, values)
    return WorksheetStep("Scores, not divided", note='scale = "none"', parts=[matrix])


def _masked(sheet: Sheet, values: SheetValues) -> WorksheetStep:
    note = "a hidden score is −∞, so that its weight is exactly 0"
    matrix = _matrix("masked", sheet, values)
    return WorksheetStep("Mask", note=note, parts=[matrix])


def _weights(sheet: Sheet, values: SheetValues) -> WorksheetStep:
    weights, words, key_words = values["weights"], sheet.words, sheet.key_words
    matrix = _matrix("weights", sheet, values)
    given_weights = sheet.matrices.get("weights")
    parts: list[StepPart] = []
    if given_weights is None:
        scores = values["masked" if "masked" in values else "scaled"]
        parts += lines.exponentials(scores[0], weights[0], words[0], key_words)
        note = f"each row sums to 1; {words[0]} written out"
        equation, latex = "w = e^s / Σ e^s", r"w_j = \frac{e^{s_j}}{\sum_k e^{s_k}}"
    elif sheet.allowed is None:
        note, equation, latex = "as the sheet gives them; each row sums to 1", "", ""
    else:
        parts.append(Matrix("given", given_weights.numpy(), words, key_words))
        rows = zip(given_weights, sheet.allowed, weights, words, strict=True)
        parts += [lines.renormalised(g, a, w, word, key_words) for g, a, w, word in rows]
        note = "a hidden weight is dropped, and the others are divided by what remains"
        equation, latex = "w / Σ w of what may be seen", ""
    title = "Weights" if given_weights is not None else "Softmax"
    parts.append(matrix)
    if "V" not in values:
        parts += lines.equations(weights, words, key_words)
    return WorksheetStep(title, equation, latex, note, parts)


def _output(sheet: Sheet, values: SheetValues) -> WorksheetStep:
    v: np.ndarray = values["V"].numpy()
    sums: list[StepPart] = [
        Sum(word, weights.numpy(), v, sheet.key_words, total.numpy())
        for word, weights, total in zip(
            sheet.words, values["weights"], values["output"], strict=True
        )
    ]
    matrix = _matrix("output", sheet, values)
    return WorksheetStep(
        "Output: Σ w·V", "O = w V", "O = w V", "each word's sum written out", [*sums, matrix]
    )


def _add(sheet: Sheet, values: SheetValues) -> WorksheetStep:
    x = "X" if "P" in values else "E"
    matrix = _matrix("add", sheet, values)
    return WorksheetStep("Add", f"{x} + output", rf"{x} + O", "the residual connection", [matrix])


def _norm(sheet: Sheet, values: SheetValues) -> WorksheetStep:
    return WorksheetStep(
        "Norm",
        "(x − mean) / √(variance + ε)",
        r"\frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}}",
        "each row for itself; gain 1 and bias 0",
        [_matrix("norm", sheet, values)],
    )


BUILD: dict[str, Callable[[Sheet, SheetValues], WorksheetStep | None]] = {
    "E": _embedding,
    "P": _positions,
    "X": _input,
    "Q": _projected("Q", "Queries"),
    "K": _projected("K", "Keys"),
    "V": _projected("V", "Values"),
    "scores": _scores,
    "scaled": _scaled,
    "masked": _masked,
    "weights": _weights,
    "output": _output,
    "add": _add,
    "norm": _norm,
}
