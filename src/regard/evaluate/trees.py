"""How good a parser is: brackets as EVALB counts them, on trees that it never saw."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.answer.loaded import LoadedModel
from regard.answer.parse import parse_rows
from regard.data.brackets import BracketCounts, compare
from regard.data.trees import (
    Tree,
    bracketed,
    cleaned,
    leaves,
    read_trees,
    trees_of,
    words_of_tree,
)
from regard.decode.options import DecodingOptions
from regard.draw.notebook.table import html_table
from regard.errors import DataError
from regard.prepare.trees import TEST, VALID, kept_trees
from regard.printable import Advance, unheard

LENGTHS = (("1 to 9", 0), ("10 to 19", 10), ("20 to 39", 20), ("40 and more", 40))


@dataclass(frozen=True)
class TreesToScore:
    """Reference trees, and whose they are."""

    name: str
    trees: tuple[Tree, ...]


@dataclass(frozen=True)
class LengthScore:
    """The sentences of so many words."""

    words: str
    sentences: int
    f1: float
    exact: float


@dataclass(frozen=True)
class TreeScores:
    """Shares from 0 to 1; `too_long` sentences were not parsed, and count with no bracket."""

    set: str
    sentences: int
    precision: float
    recall: float
    f1: float
    exact: float
    well_formed: float
    tags: float | None
    too_long: int
    lengths: tuple[LengthScore, ...]

    def _repr_html_(self) -> str:
        rows = [(row.words, row.sentences, f"{row.f1:.2%}") for row in self.lengths]
        return html_table(("words", "sentences", "F1"), rows, self.set)


def trees_to_score(model: LoadedModel, file: Path | None) -> TreesToScore:
    """Those of a file, or the test trees of the run, or else those held out for validation."""
    if file is not None:
        trees = [tree for tree in map(cleaned, read_trees(file)) if tree is not None]
        if not trees:
            raise DataError(file, "no tree with a word in it")
        return TreesToScore(file.name, tuple(trees))
    run = model.bundle.run
    name = TEST if (run.data / TEST).is_file() else VALID
    whose = "the run's test trees" if name == TEST else "the run's validation trees"
    return TreesToScore(whose, tuple(kept_trees(run, name)))


def score_trees(
    model: LoadedModel,
    test: TreesToScore,
    search: DecodingOptions,
    advance: Advance = unheard,
) -> TreeScores:
    """Parse the words of each tree, and compare."""
    codec = model.bundle.tree_codec
    fits = [codec.fits(words_of_tree(tree), model.bundle.limit) for tree in test.trees]
    rows = [words_of_tree(tree) for tree, fit in zip(test.trees, fits, strict=True) if fit]
    parses = iter(parse_rows(model.transformer, codec, rows, search, advance))
    counts: list[BracketCounts] = []
    well_formed = 0
    for tree, fit in zip(test.trees, fits, strict=True):
        if not fit:
            counts.append(compare(Tree("TOP", tuple(leaves(tree))), tree))  # without a bracket
            continue
        parse = next(parses)
        well_formed += _is_well_formed(parse.tree, tree)
        counts.append(compare(parse.tree, tree))
    total = sum(counts, BracketCounts())
    lengths = [len(words_of_tree(tree)) for tree in test.trees]
    return TreeScores(
        test.name,
        len(test.trees),
        total.precision,
        total.recall,
        total.f1,
        total.exact / max(1, total.sentences),
        well_formed / max(1, len(rows)),
        total.tagged / max(1, total.words) if codec.has_tags else None,
        len(fits) - sum(fits),
        tuple(_by_length(counts, lengths)),
    )


def _is_well_formed(output: Tree, reference: Tree) -> bool:
    """Whether it reads as brackets again, over exactly the words that were asked."""
    (again,) = trees_of([bracketed(output)])
    return words_of_tree(again) == words_of_tree(reference)


def _by_length(counts: Sequence[BracketCounts], lengths: Sequence[int]) -> list[LengthScore]:
    rows = []
    ends = [first for _, first in LENGTHS[1:]] + [10**9]
    for (name, first), end in zip(LENGTHS, ends, strict=True):
        chosen = [c for c, n in zip(counts, lengths, strict=True) if first <= n < end]
        if chosen:
            total = sum(chosen, BracketCounts())
            exact = total.exact / total.sentences
            rows.append(LengthScore(name, total.sentences, total.f1, exact))
    return rows
