"""The norm of a model as a step: LayerNorm, or RMSNorm without mean and without β."""

from regard.draw.worksheet.worksheet import Matrix, WorksheetStep
from regard.model.spec import Spec

# norm → its formula after the brackets, as text and in LaTeX
FORMULAS = {
    "layer": (
        "LayerNorm",
        "γ · (x − mean) / √(variance + ε) + β",
        r"\gamma \cdot \frac{x - \mathrm{mean}}{\sqrt{\mathrm{variance} + \varepsilon}} + \beta",
    ),
    "rms": (
        "RMSNorm",
        "γ · x / √(mean of x² + ε)",
        r"\gamma \cdot \frac{x}{\sqrt{\mathrm{mean}(x^2) + \varepsilon}}",
    ),
}


def norm_step(
    spec: Spec, title: str, inside: str, note: str, table: Matrix, result: str = ""
) -> WorksheetStep:
    """The norm of `inside`; `result` is the symbol that it gets."""
    name, formula, latex = FORMULAS[spec.norm]
    start = f"{result} = " if result else ""
    return WorksheetStep(
        title,
        f"{start}{name}({inside}) = {formula}",
        rf"{start}\mathrm{{{name}}}({inside}) = {latex}",
        note,
        (table,),
    )


def norm_note(spec: Spec) -> str:
    """What the norm does to a row."""
    if spec.norm == "rms":
        return f"In each row: the mean of its {spec.d_model} squares becomes 1, then the learned γ."
    return (
        f"In each row: mean 0 and variance 1 over its {spec.d_model} numbers, then the learned γ "
        "and β."
    )
