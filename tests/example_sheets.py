"""The notes' sheet (The, cat, sat) as a worksheet, and one with everything that could go wrong."""

import numpy as np

from regard.draw.worksheet.worksheet import Line, Mark, Matrix, Sum, Worksheet, WorksheetStep

WORDS = ["The", "cat", "sat"]
E = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]])
WEIGHTS = np.array([0.4223, 0.1554, 0.4223])  # softmax(1, 0, 1), numbers.md

NOTES = Worksheet(
    "The cat sat",
    "by hand",
    (
        WorksheetStep(
            "Embedding", "x = E", "x = E", "One row for each word.", (Matrix("E", E, WORDS),)
        ),
        WorksheetStep(
            "Output for The",
            "z = Σ w·v",
            r"z = \sum w v",
            parts=(
                Matrix("w", WEIGHTS, ["The"], WORDS, 0, "w"),
                Sum("z", WEIGHTS, E, WORDS, np.array([0.8446, 0.5777, 0.8446, 0.5777]), "z"),
                Line("0.4223 · 1 + 0.4223 · 1 = 0.8446"),
            ),
            mark=Mark("wrong", "you wrote 1.2669, it is 0.8446"),
        ),
    ),
)

HOSTILE = "<script>\\input{x}$a_b^c&d#e%f~g\"'`{}\x1b[31m-- आप कैसे हैं 😀"
WIDE = np.linspace(-2, 2, 3 * 128).reshape(3, 128)
ODD = Worksheet(
    HOSTILE,
    HOSTILE,
    (
        WorksheetStep(
            HOSTILE, HOSTILE, "", HOSTILE, (Matrix(HOSTILE, WIDE, [HOSTILE] * 3, None, 1),)
        ),
        WorksheetStep(
            "Odd numbers",
            parts=(
                Matrix("odd", np.array([[-np.inf, np.nan, 1e9]]), ["row"], [HOSTILE] * 3),
                Sum(HOSTILE, WEIGHTS, WIDE, [HOSTILE] * 3, WIDE[0]),
                Line(HOSTILE),
            ),
            mark=Mark("unchecked"),
        ),
        WorksheetStep("Right", mark=Mark("right", HOSTILE)),
    ),
)
