"""Greedy and beam search written for reading: one sentence, no batch, no cache, full passes.

Beam search keeps k open outputs; at first there is one, the empty one. At each step

    every open output is extended by every token, and all extensions are ordered by log p;
    those of the first k that end are finished; the best k of the others stay open.

A longer output is less likely, whatever it says. So finished outputs are compared by a score which
divides log p by a norm of the length, and which can punish an output that leaves a part of the
source unread (Wu et al. 2016, equation 14; the paper takes α = 0.6 and β = 0):

    score = log p / norm(n) + β Σ_j log min(Σ_i p_ij, 1)

    norm(n) = ((5 + n) / 6)^α       length_norm "paper"; n counts the output's tokens and its end
              n^α                   length_norm "power"
    p_ij      the attention from output token i to source token j

At the length limit the open outputs are cut off. They are listed after the finished ones, and only
where too few are finished; or, by the convention of transformers, among them by score
(decode/options.py, `convention`).

Slow on purpose. decode/greedy.py and decode/beam.py do the same for many sentences at once, and are
tested to find what is found here.
"""

import math
from dataclasses import dataclass

import torch

from regard.decode.engine import Frame, Hypothesis, best_first
from regard.decode.options import NO_RULES, DecodingOptions, Rules
from regard.model.trace import Trace
from regard.model.transformer import Transformer

IdTuple = tuple[int, ...]
NEVER = -math.inf  # the log p of what cannot come


@dataclass(frozen=True)
class SourceSentence:
    """The ids of a sentence with its end token, and the model that translates it."""

    model: Transformer
    ids: IdTuple
    frame: Frame

    def logits(self, output: IdTuple, trace: Trace | None = None) -> list[float]:
        """Of each token of the vocabulary, as the one that follows `output`."""
        source, target = torch.tensor([self.ids]), torch.tensor([[self.frame.start, *output]])
        with torch.no_grad():
            logits: list[float] = self.model(source, target, trace=trace)[0, -1].tolist()
        return logits

    def attended(self, output: IdTuple) -> list[float]:
        """Σ_i p_ij for each source token j: the last layer's cross-attention, mean over heads."""
        trace = Trace()
        self.logits(output, trace)
        weights = trace[f"decoder.{self.model.spec.decoder_layers - 1}.cross.weights"]
        received: list[float] = weights[0].mean(dim=0).sum(dim=0).tolist()  # of (H, L, S)
        return received


