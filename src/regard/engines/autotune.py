"""The choice of engine, precision and layout: convert, compare with torch, measure.

check    each precision against torch on the probe (engines/agreement.py), in 40 s at most
layout   every workers × threads that makes up the cores, while there is time; the median of three
         runs counts
choice   the fastest that passed its check; on another machine only the layout is measured again
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from statistics import median

from regard.bundle.bundle import Bundle
from regard.bundle.engine_choice import (
    Choice,
    digest,
    stamps,
    versions,
)
from regard.decode.engine import Engine, Layout, best_of
from regard.decode.options import DecodingOptions
from regard.draw.terminal.progress import progress_bar
from regard.engines.agreement import AgreementCheck, Clock, Make, cut_short
from regard.engines.converted import Network, converted_engine
from regard.engines.work import work_of
from regard.printable import Say, to_log
from regard.processor.machine import cores, this_machine
from regard.processor.survives import ruled_out

TOKENS = 20  # of an output, at most, while speed is measured
FIRST = 16  # sentences of a first measurement
SECONDS = 0.3  # that one measurement should take
SENTENCES = 300  # that it has at most
SECONDS_MEASURING = 20.0  # then no further layouts; the usual one is always measured


def autotune(
    bundle: Bundle,
    transformer: Network,
    before: Choice | None = None,
    clock: Clock = time.perf_counter,
    say: Say = to_log,
) -> Choice:
    """Choose; `before` is a choice for these weights on another machine, whose precision stays."""
    work = work_of(bundle)
    rows = work.rows()
    decoding = work.decoding(rows)
    model, weights = transformer(), digest(bundle.weights)

    def with_torch(layout: Layout) -> Engine:
        return work.with_torch(model, layout)

    def with_library(layout: Layout) -> Engine:
        return converted_engine(bundle, transformer, weights, layout, say=say)

    checks: Mapping[str, AgreementCheck] = {}
    reason = ""
    if before is None:
        checks, reason = work.compared(with_torch, with_library, rows, decoding, clock)
        passed = [name for name, check in checks.items() if check.passed]
    else:
        passed = [f"{before.engine} {before.precision}"]
        if passed == ["ctranslate2 int8"] and ruled_out("int8"):
            passed = ["ctranslate2 fp32"]
    makes: dict[str, Make] = {"torch fp32": with_torch}
    makes |= {name: with_library for name in passed if name != "torch fp32"}
    layouts, speeds = _measured(makes, rows, replace(decoding, max_length=TOKENS), clock)
    best = max(speeds, key=lambda name: speeds[name])
    if before is not None:
        best, reason = passed[0], before.reason
    elif best != "torch fp32" or not reason:
        reason = f"{best} is the fastest that agrees with torch"
    reason += cut_short(checks)
    return Choice(
        engine=best.split()[0],
        precision=best.split()[1],
        reason=reason,
        layouts=layouts if before is None else {**before.layouts, **layouts},
        weights=weights,
        versions=versions(),
        machine=this_machine(),
        limit=bundle.limit,
        vocabulary=model.spec.vocabulary,
        task=work.task,
        stamps=stamps(bundle.weights),
        checks={n: vars(c) for n, c in checks.items()} if before is None else before.checks,
        speeds={name: round(speed, 1) for name, speed in speeds.items()},
    )


def layouts_for(count: int) -> list[tuple[int, int]]:
    """Workers × threads that make up the cores; what is usually the best comes first.

    >>> layouts_for(6)
    [(6, 1), (3, 2), (2, 3), (1, 6)]
    """
    return [(workers, count // workers) for workers in range(count, 0, -1) if count % workers == 0]


def _measured(
    makes: dict[str, Make], rows: Sequence[Sequence[int]], decoding: DecodingOptions, clock: Clock
) -> tuple[dict[str, Layout], dict[str, float]]:
    """The best layout of each engine and precision, and its target tokens a second."""
    layouts: dict[str, Layout] = {}
    speeds: dict[str, float] = {}
    spent = 0.0
    all_layouts = layouts_for(cores())
    with progress_bar("measuring layouts", len(all_layouts) * len(makes)) as bar:
        for workers, threads in all_layouts:
            for name, make in makes.items():
                if name not in speeds or spent < SECONDS_MEASURING:
                    layout = Layout(name.split()[1], workers, threads)
                    with closing(make(layout)) as engine:
                        begun = clock()
                        speed = _speed(engine, rows, decoding, speeds.get(name, 0.0), clock)
                        spent += clock() - begun
                    if name not in speeds or speed > speeds[name]:
                        layouts[name], speeds[name] = layout, speed
                bar.advance()
    return layouts, speeds


def _speed(
    engine: Engine,
    rows: Sequence[Sequence[int]],
    decoding: DecodingOptions,
    best: float,
    clock: Clock,
) -> float:
    """Target tokens a second: a first run says how much work fits, then the median of three.

    A layout that is hopeless beside the `best` so far is not measured again.
    """
    if not rows:  # then the usual layout, which comes first, is as good as any
        return 0.0
    first = rows[:FIRST]
    seconds, tokens = _timed(engine, first, decoding, clock)
    if seconds > SECONDS * 3 or tokens / seconds < best / 3:
        return tokens / seconds
    count = max(len(first), min(SENTENCES, int(len(first) * SECONDS / seconds)))
    work = (list(rows) * -(-count // len(rows)))[:count]
    runs = [_timed(engine, work, decoding, clock) for _ in range(3)]
    return median(tokens / seconds for seconds, tokens in runs)


def _timed(
    engine: Engine, rows: Sequence[Sequence[int]], decoding: DecodingOptions, clock: Clock
) -> tuple[float, int]:
    begun = clock()
    outputs = engine.submit(rows, decoding)()
    tokens = sum(len(best_of(n_best).ids) + 1 for n_best in outputs)
    return max(clock() - begun, 1e-6), tokens
