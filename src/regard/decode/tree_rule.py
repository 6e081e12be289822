"""What may come next in an output that is a tree over given words: a rule on ids, without text.

    source    words, and a mark behind each             The # cat # sat # </s>
    output    The (S (NP DT cat NN sat ) (VP VB ) ) </s>

Each word is announced as soon as it is its turn: its pieces are put out, and nothing else can be.
Then come the brackets that close before it and those that open with it, and its tag, which says
that it stands here. So no word is lost, none comes twice, and the decoder never has to count: the
word that it decides about is the one that it has just read. What is allowed, with n words of which
s stand and d open brackets:

    first, and behind a tag   the pieces of the next word, if there is one
    d = 0                     (X at the beginning; at the end the end
    else                      (X       if s < n, fewer than `most_opened` were opened just before,
                                       d < `deepest`, and the rest still fits: all words, all
                                       ends, the end
                              a tag    if s < n
                              )        if the bracket is not empty, and s = n or d > 1

Every output that this rule leads to its end is a well-formed tree over exactly these words, and it
comes to its end before its limit. Where only one token is allowed, it counts as certain.
"""

from collections.abc import Sequence
from dataclasses import dataclass

PER_WORD, BESIDE = 7, 40  # signs that an output may have: the Penn Treebank's trees take up to 5


@dataclass(frozen=True)
class TreeRule:
    """The ids of brackets and tags, and of the mark behind each word of a source."""

    end: int
    mark: int
    close: int
    opens: range
    tags: range
    most_opened: int = 8  # brackets that are opened in a row; the Penn Treebank has 6
    deepest: int = 90  # brackets in brackets: what reads and draws trees reads no deeper ones

    def words(self, source: Sequence[int]) -> list[list[int]]:
        """The pieces of each word of a source."""
        words: list[list[int]] = [[]]
        for token in source:
            if token == self.mark:
                words.append([])
            else:
                words[-1].append(token)
        return words[:-1]

    def limit(self, source: Sequence[int]) -> int:
        """The most tokens of an output, its end counted."""
        words = self.words(source)
        return sum(map(len, words)) + PER_WORD * len(words) + BESIDE

    def fewest(self, source: Sequence[int]) -> int:
        """The least: one bracket over all words."""
        words = self.words(source)
        return sum(map(len, words)) + len(words) + 3

    def allowed(
        self, output: Sequence[int], words: Sequence[Sequence[int]], limit: int
    ) -> set[int]:
        """The tokens that may come next; written for reading, decode/tree_mask.py has many rows."""
        standing = sum(token in self.tags for token in output)
        opened = sum(token in self.opens for token in output)
        closed = sum(token == self.close for token in output)
        announced = len(output) - standing - opened - closed  # pieces
        pieces = [piece for word in words for piece in word]
        if announced < sum(map(len, words[: standing + 1])):
            return {pieces[announced]}
        depth = opened - closed
        if not depth:
            return {self.end} if opened else set(self.opens)
        allowed = set[int]()
        if standing < len(words):
            allowed |= set(self.tags)
            needed = len(pieces) - announced + len(words) - standing + depth + 1
            fits = limit - len(output) >= needed + 2 and depth < self.deepest
            if fits and self.run_of(output) < self.most_opened:
                allowed |= set(self.opens)
        if output[-1] not in self.opens and (standing == len(words) or depth > 1):
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
