"""The report of a run: outcomes go in, a figure for each and one HTML page come out.

out/index.html      verdicts in a table, then each experiment with figure, paragraph, rule, numbers
out/order.svg …     its figure, and the same as PNG where matplotlib is
out/kept/           every unit that was measured (run.py)
out/results.json    the same numbers for programs
"""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard import atomic
from regard.draw.figure.chart import draw_chart
from regard.draw.figure.png import MissingMatplotlib, write_png
from regard.draw.figure.svg import write_svg
from regard.lab.experiment import LabResult
from regard.lab.run import setting
from regard.printable import counted
from regard.valid_json import valid_json

COLOURS = {"holds": "#2c7a3f", "does not hold": "#b3402a", "not decided": "#8a6d00"}
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1d2733; background: #fff; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #dde3e8; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.verdict { font-weight: 600; }
.wide { overflow-x: auto; }
img { max-width: 100%; height: auto; }
small { color: #5b6b7a; }
@media (prefers-color-scheme: dark) { body { color: #e3e8ec; background: #12171c; } }
"""


def write_figures(outcome: LabResult, folder: Path) -> list[Path]:
    """NAME.svg and NAME.png; without matplotlib the SVG alone."""
    folder.mkdir(parents=True, exist_ok=True)
    picture = draw_chart(outcome.experiment.chart(outcome))
    paths = [folder / f"{outcome.experiment.name}.svg", folder / f"{outcome.experiment.name}.png"]
    write_svg(paths[0], picture)
    try:
        write_png(paths[1], picture)
    except MissingMatplotlib:
        return paths[:1]
    return paths


def facts(outcome: LabResult) -> dict[str, Any]:
    """All of an outcome as plain data."""
    experiment = outcome.experiment
    return {
        "experiment": experiment.name,
        "claim": experiment.claim,
        "verdict": outcome.verdict,
        "quick": outcome.quick,
        "seconds": round(outcome.seconds, 1),
        "setting": setting(),
        "rule": [condition.says for condition in outcome.conditions],
        "held": [
            [condition.holds(measured) for measured in outcome.seeds.values()]
            for condition in outcome.conditions
        ],
        "paragraph": experiment.paragraph(outcome),
        "seeds": {str(seed): measured for seed, measured in outcome.seeds.items()},
    }


def write_report(outcomes: Sequence[LabResult], folder: Path) -> Path:
    """The page, its figures and its numbers."""
    for outcome in outcomes:
        write_figures(outcome, folder)
    everything = valid_json([facts(outcome) for outcome in outcomes], indent=1, gaps=True)
    atomic.write_text(folder / "results.json", everything + "\n")
    page = folder / "index.html"
    atomic.write_text(page, as_page(outcomes))
    return page


def as_page(outcomes: Sequence[LabResult]) -> str:
    """One HTML page that loads the figures beside it and nothing else."""
    rows = "".join(
        f'<tr><td><a href="#{o.experiment.name}">{o.experiment.name}</a></td>'
        f"<td>{_escaped(o.experiment.claim)}</td><td>{_verdict(o)}</td></tr>\n"
        for o in outcomes
    )
    seeds = counted(len(outcomes[0].seeds), "seed") if outcomes else "no seeds"
    size = "quick sizes" if outcomes and outcomes[0].quick else "whole sizes"
    sections = "".join(map(_section, outcomes))
    seconds = sum(outcome.seconds for outcome in outcomes)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>regard lab</title>'
        f"<style>{STYLE}</style></head><body>\n<h1>Is it so?</h1>\n"
        f"<p>{seeds}, {size}, {seconds / 60:.1f} minutes of measuring. "
        f"<small>{_escaped(setting())}</small></p>\n"
        f"<table><tr><th>experiment</th><th>claim</th><th>verdict</th></tr>\n{rows}</table>\n"
        f"{sections}</body></html>\n"
    )


def _section(outcome: LabResult) -> str:
    experiment = outcome.experiment
    picture = draw_chart(experiment.chart(outcome))
    rule = "".join(
        f"<li>{_escaped(condition.says)}: "
        f"{sum(map(condition.holds, outcome.seeds.values()))} of "
        f"{counted(len(outcome.seeds), 'seed')}</li>"
        for condition in outcome.conditions
    )
    return (
        f'<h2 id="{experiment.name}">{_escaped(experiment.title)}</h2>\n'
        f"<p>{_escaped(experiment.claim)} {_verdict(outcome)}</p>\n"
        f'<img src="{experiment.name}.svg" alt="{html.escape(picture.words)}">\n'
        f"<p>{_escaped(experiment.paragraph(outcome))}</p>\n"
        f"<p>The rule, written before the run, and in how many seeds each part holds:</p>\n"
        f"<ul>{rule}</ul>\n{_table(outcome)}\n"
    )


def _table(outcome: LabResult) -> str:
    """Mean ± spread of every measure of every variant."""
    head = "".join(f"<th>{_escaped(name)}</th>" for name in outcome.measures)
    rows = []
    for variant in outcome.variants:
        cells = (
            outcome.said(variant, name, ".4g") if outcome.values(variant, name) else ""
            for name in outcome.measures
        )
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        rows.append(f"<tr><td>{_escaped(variant)}</td>{numbers}</tr>")
    body = "\n".join(rows)
    return f'<div class="wide"><table><tr><th></th>{head}</tr>\n{body}</table></div>'


def _verdict(outcome: LabResult) -> str:
    colour = COLOURS[outcome.verdict]
    return f'<span class="verdict" style="color: {colour}">{outcome.verdict}</span>'


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)
