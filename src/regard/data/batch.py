"""One batch: named tensors of the same rows, and which of their places are real.

    source  source_real                      pairs to translate: the encoder's side,
    target_in  target_out  target_real       and the decoder's
    text  text_real  text_segments           texts, or two in one, with segments 0 and 1
      labels                                 classify: a class a text; where several may hold, a
                                             number for each class, 1 or 0
      text_labels                            fill, tag: what is asked at a place, IGNORED elsewhere
      target_labels                          parse: the same of a target
      text_documents  text_positions         complete: which document of the row a place belongs
                                             to, and its position there; only if there are several
      begin  end  text_context               answer: the places of its first and last token, and
                                             which places are the context's
    pixels  patches_real  labels           see: a picture; the places that its patches and its class
                                           token take, all of them; its class
    second  second_real  score               similar: the other text; how alike they are, 0 to 1

Names say what belongs together: `x_real` tells which places of a text x hold tokens, and every
field named x or x_… is as wide as it. So rows can be chosen, parted and narrowed whatever a batch
is for. What is real is told by lengths, never by ids: some published models start their target from
the padding id.

Teacher forcing: while it learns, the decoder is given the right translation, shifted right by one
place, and asked for the next token at every place at once. Its own mistakes do not lead it astray,
and all places are computed in parallel; the look-ahead mask keeps each from seeing what it should
predict:

    source       das   Tier  schläft </s>
    target_in    <s>   the   animal  sleeps
                  ↓     ↓      ↓       ↓       predict, each place from those to its left
    target_out   the   animal sleeps  </s>
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from regard.text.special import Special

Ids = Sequence[int] | NDArray[np.integer[Any]]
IGNORED = -100  # what torch's cross_entropy leaves out too
REAL, LABELS = "_real", "_labels"


@dataclass(frozen=True, eq=False)
class Batch:
    """B rows: `batch["source"]` is the tensor of that name."""

    tensors: Mapping[str, Tensor]
    examples: tuple[int, ...] = ()  # their numbers, for logs

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    def __contains__(self, name: str) -> bool:
        return name in self.tensors

    def __len__(self) -> int:
        return len(next(iter(self.tensors.values())))

    @property
    def real(self) -> dict[str, Bool[Tensor, "B _"]]:
        """Of each text its real places."""
        return {n.removesuffix(REAL): t for n, t in self.tensors.items() if n.endswith(REAL)}

    @property
    def tokens(self) -> int:
        """Real tokens: what a step has learned from."""
        return sum(int(real.sum()) for real in self.real.values())

    @property
    def targets(self) -> int:
        """What losses are means over: the places that have a label, or target tokens, or rows."""
        labels = [tensor for name, tensor in self.tensors.items() if name.endswith(LABELS)]
        if labels:
            return sum(int((tensor != IGNORED).sum()) for tensor in labels)
        target = self.real.get("target")
        return len(self) if target is None else int(target.sum())

    @property
    def cells(self) -> int:
        """Positions, padding counted: what memory grows with."""
        return sum(real.numel() for real in self.real.values())

    @property
    def row_in_words(self) -> str:
        """One row, for a sentence."""
        widths = [real.shape[1] for real in self.real.values()]
        if "pixels" in self:
            return f"picture of {widths[0]} patches"
        return (
            f"{'text' if len(widths) == 1 else 'pair'} of {' and '.join(map(str, widths))} tokens"
        )

    def having(self, **tensors: Tensor) -> "Batch":
        """The same with these fields."""
        return Batch({**self.tensors, **tensors}, self.examples)

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on a device."""
        return Batch(
            {name: tensor.to(device) for name, tensor in self.tensors.items()}, self.examples
        )

    def rows(self, rows: slice) -> "Batch":
        """Some of the rows, as wide as before."""
        return Batch(
            {name: tensor[rows] for name, tensor in self.tensors.items()}, self.examples[rows]
        )

    def split(self, parts: int) -> list["Batch"]:
        """At most `parts` batches of about as many tokens each, rows in their order, each as narrow
        as its own longest rows."""
        if parts == 1 or len(self) == 1:
            return [self]
        tokens = torch.stack([real.sum(dim=1) for real in self.real.values()]).sum(dim=0)
        return [self.rows(rows)._narrow() for rows in even_slices(tokens, parts)]

    def _narrow(self) -> "Batch":
        narrow = dict(self.tensors)
        for text, real in self.real.items():
            width = int(real.sum(dim=1).max())
            for name, tensor in self.tensors.items():
                if name == text or name.startswith(f"{text}_"):
                    narrow[name] = tensor[:, :width]
        return Batch(narrow, self.examples)


