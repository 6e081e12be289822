"""Documents as rows of one width, without padding. In: a stream of ids. Out: windows of it.

    stream    <s> a a a </s> <s> b b </s> <s> c c c c c c </s> <s> d …
    window    <s> a a a </s> <s> b b         what comes in: `length` ids
              a a a </s>  –  b b </s>        what is asked for at each place: the next one
    document   0  0 0 0  0    1  1 1         who may attend to whom: only one's own document

Windows follow each other, so that every token is asked for once an epoch; where the first one
begins is drawn anew for each epoch, so that a token is not always at the same place of a window.
The last place of a document is asked for nothing: what comes next has nothing to do with it.

Where a store says which ids are answers (column `answer`), a document is a conversation: only
answers are asked for, and none is cut, since it may need what was said at the beginning. A window
then holds the conversations that fit into it as a whole, and ends with padding.
"""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.batch import IGNORED, Batch
from regard.data.buckets import Numbers, uniform
from regard.data.store import Store


@dataclass(frozen=True)
class Windows:
    """The rows of a store of parts of documents; `begins` of a part: a document begins with it."""

    store: Store
    length: int

    @property
    def total(self) -> int:
        """Ids of the whole stream."""
        return len(self.store["text"].values)

    @property
    def count(self) -> int:
        """Full windows that there are wherever the first one begins; at least one."""
        if self._is_chat:
            return len(self._whole)
        return max(1, (self.total - self.length) // self.length)

    @property
    def width(self) -> int:
        """Places of a window: fewer than `length` where all text is shorter."""
        return max(1, min(self.length, self.total - 1))

    def start(self, seed: int, epoch: int) -> int:
        """Where the first window of an epoch begins."""
        if self._is_chat:
            return 0
        chance = np.random.PCG64(np.random.SeedSequence([seed, epoch, 1]))
        room = min(self.length, self.total - self.count * self.width)
        return int(uniform(chance, 1)[0] * max(1, room))

    def batch(self, numbers: Numbers, start: int = 0) -> Batch:
        """These windows, of which number 0 begins at `start`."""
        rows = np.asarray(numbers, dtype=np.int64)
        firsts = self._whole[rows] if self._is_chat else start + rows * self.width
        return self._at(firsts, tuple(int(n) for n in numbers))

    def held_out(self, rows: int) -> list[Batch]:
        """All of the stream in order, so many windows at a time; the last may be shorter."""
        every = np.arange(0, self.total - 1, self.width, dtype=np.int64)
        firsts = self._whole if self._is_chat else every
        parts = [firsts[i : i + rows] for i in range(0, len(firsts), rows)]
        return [self._at(part, ()) for part in parts]

    def _at(self, firsts: Numbers, examples: tuple[int, ...]) -> Batch:
        places = firsts[:, None] + np.arange(self.width)  # (B, L)
        real = places < self._ends(firsts)[:, None] - 1
        inside = np.minimum(places, self.total - 2)
        ids = np.asarray(self.store["text"].values)
        document = np.searchsorted(self._documents, inside, side="right") - 1
        after = np.searchsorted(self._documents, inside + 1, side="right") - 1
        asked = real & (document == after)
        if self._is_chat:
            asked &= np.asarray(self.store["answer"].values)[inside + 1] > 0
        labels = np.where(asked, ids[inside + 1].astype(np.int64), IGNORED)
        tensors = {
            "text": torch.from_numpy(ids[inside].astype(np.int64)),
            "text_real": torch.from_numpy(real),
            "text_labels": torch.from_numpy(labels),
        }
        if (document[:, :1] != document).any():
            begun = np.maximum(self._documents[document], firsts[:, None])
            tensors["text_documents"] = torch.from_numpy(document - document[:, :1])
            tensors["text_positions"] = torch.from_numpy(inside - begun)
        return Batch(tensors, examples)

    @property
    def _is_chat(self) -> bool:
        return "answer" in self.store.columns

    @cached_property
    def _whole(self) -> NDArray[np.int64]:
        """Where windows of whole documents begin: each with the first that the last cannot hold."""
        firsts = [0]
        for start, end in itertools.pairwise([*self._documents, self.total]):
            if end - firsts[-1] > self.length:
                firsts.append(start)
        return np.array(sorted(set(firsts)), dtype=np.int64)

    def _ends(self, firsts: Numbers) -> NDArray[np.int64]:
        """Where the text ends that belongs to windows which begin there."""
        if not self._is_chat:
            return np.full(len(firsts), self.total)
        places = np.searchsorted(self._whole, firsts, side="right")
        return np.append(self._whole, self.total)[places]

    @cached_property
    def _documents(self) -> NDArray[np.int64]:
        """Where each document begins in the stream; its first one may have begun before it."""
        lengths = self.store["text"].lengths.astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        begins = np.asarray(self.store.numbers["begins"]) > 0
        begins[0] = True
        return starts[begins]
