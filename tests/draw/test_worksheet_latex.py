"""The LaTeX document, checked as TeX would read it: braces, environments, columns, characters."""

import re

import pytest

import example_sheets as sheets
from regard.draw.worksheet.latex import SAFE, escape, worksheet_latex
from regard.draw.worksheet.worksheet import Worksheet

BOTH = pytest.mark.parametrize("sheet", [sheets.NOTES, sheets.ODD], ids=["notes", "odd"])


def body(sheet: Worksheet, **options: int) -> str:
    text = worksheet_latex(sheet, **options)
    return text.split(r"\begin{document}")[1].split(r"\end{document}")[0]


@BOTH
def test_braces_and_environments_are_closed(sheet: Worksheet) -> None:
    text = worksheet_latex(sheet)
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    opened: list[str] = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+\*?)\}", text):
        if what == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == [] and text.count(r"\[") == text.count(r"\]")
    assert len(re.findall(r"(?<!\\)\$", text)) % 2 == 0


@BOTH
def test_every_row_of_a_table_has_its_columns(sheet: Worksheet) -> None:
    tables = re.findall(r"\\begin\{array\}\{r\|(r+)\}(.*?)\\end\{array\}", body(sheet), re.DOTALL)
    assert tables
    for columns, rows in tables:
        for row in filter(str.strip, rows.replace(r"\hline", "").split(r"\\")):
            assert len(re.findall(r"(?<!\\)&", row)) == len(columns)
    matrices = re.findall(r"\\begin\{bmatrix\}(.*?)\\end\{bmatrix\}", body(sheet), re.DOTALL)
    assert matrices
    for inside in matrices:
        counts = {row.count("&") for row in inside.split(r"\\")}
        assert len(counts) == 1 and counts.pop() <= 8


@BOTH
def test_every_character_has_a_glyph_in_pdflatex(sheet: Worksheet) -> None:
    """What is left outside of the first argument of \\foreign is ASCII or of the T1 fonts."""
    plain = re.sub(r"\\foreign\{[^}]*\}", "", body(sheet))
    assert {c for c in plain if not c.isascii()} <= set(SAFE)


def test_escapes_by_hand() -> None:
    assert escape("a_b & 50%") == r"a\_b \& 50\%"
    assert escape("x − 1 → ∞") == r"x $-$ 1 $\to$ $\infty$"
    assert escape("▁Straße <s>") == r"\textvisiblespace{}Straße \textless{}s\textgreater{}"
    assert escape("आप!") == r"\foreign{आप}{U+0906 U+092A}!"
    assert r"\input" not in body(sheets.ODD)


def test_the_notes_sheet() -> None:
    text = body(sheets.NOTES)
    assert "1 & 0 & 1 & 0" in text and r"\textbf{The} & 0.4223 & 0.1554 & 0.4223" in text
    assert r"z = {} & 0.4223 \cdot (1, 0, 1, 0) && \text{The}" in text
    assert r"{}={} & (0.8446, 0.5777, 0.8446, 0.5777)" in text
    assert r"\textbf{you wrote 1.2669, it is 0.8446}" in text
    assert "xelatex" not in worksheet_latex(sheets.NOTES).split("\n")[0].split("regard")[0]


def test_devanagari_names_its_font_and_engine() -> None:
    text = worksheet_latex(sheets.ODD)
    assert text.startswith("% Parts of the text are not Latin: use xelatex or lualatex")
    assert "Noto Serif Devanagari" in text and "Script=Devanagari" in text
    assert "Devanagari" not in worksheet_latex(sheets.NOTES)
