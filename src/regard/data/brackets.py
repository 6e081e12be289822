"""How alike two trees of the same words are, counted as EVALB counts (Sekine and Collins 1997).

    precision   brackets of the output that are right / all brackets of the output
    recall      the same / all brackets of the reference
    F1          2 · precision · recall / (precision + recall), over all sentences together

A bracket is a label and the words it spans; it is right if the reference has it too, once for each
time that it stands there. Marks of punctuation do not count as words (so no bracket is wrong by a
comma alone), ADVP and PRT are one label, and the outermost TOP is no bracket. The words that are
punctuation are told by the tags of the reference.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from regard.data.trees import Leaf, Tree, leaves

PUNCTUATION = frozenset((",", ":", "``", "''", "."))
SAME = {"PRT": "ADVP"}
OUTSIDE = frozenset(("TOP", "ROOT", "S1", ""))
Bracket = tuple[str, int, int]


@dataclass(frozen=True)
class BracketCounts:
    """Of some sentences; they add up."""

    right: int = 0
    found: int = 0  # in the output
    wanted: int = 0  # in the reference
    sentences: int = 0
    exact: int = 0  # sentences all of whose brackets are right, and no more
    tagged: int = 0  # words whose tag is right
    words: int = 0

    def __add__(self, other: "BracketCounts") -> "BracketCounts":
        mine, theirs = vars(self), vars(other)
        return BracketCounts(**{name: mine[name] + theirs[name] for name in mine})

    @property
    def precision(self) -> float:
        return self.right / max(1, self.found)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.wanted)

    @property
    def f1(self) -> float:
        return 2 * self.right / max(1, self.found + self.wanted)


def brackets(tree: Tree, counted: list[bool], labelled: bool = True) -> Counter[Bracket]:
    """The brackets of a tree over the words that count, by their numbers."""
    numbers = [0]
    for counts in counted:
        numbers.append(numbers[-1] + counts)
    found: Counter[Bracket] = Counter()

    def visit(part: Tree, begin: int) -> int:
        end = begin
        for child in part.children:
            end = end + 1 if isinstance(child, Leaf) else visit(child, end)
        span = numbers[begin], numbers[end]
        if part.label not in OUTSIDE and span[0] < span[1]:
            found[(SAME.get(part.label, part.label) if labelled else "", *span)] += 1
        return end

    visit(tree, 0)
    return found


def compare(output: Tree, reference: Tree, labelled: bool = True) -> BracketCounts:
    """One sentence."""
    right_leaves, own = leaves(reference), leaves(output)
    assert len(right_leaves) == len(own), "trees over other words"
    counted = [leaf.tag not in PUNCTUATION for leaf in right_leaves]
    wanted, found = (brackets(tree, counted, labelled) for tree in (reference, output))
    right = sum((wanted & found).values())
    tagged = sum(one.tag == other.tag for one, other in zip(own, right_leaves, strict=True))
    total, most = sum(found.values()), sum(wanted.values())
    is_exact = right == total == most
    return BracketCounts(right, total, most, 1, int(is_exact), tagged, len(own))


def compare_all(outputs: Iterable[Tree], references: Iterable[Tree]) -> BracketCounts:
    """All sentences together."""
    total = BracketCounts()
    for output, reference in zip(outputs, references, strict=True):
        total += compare(output, reference)
    return total
