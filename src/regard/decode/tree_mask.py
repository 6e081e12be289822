"""The rule of trees (decode/tree_rule.py) for many outputs at once."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.decode.tree_rule import TreeRule


def tree_mask(
    rule: TreeRule,
    outputs: Int[Tensor, "R W"],
    real: Bool[Tensor, "R W"],
    words: Int[Tensor, " R"],
    limits: Int[Tensor, " R"],
    size: int,
) -> Bool[Tensor, "R V"]:
    """Which of `size` tokens may come next in each row."""
    lengths = real.sum(dim=1)
    opens = _within(outputs, rule.opens) & real
    marks = _within(outputs, rule.marks) & real
    opened, come = opens.sum(dim=1), marks.sum(dim=1)
    depth = opened - ((outputs == rule.close) & real).sum(dim=1)
    before_opens = _run(opens, lengths)
    waits_for_tag = _at_end(marks, lengths) & bool(rule.tags)
    inside = (depth > 0) & ~waits_for_tag
    some_left = come < words
    needed = (words - come) * (2 if rule.tags else 1) + depth + 1
    fits = (limits - lengths >= needed + 2) & (before_opens < rule.most_opened)
    mask = torch.zeros(len(outputs), size, dtype=torch.bool, device=outputs.device)
    mask[:, rule.opens.start : rule.opens.stop] = ((opened == 0) | (inside & some_left & fits))[
        :, None
    ]
    if rule.tags:
        mask[:, rule.tags.start : rule.tags.stop] = waits_for_tag[:, None]
    next_mark = rule.marks.start + come % len(rule.marks)
    mask.scatter_(1, next_mark[:, None], (inside & some_left)[:, None])
    mask[:, rule.close] = inside & (before_opens == 0) & (~some_left | (depth > 1))
    mask[:, rule.end] = (opened > 0) & (depth == 0)
    return mask


def _within(tokens: Int[Tensor, "R W"], ids: range) -> Bool[Tensor, "R W"]:
    return (tokens >= ids.start) & (tokens < ids.stop)


def _at_end(what: Bool[Tensor, "R W"], lengths: Int[Tensor, " R"]) -> Bool[Tensor, " R"]:
    """Whether the last token of each row is such a one."""
    if not what.shape[1]:
        return torch.zeros_like(lengths, dtype=torch.bool)
    last = what.gather(1, (lengths - 1).clamp(min=0)[:, None])[:, 0]
    return last & (lengths > 0)


def _run(what: Bool[Tensor, "R W"], lengths: Int[Tensor, " R"]) -> Int[Tensor, " R"]:
    """How many of the last tokens of each row, in a row, are such ones."""
    places = torch.arange(what.shape[1], device=what.device)
    is_other = ~what & (places < lengths[:, None])
    last_other = torch.where(is_other, places, -1)
    if not what.shape[1]:
        return torch.zeros_like(lengths)
    return lengths - 1 - last_other.amax(dim=1)
