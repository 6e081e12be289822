"""Search written for reading: one sentence, full passes of the model, no cache, padding or batch.

Slow on purpose. What the engines do with prepared weights, slots and tensors must come to this.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jaxtyping
import torch

from regard.decode.hypothesis import DecodingOptions, Hypothesis
from regard.decode.rules import NO_RULES, Rules
from regard.model.trace import Trace
from regard.model.transformer import Transformer

Ids = tuple[int, ...]
NEVER = -math.inf


@contextmanager
def unchecked() -> Iterator[None]:
    """Without the checks of shapes, which take longer than a small model; others make them.

    Functions within functions are made anew at every call: they get no checks that are not used.
    """
    before, with_checks = jaxtyping.config.jaxtyping_disable, jaxtyping.jaxtyped

    def without(typechecker: Any) -> Callable[[Any], Any]:
        checked = with_checks(typechecker=typechecker)
        return lambda made: made if "<locals>" in made.__qualname__ else checked(made)

    jaxtyping.config.update("jaxtyping_disable", True)
    jaxtyping.jaxtyped = without
    try:
        yield
    finally:
        jaxtyping.jaxtyped = with_checks
        jaxtyping.config.update("jaxtyping_disable", before)


@dataclass(frozen=True)
class Source:
    """One source and the model that reads it; a pass that was made once is remembered."""

    model: Transformer
    ids: Ids
    start: int = 1
    end: int = 2
    _passes: dict[tuple[Ids, bool], tuple[list[float], list[float]]] = field(default_factory=dict)

    def logits(self, output: Ids) -> list[float]:
        """Logits of what follows this output."""
        return list(self._look(output, explain=False)[0])

    def attended(self, output: Ids) -> list[float]:
        """How much attention each source token has had, when the token after `output` is chosen.

        It is that of the last layer, the mean over its heads, summed over all output positions.
        """
        return self._look(output, explain=True)[1]

    def _look(self, output: Ids, explain: bool) -> tuple[list[float], list[float]]:
        if (output, explain) not in self._passes:
            source, target = torch.tensor([self.ids]), torch.tensor([[self.start, *output]])
            trace = Trace() if explain else None
            with torch.no_grad(), unchecked():
                logits = self.model(source, target, trace=trace)[0, -1].tolist()
            attention: list[float] = []
            if trace is not None:
                last = self.model.spec.decoder_layers - 1
                weights = trace[f"decoder.{last}.cross.weights"][0]  # (H, L, S)
                attention = weights.mean(dim=0).sum(dim=0).tolist()
            self._passes[output, explain] = logits, attention
        return self._passes[output, explain]


def log_softmax(logits: list[float]) -> list[float]:
    """x_i - log Σ exp x"""
    largest = max(logits)
    if largest == NEVER:
        return logits
    total = largest + math.log(sum(math.exp(x - largest) for x in logits))
    return [x - total for x in logits]


def only(token: int, log_p: float, vocabulary: int) -> list[float]:
    return [log_p if i == token else NEVER for i in range(vocabulary)]


def comes_twice(ids: Ids, n: int) -> bool:
    """Whether the last n ids stand somewhere before too."""
    return ids[-n:] in [ids[i : i + n] for i in range(len(ids) - n)]


def log_p_of_next(
    source: Source, output: Ids, limit: int, search: DecodingOptions, rules: Rules, prefix: Ids
) -> list[float]:
    """log p of each token as the one that follows `output`, -∞ where it is not allowed."""
    logits, end, n = source.logits(output), source.end, len(output)
    size = len(logits)
    if n < len(prefix):  # it comes whatever the options and rules say
        return only(prefix[n], log_softmax(logits)[prefix[n]], size)
    for token in set(output):
        x, penalty = logits[token], search.repetition_penalty
        logits[token] = x / penalty if x > 0 else x * penalty
    if search.no_repeat_ngram:
        for token in range(size):
            if comes_twice((*output, token), search.no_repeat_ngram):
                logits[token] = NEVER
    if n < search.min_length:
        logits[end] = NEVER
    log_p = log_softmax(logits)
    for token in rules.never:  # the others keep their share: no second softmax
        log_p[token] = NEVER
    if max(log_p) == NEVER:
        log_p = only(end, 0.0, size)
    if rules.first is not None and n == 0:
        log_p = only(rules.first, 0.0, size)
    if rules.must_end and n + 1 == limit:
        log_p = only(end, 0.0, size)
    return log_p


def norm(search: DecodingOptions, length: int) -> float:
    if search.length_norm == "paper":
        return ((5 + length) / 6) ** search.alpha
    return length**search.alpha


def hypothesis(
    source: Source, search: DecodingOptions, output: Ids, log_p: float, finished: bool
) -> Hypothesis:
    """The output with its score: log p / norm + β Σ_j log min(attention that j has had, 1)."""
    score = log_p / norm(search, len(output) + finished)
    if search.coverage:
        seen = source.attended(output if finished else output[:-1])
        score += search.coverage * sum(math.log(min(max(x, 1e-9), 1.0)) for x in seen)
    return Hypothesis(output, log_p, score, finished)


def limit_of(source: Source, search: DecodingOptions) -> int:
    limit = search.max_length or len(source.ids) + 50
    if source.model.spec.positions == "learned":
        limit = min(limit, source.model.spec.max_length)
    return limit


def greedy(
    source: Source, search: DecodingOptions, rules: Rules = NO_RULES, prefix: Ids = ()
) -> list[Hypothesis]:
    """Always the most likely token."""
    limit, output, total = limit_of(source, search), (), 0.0
    while len(output) < limit:
        log_p = log_p_of_next(source, output, limit, search, rules, prefix)
        token = max(range(len(log_p)), key=log_p.__getitem__)
        total += log_p[token]
        if token == source.end:
            return [hypothesis(source, search, output, total, True)]
        output = (*output, token)
    return [hypothesis(source, search, output, total, False)]


def beam(
    source: Source, search: DecodingOptions, rules: Rules = NO_RULES, prefix: Ids = ()
) -> list[Hypothesis]:
    """The k most likely open outputs go on; ends among the k best extensions are finished."""
    k, limit = search.beam, limit_of(source, search)
    going: list[tuple[Ids, float]] = [((), 0.0)]
    found: list[Hypothesis] = []
    for length in range(1, limit + 1):
        extensions = [
            ((*output, token), total + log_p)
            for output, total in going
            for token, log_p in enumerate(
                log_p_of_next(source, output, limit, search, rules, prefix)
            )
            if log_p > NEVER
        ]
        extensions.sort(key=lambda e: -e[1])
        for output, total in extensions[:k]:
            if output[-1] == source.end:
                found.append(hypothesis(source, search, output[:-1], total, True))
        going = [e for e in extensions[: 2 * k] if e[0][-1] != source.end][:k]
        if not going or is_done(search, length, limit, going[0][1], found):
            break
    if len(found) < search.n_best:
        found += [hypothesis(source, search, output, total, False) for output, total in going]
    return sorted(found, key=lambda h: (h.finished, h.score), reverse=True)[: search.n_best]


def is_done(
    search: DecodingOptions, length: int, limit: int, best_open: float, found: list[Hypothesis]
) -> bool:
    """The three stop rules, for open outputs of `length` tokens."""
    scores = sorted((h.score for h in found), reverse=True)
    if search.stop == "first-k":
        return len(found) >= search.beam
    if search.stop == "likely":
        enough = len(found) >= search.beam
        return enough and scores[search.beam - 1] >= best_open / norm(search, length)
    # exact: at the best an open output ends with p = 1, at once or as late as it may
    hope = max(best_open / norm(search, length + 1), best_open / norm(search, limit))
    return len(found) >= search.n_best and scores[search.n_best - 1] >= hope


def search(
    source: Source, asked: DecodingOptions, rules: Rules = NO_RULES, prefix: Ids = ()
) -> list[Hypothesis]:
    """As an engine would answer: a beam of one is greedy, unless it has a penalty to weigh."""
    find = greedy if asked.beam == 1 and not asked.coverage else beam
    return find(source, asked, rules, prefix)
