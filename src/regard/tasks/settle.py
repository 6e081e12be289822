"""The choice of engine, precision and layout: convert, compare with torch, measure.

check    fp32: the same tokens as torch on the probe; where they differ, it is a tie (1e-4)
         int8: BLEU within 0.2 of torch's, or 99 against torch's outputs without references
layout   every workers × threads that makes up the cores; the median of three runs counts
choice   the fastest that passed its check; on another machine only the layout is measured again
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from regard.decode.engine import Engine, Layout
from regard.decode.hypothesis import Hypothesis, Search
from regard.errors import CheckpointError, MisuseError, RegardError
from regard.tasks.choice import (
    ENGINES,
    Choice,
    cores,
    default_layout,
    digest,
    stamps,
    this_machine,
    versions,
)
from regard.tasks.codec import Codec
from regard.tasks.home import Home

PRECISIONS = ("fp32", "int8")
TIE = 1e-4  # of two scores
COMPARED = 100  # sentences at least, if there are as many
SAME = 0.99  # share of sentences with the same tokens
BLEU_LOSS = 0.2
BLEU_AGAINST_TORCH = 99.0
TOKENS = 20  # of an output, at most, while speed is measured
FIRST = 16  # sentences of a first measurement
SECONDS = 0.3  # that one measurement should take
SENTENCES = 300  # that it has at most

Make = Callable[[Layout], Engine]


@dataclass(frozen=True)
class Checked:
    """How a precision did against torch; `reason` says it in words."""

    passed: bool
    sentences: int
    same: int
    reason: str
    bleu: float | None = None
    torch_bleu: float | None = None


def settle(home: Home, before: Choice | None = None) -> Choice:
    """Choose; `before` is a choice for these weights on another machine, whose precision stays."""
    from regard.decode.engines.torch import TorchEngine

    search, rows = _search(home), _rows(home)
    model, weights = home.transformer(), digest(home.weights)

    def with_torch(layout: Layout) -> Engine:
        return TorchEngine(model, home.codec.frame, home.rules, layout)

    def with_library(layout: Layout) -> Engine:
        return converted_engine(home, weights, layout)

    checks: dict[str, Checked] = {}
    reason = ""
    if before is None:
        checks, reason = _checks(home, with_torch, with_library, rows, search)
        passed = [name for name, check in checks.items() if check.passed]
    else:
        passed = [f"{before.engine} {before.precision}"]
    makes: dict[str, Make] = {"torch fp32": with_torch}
    makes |= {name: with_library for name in passed if name != "torch fp32"}
    layouts, speeds = _measured(makes, rows, replace(search, max_length=TOKENS))
    best = max(speeds, key=lambda name: speeds[name])
    if before is not None:
        best, reason = f"{before.engine} {before.precision}", before.reason
    elif best != "torch fp32" or not reason:
        reason = f"{best} is the fastest that agrees with torch"
    return Choice(
        engine=best.split()[0],
        precision=best.split()[1],
        reason=reason,
        layouts=layouts if before is None else {**before.layouts, **layouts},
        weights=weights,
        versions=versions(),
        machine=this_machine(),
        limit=home.limit,
        vocabulary=model.spec.vocabulary,
        stamps=stamps(home.weights),
        checks={n: vars(c) for n, c in checks.items()} if before is None else before.checks,
        speeds={name: round(speed, 1) for name, speed in speeds.items()},
    )


def _rows(home: Home) -> list[list[int]]:
    """The sources of the probe; one that the model cannot hold is left out."""
    rows = home.codec.encode([source for source, _ in home.probe()])
    return [row for row in rows if home.limit is None or len(row) <= home.limit]


def _checks(
    home: Home, with_torch: Make, with_library: Make, rows: Sequence[list[int]], search: Search
) -> tuple[dict[str, Checked], str]:
    """Each precision against torch, and why ctranslate2 is not to be used, if so.

    fp32 is compared on some of the probe. Once it agrees it stands for torch on all of it, which
    is faster: BLEU needs many sentences.
    """

    def outputs(make: Make, layout: Layout, asked: Sequence[list[int]]) -> list[Hypothesis]:
        engine = make(layout)
        try:
            return [found[0] for found in engine.submit(asked, search)()]
        finally:
            engine.close()

    if not rows:
        return {}, "there is no sentence on which ctranslate2 could be compared with torch"
    step = max(1, len(rows) // COMPARED)
    try:
        single = outputs(with_library, default_layout("fp32"), rows)
    except RegardError as error:  # a model that the library cannot express
        return {}, str(error)
    expected = outputs(with_torch, default_layout(), rows[::step])
    checks = {"ctranslate2 fp32": compare_tokens(expected, single[::step])}
    if not checks["ctranslate2 fp32"].passed:  # then int8 cannot be trusted either
        return checks, f"fp32: {checks['ctranslate2 fp32'].reason}"
    eighth = outputs(with_library, default_layout("int8"), rows)
    references = [target for _, target in home.probe()]
    known = references if len(references) == len(rows) else []
    checks["ctranslate2 int8"] = compare_texts(home.codec, single, eighth, known)
    return checks, ""


def _search(home: Home) -> Search:
    """What is compared and measured: the model's own beam, as both engines offer it."""
    from regard.decode.engines.ctranslate2 import refused

    own = home.search
    search = Search(own.beam, own.alpha, max_length=own.max_length)
    return search if refused(search, home.rules) is None else replace(search, beam=1)


