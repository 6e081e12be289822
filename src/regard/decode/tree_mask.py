"""The rule of trees (decode/tree_rule.py) for many outputs at once."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.decode.tree_rule import TreeRule


@dataclass
class TreeWords:
    """The words of each row: their pieces, one behind another, and how many pieces there are up to
    each word, the last one for ever."""

    rule: TreeRule
    pieces: Int[Tensor, "B P"]
    ends: Int[Tensor, "B N"]
    counts: Int[Tensor, " B"]

    @classmethod
    def none(cls, rule: TreeRule, rows: int, device: torch.device) -> "TreeWords":
        """Before any sentence is known."""
        empty = torch.zeros(rows, 1, dtype=torch.long, device=device)
        return cls(rule, empty, empty.clone(), empty[:, 0].clone())

    def admit(self, row: int, source: tuple[int, ...]) -> None:
        """Another sentence for a row."""
        words = self.rule.words(source)
        ends = torch.tensor([len(word) for word in words], dtype=torch.long).cumsum(0)
        pieces = torch.tensor([piece for word in words for piece in word], dtype=torch.long)
        self.counts[row] = len(words)
        self.pieces = _row_written(self.pieces, row, pieces)
        self.ends = _row_written(self.ends, row, ends)
        self.ends[row, len(words) :] = len(pieces)

    def keep(self, rows: Int[Tensor, " n"]) -> None:
        """Go on with these."""
        self.pieces, self.ends, self.counts = self.pieces[rows], self.ends[rows], self.counts[rows]

    def repeated(self, width: int) -> "TreeWords":
        """Each row so many times."""
        tables = (
            table.repeat_interleave(width, dim=0) for table in (self.pieces, self.ends, self.counts)
        )
        return TreeWords(self.rule, *tables)

    def mask(
        self,
        outputs: Int[Tensor, "R W"],
        real: Bool[Tensor, "R W"],
        limits: Int[Tensor, " R"],
        size: int,
    ) -> Bool[Tensor, "R V"]:
        """Which of `size` tokens may come next in each row."""
        rule, counts = self.rule, self.counts
        lengths = real.sum(dim=1)
        is_open, is_tag = (_within(outputs, ids) & real for ids in (rule.opens, rule.tags))
        opened, standing = is_open.sum(dim=1), is_tag.sum(dim=1)
        depth = opened - ((outputs == rule.close) & real).sum(dim=1)
        announced = lengths - standing - 2 * opened + depth
        turn = standing.clamp(max=self.ends.shape[1] - 1)
        announcing = announced < self.ends.gather(1, turn[:, None])[:, 0]
        run = _run(is_open, lengths)
        inside, some_left = (depth > 0) & ~announcing, standing < counts
        needed = self.ends[:, -1] - announced + counts - standing + depth + 1
        fits = (limits - lengths >= needed + 2) & (run < rule.most_opened) & (depth < rule.deepest)
        may_open = ~announcing & ((opened == 0) | ((depth > 0) & some_left & fits))
        mask = torch.zeros(len(outputs), size, dtype=torch.bool, device=outputs.device)
        mask[:, rule.opens.start : rule.opens.stop] = may_open[:, None]
        mask[:, rule.tags.start : rule.tags.stop] = (inside & some_left)[:, None]
        mask[:, rule.close] = inside & (run == 0) & (~some_left | (depth > 1))
        mask[:, rule.end] = ~announcing & (opened > 0) & (depth == 0)
        next_piece = self.pieces.gather(1, announced.clamp(0, self.pieces.shape[1] - 1)[:, None])
        return mask.scatter(1, next_piece, mask.gather(1, next_piece) | announcing[:, None])


def _row_written(table: Tensor, row: int, values: Tensor) -> Tensor:
    """The table with this row, wider if need be; what is added repeats each row's last number."""
    missing = len(values) - table.shape[1]
    if missing > 0:
        table = torch.cat((table, table[:, -1:].expand(-1, missing)), dim=1)
    table[row, : len(values)] = values.to(table.device)
    return table


def _within(tokens: Int[Tensor, "R W"], ids: range) -> Bool[Tensor, "R W"]:
    return (tokens >= ids.start) & (tokens < ids.stop)


def _run(what: Bool[Tensor, "R W"], lengths: Int[Tensor, " R"]) -> Int[Tensor, " R"]:
    """How many of the last tokens of each row, in a row, are such ones."""
    if not what.shape[1]:
        return torch.zeros_like(lengths)
    places = torch.arange(what.shape[1], device=what.device)
    is_other = ~what & (places < lengths[:, None])
    return lengths - 1 - torch.where(is_other, places, -1).amax(dim=1)
