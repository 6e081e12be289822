"""Tables for notebooks: text to the left, numbers to the right, shares as bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from regard.draw.labels import visible
from regard.draw.palette import TRAINING

CELL = "padding:2px 10px;text-align:{side};white-space:pre-wrap;vertical-align:top"
BAR = (
    '<div style="display:inline-block;vertical-align:middle;width:90px;margin-left:8px">'
    '<div style="height:8px;border-radius:2px;background:{colour};width:{width:.1f}%"></div></div>'
)


@dataclass(frozen=True)
class BarCell:
    """A number from 0 to 1 that is shown with a bar."""

    value: float


def html_table(head: Sequence[str], rows: Sequence[Sequence[object]], caption: str = "") -> str:
    """Rows of texts, numbers and shares under their names."""
    sides = [_side(value) for value in rows[0]] if rows else ["left"] * len(head)
    names = "".join(
        f'<th style="{CELL.format(side=side)}">{_text(name)}</th>'
        for name, side in zip(head, sides, strict=True)
    )
    body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows)
    above = "caption-side:top;text-align:left;padding:2px 10px;font-weight:600"
    title = f'<caption style="{above}">{_text(caption)}</caption>' if caption else ""
    return (
        f'<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">{title}'
        f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(value: object) -> str:
    return f'<td style="{CELL.format(side=_side(value))}">{_shown(value)}</td>'


def _side(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "right" if number else "left"


def _shown(value: object) -> str:
    if isinstance(value, BarCell):
        width = 100 * min(1.0, max(0.0, value.value))
        return f"{value.value:.4f}{BAR.format(colour=TRAINING, width=width)}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else _text(value)


def _text(value: object) -> str:
    return escape(visible("" if value is None else str(value)))
