"""Texts for an encoder. In: ids with special tokens, and what is asked. Out: a batch of tensors.

source     <s>  the  animal  sleeps </s>     or two texts, with segments 0 and 1
labels     one number a text                 classify: the class
           a number for each class           classify, several may hold: 1 or 0
           a number for each position        fill: the word there, IGNORED elsewhere
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from regard.data.batch import Batch, Ids, even_slices, pad_rows
from regard.data.pair_batch import PairBatch

IGNORED = -100  # what torch's cross_entropy leaves out too


@dataclass(frozen=True)
class TextBatch:
    """B texts of at most S tokens; `per_token`: labels are as wide as the texts."""

    source: Int[Tensor, "B S"]
    real: Bool[Tensor, "B S"]
    segments: Int[Tensor, "B S"]
    labels: Shaped[Tensor, "B *C"]
    ids: tuple[int, ...] = ()  # numbers of the examples, for logs

    @property
    def per_token(self) -> bool:
        """Whether each position has a label of its own."""
        return self.labels.dim() == 2 and not self.labels.is_floating_point()

    @property
    def tokens(self) -> int:
        """Real tokens: what a step has learned from."""
        return int(self.real.sum())

    @property
    def targets(self) -> int:
        """What losses are means over: texts, or the positions that are asked about."""
        return int((self.labels != IGNORED).sum()) if self.per_token else len(self.labels)

    @property
    def cells(self) -> int:
        """Positions, padding counted: what memory grows with."""
        return self.source.numel()

    @property
    def row_in_words(self) -> str:
        """One row, for a sentence."""
        return f"text of {self.source.shape[1]} tokens"

    def tensors(self) -> dict[str, Tensor]:
        """All but the numbers of the examples, by name."""
        return {name: value for name, value in vars(self).items() if name != "ids"}

    def to(self, device: torch.device | str) -> "TextBatch":
        """The same batch on a device."""
        moved = {name: tensor.to(device) for name, tensor in self.tensors().items()}
        return TextBatch(**moved, ids=self.ids)

    def rows(self, rows: slice) -> "TextBatch":
        """Some of the rows, as wide as before."""
        chosen = {name: tensor[rows] for name, tensor in self.tensors().items()}
        return TextBatch(**chosen, ids=self.ids[rows])

    def split(self, parts: int) -> list["TextBatch"]:
        """At most `parts` batches of about as many tokens each, each as narrow as its rows."""
        if parts == 1 or len(self.source) == 1:
            return [self]
        lengths = self.real.sum(dim=1)
        chosen = even_slices(lengths, parts)
        return [self.rows(rows)._narrow(int(lengths[rows].max())) for rows in chosen]

    def _narrow(self, width: int) -> "TextBatch":
        return replace(
            self,
            source=self.source[:, :width],
            real=self.real[:, :width],
            segments=self.segments[:, :width],
            labels=self.labels[:, :width] if self.per_token else self.labels,
        )


AnyBatch = Batch | TextBatch | PairBatch


def lay_out(
    rows: Sequence[Ids], first: Sequence[int], pad: int
) -> tuple[Int[Tensor, "B S"], Bool[Tensor, "B S"], Int[Tensor, "B S"]]:
    """Ids filled up to one width, which are real, and their segments.

    `first` says how many tokens of each row belong to the first text.
    """
    source, real = pad_rows([np.asarray(row).tolist() for row in rows], pad)
    places = torch.arange(source.shape[1])
    second = (places >= torch.tensor(list(first))[:, None]) & real
    return source, real, second.long()
