"""The rows as a table for people, as goals reached or not, and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from decoding.contenders import BEAMS, BLEU_GOAL, COLD_GOALS, GOALS, Goal
from decoding.models import Prepared, size_of
from decoding.rounds import Plan, Row
from goals import Verdict, ratio
from printed import machine, new_table, show_goals
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from sacrebleu.metrics.bleu import BLEU

LIBRARIES = ("regard", "torch", "ctranslate2", "transformers", "tokenizers")
COMPARED = {
    "default-int8": "÷ int8\ndefault",
    "best-int8": "÷ int8\nbest",
    "transformers": "÷ trans-\nformers",
}
REFERENCE = "torch"  # whose texts and BLEU the others are held against


@dataclass(frozen=True)
class Measured:
    """Everything known about one model."""

    model: Prepared
    plan: Plan
    rows: list[Row]
    references: list[str]
    cold: dict[str, list[float]]

    @property
    def beams(self) -> list[int]:
        return sorted({row.beam for row in self.rows})

    def row(self, key: str, beam: int) -> Row | None:
        """The row of a contender, if it ran."""
        return next(
            (r for r in self.rows if (r.contender.key, r.beam) == (key, beam) and not r.failure),
            None,
        )

    def bleu(self, row: Row) -> float | None:
        """None where weights are random and it would say nothing."""
        if not self.model.is_trained:
            return None
        return float(BLEU().corpus_score(row.texts, [self.references]).score)

    def same(self, row: Row) -> int | None:
        """How many texts are the reference engine's."""
        reference = self.row(REFERENCE, row.beam)
        return sum(map(str.__eq__, row.texts, reference.texts)) if reference else None


def show(console: Console, measured: Measured) -> None:
    """Table, settings, cold start, goals."""
    console.print()
    console.print(_table(measured))
    _settings(console, measured)
    _cold(console, measured)
    show_goals(console, verdicts(measured))


def _table(measured: Measured) -> Table:
    model, plan = measured.model, measured.plan
    noted = "" if model.is_trained else f"; outputs of {model.max_length} tokens, no BLEU"
    table = new_table(
        f"[bold]{model.name}[/] ({size_of(model.run)}; {model.weights} weights{noted})\n"
        f"{plan.sentences:,} sentences, batches of {plan.batch}, text in, text out; "
        f"every round ({plan.rounds}) in a new process",
        (
            "tokens/s\n(median)",
            "\nmin–max",
            *COMPARED.values(),
            "latency\nms",
            "memory\nMB",
            "\nBLEU",
            f"same as\n{REFERENCE}",
        ),
    )
    for beam in measured.beams:
        table.add_row(f"[bold]{BEAMS[beam]}[/]")
        for row in (row for row in measured.rows if row.beam == beam):
            table.add_row(f"  {row.contender.name}", *_cells(measured, row))
        table.add_section()
    return table


def _cells(measured: Measured, row: Row) -> list[str]:
    if row.failure:
        return ["[red]✗[/]", "[dim]did not run[/]"]
    bleu, same = measured.bleu(row), measured.same(row)
    against = [measured.row(key, row.beam) for key in COMPARED]
    ratios = [
        f"{median(row.speeds) / median(other.speeds):.2f}×" if other and other is not row else "–"
        for other in against
    ]
    return [
        f"{median(row.speeds):,.0f}",
        f"{min(row.speeds):,.0f}–{max(row.speeds):,.0f}",
        *ratios,
        f"{median(row.latencies):,.1f}",
        f"{row.megabytes:,.0f}",
        "–" if bleu is None else f"{bleu:.2f}",
        "–" if same is None else f"{same:,}",
    ]


def _settings(console: Console, measured: Measured) -> None:
    """Of each contender how it uses the machine, of each peer how it searches."""
    layouts, searches = {}, {}
    for row in measured.rows:
        key = f"{row.contender.peer}, {BEAMS[row.beam]}"
        if row.failure:
            layouts[row.contender.name] = f"[red]did not run:[/] {escape(row.failure)}"
        else:
            layouts[row.contender.name] = escape(row.results[0].layout)
            searches[key] = escape(row.results[0].search)
    console.print("[bold]Settings[/]")
    for name, said in (layouts | searches).items():
        console.print(f"  {name:<30} {said}", soft_wrap=True, highlight=False)


