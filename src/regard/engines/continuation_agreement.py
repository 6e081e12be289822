"""Does ctranslate2 go on with texts as torch does? Compared on as many as there is time for.

fp32   the same tokens as torch; where they part, it is a tie: log p of the two tokens within 1e-4
int8   the same tokens too, after 99 of 100 prompts: there are no references as for translations,
       and a continuation that has taken another turn once is another text, however good

Few models write the same in int8; it is there for those who ask for it.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import takewhile

from regard.bundle.engine_choice import default_layout
from regard.decode.engine import Engine, Hypothesis, Row
from regard.decode.options import DecodingOptions
from regard.draw.terminal.progress import progress_bar
from regard.engines.agreement import (
    SAME,
    SECONDS_FP32,
    SECONDS_INT8,
    TIE,
    AgreementCheck,
    Clock,
    Make,
    answers_in_time,
    remembering,
)
from regard.errors import RegardError
from regard.processor.survives import ruled_out


def compare_continuations(
    with_torch: Make,
    with_library: Make,
    rows: Sequence[Row],
    decoding: DecodingOptions,
    clock: Clock = time.perf_counter,
) -> tuple[dict[str, AgreementCheck], str]:
    """Each precision against torch, and why ctranslate2 is not to be used, if so."""
    if not rows:
        return {}, "there is no text on which ctranslate2 could be compared with torch"
    with ExitStack() as opened:
        try:
            with progress_bar("converting to fp32", None):
                library = opened.enter_context(closing(with_library(default_layout("fp32"))))
            engine = opened.enter_context(closing(with_torch(default_layout())))
            both = [remembering(engine, decoding), remembering(library, decoding)]
            expected, got = answers_in_time("comparing fp32", both, rows, SECONDS_FP32, clock)
            first = compare_tokens_but_ties(engine, rows, expected, got)
        except RegardError as error:  # a model that the library cannot express
            return {}, str(error)
        checks = {"ctranslate2 fp32": replace(first, left=len(rows) - len(got))}
        if not first.passed:  # then int8 cannot be trusted either
            return checks, f"fp32: {first.reason}"
        if ruled_out("int8"):
            return checks, ""
        with progress_bar("converting to int8", None):
            small = opened.enter_context(closing(with_library(default_layout("int8"))))
        both[1] = remembering(small, decoding)
        answered = rows[: len(got)]
        expected, got = answers_in_time("comparing int8", both, answered, SECONDS_INT8, clock)
    checks["ctranslate2 int8"] = replace(compare_outputs(expected, got), left=len(rows) - len(got))
    return checks, ""


def compare_tokens_but_ties(
    torch: Engine, rows: Sequence[Row], expected: Sequence[Hypothesis], got: Sequence[Hypothesis]
) -> AgreementCheck:
    """The same tokens; of two that differ first, torch must find both as likely."""
    check = compare_outputs(expected, got)
    triples = zip(rows, expected, got, strict=False)
    ties = [is_tie(torch, *triple) for triple in triples if triple[1].ids != triple[2].ids]
    words = check.reason + (", the rest are ties" if ties and all(ties) else "")
    return replace(check, passed=check.passed and all(ties), reason=words)


def compare_outputs(expected: Sequence[Hypothesis], got: Sequence[Hypothesis]) -> AgreementCheck:
    """The same tokens, after nearly all prompts."""
    count = len(got)
    same = sum(a.ids == b.ids for a, b in zip(expected, got, strict=True))
    words = f"the same tokens as torch after {same} of {count} prompts"
    return AgreementCheck(same >= SAME * count, count, same, words)


def is_tie(torch: Engine, row: Row, expected: Hypothesis, got: Hypothesis) -> bool:
    """Whether two outputs part where torch finds both tokens as likely; an end is no token here."""
    shared = list(
        takewhile(lambda pair: pair[0] == pair[1], zip(expected.ids, got.ids, strict=False))
    )
    place = len(shared)
    if place == min(len(expected.ids), len(got.ids)):
        return False
    prompt = [*row, *expected.ids[:place]]
    nexts = [[h.ids[place]] for h in (expected, got)]
    one, other = torch.score([prompt, prompt], nexts)
    return abs(one[0] - other[0]) <= TIE
