"""The rows as a table for people, as goals reached or not, and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from statistics import mean, median
from typing import Any

from embedding.contenders import AS_USED, LEAST_GOAL, MEAN_GOAL, OURS, RATIO_GOAL, TUNED
from embedding.rounds import Measured, Row
from goals import Verdict, ratio
from printed import machine, new_table, show_goals
from rich.console import Console
from rich.markup import escape

LIBRARIES = ("regard", "torch", "sentence-transformers", "transformers", "tokenizers")


def show(console: Console, measured: Measured) -> None:
    """Table, settings, goals."""
    words = mean(len(text.split()) for text in measured.texts)
    table = new_table(
        f"[bold]{measured.name}[/] · {len(measured.texts):,} sentences, {words:.1f} words each, "
        f"texts in, vectors out; every round ({measured.rounds}) in a new process",
        (
            "sentences/s\n(median)",
            "\nmin–max",
            "÷ the peer\nas used",
            "cosine\nmean",
            "cosine\nleast",
            "memory\nMB",
        ),
    )
    for row in measured.rows:
        table.add_row(row.contender.name, *_cells(measured, row))
    console.print()
    console.print(table)
    console.print("[bold]Settings[/]")
    for row in measured.rows:
        said = escape(row.results[0].layout)
        if row.failure:
            said = f"[red]did not run:[/] {escape(row.failure)}"
        console.print(f"  {row.contender.name:<42} {said}", soft_wrap=True, highlight=False)
    show_goals(console, verdicts(measured))


def _cells(measured: Measured, row: Row) -> list[str]:
    if row.failure:
        return ["[red]✗[/]", "[dim]did not run[/]"]
    other, cosines = measured.row(AS_USED), measured.cosines(row)
    against = f"{median(row.speeds) / median(other.speeds):.2f}×" if other else "–"
    return [
        f"{median(row.speeds):,.0f}",
        f"{min(row.speeds):,.0f}–{max(row.speeds):,.0f}",
        "–" if other is row else against,
        "–" if cosines is None else f"{cosines.mean():.7f}",
        "–" if cosines is None else f"{cosines.min():.7f}",
        f"{max(r.megabytes for r in row.results):,.0f}",
    ]


def verdicts(measured: Measured) -> list[Verdict]:
    """The goals of the issue; then, without a goal, the ratio to the best tuned peer."""
    ours, other = measured.row(OURS), measured.row(AS_USED)
    speeds = ours.speeds if ours else []
    tuned = [row.speeds for key in TUNED if (row := measured.row(key))]
    found = [
        ratio(
            "regard ÷ sentence-transformers as used, sentences/s",
            speeds,
            [other.speeds] if other else [],
            RATIO_GOAL,
        ),
        ratio("regard ÷ its best tuned row, sentences/s", speeds, tuned, 1.0),
    ]
    cosines = measured.cosines(ours) if ours else None
    for name, bound, value in (
        ("mean", MEAN_GOAL, None if cosines is None else float(cosines.mean())),
        ("least", LEAST_GOAL, None if cosines is None else float(cosines.min())),
    ):
        reached = "–" if value is None else f"{value:.7f}"
        holds = None if value is None else value >= bound
        found.append(
            Verdict(f"cosine with the peer's vectors, {name}", f"≥ {bound}", reached, holds)
        )
    return found


def as_json(measured: Sequence[Measured]) -> str:
    """Everything but the vectors."""
    sets = [
        {
            "name": one.name,
            "sentences": len(one.texts),
            "rows": [_numbers(one, row) for row in one.rows],
            "goals": [asdict(verdict) for verdict in verdicts(one)],
        }
        for one in measured
    ]
    found = {"machine": machine(LIBRARIES), "sets": sets}
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _numbers(measured: Measured, row: Row) -> dict[str, Any]:
    about = {"contender": row.contender.key, "name": row.contender.name, "failure": row.failure}
    if row.failure:
        return about
    cosines = measured.cosines(row)
    return about | {
        "layout": row.results[0].layout,
        "sentences_per_second": row.speeds,
        "memory_mb": max(r.megabytes for r in row.results),
        "cosine_mean": None if cosines is None else float(cosines.mean()),
        "cosine_least": None if cosines is None else float(cosines.min()),
    }
