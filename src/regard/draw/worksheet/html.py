"""A worksheet as one web page: a Worksheet goes in, a whole HTML document comes out.

The page holds everything it needs and asks the network for nothing. Each step can be folded; cells
are tinted by their value (blue positive, orange negative); it follows the reader's light or dark
setting, fits a phone (tables scroll sideways on their own) and prints.
"""

from html import escape

from regard.draw import palette
from regard.draw.labels import visible
from regard.draw.tint import LEVELS, largest, level, tint
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

COLUMNS = 12  # shown of a wider matrix, unless told otherwise
SIGNS = {"right": "✓", "wrong": "✗", "unchecked": "·"}
STYLE = """
*{box-sizing:border-box}
body{margin:0 auto;max-width:76rem;padding:1.2rem 1rem 4rem;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,"Noto Sans","Noto Sans Devanagari",sans-serif}
h1{font-size:1.35rem;line-height:1.25;margin:0 0 .2rem}
header p{margin:0;color:var(--muted)}
details{border:1px solid var(--line);border-radius:.5rem;margin:.9rem 0 0;padding:0 .9rem}
details[open]{padding-bottom:.8rem}
summary{cursor:pointer;padding:.55rem 0;display:flex;flex-wrap:wrap;gap:.2rem .7rem;
align-items:baseline}
summary:focus-visible{outline:2px solid var(--plus);outline-offset:2px}
summary b{font-weight:650;flex:1 1 10rem}
.n{color:var(--muted);font-variant-numeric:tabular-nums;min-width:1.4rem}
.e{font-family:"STIX Two Text","Cambria Math",Georgia,serif;font-style:italic}
.note{margin:.1rem 0 .3rem;color:var(--muted);max-width:62rem}
.line{margin:.4rem 0;overflow-wrap:anywhere}
.wide{overflow-x:auto;margin:.7rem 0 .2rem}
table{border-collapse:separate;border-spacing:2px;font-variant-numeric:tabular-nums;
font-size:.86rem;line-height:1.35}
caption{text-align:left;font-weight:650;padding-bottom:.15rem;white-space:nowrap}
th{font-weight:400;color:var(--muted);text-align:right;white-space:nowrap;padding:.1rem .4rem}
th[scope=row]{text-align:left;position:sticky;left:0;background:var(--page);color:var(--ink)}
td{text-align:right;white-space:nowrap;padding:.1rem .4rem;border-radius:.2rem}
tr.q th[scope=row]{font-weight:700}
tr.q td{outline:1px solid var(--ink);outline-offset:-1px}
td.gap,tr.q td.gap{color:var(--muted);text-align:center;outline:0}
td.v{text-align:left}
tr.total td{font-weight:650;border-top:1px solid var(--line)}
.rest{margin:.1rem 0;color:var(--muted);font-size:.82rem}
.mark{margin:.5rem 0 0;padding:.4rem .7rem;border-left:4px solid;border-radius:.2rem;
background:var(--soft)}
.right{border-color:var(--good)}.wrong{border-color:var(--bad);font-weight:600}
.unchecked{border-color:var(--line);color:var(--muted)}
footer{margin-top:1.4rem;color:var(--muted);font-size:.82rem}
@media(max-width:40rem){body{font-size:15px;padding:.8rem .6rem 3rem}.e{margin-left:2.1rem}
details{padding:0 .6rem}}
@media print{body{max-width:none;padding:0;font-size:10pt}table{font-size:7pt}
td,th{padding:.05rem .2rem}details{break-inside:avoid-page}
.wide{overflow:visible}td,.mark{-webkit-print-color-adjust:exact;print-color-adjust:exact}
th[scope=row]{position:static}}
"""


def worksheet_html(
    sheet: Worksheet, decimals: int = DECIMALS, columns: int | None = COLUMNS
) -> str:
    """The page; `columns` None or 0 shows every column."""
    page = _Page(decimals, columns)
    steps = "\n".join(page.step(place, step) for place, step in enumerate(sheet.steps, start=1))
    subtitle = f"<p>{_text(sheet.subtitle)}</p>" if sheet.subtitle else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{_text(sheet.title)}</title>
