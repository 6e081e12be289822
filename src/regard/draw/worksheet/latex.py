"""A worksheet for LaTeX: a Worksheet goes in, a whole document comes out.

pdflatex, xelatex and lualatex all compile it, with packages that every TeX distribution has. What
pdflatex's fonts cannot show (Devanagari, for example) is wrapped in \\foreign{text}{code points}:
xelatex and lualatex set the text, pdflatex the code points, so that no engine stops.
"""

import re

from regard.draw.labels import visible
from regard.draw.worksheet.numbers import DECIMALS, kept, number, places, vector
from regard.draw.worksheet.worksheet import (
    Line,
    Mark,
    Matrix,
    StepPart,
    Sum,
    Worksheet,
    WorksheetStep,
)

COLUMNS = 8  # what an A4 page holds
ROWS = 36  # of one matrix on a page; a longer one goes on in a new block
ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}",  # bare, << would become a French quotation mark
    "-": "{-}",  # bare, -- would become a dash
    "`": "{`}", "'": "{'}", '"': r"\textquotedbl{}", "…": r"\ldots{}",
    "▁": r"\textvisiblespace{}", "␣": r"\textvisiblespace{}",
    "−": "$-$", "·": r"$\cdot$", "×": r"$\times$", "÷": r"$\div$", "±": r"$\pm$", "√": r"$\surd$",
    "Σ": r"$\Sigma$", "∞": r"$\infty$", "→": r"$\to$", "≤": r"$\le$", "≥": r"$\ge$", "≠": r"$\ne$",
    "≈": r"$\approx$", "ᵀ": r"$^{\top}$", "γ": r"$\gamma$", "β": r"$\beta$", "ε": r"$\varepsilon$",
    "✓": r"$\checkmark$", "✗": r"$\times$",
}  # fmt: skip
SAFE = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿŒœŠšŽž–—‘’‚“”„‹›«»"
MARKS = {"right": r"\checkmark", "wrong": r"\times", "unchecked": r"\cdot"}
PREAMBLE = r"""% One worksheet of regard. Compile with pdflatex, xelatex or lualatex.
\documentclass[a4paper,10pt]{article}
\usepackage[margin=18mm]{geometry}
\usepackage{amsmath,amssymb}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  \newcommand{\foreign}[2]{\texttt{\footnotesize #2}}
\else
  \usepackage{fontspec}
  \IfFontExistsTF{FONT}
    {\newfontfamily\foreignfont[SCRIPT]{FONT}}
    {\newcommand{\foreignfont}{}}
  \newcommand{\foreign}[2]{{\foreignfont #1}}
\fi
\setcounter{MaxMatrixCols}{WIDEST}
\setlength{\arraycolsep}{4pt}
\setlength{\parindent}{0pt}
\allowdisplaybreaks
\begin{document}
"""
DEVANAGARI = re.compile(r"[\u0900-\u097f]")
NEEDS_ENGINE = (
    "% Parts of the text are not Latin: use xelatex or lualatex to see them as letters.\n"
)


def worksheet_latex(
    sheet: Worksheet, decimals: int = DECIMALS, columns: int | None = COLUMNS
) -> str:
    """The document; `columns` None or 0 writes every column."""
    lines = [rf"\section*{{{escape(sheet.title)}}}"]
    if sheet.subtitle:
        lines.append(escape(sheet.subtitle) + "\n")
    for place, step in enumerate(sheet.steps, start=1):
        lines += _step(place, step, decimals, columns)
    body = "\n".join(lines)
    matrices = [p for step in sheet.steps for p in step.parts if isinstance(p, Matrix)]
    widest = max((len(kept(m.grid.shape[1], columns)) for m in matrices), default=1)
    devanagari = bool(DEVANAGARI.search(body))
    head = (
        PREAMBLE.replace("SCRIPT", "Script=Devanagari" if devanagari else "")
        .replace("FONT", "Noto Serif Devanagari" if devanagari else "Noto Serif")
        .replace("WIDEST", str(max(10, widest)))
    )
    return (NEEDS_ENGINE if r"\foreign{" in body else "") + head + body + "\n\\end{document}\n"


def escape(text: str) -> str:
    """Text in which no character means anything to TeX, and none is missing from its fonts."""
    pieces = re.findall(r"[\x20-\x7e]|[^\x20-\x7e]+", visible(text))
    return "".join(_escape_run(piece) for piece in pieces)