def _cold(console: Console, measured: Measured) -> None:
    if not measured.cold:
        return
    parts = [
        f"{name} {median(seconds):.2f} s" if seconds else f"{name} did not run"
        for name, seconds in measured.cold.items()
    ]
    counts = {len(seconds) for seconds in measured.cold.values()}
    console.print(
        "[bold]Cold start[/] of `regard translate` with one sentence, wall time, median of "
        f"{max(counts)}: " + ", ".join(parts),
        highlight=False,
        soft_wrap=True,
    )


def verdicts(measured: Measured) -> list[Verdict]:
    """Every goal, in the order of the issue."""
    beams = measured.beams
    found = [_ratio(measured, goal, beam) for goal in GOALS for beam in beams]
    if measured.model.is_trained:
        found += [_bleu(measured, key, beam) for key in ("auto", "shortlist") for beam in beams]
    bare = measured.cold.get("import torch")
    for engine, bound in COLD_GOALS.items():
        if not bare:
            break
        goal, limit = f"cold start with {engine} ÷ import torch", f"≤ {bound}×"
        seconds = measured.cold[engine]
        if not seconds:
            found.append(Verdict(goal, limit, "–", None))
            continue
        ratio = median(seconds) / median(bare)
        found.append(Verdict(goal, limit, f"{ratio:.2f}×", ratio <= bound))
    return found


def _ratio(measured: Measured, goal: Goal, beam: int) -> Verdict:
    is_speed = goal.of == "speed"
    name = f"{goal.ours} ÷ {goal.label}, {'tokens/s' if is_speed else 'latency'}, {BEAMS[beam]}"

    def value(row: Row) -> list[float]:
        return row.speeds if is_speed else row.latencies

    ours = measured.row(goal.ours, beam)
    theirs = [value(row) for key in goal.theirs if (row := measured.row(key, beam))]
    return ratio(name, value(ours) if ours else [], theirs, goal.bounds[beam], is_speed)


def _bleu(measured: Measured, key: str, beam: int) -> Verdict:
    name = f"{key} − {REFERENCE}, BLEU, {BEAMS[beam]}"
    ours, reference = measured.row(key, beam), measured.row(REFERENCE, beam)
    if not ours or not reference:
        return Verdict(name, f"± {BLEU_GOAL}", "–", None)
    difference = (measured.bleu(ours) or 0.0) - (measured.bleu(reference) or 0.0)
    return Verdict(name, f"± {BLEU_GOAL}", f"{difference:+.2f}", abs(difference) <= BLEU_GOAL)


def as_json(measured: Sequence[Measured]) -> str:
    """Everything, the outputs too."""
    models = []
    for one in measured:
        rows = [
            {
                "contender": row.contender.key,
                "name": row.contender.name,
                "beam": row.beam,
                "failure": row.failure,
                **({} if row.failure else _numbers(one, row)),
            }
            for row in one.rows
        ]
        models.append(
            {
                "name": one.model.name,
                "weights": one.model.weights,
                "shape": size_of(one.model.run),
                "max_length": one.model.max_length,
                "plan": asdict(one.plan) | {"source": one.plan.source.name},
                "rows": rows,
                "cold_start_seconds": one.cold,
                "goals": [asdict(verdict) for verdict in verdicts(one)],
            }
        )
    found = {"machine": machine(LIBRARIES), "models": models}
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _numbers(measured: Measured, row: Row) -> dict[str, Any]:
    return {
        "layout": row.results[0].layout,
        "search": row.results[0].search,
        "tokens": [r.tokens for r in row.results],
        "tokens_per_second": row.speeds,
        "latency_ms": row.latencies,
        "memory_mb": row.megabytes,
        "bleu": measured.bleu(row),
        "same_texts": measured.same(row),
        "texts": row.texts,
    }
