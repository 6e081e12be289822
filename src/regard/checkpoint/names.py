"""Rename tables: the names that a published checkpoint gives its tensors ↔ ours, both ways.

A family's table has a row for each tensor:

    RenameRow("encoder.layer.0.output.dense.weight", "encoder.layers.0.feed_forward.outer.weight")
    RenameRow("h.0.attn.c_attn.weight", (query, key, value), "columns")    one is three of ours

`how` says what lies between the two; each has an inverse, so a table read backwards exports.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

Parts = tuple[Tensor, ...]

# how → (theirs → ours, given how many; ours → theirs)
WAYS: dict[str, tuple[Callable[[Tensor, int], Parts], Callable[[Parts], Tensor]]] = {
    # as it is
    "same": (lambda x, n: (x,), lambda parts: parts[0]),
    # a linear map stored (in, out)
    "transpose": (lambda x, n: (x.T,), lambda parts: parts[0].T),
    # several maps stored side by side as (in, n · out), or their biases
    "columns": (
        lambda x, n: tuple(part.T for part in x.chunk(n, dim=-1)),
        lambda parts: torch.cat([part.T for part in parts], dim=-1),
    ),
    "pieces": (lambda x, n: x.chunk(n), lambda parts: torch.cat(parts)),
}


@dataclass(frozen=True)
class RenameRow:
    """One tensor of theirs, the one or several of ours that it becomes, and how."""

    theirs: str
    ours: str | tuple[str, ...]
    how: str = "same"
    shape: tuple[int, ...] | None = None  # of theirs, where it has axes of size 1 that ours lacks
    skip: int = 0  # rows of theirs before those of ours; nothing reads them, they are written as 0

    @property
    def names(self) -> tuple[str, ...]:
        return (self.ours,) if isinstance(self.ours, str) else self.ours

    def to_ours(self, tensor: Tensor) -> dict[str, Tensor]:
        parts = WAYS[self.how][0](tensor[self.skip :], len(self.names))
        return dict(zip(self.names, parts, strict=True))

    def to_theirs(self, tensors: Mapping[str, Tensor]) -> Tensor:
        tensor = WAYS[self.how][1](tuple(tensors[name] for name in self.names))
        if self.skip:
            tensor = torch.cat((tensor.new_zeros(self.skip, *tensor.shape[1:]), tensor))
        return tensor if self.shape is None else tensor.reshape(self.shape)


def paired(
    theirs: str, ours: str, names: Mapping[str, str], bias: bool = True
) -> Iterator[RenameRow]:
    """Rows for linear maps and norms: `theirs` + name + .weight (and .bias) ↔ `ours` + name + …"""
    for left, right in names.items():
        for part in ("weight", "bias") if bias else ("weight",):
            yield RenameRow(f"{theirs}{left}.{part}", f"{ours}{right}.{part}")


def stacked(theirs: str, ours: str, layers: int, names: Mapping[str, str]) -> Iterator[RenameRow]:
    """The same for every layer of a stack: `theirs` + n + . + name ↔ `ours` + n + …"""
    for n in range(layers):
        yield from paired(f"{theirs}{n}.", f"{ours}{n}.", names)
