"""What may come next in an output that is a tree over given words: a rule on ids, without text.

    source    words, and behind each its mark           The <0> cat <1> sat <2> </s>
    output    (S (NP <0> DT <1> NN ) (VP <2> VB ) ) </s>

A mark says "the next word stands here" (its tag follows, where tags are put out); marks are counted
as the words are, from the first again behind the last. So the words themselves are never put out,
none can be lost or come twice, and the decoder finds its place in the source by a sign that stands
in both. What is allowed, n words of which s have come, in d open brackets:

    at first           (X
    behind a mark      a tag, where there are tags
    d = 0              the end, and nothing else
    else               (X       if s < n, fewer than `most_opened` were opened just before, and the
                                rest still fits: all words, all ends of brackets, the end
                       a mark   if s < n: the one of word s + 1
                       )        if the bracket is not empty, and s = n or d > 1

Every output that this rule leads to its end is a well-formed tree over exactly these words, and it
comes to its end before its limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

PER_WORD, BESIDE = 8, 40  # tokens that an output may have: the Penn Treebank's trees take up to 6


@dataclass(frozen=True)
class TreeRule:
    """The ids of brackets, tags and marks."""

    end: int
    close: int
    opens: range
    tags: range  # empty: no tags are put out
    marks: range
    most_opened: int = 8  # brackets that are opened in a row

    def words(self, source: Sequence[int]) -> int:
        """How many words a source has."""
        return sum(token in self.marks for token in source)

    def limit(self, words: int) -> int:
        """The most tokens of an output, its end counted."""
        return PER_WORD * words + BESIDE

    def allowed(self, output: Sequence[int], words: int, limit: int) -> set[int]:
        """The tokens that may come next; written for reading, decode/tree_mask.py has many rows."""
        last = output[-1] if output else None
        opened = sum(token in self.opens for token in output)
        come = sum(token in self.marks for token in output)
        depth = opened - sum(token == self.close for token in output)
        if last is not None and last in self.marks and self.tags:
            return set(self.tags)
        if not opened:
            return set(self.opens)
        if not depth:
            return {self.end}
        allowed = set[int]()
        if come < words:
            allowed.add(self.marks[come % len(self.marks)])
            needed = (words - come) * (2 if self.tags else 1) + depth + 1
            if limit - len(output) >= needed + 2 and self.run_of(output) < self.most_opened:
                allowed |= set(self.opens)
        if last not in self.opens and (come == words or depth > 1):
            allowed.add(self.close)
        return allowed

    def run_of(self, output: Sequence[int]) -> int:
        """How many brackets were opened last, in a row."""
        count = 0
        for token in reversed(output):
            if token not in self.opens:
                break
            count += 1
        return count
