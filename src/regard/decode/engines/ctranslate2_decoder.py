"""The ctranslate2 engine for decoder-only models: it goes on with prompts, in fp32 or int8.

Greedy search is the same in both engines, and so is a draw (top-k, then temperature, then top-p),
as long as no seed has to repeat it. What else the library lacks or means otherwise is named by
`refused_continuation`, and the torch engine does it.

The library reads prompts of one batch in one pass as far as the shortest goes, and the rest token
by token; so batches have prompts of similar length. Those of one token are by themselves: beside
longer ones it would count the rest of these as output. Nothing here imports torch.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from regard.checkpoint.ctranslate2_info import check_config, read_info, read_pieces
from regard.checksums import check
from regard.decode.engine import Hypothesis, IsOver, Layout, Pending, Row
from regard.decode.engines.ctranslate2 import ALMOST_ZERO, open_folder
from regard.decode.options import NO_RULES, DecodingOptions, Rules
from regard.errors import CheckpointError, DataError, MisuseError

SIMILAR = 0.8  # times the length of the longest prompt of a batch, which the others have at least


@dataclass(frozen=True)
class _PromptBatch:
    """Prompts that are gone on with together, by number, and the library's answers to come."""

    numbers: Sequence[int]
    limits: Sequence[int]
    running: Sequence[Any]


