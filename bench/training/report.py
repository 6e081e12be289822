"""The rows as a table for people, as goals reached or not, and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from goals import Verdict, ratio
from printed import machine, new_table, show_goals
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from training.contenders import GOALS, LOSS_GOAL, MEMORY_GOAL, OURS, PEERS, SHARE_GOALS
from training.rounds import Measured, Row

LIBRARIES = ("regard", "torch", "transformers", "numpy")
COLUMNS = (
    "tokens/s\n(median)",
    "windows\nmin–max",
    "regard\n÷ this",
    "valid.\nloss",
    "to best\npeer",
    "memory\nMB",
    "matrix\nGFLOP/s",
    "of the\nmachine",
)


def show_throughput(console: Console, found: dict[str, float]) -> None:
    """What the machine gives at most, in one line."""
    parts = [f"{precision} {found[precision] / 1e9:,.0f} GFLOP/s" for precision in found]
    console.print(f"matrix throughput: {', '.join(parts) or 'not measured'}", highlight=False)


def show(console: Console, measured: Measured) -> None:
    """Table, settings, goals."""
    console.print()
    console.print(_table(measured))
    console.print("[bold]Settings[/]")
    for row in measured.rows:
        layout = f"[red]did not run:[/] {escape(row.failure)}"
        if not row.failure:
            layout = escape(row.results[0].layout)
        console.print(f"  {row.contender.name:<30} {layout}", soft_wrap=True, highlight=False)
    show_goals(console, verdicts(measured))


def _table(measured: Measured) -> Table:
    plan, lessons = measured.plan, measured.lessons
    per_step = sum(lessons.tokens) / len(lessons.tokens)
    table = new_table(
        f"[bold]{measured.preset}[/] ({size_of(measured)}); "
        f"every round ({plan.rounds}) in a new process\n"
        f"batches of {per_step:,.0f} real tokens ({lessons.padding:.1%} padding); speed in windows "
        f"of {plan.window} steps, steps {plan.warm_up + 1} to {plan.timed}\n"
        f"loss on the validation pairs after {plan.steps} steps from the same weights",
        COLUMNS,
    )
    for row in measured.rows:
        table.add_row(row.contender.name, *_cells(measured, row))
    return table


def size_of(measured: Measured) -> str:
    """The shape of the model, as the table's title says it."""
    spec = measured.spec
    layers = f"{spec.encoder_layers}+{spec.decoder_layers} layers"
    return f"d {spec.d_model}, FFN {spec.ffn_size}, {layers}, {spec.vocabulary:,} pieces"


def _cells(measured: Measured, row: Row) -> list[str]:
    if row.failure:
        return ["[red]✗[/]", "[dim]did not run[/]"]
    ours, share = measured.row(OURS), measured.share(row)
    speed = median(measured.speeds(row))
    windows = [speed for of_round in measured.windows(row) for speed in of_round]
    against = f"{median(measured.speeds(ours)) / speed:.2f}×" if ours and ours is not row else "–"
    loss, best = row.validation_loss, _lowest_loss(measured)
    return [
        f"{speed:,.0f}",
        f"{min(windows):,.0f}–{max(windows):,.0f}",
        against,
        "–" if loss is None else f"{loss:.4f}",
        "–" if loss is None or best is None else f"{100 * (loss / best - 1):+.1f} %",
        f"{row.megabytes:,.0f}",
        f"{measured.rate(row) / 1e9:,.0f}",
        "–" if share is None else f"{100 * share:.0f} %",
    ]


def _lowest_loss(measured: Measured) -> float | None:
    """Of the peers."""
    rows = [row for key in PEERS if (row := measured.row(key))]
    return min((loss for row in rows if (loss := row.validation_loss) is not None), default=None)


def verdicts(measured: Measured) -> list[Verdict]:
    """Every goal that is set for this preset, in the order of the issue."""
    name = measured.preset
    ours = measured.row(OURS)
    peers = [row for key in PEERS if (row := measured.row(key))]
    speeds = measured.speeds(ours) if ours else []
    found = []
    for goal in GOALS:
        if name in goal.bounds:
            theirs = [measured.speeds(row) for key in goal.theirs if (row := measured.row(key))]
            label = f"regard ÷ {goal.label}, tokens/s"
            found.append(ratio(label, speeds, theirs, goal.bounds[name]))
    if name in SHARE_GOALS:
        bound, share = SHARE_GOALS[name], measured.share(ours) if ours else None
        reached = "–" if share is None else f"{share:.0%}"
        holds = None if share is None else share >= bound
        label = "regard's share of the measured matrix throughput"
        found.append(Verdict(label, f"≥ {bound:.0%}", reached, holds))
    losses = [row.validation_loss or 0.0 for row in peers]
    memory = [row.megabytes for row in peers]
    for label, one, others, bound in (
        ("validation loss", ours and ours.validation_loss, losses, LOSS_GOAL),
        ("memory", ours and ours.megabytes, memory, MEMORY_GOAL),
    ):
        label = f"regard ÷ the lowest of the peers, {label}"
        found.append(ratio(label, [one] if one else [], [[v] for v in others], bound, False))
    return found


def as_json(measured: Sequence[Measured]) -> str:
    """Everything, each step too."""
    found = {
        "machine": machine(LIBRARIES),
        "matrix_throughput": measured[0].throughput if measured else {},
        "presets": [_preset(one) for one in measured],
    }
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _preset(measured: Measured) -> dict[str, Any]:
    return {
        "preset": measured.preset,
        "shape": size_of(measured),
        "plan": asdict(measured.plan),
        "tokens": measured.lessons.tokens,
        "padding": measured.lessons.padding,
        "rows": [
            {
                "contender": row.contender.key,
                "name": row.contender.name,
                "failure": row.failure,
                **({} if row.failure else _numbers(measured, row)),
            }
            for row in measured.rows
        ],
        "goals": [asdict(verdict) for verdict in verdicts(measured)],
    }


def _numbers(measured: Measured, row: Row) -> dict[str, Any]:
    return {
        "layout": row.results[0].layout,
        "precision": row.results[0].precision,
        "tokens_per_second": measured.speeds(row),
        "windows": measured.windows(row),
        "seconds": [result.seconds for result in row.results],
        "training_losses": row.results[0].losses,
        "validation_loss": row.validation_loss,
        "memory_mb": row.megabytes,
        "operations_per_second": measured.rate(row),
        "share_of_machine": measured.share(row),
    }
