"""Text → text: encode, search, decode; batches by length, answers in the order of the input."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from regard.data.batch import pad_rows
from regard.decode.beam import beam_search
from regard.decode.greedy import greedy
from regard.decode.hypothesis import Hypothesis, Search
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
    answers: list[list[Translation]] = [[EMPTY] for _ in texts]
    filled = [i for i, text in enumerate(texts) if text.strip()]
    ids = dict(zip(filled, tokenizer.encode_batch([texts[i] for i in filled]), strict=True))
    find = greedy if search.beam == 1 else beam_search
    special, device = tokenizer.special, next(model.parameters()).device
    model.eval()
    for rows in _batches(ids, search.beam):
        source, real = pad_rows([[*ids[i], special.eos] for i in rows], special.pad)
        found = find(model, source.to(device), real.to(device), special.bos, special.eos, search)
        for i, hypotheses in zip(rows, found, strict=True):
            answers[i] = [_answer(tokenizer, hypothesis) for hypothesis in hypotheses]
        advance(len(rows))
    return answers


def _answer(tokenizer: Tokenizer, found: Hypothesis) -> Translation:
    text = tokenizer.decode(found.ids)
    return Translation(text, found.score, found.log_probability, found.finished, found.ids)


def _batches(ids: dict[int, list[int]], beam: int) -> Iterator[list[int]]:
    """Sentences of similar length together, longest first."""
    batch: list[int] = []
    for i in sorted(ids, key=lambda i: -len(ids[i])):
        longest = len(ids[batch[0]]) if batch else len(ids[i])
        if batch and (len(batch) + 1) * beam * (longest + 1) > BATCH_CELLS:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


@torch.inference_mode()
def greedy_texts(model: Transformer, tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """The quick translation that validation uses."""
    return [a[0].text for a in translate_texts(model, tokenizer, texts, Search(beam=1))]