class CTranslate2Decoder:
    """Goes on with prompts, on a folder that `write_decoder` made; an output ends at `ends`."""

    name = "ctranslate2"

    def __init__(
        self,
        folder: Path,
        ends: Sequence[int],
        rules: Rules = NO_RULES,
        layout: Layout | None = None,
        endless: bool = False,
    ) -> None:
        """`endless` positions are rotary ones: no table holds them."""
        self.layout, self._folder = layout or Layout(), folder
        self._ends, self._rules = list(ends), rules
        check(folder)  # a damaged file may answer wrongly, or with NaN, without a word
        info = read_info(folder)
        check_config(folder)
        self._room = None if endless else info.positions
        self._pieces = read_pieces(folder)
        missing = [i for i in rules.never if i not in info.never]
        if missing:
            raise CheckpointError(f"{folder}: made for other rules; convert the model again")
        self._generator = open_folder(folder, self.layout, generates=True)

    def submit(
        self,
        sources: Sequence[Row],
        decoding: DecodingOptions,
        prefixes: Sequence[Row] = (),
        is_over: IsOver | None = None,
    ) -> Pending:
        """Begin to go on with each; returns at once."""
        self._insist(decoding, bool(prefixes))
        draws = decoding.n_best if decoding.draws else 1
        limits = [self._limit(source, decoding) for source in sources for _ in range(draws)]
        rows = [source for source in sources for _ in range(draws)]
        batches = [
            self._begin(rows, numbers, limits, decoding, draws, is_over)
            for numbers in self._batches(rows, limits)
        ]
        return cache(partial(self._answers, rows, batches, decoding, draws))

    def stream(self, prompt: Row, decoding: DecodingOptions, draw: int = 0) -> Iterator[int]:
        """The tokens that follow a prompt as they come; `draw` makes no difference without seed."""
        self._insist(decoding)
        steps = self._library().generate_tokens(
            self._spelled(prompt),
            max_length=self._limit(prompt, decoding),
            min_length=decoding.min_length,
            end_token=self._ends,
            **self._drawing(decoding),
        )
        for step in steps:
            if step.token_id in self._ends:
                return
            yield step.token_id

    def score(self, sources: Sequence[Row], targets: Sequence[Row]) -> list[list[float]]:
        """log p of each token of the targets behind their prompts."""
        rows = [[*source, *target] for source, target in zip(sources, targets, strict=True)]
        for row in rows:
            self._check(len(row))
        scored = self._library().score_batch(
            [self._spelled(row) for row in rows],
            max_batch_size=self.layout.batch,
            max_input_length=0,
        )
        return [
            list(each.log_probs)[len(source) - 1 :]
            for each, source in zip(scored, sources, strict=True)
        ]

    def close(self) -> None:
        """Give threads and memory back."""
        self._generator = None

    def _library(self) -> Any:
        assert self._generator is not None, "the engine is closed"
        return self._generator

    def _insist(self, decoding: DecodingOptions, prefixed: bool = False) -> None:
        refusal = refused_continuation(decoding, self._rules, prefixed)
        if refusal:
            raise MisuseError(f"engine: ctranslate2 does not offer {refusal}; use engine torch")

    def _limit(self, prompt: Row, decoding: DecodingOptions) -> int:
        self._check(len(prompt) + 1)
        return decoding.limit(len(prompt), self._room and self._room - len(prompt))

    def _check(self, length: int) -> None:
        if self._room is not None and length > self._room:
            raise DataError(f"prompt: {length} tokens, this model holds {self._room}; shorten it")

    def _spelled(self, row: Row) -> list[str]:
        try:
            return [self._pieces[i] for i in row]
        except IndexError:
            raise CheckpointError(
                f"{self._folder}: its {len(self._pieces)} pieces are not those of the model; "
                "convert it again"
            ) from None

    def _batches(self, rows: Sequence[Row], limits: Sequence[int]) -> list[list[int]]:
        """Prompts of similar length together, the longest first; work for every worker.

        A batch has one limit, the largest of its rows, for which all must have positions.
        """
        order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
        most = min(self.layout.batch, math.ceil(len(order) / self.layout.workers))
        batches: list[list[int]] = []
        for i in order:
            longest = len(rows[batches[-1][0]]) if batches else 0
            fits = batches and len(batches[-1]) < most and len(rows[i]) >= SIMILAR * longest
            if fits and (self._room is None or longest + limits[i] <= self._room):
                batches[-1].append(i)
            else:
                batches.append([i])
        return batches

    def _begin(
        self,
        rows: Sequence[Row],
        numbers: Sequence[int],
        limits: Sequence[int],
        decoding: DecodingOptions,
        draws: int,
        is_over: IsOver | None,
    ) -> _PromptBatch:
        so_far: list[list[int]] = [[] for _ in numbers]

        def stops(step: Any) -> bool:
            assert is_over is not None
            so_far[step.batch_id].append(step.token_id)
            number = numbers[step.batch_id]
            return step.token_id not in self._ends and is_over(
                number // draws, so_far[step.batch_id]
            )

        running = self._library().generate_batch(
            [self._spelled(rows[i]) for i in numbers],
            asynchronous=True,
            max_length=max(limits[i] for i in numbers),
            min_length=decoding.min_length,
            length_penalty=ALMOST_ZERO,  # a single path needs no norm; its score is log p then
            end_token=self._ends,
            return_end_token=True,
            return_scores=True,
            include_prompt_in_result=False,
            callback=None if is_over is None else stops,
            **self._drawing(decoding),
        )
        return _PromptBatch(numbers, [limits[i] for i in numbers], running)

    def _answers(
        self,
        rows: Sequence[Row],
        batches: Sequence[_PromptBatch],
        decoding: DecodingOptions,
        draws: int,
    ) -> list[list[Hypothesis]]:
        """Wait; each output as it is, or as far as its own limit goes."""
        outputs: dict[int, tuple[list[int], float]] = {}
        for batch in batches:
            for number, limit, running in zip(
                batch.numbers, batch.limits, batch.running, strict=True
            ):
                result = running.result()
                ids = list(result.sequences_ids[0])
                log_p = result.scores[0] if len(ids) <= limit else math.nan
                outputs[number] = (ids[:limit], log_p)
        again = [i for i, (_, log_p) in outputs.items() if math.isnan(log_p)]  # those cut here
        scores = self.score([rows[i] for i in again], [outputs[i][0] for i in again])
        for i, each in zip(again, scores, strict=True):
            outputs[i] = (outputs[i][0], sum(each))
        answers = [self._hypothesis(*outputs[i], decoding) for i in range(len(rows))]
        return [answers[i : i + draws] for i in range(0, len(answers), draws)]

    def _drawing(self, decoding: DecodingOptions) -> dict[str, float]:
        """How the library chooses each token."""
        if not decoding.draws:
            return {"sampling_topk": 1}
        return {
            "sampling_topk": min(decoding.top_k or 0, len(self._pieces)),  # 0: from all
            "sampling_topp": 1.0 if decoding.top_p is None else decoding.top_p,
            "sampling_temperature": decoding.temperature,
        }

    def _hypothesis(self, ids: list[int], log_p: float, decoding: DecodingOptions) -> Hypothesis:
        finished = bool(ids) and ids[-1] in self._ends
        score = decoding.score(log_p, max(1, len(ids)))
        return Hypothesis(tuple(ids[:-1] if finished else ids), log_p, score, finished)


def refused_continuation(
    decoding: DecodingOptions, rules: Rules = NO_RULES, prefixed: bool = False
) -> str | None:
    """What of the options the library does not have, or has with another meaning; None: nothing."""
    penalties = decoding.repetition_penalty != 1.0 or decoding.no_repeat_ngram > 0
    missing = {
        "a beam as ours": decoding.beam > 1,
        "draws that a seed repeats": decoding.draws and decoding.seed is not None,
        "penalties for repetition as ours": penalties,
        "a forced beginning or end": prefixed or rules.first is not None or rules.must_end,
    }
    return next((words for words, is_missing in missing.items() if is_missing), None)
