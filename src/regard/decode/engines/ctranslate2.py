"""The ctranslate2 engine: production on a CPU, in fp32 or int8, on a folder of that library.

The library's rules and ours, where they meet:

    score        log p / n^α with the end token counted, if it is asked to give the end token back
    stop         after `beam` finished outputs ("first-k"); with α = 0 it would stop after the first
                 one, so it is given an α that is not quite 0
    limits       tokens with the end token, as ours; but one limit for a whole batch, ours is one
                 for each sentence: a sentence that passes its own is searched again with it
    at a limit   it lists cut-off outputs among finished ones, ours come last: the second search
                 asks for so many outputs that none is lost

It knows pieces, not ids. Its own limit on the length of a source, which would cut in silence, is
off; ours is an error. Nothing here imports torch.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from regard.checkpoint.ctranslate2_info import (
    PRECISIONS,
    SHORTLIST,
    check_config,
    library,
    read_info,
    read_pieces,
)
from regard.checksums import check
from regard.decode.engine import Frame, Hypothesis, Layout, Pending, Row, best_first, check_prefix
from regard.decode.options import NO_RULES, DecodingOptions, Rules
from regard.errors import CheckpointError, DataError, MisuseError
from regard.processor.simulate import forbid
from regard.processor.survives import insist_on

ALMOST_ZERO = 1e-30  # n^α is exactly 1 with it, for every n
# A beam wider than what it can extend is filled up with outputs of such a log-probability.
IMPOSSIBLE = -1e8
# What the processor is asked about (processor/survives.py), and what to use where it says no.
KERNELS = {"int8": "int8", "fp32": "ctranslate2"}
INSTEAD = {"int8": "fp32 or engine torch", "ctranslate2": "engine torch"}


@dataclass(frozen=True)
class _SearchJob:
    """What a submission asks for; `limits` has the most output tokens of each source."""

    sources: Sequence[Row]
    prefixes: Sequence[Row]
    decoding: DecodingOptions
    limits: Sequence[int]


@dataclass(frozen=True)
class _Batch:
    """Rows that are searched together, and the library's answers to come."""

    rows: Sequence[int]
    limit: int
    running: Sequence[Any]