def _escape_run(run: str) -> str:
    """One ASCII character, or several others; those without a glyph stay together as one word."""
    written, foreign = "", ""
    for character in run:
        has_glyph = character in ESCAPES or character in SAFE or character.isascii()
        if has_glyph and foreign:
            written, foreign = written + _foreign(foreign), ""
        if has_glyph:
            written += ESCAPES.get(character, character)
        else:
            foreign += character
    return written + (_foreign(foreign) if foreign else "")


def _foreign(text: str) -> str:
    codes = " ".join(f"U+{ord(character):04X}" for character in text)
    return rf"\foreign{{{text}}}{{{codes}}}"


def _number(value: float, exact: int) -> str:
    """A number in mathematics."""
    text = number(value, exact).replace("−", "-").replace("∞", r"\infty")
    return text.replace("NaN", r"\mathrm{NaN}").replace("e+", r"\mathrm{e}{+}")


def _name(name: str, latex: str) -> str:
    return latex or rf"\text{{{escape(name)}}}"


def _step(place: int, step: WorksheetStep, decimals: int, columns: int | None) -> list[str]:
    lines = ["", rf"\subsection*{{{place}\quad {escape(step.title)}}}"]
    if step.equation_latex:
        lines.append(rf"\[ {step.equation_latex} \]")
    elif step.equation:
        lines.append(rf"\[ \text{{{escape(step.equation)}}} \]")
    if step.note:
        lines.append(escape(step.note) + "\n")
    for part in step.parts:
        lines += _part(part, decimals, columns)
    if step.mark is not None:
        lines.append(_mark(step.mark))
    return lines


def _part(part: StepPart, decimals: int, columns: int | None) -> list[str]:
    if isinstance(part, Line):
        return [rf"\[ {part.latex} \]" if part.latex else escape(part.text) + "\n"]
    if isinstance(part, Sum):
        return _sum(part, decimals, columns)
    lines = []
    for first in range(0, len(part.rows), ROWS):
        lines += _matrix(part, range(first, min(first + ROWS, len(part.rows))), decimals, columns)
    rest = part.hidden(columns)
    return lines + ([rf"{{\footnotesize {escape(rest)}}}" + "\n"] if rest else [])


def _matrix(matrix: Matrix, rows: range, decimals: int, columns: int | None) -> list[str]:
    """Counted columns: a bmatrix beside its row labels. Named ones: a table with a ruled head."""
    shown = kept(matrix.grid.shape[1], columns)
    exact = places(matrix.grid, decimals)
    name = _name(matrix.name, matrix.latex)
    labels = [_label(matrix, row) for row in rows]
    cells = [
        [r"\cdots" if p is None else _number(float(matrix.grid[row, p]), exact) for p in shown]
        for row in rows
    ]
    if matrix.columns is None:
        beside = r" \\ ".join(rf"{label}\strut" for label in labels)
        inside = " \\\\\n".join(" & ".join(row) + r"\strut" for row in cells)
        return [
            rf"{{\small\[ {name} = \begin{{array}}{{r}} {beside} \end{{array}}",
            rf"\begin{{bmatrix}} {inside} \end{{bmatrix}} \]}}",
        ]
    heads = [r"\cdots" if p is None else rf"\text{{{escape(matrix.heads[p])}}}" for p in shown]
    table = [" & ".join([name, *heads]) + r" \\ \hline"]
    table += [" & ".join([label, *row]) + r" \\" for label, row in zip(labels, cells, strict=True)]
    return [rf"{{\small\[ \begin{{array}}{{r|{'r' * len(shown)}}}", *table, r"\end{array} \]}"]


def _label(matrix: Matrix, row: int) -> str:
    label = escape(matrix.rows[row])
    return rf"\textbf{{{label}}}" if row == matrix.highlight else rf"\text{{{label}}}"


def _sum(part: Sum, decimals: int, columns: int | None) -> list[str]:
    exact = places(part.weights, decimals)
    terms = []
    for place, label in enumerate(part.labels):
        sign = "{}+{}" if place else _name(part.name, part.latex) + " = {}"
        weight = _number(float(part.weights[place]), exact)
        values = vector(part.vectors[place], decimals, columns, _number, r"\ldots")
        terms.append(rf"{sign} & {weight} \cdot {values} && \text{{{escape(label)}}}")
    total = vector(part.total, decimals, columns, _number, r"\ldots")
    terms.append(rf"{{}}={{}} & {total}")
    return [r"{\small\begin{align*}", " \\\\\n".join(terms), r"\end{align*}}"]


def _mark(mark: Mark) -> str:
    words = escape(mark.message or mark.verdict)
    bold = rf"\textbf{{{words}}}" if mark.verdict == "wrong" else words
    return rf"${MARKS[mark.verdict]}$~{bold}" + "\n"