<style>{_colours()}{STYLE}</style>
</head>
<body>
<header><h1>{_text(sheet.title)}</h1>{subtitle}</header>
<main>
{steps}
</main>
<footer>Blue is positive, orange negative; the stronger, the larger within its matrix. The outlined
row is the one the worksheet is about. “0” alone is exactly 0.</footer>
</body>
</html>
"""


def _text(text: str) -> str:
    return escape(visible(text))


def _colours() -> str:
    """Page colours and the tints of both signs, for light, dark and print."""

    def rules(dark: bool) -> str:
        theme = palette.DARK if dark else palette.LIGHT
        soft, good, bad = (
            ("#181b23", "#5bbf7a", "#f0705a") if dark else ("#f6f7f9", "#1f7a3d", "#b3261e")
        )
        variables = (
            f":root{{--page:{theme.surface};--ink:{theme.ink};--muted:{theme.muted};"
            f"--line:{theme.hairline};--soft:{soft};--good:{good};--bad:{bad};"
            f"--plus:{tint(LEVELS, dark=dark)}}}"
        )
        cells = "".join(
            f".{name}{step}{{background:{tint(sign * step, dark=dark)}}}"
            for name, sign in (("p", 1), ("m", -1))
            for step in range(1, LEVELS + 1)
        )
        return variables + cells

    return f"\n{rules(False)}\n@media screen and (prefers-color-scheme:dark){{{rules(True)}}}"


class _Page:
    """Writes steps and their parts with one setting of decimals and columns."""

    def __init__(self, decimals: int, columns: int | None) -> None:
        self.decimals, self.columns = decimals, columns

    def step(self, place: int, step: WorksheetStep) -> str:
        equation = f'<span class="e">{_text(step.equation)}</span>' if step.equation else ""
        note = f'<p class="note">{_text(step.note)}</p>' if step.note else ""
        parts = "\n".join(self.part(part) for part in step.parts)
        return (
            f'<details open id="step-{place}"><summary><span class="n">{place}</span>'
            f"<b>{_text(step.title)}</b>{equation}</summary>\n{note}\n{parts}"
            f"{_mark(step.mark)}</details>"
        )

    def part(self, part: StepPart) -> str:
        if isinstance(part, Line):
            return f'<p class="line">{_text(part.text)}</p>'
        return self.sum(part) if isinstance(part, Sum) else self.matrix(part)

    def matrix(self, matrix: Matrix) -> str:
        grid, heads = matrix.grid, matrix.heads
        shown = kept(grid.shape[1], self.columns)
        exact, end = places(grid, self.decimals), largest(grid)
        top = "".join(
            f'<th scope="col">{"…" if place is None else _text(heads[place])}</th>'
            for place in shown
        )
        body = []
        for row, name in enumerate(matrix.rows):
            cells = "".join(
                '<td class="gap">…</td>'
                if place is None
                else _cell(float(grid[row, place]), exact, end)
                for place in shown
            )
            chosen = ' class="q"' if row == matrix.highlight else ""
            body.append(f'<tr{chosen}><th scope="row">{_text(name)}</th>{cells}</tr>')
        rest = matrix.hidden(self.columns)
        return (
            f'<div class="wide"><table><caption>{_text(matrix.name)}</caption>'
            f"<thead><tr><td></td>{top}</tr></thead><tbody>\n"
            + "\n".join(body)
            + "\n</tbody></table></div>"
            + (f'<p class="rest">{rest}</p>' if rest else "")
        )

    def sum(self, part: Sum) -> str:
        exact, end = places(part.weights, self.decimals), largest(part.weights)
        rows = []
        terms = zip(part.weights, part.vectors, part.labels, strict=True)
        for place, (weight, values, name) in enumerate(terms):
            sign = "+" if place else ""
            written = vector(values, self.decimals, self.columns)
            rows.append(
                f'<tr><th scope="row">{_text(name)}</th><td>{sign}</td>'
                f'{_cell(float(weight), exact, end)}<td class="v">· {written}</td></tr>'
            )
        total = vector(part.total, self.decimals, self.columns)
        rows.append(
            f'<tr class="total"><th></th><td>=</td><td></td><td class="v">{total}</td></tr>'
        )
        return (
            f'<div class="wide"><table><caption>{_text(part.name)}</caption><tbody>\n'
            + "\n".join(rows)
            + "\n</tbody></table></div>"
        )


def _cell(value: float, exact: int, end: float) -> str:
    strength = level(value, end)
    name = "p" if strength > 0 else "m"
    css = f' class="{name}{abs(strength)}"' if strength else ""
    return f"<td{css}>{number(value, exact)}</td>"


def _mark(mark: Mark | None) -> str:
    if mark is None:
        return ""
    words = mark.message or mark.verdict
    return f'\n<p class="mark {mark.verdict}">{SIGNS[mark.verdict]} {_text(words)}</p>'
