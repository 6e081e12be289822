"""Text → text: encode, search, decode; batches by length, answers in the order of the input."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from regard.data.batch import pad_rows
from regard.decode.beam import beam_search
from regard.decode.greedy import greedy
from regard.decode.hypothesis import Hypothesis, Search
from regard.decode.rules import NO_RULES, Rules
from regard.errors import MisuseError, nearest
from regard.model.transformer import Transformer
from regard.text.tokenizer import Tokenizer

BATCH_CELLS = 8192  # rows × beam × longest source of one batch


@dataclass(frozen=True)
class Translation:
    """One answer; `score` is comparable among the answers to one sentence."""

    text: str
    score: float
    log_probability: float
    finished: bool  # False: cut off at the length limit
    ids: tuple[int, ...]


EMPTY = Translation("", 0.0, 0.0, True, ())


def translate_texts(
    model: Transformer,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    search: Search,
    advance: Callable[[int], None] = lambda count: None,
) -> list[list[Translation]]:
    """The `n_best` translations of each text; a blank text stays empty."""
    filled = [i for i, text in enumerate(texts) if text.strip()]
    encoded = tokenizer.encode_batch([texts[i] for i in filled])
    special = tokenizer.special
    ids = {i: [*row, special.eos] for i, row in zip(filled, encoded, strict=True)}
    frame = Frame(special.pad, special.bos, special.eos)
    found = search_ids(model, ids, frame, search, advance=advance)
    return [
        answers_of(found[i], tokenizer.decode) if i in found else [EMPTY] for i in range(len(texts))
    ]


def search_with(search: Search, task: str, **options: Any) -> Search:
    """The search with single options changed."""
    for name in options:
        if name not in vars(search):
            raise MisuseError(f"{task}: unknown option {name!r}{nearest(name, vars(search))}")
    return replace(search, **options)


@dataclass(frozen=True)
class Frame:
    """The ids around a text: padding of the source, start and end of the output."""

    pad: int
    start: int
    end: int


def search_ids(
    model: Transformer,
    ids: Mapping[int, list[int]],
    frame: Frame,
    search: Search,
    rules: Rules = NO_RULES,
    advance: Callable[[int], None] = lambda count: None,
) -> dict[int, list[Hypothesis]]:
    """The best outputs for each row of source ids, which stand with their end token."""
    find = greedy if search.beam == 1 else beam_search
    device = next(model.parameters()).device
    answers: dict[int, list[Hypothesis]] = {}
    model.eval()
    for rows in _batches(ids, search.beam):
        source, real = pad_rows([ids[i] for i in rows], frame.pad)
        found = find(
            model, source.to(device), real.to(device), frame.start, frame.end, search, rules
        )
        answers |= dict(zip(rows, found, strict=True))
        advance(len(rows))
    return answers


def answers_of(
    found: Sequence[Hypothesis], decode: Callable[[Sequence[int]], str]
) -> list[Translation]:
    """Hypotheses with their texts."""
    return [
        Translation(decode(h.ids), h.score, h.log_probability, h.finished, h.ids) for h in found
    ]


def _batches(ids: Mapping[int, list[int]], beam: int) -> Iterator[list[int]]:
    """Sentences of similar length together, longest first."""
    batch: list[int] = []
    for i in sorted(ids, key=lambda i: -len(ids[i])):
        longest = len(ids[batch[0]]) if batch else len(ids[i])
        if batch and (len(batch) + 1) * beam * longest > BATCH_CELLS:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


@torch.inference_mode()
def greedy_texts(model: Transformer, tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """The quick translation that validation uses."""
    return [a[0].text for a in translate_texts(model, tokenizer, texts, Search(beam=1))]