@dataclass(frozen=True)
class ReferenceSearch:
    """Searches the best outputs for one sentence; each begins with `prefix`."""

    sentence: SourceSentence
    decoding: DecodingOptions
    rules: Rules = NO_RULES
    prefix: IdTuple = ()

    def run(self) -> list[Hypothesis]:
        """A beam of one is greedy, unless it has a penalty to weigh."""
        is_greedy = self.decoding.beam == 1 and not self.decoding.coverage
        return self.greedy() if is_greedy else self.beam()

    def greedy(self) -> list[Hypothesis]:
        """Always the most likely token."""
        output: IdTuple = ()
        total = 0.0
        while len(output) < self.limit:
            log_p = self.log_p_of_next(output)
            token = max(range(len(log_p)), key=log_p.__getitem__)
            total += log_p[token]
            if token in self.ends:
                return [self.hypothesis(output, total, finished=True)]
            output = (*output, token)
        return [self.hypothesis(output, total, finished=False)]

    def beam(self) -> list[Hypothesis]:
        """The k most likely open outputs go on; the best finished ones are the answer."""
        k = self.decoding.beam
        open_outputs: list[tuple[IdTuple, float]] = [((), 0.0)]
        hypotheses: list[Hypothesis] = []
        for length in range(1, self.limit + 1):
            extensions = [
                ((*output, token), total + log_p)
                for output, total in open_outputs
                for token, log_p in enumerate(self.log_p_of_next(output))
                if log_p > NEVER
            ]
            extensions.sort(key=lambda extension: -extension[1])
            for output, total in extensions[:k]:
                if output[-1] in self.ends:
                    hypotheses.append(self.hypothesis(output[:-1], total, finished=True))
            open_outputs = [e for e in extensions if e[0][-1] not in self.ends][:k]
            if not open_outputs or self.is_done(length, open_outputs[0][1], hypotheses):
                break
        n, by_score = self.decoding.n_best, self.decoding.by_score
        if len(hypotheses) < n or (by_score and length == self.limit):
            hypotheses += [self.hypothesis(*one, finished=False) for one in open_outputs]
        return best_first(hypotheses, by_score)[:n]

    def is_done(self, length: int, best_open: float, hypotheses: list[Hypothesis]) -> bool:
        """The three stop rules; the open outputs have `length` tokens, log p `best_open` at most.

        exact: an open output can at best end with p = 1, at once or as late as it may.
        """
        decoding = self.decoding
        if decoding.stop == "first-k":
            return len(hypotheses) >= decoding.beam
        if decoding.stop == "likely":
            enough, hope = decoding.beam, best_open / self.norm(length)
        else:
            enough = decoding.n_best
            hope = max(best_open / self.norm(n) for n in (length + 1, self.limit))
        scores = sorted((h.score for h in hypotheses), reverse=True)
        return len(scores) >= enough and scores[enough - 1] >= hope

    def norm(self, length: int) -> float:
        base = (5 + length) / 6 if self.decoding.length_norm == "paper" else float(length)
        return math.pow(base, self.decoding.alpha)

    def hypothesis(self, output: IdTuple, log_p: float, finished: bool) -> Hypothesis:
        """The output with its score."""
        score = log_p / self.norm(len(output) + finished)
        if self.decoding.coverage:
            attended = self.sentence.attended(output if finished else output[:-1])
            covered = (math.log(min(max(total, 1e-9), 1.0)) for total in attended)
            score += self.decoding.coverage * sum(covered)
        return Hypothesis(output, log_p, score, finished)

    @property
    def ends(self) -> IdTuple:
        """Every token that ends an output."""
        return (self.sentence.frame.end, *self.rules.also_ends)

    @property
    def limit(self) -> int:
        """The most tokens of an output, its end counted."""
        most, ids = self.sentence.model.spec.position_limit, self.sentence.ids
        if (tree := self.rules.tree) is not None:
            needed = tree.limit(ids)
            return needed if most is None else min(needed, most)
        return self.decoding.limit(len(ids), most)

    def log_p_of_next(self, output: IdTuple) -> list[float]:
        """log p of each token as the one after `output`; NEVER where options or rules forbid it."""
        decoding, rules, end = self.decoding, self.rules, self.sentence.frame.end
        logits, n = list(self.sentence.logits(output)), len(output)
        if n < len(self.prefix):  # it comes whatever the options and rules say
            token = self.prefix[n]
            return _only(token, _log_softmax(logits)[token], len(logits))
        before = (self.sentence.frame.start,) if decoding.convention == "transformers" else ()
        there = (*before, *output)
        values = _log_softmax(logits) if decoding.changes_log_p else logits
        for token in set(there):
            x, penalty = values[token], decoding.repetition_penalty
            values[token] = x / penalty if x > 0 else x * penalty
        for token in range(len(values)):
            if _comes_twice((*there, token), decoding.no_repeat_ngram):
                values[token] = NEVER
        if n < decoding.min_length:
            for token in self.ends:
                values[token] = NEVER
        log_p = values if decoding.changes_log_p else _log_softmax(values)
        for token in rules.never:  # the others keep their share: no second softmax
            log_p[token] = NEVER
        if rules.tree is not None:
            words = rules.tree.words(self.sentence.ids)
            allowed = rules.tree.allowed(output, words, self.limit)
            if len(allowed) == 1:
                return _only(next(iter(allowed)), 0.0, len(log_p))
            log_p = [p if token in allowed else NEVER for token, p in enumerate(log_p)]
        if rules.shares_out:
            log_p = _log_softmax(log_p)
        if rules.must_end and n + 1 == self.limit:  # what a rule forces is certain
            return _only(end, 0.0, len(log_p))
        if rules.first is not None and n == 0:
            return _only(rules.first, 0.0, len(log_p))
        return log_p if max(log_p) > NEVER else _only(end, 0.0, len(log_p))


def _log_softmax(logits: list[float]) -> list[float]:
    if max(logits) == NEVER:
        return logits
    log_p: list[float] = torch.tensor(logits, dtype=torch.float64).log_softmax(dim=0).tolist()
    return log_p


def _only(token: int, log_p: float, vocabulary: int) -> list[float]:
    return [log_p if i == token else NEVER for i in range(vocabulary)]


def _comes_twice(ids: IdTuple, n: int) -> bool:
    """Whether the last n ids stand somewhere before too; no n-gram (n = 0) never does."""
    return n > 0 and ids[-n:] in [ids[i : i + n] for i in range(len(ids) - n)]
