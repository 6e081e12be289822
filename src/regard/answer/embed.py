"""Texts → vectors: what an encoder makes of a text, pooled into one vector.

    texts ─ ids ─ sorted by length ─ batches without padding ─ encoder ─ pooled ─ in their own order

On a CPU with several cores each of some threads works on batches of its own, one core each: whole
batches side by side keep cores busier than one product cut in pieces
(docs/decisions/0009-embedding-speed.md).
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from regard.answer.text_inputs import numbers_by_length
from regard.bundle.pooling import Pooling
from regard.errors import MisuseError
from regard.model.fast.packed import PackedEncoder, can_pack, precisions
from regard.model.masks import padded
from regard.model.pool import POOL
from regard.model.transformer import Transformer
from regard.printable import Advance
from regard.processor.survives import insist_on, ruled_out
from regard.text.published import PublishedTokenizer

TOKEN_BUDGET = 512  # tokens of a batch: its numbers stay in a core's reach


class Embedder:
    """One model with its weights prepared; keeps nothing of a text."""

    def __init__(
        self,
        model: Transformer,
        tokenizer: PublishedTokenizer,
        pooling: Pooling,
        precision: str = "auto",
    ) -> None:
        self._model, self._tokenizer, self._pooling = model, tokenizer, pooling
        self._stamp = stamp(model)
        self.precision = self._chosen(precision)
        self._packed = PackedEncoder(model, self.precision) if can_pack(model.spec) else None
        limits = (pooling.limit or tokenizer.max_length, model.spec.position_limit)
        self._limit = min((most for most in limits if most is not None), default=None)

    def _chosen(self, precision: str) -> str:
        """auto: int16 where that is faster, else fp32."""
        spec, device = self._model.spec, next(self._model.parameters()).device
        offered = precisions(spec) if can_pack(spec) else ("fp32",)
        offered = tuple(p for p in offered if p != "int16" or device.type == "cpu")
        if precision == "auto":
            return "int16" if "int16" in offered else "fp32"
        if precision not in offered:
            deadly = ruled_out("int16") if precision == "int16" else ""
            raise MisuseError(
                f"precision: got {precision}, embed offers {', '.join(offered)} for this model on "
                "this machine (int16: a CPU with AVX2 and nothing newer, llvmlite from "
                "regard[fast], sizes that are multiples of 16)"
                + (f"; this machine does not survive {deadly}" if deadly else "")
            )
        if precision == "bf16" and device.type == "cpu":
            insist_on("bf16", "precision", "fp32 or auto")
        return precision

    @property
    def size(self) -> int:
        """How many numbers a vector has."""
        return self._model.spec.d_model * len(self._pooling.modes)

    @property
    def is_current(self) -> bool:
        """Whether the model's weights are still those that were prepared."""
        return self._stamp == stamp(self._model)

    def __call__(self, texts: Sequence[str], advance: Advance | None = None) -> NDArray[np.float32]:
        """One vector for each text, (n, D); `advance` hears how many more are done."""
        pooling = self._pooling
        ready = [pooling.prompt + (text.lower() if pooling.lower_case else text) for text in texts]
        ids = self._tokenizer.encode_batch(ready, self._limit)
        # A text that stands twice is read once.
        first: dict[tuple[int, ...], int] = {}
        place = [first.setdefault(tuple(row), len(first)) for row in ids]
        rows = list(first)
        vectors = np.zeros((len(rows), self.size), dtype=np.float32)

        def work(numbers: list[int]) -> int:
            vectors[numbers] = self._vectors([rows[n] for n in numbers])
            return len(numbers)

        batches = list(numbers_by_length([len(row) for row in rows], TOKEN_BUDGET))
        for done in _worked(work, batches, self._threads(len(batches))):
            if advance:
                advance(done)
        if advance:  # what was read already, or has not a single token, is in no batch
            advance(len(ids) - sum(map(bool, rows)))
        return vectors[place]

    def _threads(self, batches: int) -> int:
        """As many as torch would use, if there is enough for each of them."""
        on_cpu = next(self._model.parameters()).device.type == "cpu"
        wanted = torch.get_num_threads() if on_cpu else 1
        return wanted if batches >= 2 * wanted else 1

    @torch.inference_mode()
    def _vectors(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        device = next(self._model.parameters()).device
        if self._packed is not None:
            lengths = [len(row) for row in rows]
            ids = torch.tensor([i for row in rows for i in row], device=device)
            v = self._pooled_packed(self._packed(ids, lengths), lengths)
        else:
            ids, real = padded(rows, 0, device)
            v = self._pooled(self._model.encode(ids, real), real)
        v = F.normalize(v, dim=-1) if self._pooling.normalise else v
        numbers: NDArray[np.float32] = v.float().cpu().numpy()
        return numbers

    def _pooled(self, x: Tensor, real: Tensor) -> Tensor:
        return torch.cat([POOL[mode](x, real) for mode in self._pooling.modes], dim=-1)

    def _pooled_packed(self, x: Float[Tensor, "T D"], lengths: Sequence[int]) -> Tensor:
        """Texts of one length together, as the packed encoder has them."""
        pooled, start = [], 0
        for length, same in groupby(lengths):
            count = len(list(same))
            rows = x[start : start + count * length].view(count, length, -1)
            real = torch.ones(count, length, dtype=torch.bool, device=x.device)
            pooled.append(self._pooled(rows, real))
            start += count * length
        return torch.cat(pooled)


def stamp(model: Transformer) -> tuple[tuple[int, int], ...]:
    """Changes when a weight does: where it lies, and how often it was written."""
    return tuple((weight.data_ptr(), weight._version) for weight in model.parameters())


def _worked(
    work: Callable[[list[int]], int], batches: list[list[int]], threads: int
) -> Iterator[int]:
    """What `work` gives for each batch; by threads of one core each where there are several."""
    if threads == 1:
        yield from map(work, batches)
        return
    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from pool.map(work, batches)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)
