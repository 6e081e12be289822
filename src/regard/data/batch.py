"""Teacher forcing. In: pairs of ids. Out: one batch of tensors, and which of its places are real.

While it learns, the decoder is given the right translation, shifted right by one place, and asked
for the next token at every place at once. Its own mistakes do not lead it astray, and all places
are computed in parallel; the look-ahead mask keeps each from seeing what it should predict:

    source       das   Tier  schläft </s>
    target_in    <s>   the   animal  sleeps
                  ↓     ↓      ↓       ↓       predict, each place from those to its left
    target_out   the   animal sleeps  </s>

Shorter sentences are filled up with padding. What is real is told by lengths, never by ids: some
published models start their target from the padding id.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from regard.text.special import Special

Ids = Sequence[int] | NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Batch:
    """B pairs; S and L are the longest source and target, each with one place for <s> or </s>."""

    source: Int[Tensor, "B S"]  # x1 … xm </s>
    source_real: Bool[Tensor, "B S"]
    target_in: Int[Tensor, "B L"]  # <s> y1 … yn
    target_out: Int[Tensor, "B L"]  # y1 … yn </s>
    target_real: Bool[Tensor, "B L"]
    ids: tuple[int, ...] = ()  # numbers of the examples, for logs

    @property
    def tokens(self) -> int:
        """Real source and target tokens: what a step has learned from."""
        return int(self.source_real.sum()) + int(self.target_real.sum())

    @property
    def targets(self) -> int:
        """What losses are means over: target tokens."""
        return int(self.target_real.sum())

    @property
    def cells(self) -> int:
        """Positions, padding counted: what memory grows with."""
        return self.source.numel() + self.target_in.numel()

    @property
    def row_in_words(self) -> str:
        """One row, for a sentence."""
        return f"pair of {self.source.shape[1]} and {self.target_in.shape[1]} tokens"

    def tensors(self) -> dict[str, Tensor]:
        """All but the numbers of the examples, by name."""
        return {name: value for name, value in vars(self).items() if name != "ids"}

    def rows(self, rows: slice) -> "Batch":
        """Some of the rows, as wide as before."""
        chosen = {name: tensor[rows] for name, tensor in self.tensors().items()}
        return Batch(**chosen, ids=self.ids[rows])

    def split(self, parts: int) -> list["Batch"]:
        """Divided among `parts` workers."""
        return split_batch(self, parts)

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on a device."""
        return replace(
            self,
            source=self.source.to(device),
            source_real=self.source_real.to(device),
            target_in=self.target_in.to(device),
            target_out=self.target_out.to(device),
            target_real=self.target_real.to(device),
        )


def split_batch(batch: Batch, parts: int) -> list[Batch]:
    """At most `parts` batches of about as many tokens each, rows in their order, each as narrow as
    its own longest rows."""
    if parts == 1 or len(batch.source) == 1:
        return [batch]
    sources, targets = batch.source_real.sum(dim=1), batch.target_real.sum(dim=1)
    found = []
    for rows in even_slices(sources + targets, parts):
        s, t = int(sources[rows].max()), int(targets[rows].max())
        found.append(
            Batch(
                batch.source[rows, :s],
                batch.source_real[rows, :s],
                batch.target_in[rows, :t],
                batch.target_out[rows, :t],
                batch.target_real[rows, :t],
                batch.ids[rows],
            )
        )
    return found


def even_slices(tokens: Int[Tensor, " B"], parts: int) -> list[slice]:
    """At most `parts` slices of rows that have about as many tokens each."""
    done = tokens.cumsum(dim=0)
    wanted = torch.arange(1, parts) * (int(done[-1]) / parts)
    cuts = torch.searchsorted(done, wanted.to(done.device)) + 1
    edges = sorted({0, len(done), *cuts.clamp(max=len(done)).tolist()})
    return [slice(start, end) for start, end in zip(edges, edges[1:], strict=False)]


def make_batch(pairs: Sequence[tuple[Ids, Ids]], special: Special, ids: Ids = ()) -> Batch:
    """Lay pairs of ids (without special tokens) out as one batch; B is the number of pairs."""
    assert pairs, "a batch needs at least one pair"
    assert len(ids) in (0, len(pairs)), (len(ids), len(pairs))
    sources: list[list[int]] = [np.asarray(source).tolist() for source, _ in pairs]
    targets: list[list[int]] = [np.asarray(target).tolist() for _, target in pairs]
    source, source_real = pad_rows([[*x, special.eos] for x in sources], special.pad)
    target_in, target_real = pad_rows([[special.bos, *y] for y in targets], special.pad)
    target_out, _ = pad_rows([[*y, special.eos] for y in targets], special.pad)
    return Batch(
        source, source_real, target_in, target_out, target_real, tuple(int(i) for i in ids)
    )


def pad_rows(
    rows: Sequence[Sequence[int]], pad: int
) -> tuple[Int[Tensor, "B S"], Bool[Tensor, "B S"]]:
    """Rows of ids filled up to one width, and which places are real."""
    lengths = np.array([len(row) for row in rows])
    real = np.arange(lengths.max()) < lengths[:, None]  # (B, S)
    filled = np.full(real.shape, pad, dtype=np.int64)
    filled[real] = np.concatenate(rows)  # boolean places are filled row by row, from the left
    return torch.from_numpy(filled), torch.from_numpy(real)