class CTranslate2Engine:
    """Searches with a folder that `write_ctranslate2` made; `shortlist` uses its vmap.txt."""

    name = "ctranslate2"

    def __init__(
        self,
        folder: Path,
        frame: Frame,
        rules: Rules = NO_RULES,
        layout: Layout | None = None,
        positions: int | None = None,
        shortlist: bool = False,
    ) -> None:
        self.layout = layout or Layout()
        self._frame, self._rules, self._shortlist = frame, rules, shortlist
        self._folder = folder
        check(folder)  # a damaged file may answer wrongly, or with NaN, without a word
        info = read_info(folder)
        check_config(folder)
        self._room = info.positions  # of an output
        self._positions = min(positions or self._room, self._room)  # of a source
        self._pieces = read_pieces(folder)
        self._ids = {piece: i for i, piece in enumerate(self._pieces)}
        self._never = [[self._pieces[i]] for i in rules.never if i not in info.never]
        if shortlist and not (folder / SHORTLIST).is_file():
            raise CheckpointError(
                f"{folder}: has no {SHORTLIST}; `regard convert --to ctranslate2 --shortlist` "
                "makes one from the corpus of a run"
            )
        self._translator = open_folder(folder, self.layout)

    def submit(
        self,
        sources: Sequence[Row],
        decoding: DecodingOptions,
        prefixes: Sequence[Row] = (),
        together: bool = False,
    ) -> Pending:
        """Begin to search; returns at once. Rows that fit each other are one batch `together`."""
        refusal = refused(decoding, self._rules, any(prefixes))
        if refusal:
            raise MisuseError(f"engine: ctranslate2 does not offer {refusal}; use engine torch")
        self._check("source", map(len, sources), self._positions)
        limits = [decoding.limit(len(source), self._room) for source in sources]
        if self._rules.first is not None:
            prefixes = [p or (self._rules.first,) for p in prefixes or [()] * len(sources)]
        for prefix, limit in zip(prefixes, limits, strict=False):
            check_prefix(prefix, limit)
        job = _SearchJob(sources, prefixes, decoding, limits)
        batches = [
            self._begin(job, rows, max(limits[i] for i in rows))
            for rows in self._batches(sources, range(len(sources)), together)
        ]
        return cache(partial(self._answers, job, batches))

    def score(self, sources: Sequence[Row], targets: Sequence[Row]) -> list[list[float]]:
        """log p of each token of the targets, the end token last."""
        self._check("source", map(len, sources), self._positions)
        self._check("target", (len(target) + 1 for target in targets), self._room)
        scored = self._library().score_batch(
            [self._spelled(row) for row in sources],
            [self._spelled(row) for row in targets],
            max_batch_size=self.layout.batch,
            max_input_length=0,
        )
        return [list(each.log_probs) for each in scored]

    def close(self) -> None:
        """Give threads and memory back."""
        self._translator = None

    def _library(self) -> Any:
        assert self._translator is not None, "the engine is closed"
        return self._translator

    @staticmethod
    def _check(what: str, lengths: Iterable[int], most: int) -> None:
        for number, length in enumerate(lengths, start=1):
            if length > most:
                raise DataError(
                    f"{what} {number}: {length} tokens, this model holds {most}; "
                    "divide the text into sentences"
                )

    def _spelled(self, row: Row) -> list[str]:
        try:
            return [self._pieces[i] for i in row]
        except IndexError:
            problem = f"its {len(self._pieces)} pieces are not those of the model"
            raise CheckpointError(self._folder, problem, advice="convert it again") from None

    def _batches(
        self, sources: Sequence[Row], rows: Sequence[int], together: bool = False
    ) -> list[list[int]]:
        """Rows of similar length together, the longest first; work for every worker."""
        order = sorted(rows, key=lambda i: -len(sources[i]))
        if together:
            return [order] if order else []
        workers = self.layout.workers
        rounds = math.ceil(len(order) / self.layout.batch / workers)
        size = max(1, math.ceil(len(order) / max(1, rounds * workers)))
        return [order[first : first + size] for first in range(0, len(order), size)]

    def _begin(
        self, job: _SearchJob, rows: Sequence[int], limit: int, everything: bool = False
    ) -> _Batch:
        """Start one batch; `everything` asks for all outputs that a cut-off search can have."""
        decoding = job.decoding
        times = 2 if everything and decoding.beam > 1 else 1
        # The best output is enough where only it is wanted and it keeps its own limit.
        wanted = 1 if decoding.n_best == 1 and not everything else times * decoding.beam
        running = self._library().translate_batch(
            [self._spelled(job.sources[i]) for i in rows],
            [self._spelled(job.prefixes[i]) for i in rows] if job.prefixes else None,
            asynchronous=True,
            beam_size=decoding.beam,
            patience=times,
            num_hypotheses=wanted,
            # A single path needs no norm; its score is log p then.
            length_penalty=(decoding.beam > 1 and decoding.alpha) or ALMOST_ZERO,
            repetition_penalty=decoding.repetition_penalty,
            no_repeat_ngram_size=decoding.no_repeat_ngram,
            suppress_sequences=self._never or None,
            return_end_token=True,
            return_scores=True,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=min(decoding.min_length, limit),
            use_vmap=self._shortlist,
        )
        return _Batch(rows, limit, running)

    def _answers(self, job: _SearchJob, batches: Sequence[_Batch]) -> list[list[Hypothesis]]:
        """Wait; search those again that passed their own limit."""
        outputs_of: dict[int, list[Hypothesis]] = {}
        passed: dict[int, list[int]] = {}
        for batch in batches:
            for i, outputs in self._outputs(batch, job.decoding):
                outputs_of[i] = outputs
                if not self._is_settled(outputs, job.decoding, job.limits[i], batch.limit):
                    passed.setdefault(job.limits[i], []).append(i)
        # The last place of an output that must end belongs to the end token.
        spared = int(self._rules.must_end)
        again = [
            self._begin(job, part, max(1, limit - spared), everything=True)
            for limit, rows in passed.items()
            for part in self._batches(job.sources, rows)
        ]
        for batch in again:
            for i, outputs in self._outputs(batch, job.decoding):
                outputs_of[i] = self._ended(outputs, job, i) if spared else outputs
        answers = [outputs_of[i] for i in range(len(job.sources))]
        if any(job.prefixes) and self._rules.first is None:
            answers = self._with_prefixes(job, answers)
        return [best_first(outputs)[: job.decoding.n_best] for outputs in answers]

    def _outputs(
        self, batch: _Batch, decoding: DecodingOptions
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The row and the outputs of each sentence of a batch, as they come."""
        for i, running in zip(batch.rows, batch.running, strict=True):
            result = running.result()
            outputs = []
            for pieces, score in zip(result.hypotheses, result.scores, strict=True):
                ids = [self._ids[piece] for piece in pieces]
                if not ids:  # the source is only an end token: the library does not search
                    outputs = [Hypothesis((), 0.0, 0.0, True)]
                    break
                log_p = score * len(ids) ** decoding.alpha if decoding.beam > 1 else score
                finished = ids[-1] == self._frame.end
                if log_p > IMPOSSIBLE or not outputs:
                    score = decoding.score(log_p, len(ids))
                    ids = ids[:-1] if finished else ids
                    outputs.append(Hypothesis(tuple(ids), log_p, score, finished))
            yield i, outputs

    def _is_settled(
        self, outputs: Sequence[Hypothesis], decoding: DecodingOptions, limit: int, used: int
    ) -> bool:
        """Whether a search with the limit `used` gave what one with the row's own `limit` would.

        Outputs that are finished before it do not depend on a limit, and one of the last step is
        always among those that are given back.
        """
        if self._rules.must_end:
            return all(h.finished and len(h.ids) + 1 < limit for h in outputs)
        if decoding.beam == 1 and used == limit:
            return True
        return all(h.finished and len(h.ids) + 1 <= limit for h in outputs)

    def _ended(self, outputs: Sequence[Hypothesis], job: _SearchJob, i: int) -> list[Hypothesis]:
        """Outputs that were cut off one token before their limit, with an end that is certain."""
        limit, score = job.limits[i], job.decoding.score
        if limit == 1:
            return [Hypothesis((), 0.0, score(0.0, 1), True)]
        return [
            h
            if h.finished
            else Hypothesis(h.ids, h.log_probability, score(h.log_probability, limit), True)
            for h in outputs
        ]

    def _with_prefixes(
        self, job: _SearchJob, answers: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """The library counts a prefix as certain; add its log p."""
        log_ps = self.score(job.sources, job.prefixes)
        totals = [sum(each[:-1]) for each in log_ps]  # without the end token
        return [
            [_shifted(h, total, job.decoding) for h in outputs]
            for outputs, total in zip(answers, totals, strict=True)
        ]


def refused(
    decoding: DecodingOptions, rules: Rules = NO_RULES, prefixed: bool = False
) -> str | None:
    """What of a search the library does not have, or has with another meaning; None: it has all."""
    beam, norm, stop = decoding.beam > 1, decoding.length_norm, decoding.stop
    theirs = decoding.convention == "transformers"
    penalties = decoding.repetition_penalty != 1.0 or decoding.no_repeat_ngram > 0
    missing = {
        "sampling (its draws cannot be repeated)": decoding.draws,
        "a coverage penalty": decoding.coverage > 0,
        f'length_norm "{norm}" with a beam': beam and norm != "power",
        f'stop "{stop}" with a beam': beam and stop != "first-k",
        "penalties by the convention of transformers": theirs
        and (penalties or (beam and decoding.min_length > 0)),
        "cut-off outputs ordered by score": beam and decoding.by_score and not rules.must_end,
        "several end tokens": bool(rules.also_ends),
        # It drops outputs that end right after what is forced, unless they are the likeliest.
        "a forced beginning with a beam": beam and (prefixed or rules.first is not None),
    }
    return next((words for words, is_missing in missing.items() if is_missing), None)


def _shifted(h: Hypothesis, log_p: float, decoding: DecodingOptions) -> Hypothesis:
    total = h.log_probability + log_p
    return Hypothesis(h.ids, total, decoding.score(total, len(h.ids) + h.finished), h.finished)


def open_folder(folder: Path, layout: Layout, generates: bool = False) -> Any:
    """The library's translator, or its generator for decoders, laid out as asked."""
    kernels = KERNELS.get(layout.precision, "ctranslate2")
    insist_on(kernels, "precision", INSTEAD[kernels])
    forbid(kernels)
    ctranslate2 = library()
    offered = ctranslate2.get_supported_compute_types("cpu")
    if PRECISIONS.get(layout.precision) not in offered:
        listed = ", ".join(ours for ours, theirs in PRECISIONS.items() if theirs in offered)
        advice = f"ctranslate2 offers {listed} on this machine"
        raise MisuseError("precision", got=layout.precision, advice=advice)
    try:
        return (ctranslate2.Generator if generates else ctranslate2.Translator)(
            str(folder),
            device="cpu",
            compute_type=PRECISIONS[layout.precision],
            inter_threads=layout.workers,
            intra_threads=layout.threads,
            max_queued_batches=-1,  # or a submission would wait for those before it
        )
    except (RuntimeError, ValueError) as error:
        problem = f"ctranslate2 cannot open it: {str(error)[:200]}"
        raise CheckpointError(folder, problem, advice="convert the model again") from None
