"""Masking (Devlin et al. 2018, section 3.1). In: a batch of texts. Out: holes, and what was there.

Of each text 15 % of the tokens, at least one, are to be guessed. Of these

    80 %   are hidden behind the mask
    10 %   are replaced by any token: a word that is there may be wrong too
    10 %   stay as they are: a word that is there may be right

Only the chosen ones are asked for. With `whole_words` the pieces of a word are chosen together: its
beginning alone would often give its end away. Chance comes from the numbers that are handed in,
for training (seed, epoch, batch): a run that is resumed hides the same words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batch import IGNORED
from regard.data.buckets import uniform

HIDDEN, REPLACED = 0.8, 0.1


@dataclass(frozen=True)
class Masking:
    """What is hidden, and how."""

    mask: int  # the id that stands for a hidden token
    ordinary: NDArray[np.int64]  # ids of all tokens that are text
    continues: NDArray[np.bool_]  # of each id: whether it goes on with the word before it
    share: float = 0.15
    whole_words: bool = False

    def __call__(
        self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"], chance: Sequence[int]
    ) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B S"]]:
        """The texts with holes, and the labels: what was there, IGNORED where nobody asks."""
        ids = source.numpy()
        draws = np.random.PCG64(np.random.SeedSequence(list(chance)))
        order, fate, instead = (uniform(draws, *ids.shape) for _ in range(3))
        candidates = real.numpy() & np.isin(ids, self.ordinary)
        chosen = np.zeros_like(candidates)
        for row in range(len(ids)):
            chosen[row] = self._chosen(ids[row], candidates[row], order[row])
        tokens = self.ordinary[(instead * len(self.ordinary)).astype(np.int64)]
        holes = np.where(fate < HIDDEN, self.mask, tokens)
        holes = np.where(fate < HIDDEN + REPLACED, holes, ids)
        labels = np.where(chosen, ids, IGNORED)
        return torch.from_numpy(np.where(chosen, holes, ids)), torch.from_numpy(labels)

    def _chosen(
        self, ids: NDArray[np.int64], candidates: NDArray[np.bool_], order: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Which places of one text."""
        places = np.flatnonzero(candidates)
        chosen = np.zeros(len(ids), dtype=bool)
        if not len(places):
            return chosen
        wanted = max(1, round(self.share * len(places)))
        starts = places if not self.whole_words else places[~self.continues[ids[places]]]
        if not len(starts) or starts[0] != places[0]:  # a text that begins inside of a word
            starts = np.concatenate([places[:1], starts])
        word = np.searchsorted(starts, places, side="right") - 1  # the word of each place
        for number in np.argsort(order[starts], kind="stable"):
            if chosen.sum() >= wanted:
                break
            chosen[places[word == number]] = True
        return chosen
