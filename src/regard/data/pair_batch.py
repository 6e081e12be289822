"""Pairs of texts that an encoder reads apart. In: ids of both, a score. Out: a batch of tensors."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.data.batch import even_slices


@dataclass(frozen=True)
class PairBatch:
    """B pairs; `scores` says how alike the two texts are, 0 to 1."""

    source: Int[Tensor, "B S"]
    real: Bool[Tensor, "B S"]
    second: Int[Tensor, "B L"]
    second_real: Bool[Tensor, "B L"]
    scores: Float[Tensor, " B"]
    ids: tuple[int, ...] = ()  # numbers of the examples, for logs

    @property
    def tokens(self) -> int:
        """Real tokens of both: what a step has learned from."""
        return int(self.real.sum()) + int(self.second_real.sum())

    @property
    def targets(self) -> int:
        """What losses are means over: pairs."""
        return len(self.scores)

    @property
    def cells(self) -> int:
        """Positions, padding counted: what memory grows with."""
        return self.source.numel() + self.second.numel()

    @property
    def row_in_words(self) -> str:
        """One row, for a sentence."""
        return f"pair of {self.source.shape[1]} and {self.second.shape[1]} tokens"

    def tensors(self) -> dict[str, Tensor]:
        """All but the numbers of the examples, by name."""
        return {name: value for name, value in vars(self).items() if name != "ids"}

    def to(self, device: torch.device | str) -> "PairBatch":
        """The same batch on a device."""
        moved = {name: tensor.to(device) for name, tensor in self.tensors().items()}
        return PairBatch(**moved, ids=self.ids)

    def rows(self, rows: slice) -> "PairBatch":
        """Some of the rows, as wide as before."""
        chosen = {name: tensor[rows] for name, tensor in self.tensors().items()}
        return PairBatch(**chosen, ids=self.ids[rows])

    def split(self, parts: int) -> list["PairBatch"]:
        """At most `parts` batches of about as many tokens each, each as narrow as its rows."""
        if parts == 1 or len(self.source) == 1:
            return [self]
        first, second = self.real.sum(dim=1), self.second_real.sum(dim=1)
        found = []
        for rows in even_slices(first + second, parts):
            s, t = int(first[rows].max()), int(second[rows].max())
            found.append(
                PairBatch(
                    self.source[rows, :s],
                    self.real[rows, :s],
                    self.second[rows, :t],
                    self.second_real[rows, :t],
                    self.scores[rows],
                    self.ids[rows],
                )
            )
        return found
