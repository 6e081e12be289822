"""Does ctranslate2 say what torch says? Compared on as many sentences as there is time for.

fp32   the same tokens as torch; where they differ, it is a tie (1e-4)
int8   BLEU within 0.2 of torch's, or 99 against torch's outputs without references

A model whose outputs never end, or a slow machine, would take minutes for all sentences. The first
few are compared in any case, and the time they took says how many more fit.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

from regard.bundle.codec import Codec
from regard.bundle.engine_choice import default_layout
from regard.decode.engine import Engine, Hypothesis, Layout, Row, best_of
from regard.decode.options import DecodingOptions
from regard.draw.terminal.progress import progress_bar
from regard.errors import RegardError
from regard.processor.survives import ruled_out

TIE = 1e-4  # of two scores
COMPARED = 100  # sentences at least, if there are as many and there is time
SAME = 0.99  # share of sentences with the same tokens
BLEU_LOSS = 0.2
BLEU_AGAINST_TORCH = 99.0
FEW = 16  # sentences that are compared however long they take
GROWTH = 4  # times as many as were compared so far come next, at most: the first may be quick ones
SECONDS_FP32 = 15.0  # for each comparison, if FEW take no longer
SECONDS_INT8 = 25.0

Make = Callable[[Layout], Engine]
Clock = Callable[[], float]
AnswerRows = Callable[[Sequence[Row]], list[Hypothesis]]
ProbeRows = Sequence[tuple[Row, str | None]]  # sources with their references, where there are any


@dataclass(frozen=True)
class AgreementCheck:
    """How a precision did against torch; `reason` says it in words."""

    passed: bool
    sentences: int
    same: int
    reason: str
    bleu: float | None = None
    torch_bleu: float | None = None
    left: int = 0  # sentences that there was no time for


def compare(
    with_torch: Make,
    with_library: Make,
    codec: Codec,
    probe: ProbeRows,
    decoding: DecodingOptions,
    clock: Clock = time.perf_counter,
) -> tuple[dict[str, AgreementCheck], str]:
    """Each precision against torch, and why ctranslate2 is not to be used, if so.

    fp32 is compared on some of the probe. Once it agrees it stands for torch on all of it, which
    is faster: BLEU needs many sentences.
    """
    if not probe:
        return {}, "there is no sentence on which ctranslate2 could be compared with torch"
    first, others = _divided(probe)
    with ExitStack() as opened:
        try:
            with progress_bar("converting to fp32", None):
                library = opened.enter_context(closing(with_library(default_layout("fp32"))))
            single = remembering(library, decoding)
            with closing(with_torch(default_layout())) as engine:
                both = [remembering(engine, decoding), single]
                rows = [row for row, _ in first]
                expected, got = answers_in_time("comparing fp32", both, rows, SECONDS_FP32, clock)
        except RegardError as error:  # a model that the library cannot express
            return {}, str(error)
        left = len(first) - len(got)
        checks = {"ctranslate2 fp32": replace(compare_tokens(expected, got), left=left)}
        if not checks["ctranslate2 fp32"].passed:  # then int8 cannot be trusted either
            return checks, f"fp32: {checks['ctranslate2 fp32'].reason}"
        if ruled_out("int8"):
            return checks, ""
        with progress_bar("converting to int8", None):
            small = opened.enter_context(closing(with_library(default_layout("int8"))))
        # Those that fp32 has answered come last: they cost less than the others, and the first
        # ones say how many fit. Where time allowed only FEW, they must do.
        answered, new = first[: len(got)], [*first[len(got) :], *others]
        chosen = answered if left and len(answered) <= FEW else [*new, *answered]
        both = [single, remembering(small, decoding)]
        rows = [row for row, _ in chosen]
        expected, got = answers_in_time("comparing int8", both, rows, SECONDS_INT8, clock)
    references = [reference for _, reference in chosen[: len(got)]]
    texts = compare_texts(codec, expected, got, references)
    checks["ctranslate2 int8"] = replace(texts, left=len(probe) - len(got))
    return checks, ""


def cut_short(checks: Mapping[str, AgreementCheck]) -> str:
    """On how few sentences the checks rest, where time was short; else nothing."""
    few = [
        f"{name.split()[1]} on {check.sentences} of {check.sentences + check.left}"
        for name, check in checks.items()
        if check.left
    ]
    return f"; to save time compared in {' and in '.join(few)} sentences" if few else ""


def _divided(probe: ProbeRows) -> tuple[ProbeRows, ProbeRows]:
    """The sentences that torch translates too, evenly from all over, and the others.

    Shuffled, always in the same way: wherever time ends, what was compared is a fair sample.
    """
    step = max(1, len(probe) // COMPARED)
    first = list(probe[::step])
    others = [pair for number, pair in enumerate(probe) if number % step]
    for pairs in (first, others):
        random.Random(0).shuffle(pairs)
    return first, others


def remembering(engine: Engine, decoding: DecodingOptions) -> AnswerRows:
    """The best outputs of an engine, each source searched once."""
    best: dict[tuple[int, ...], Hypothesis] = {}

    def answer(rows: Sequence[Row]) -> list[Hypothesis]:
        new = [row for row in dict.fromkeys(map(tuple, rows)) if row not in best]
        outputs = engine.submit(new, decoding)() if new else []
        best.update((row, best_of(n_best)) for row, n_best in zip(new, outputs, strict=True))
        return [best[tuple(row)] for row in rows]

    return answer


def answers_in_time(
    label: str, engines: Sequence[AnswerRows], rows: Sequence[Row], seconds: float, clock: Clock
) -> list[list[Hypothesis]]:
    """What each answers to the same rows, to as many of the first ones as fit into `seconds`."""
    outputs: list[list[Hypothesis]] = [[] for _ in engines]
    with progress_bar(label, None) as bar:
        for part in parts(len(rows), seconds, clock, bar.expect):
            for own, answer in zip(outputs, engines, strict=True):
                own += answer(rows[part])
            bar.advance(len(rows[part]))
    return outputs


def parts(
    count: int,
    seconds: float,
    clock: Clock = time.perf_counter,
    expect: Callable[[int], None] = lambda total: None,
) -> Iterator[slice]:
    """Parts of `count` things to do one after another, until `seconds` are over.

    The first part has FEW; then d things done in t seconds leave room for d (seconds - t) / t more.
    `expect` hears how many it will be.
    """
    begun, done, part = clock(), 0, min(FEW, count)
    while part > 0:
        yield slice(done, done + part)
        done += part
        used = max(clock() - begun, 1e-6)
        more = max(0, min(count - done, int(done * (seconds - used) / used)))
        expect(done + more)
        part = min(more, GROWTH * done)


def compare_tokens(expected: Sequence[Hypothesis], got: Sequence[Hypothesis]) -> AgreementCheck:
    """The same tokens, but for ties."""
    pairs = list(zip(expected, got, strict=True))
    different = [(a, b) for a, b in pairs if a.ids != b.ids]
    same = len(pairs) - len(different)
    ties = all(abs(a.score - b.score) <= TIE for a, b in different)
    words = f"the same tokens as torch in {same} of {len(pairs)} sentences"
    words += ", the rest are ties" if ties and different else ""
    return AgreementCheck(ties and same >= SAME * len(pairs), len(pairs), same, words)


def compare_texts(
    codec: Codec,
    expected: Sequence[Hypothesis],
    got: Sequence[Hypothesis],
    references: Sequence[str | None],
) -> AgreementCheck:
    """As good as torch's by BLEU, or nearly the same where there are no references."""
    from sacrebleu.metrics.bleu import BLEU

    same = sum(a.ids == b.ids for a, b in zip(expected, got, strict=True))
    count = len(expected)
    texts = codec.decode([h.ids for h in expected])
    others = codec.decode([h.ids for h in got])
    truths = [reference for reference in references if reference is not None]
    if len(truths) < count:
        bleu = float(BLEU().corpus_score(others, [texts]).score)
        words = f"BLEU {bleu:.1f} against torch's outputs, {BLEU_AGAINST_TORCH:g} is the least"
        return AgreementCheck(same == count or bleu >= BLEU_AGAINST_TORCH, count, same, words, bleu)
    bleu = float(BLEU().corpus_score(others, [truths]).score)
    torchs = float(BLEU().corpus_score(texts, [truths]).score)
    words = f"BLEU {bleu:.2f}, torch has {torchs:.2f}"
    return AgreementCheck(bleu >= torchs - BLEU_LOSS, count, same, words, bleu, torchs)