def compare_tokens(expected: Sequence[Hypothesis], got: Sequence[Hypothesis]) -> Checked:
    """The same tokens, but for ties."""
    pairs = list(zip(expected, got, strict=True))
    different = [(a, b) for a, b in pairs if a.ids != b.ids]
    same = len(pairs) - len(different)
    ties = all(abs(a.score - b.score) <= TIE for a, b in different)
    words = f"the same tokens as torch in {same} of {len(pairs)} sentences"
    words += ", the rest are ties" if ties and different else ""
    return Checked(ties and same >= SAME * len(pairs), len(pairs), same, words)


def compare_texts(
    codec: Codec,
    expected: Sequence[Hypothesis],
    got: Sequence[Hypothesis],
    references: Sequence[str | None],
) -> Checked:
    """As good as torch's by BLEU, or nearly the same where there are no references."""
    from sacrebleu.metrics.bleu import BLEU

    same = sum(a.ids == b.ids for a, b in zip(expected, got, strict=True))
    count = len(expected)
    texts = codec.decode([h.ids for h in expected])
    others = codec.decode([h.ids for h in got])
    known = [reference for reference in references if reference is not None]
    if len(known) < count:
        bleu = float(BLEU().corpus_score(others, [texts]).score)
        words = f"BLEU {bleu:.1f} against torch's outputs, {BLEU_AGAINST_TORCH:g} is the least"
        return Checked(same == count or bleu >= BLEU_AGAINST_TORCH, count, same, words, bleu)
    bleu = float(BLEU().corpus_score(others, [known]).score)
    torchs = float(BLEU().corpus_score(texts, [known]).score)
    words = f"BLEU {bleu:.2f}, torch has {torchs:.2f}"
    return Checked(bleu >= torchs - BLEU_LOSS, count, same, words, bleu, torchs)


def layouts_for(count: int) -> list[tuple[int, int]]:
    """Workers × threads that make up the cores; what is usually the best comes first.

    >>> layouts_for(6)
    [(6, 1), (3, 2), (2, 3), (1, 6)]
    """
    return [(workers, count // workers) for workers in range(count, 0, -1) if count % workers == 0]


def _measured(
    makes: dict[str, Make], rows: Sequence[Sequence[int]], search: Search
) -> tuple[dict[str, Layout], dict[str, float]]:
    """The best layout of each engine and precision, and its target tokens a second."""
    layouts: dict[str, Layout] = {}
    speeds: dict[str, float] = {}
    for name, make in makes.items():
        for workers, threads in layouts_for(cores()):
            layout = Layout(name.split()[1], workers, threads)
            engine = make(layout)
            speed = _speed(engine, rows, search, speeds.get(name, 0.0))
            engine.close()
            if name not in speeds or speed > speeds[name]:
                layouts[name], speeds[name] = layout, speed
    return layouts, speeds


def _speed(engine: Engine, rows: Sequence[Sequence[int]], search: Search, best: float) -> float:
    """Target tokens a second: a first run says how much work fits, then the median of three.

    A layout that is hopeless beside the `best` so far is not measured again.
    """
    if not rows:  # then the usual layout, which comes first, is as good as any
        return 0.0
    first = rows[:FIRST]
    seconds, tokens = _timed(engine, first, search)
    if seconds > SECONDS * 3 or tokens / seconds < best / 3:
        return tokens / seconds
    count = max(len(first), min(SENTENCES, int(len(first) * SECONDS / seconds)))
    work = (list(rows) * -(-count // len(rows)))[:count]
    runs = [_timed(engine, work, search) for _ in range(3)]
    return median(tokens / seconds for seconds, tokens in runs)


def _timed(engine: Engine, rows: Sequence[Sequence[int]], search: Search) -> tuple[float, int]:
    begun = time.perf_counter()
    found = engine.submit(rows, search)()
    tokens = sum(len(best[0].ids) + 1 for best in found)
    return max(time.perf_counter() - begun, 1e-6), tokens


def converted_engine(home: Home, weights: str, layout: Layout, shortlist: bool = False) -> Engine:
    """The ctranslate2 engine on the folder of its precision, which is made if it is not fresh."""
    from regard.checkpoint.ctranslate2_info import SHORTLIST, is_fresh
    from regard.decode.engines.ctranslate2 import CTranslate2Engine

    folder = home.folder / ENGINES / f"ctranslate2-{layout.precision}"
    if not is_fresh(folder, weights, layout.precision, home.rules.never):
        _convert(home, folder, weights, layout.precision)

    def opened() -> Engine:
        if shortlist and not (folder / SHORTLIST).is_file():
            _learn_shortlist(home, folder)
        frame, rules = home.codec.frame, home.rules
        return CTranslate2Engine(folder, frame, rules, layout, home.limit, shortlist=shortlist)

    try:
        return opened()
    except CheckpointError:  # a damaged file: it can be made again, once
        _convert(home, folder, weights, layout.precision)
        return opened()


def _convert(home: Home, folder: Path, weights: str, precision: str) -> None:
    from regard.checkpoint.to_ctranslate2 import write_ctranslate2

    model = home.transformer()
    write_ctranslate2(
        model,
        folder,
        home.codec.vocabulary(model.spec.vocabulary),
        start=home.codec.frame.start,
        end=home.codec.frame.end,
        never=home.rules.never,
        precision=precision,
        weights=weights,
    )


def _learn_shortlist(home: Home, folder: Path) -> None:
    from regard.tasks.convert_ctranslate2 import add_shortlist

    corpus = home.folder / "data" / "train"
    if not corpus.is_dir():
        raise MisuseError(
            f"--shortlist: {home.folder} has no training pairs to learn it from; only runs of "
            "`regard train` have"
        )
    add_shortlist(folder, corpus)