def even_slices(tokens: Int[Tensor, " B"], parts: int) -> list[slice]:
    """At most `parts` slices of rows that have about as many tokens each."""
    done = tokens.cumsum(dim=0)
    wanted = torch.arange(1, parts) * (int(done[-1]) / parts)
    cuts = torch.searchsorted(done, wanted.to(done.device)) + 1
    edges = sorted({0, len(done), *cuts.clamp(max=len(done)).tolist()})
    return [slice(start, end) for start, end in zip(edges, edges[1:], strict=False)]


def make_batch(
    pairs: Sequence[tuple[Ids, Ids]], special: Special, examples: Sequence[int] = ()
) -> Batch:
    """Lay pairs of ids (without special tokens) out for teacher forcing; B is their number."""
    assert pairs, "a batch needs at least one pair"
    assert len(examples) in (0, len(pairs)), (len(examples), len(pairs))
    sources: list[list[int]] = [np.asarray(source).tolist() for source, _ in pairs]
    targets: list[list[int]] = [np.asarray(target).tolist() for _, target in pairs]
    source, source_real = pad_rows([[*x, special.eos] for x in sources], special.pad)
    target_in, target_real = pad_rows([[special.bos, *y] for y in targets], special.pad)
    target_out, _ = pad_rows([[*y, special.eos] for y in targets], special.pad)
    tensors = {
        "source": source,  # x1 … xm </s>
        "source_real": source_real,
        "target_in": target_in,  # <s> y1 … yn
        "target_out": target_out,  # y1 … yn </s>
        "target_real": target_real,
    }
    return Batch(tensors, tuple(examples))


def text_batch(
    rows: Sequence[Ids], first: Sequence[int], pad: int, examples: Sequence[int] = ()
) -> Batch:
    """Lay texts out for an encoder: ids with special tokens, `first` of each of the first text."""
    text, real, segments = lay_out(rows, first, pad)
    tensors = {"text": text, "text_real": real, "text_segments": segments}
    return Batch(tensors, tuple(examples))


def lay_out(
    rows: Sequence[Ids], first: Sequence[int], pad: int
) -> tuple[Int[Tensor, "B S"], Bool[Tensor, "B S"], Int[Tensor, "B S"]]:
    """Ids filled up to one width, which are real, and their segments.

    `first` says how many tokens of each row belong to the first text.
    """
    text, real = pad_rows([np.asarray(row).tolist() for row in rows], pad)
    places = torch.arange(text.shape[1])
    second = (places >= torch.tensor([int(count) for count in first])[:, None]) & real
    return text, real, second.long()


def pad_rows(
    rows: Sequence[Sequence[int]], pad: int
) -> tuple[Int[Tensor, "B S"], Bool[Tensor, "B S"]]:
    """Rows of ids filled up to one width, and which places are real."""
    lengths = np.array([len(row) for row in rows])
    real = np.arange(lengths.max()) < lengths[:, None]  # (B, S)
    filled = np.full(real.shape, pad, dtype=np.int64)
    filled[real] = np.concatenate(rows)  # boolean places are filled row by row, from the left
    return torch.from_numpy(filled), torch.from_numpy(real)
