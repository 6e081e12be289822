"""How likely a model finds a given translation: log p of each token, with teacher forcing.

log p = Σ log p(token | source, tokens before it), the end token counted
mean = log p / n           perplexity = e^-mean
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regard.answer.translate import Sentence, Translator, no_number
from regard.bundle.codec import Codec
from regard.decode.engine import Engine
from regard.draw.notebook.table import BarCell, html_table
from regard.errors import DataError, MisuseError, RegardError

BATCH = 512  # pairs that are handed to the engine together


@dataclass(frozen=True)
class Scored:
    """One pair; `tokens` are the pieces of the target, the end token last."""

    source: str
    target: str
    tokens: tuple[str, ...]
    log_probabilities: tuple[float, ...]

    @property
    def log_probability(self) -> float:
        """log p of the whole target."""
        return math.fsum(self.log_probabilities)

    @property
    def mean(self) -> float:
        """log p per token, the end token counted."""
        return self.log_probability / len(self.log_probabilities)

    @property
    def perplexity(self) -> float:
        """e^-mean: among how many tokens the model hesitates."""
        return math.exp(min(-self.mean, 700.0))

    def _repr_html_(self) -> str:
        """Each token with its probability."""
        rows = [
            (token, BarCell(math.exp(log_p)))
            for token, log_p in zip(self.tokens, self.log_probabilities, strict=True)
        ]
        title = f"{self.source} → {self.target}: perplexity {self.perplexity:.3f}"
        return html_table(("token", "p"), rows, title)


def score_texts(
    translator: Translator,
    engine: Engine,
    sources: str | Sequence[str],
    targets: str | Sequence[str],
    first_line: int = 1,
) -> list[Scored]:
    """Each source with its target, in order; a pair is never split into sentences."""
    sources, targets = _listed(sources), _listed(targets)
    if len(sources) != len(targets):
        problem = f"got {len(sources):,} sources and {len(targets):,} targets"
        raise MisuseError("score", problem, expected="one target for each source")
    scored: list[Scored] = []
    for first in range(0, len(sources), BATCH):
        pairs = list(zip(sources, targets, strict=True))[first : first + BATCH]
        scored += _scored(engine, translator, pairs, first_line + first)
    return scored


def _listed(texts: str | Sequence[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _scored(
    engine: Engine, translator: Translator, pairs: Sequence[tuple[str, str]], first_line: int
) -> list[Scored]:
    codec, limit = translator.codec, translator.limit
    sentences = [Sentence(source, "", first_line + n) for n, (source, _) in enumerate(pairs)]
    rows = translator.rows(sentences)
    outputs = []
    for n, (_, target) in enumerate(pairs, start=first_line):
        ids = _target(codec, target, n)
        if limit is not None and len(ids) + 1 > limit:
            raise DataError(
                f"line {n}: a target of {len(ids) + 1:,} tokens, this model writes at most "
                f"{limit:,} (end token included); divide it"
            )
        outputs.append(ids)
    scores = engine.score(rows, outputs)
    for n, log_ps in enumerate(scores, start=first_line):
        if any(map(math.isnan, log_ps)):
            raise no_number(n)
    return [
        Scored(*pair, tuple(codec.pieces([*ids, codec.frame.end])), tuple(log_ps))
        for pair, ids, log_ps in zip(pairs, outputs, scores, strict=True)
    ]


def _target(codec: Codec, target: str, line: int) -> list[int]:
    try:
        return codec.encode_target(target)
    except RegardError as error:
        raise DataError(f"line {line}: target: {error}") from None
