"""Trees → run folder: a tokenizer of their words, signs, ids of what is learned.

tokenizer.json, encoder.json, spec.json   words, signs (bundle/tree_codec.py) and the model
data/train, data/valid                    ids of sentences and trees
data/valid.jsonl, data/test.jsonl         the held-out trees as brackets, on a line each
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.bundle.encoder_file import EncoderFile
from regard.bundle.tree_codec import UNTAGGED, TreeCodec, UnknownSign, read_tree_codec
from regard.config import to_tables
from regard.data.corpus import split_for_validation
from regard.data.phrasebook.corpus import SPLITS, phrasebook, trees_of_sentences
from regard.data.store import ColumnKind, Store, StoreRow, write_store
from regard.data.trees import Tree, bracketed, cleaned, leaves, read_trees, trees_of, words_of_tree
from regard.draw.terminal.progress import progress_bar
from regard.errors import ConfigError, DataError
from regard.model.spec import Spec
from regard.prepare.pairs import held_out_share, refuse_few, write_rows
from regard.prepare.start import kept_spec
from regard.printable import counted
from regard.runs.folder import RunFolder, read_texts, write_own_json
from regard.runs.objective_sections import numbers_of
from regard.runs.sections import DataSection, Recipe, spec_of
from regard.text.tokenizer import Tokenizer

VALID, TEST = "valid.jsonl", "test.jsonl"  # in the folder of data
PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Trees:
    """The trees of a recipe, without empty words and functions."""

    data: DataSection
    train: tuple[Tree, ...]
    valid: tuple[Tree, ...]
    test: tuple[Tree, ...]
    empty: int = 0  # trees of which no word was left

    def lines(self) -> list[str]:
        """What was read, for a person."""
        if self.data.phrasebook:
            return []
        sizes = ", ".join(f"{len(vars(self)[part]):,} {part}" for part in PARTS)
        left_out = f"; {counted(self.empty, 'tree')} without a word left out" if self.empty else ""
        return [f"Trees read: {sizes}{left_out}."]


@dataclass(frozen=True)
class TreeData:
    """What training needs of them."""

    spec: Spec
    codec: TreeCodec
    train: Store
    valid: Store
    valid_trees: tuple[Tree, ...]


def survey_trees(recipe: Recipe) -> Trees:
    """Read all trees, and say which are learned from."""
    data = recipe.data
    if data.phrasebook:
        parts: dict[str, dict[Tree, None]] = {split: {} for split in SPLITS}
        entries = phrasebook(data.phrasebook)
        for entry, tree in zip(entries, trees_of_sentences(data.phrasebook), strict=True):
            parts[entry.split][tree] = None
        first, second, third = (tuple(parts[split]) for split in SPLITS)
        return Trees(data, first, second, third)
    assert data.texts is not None
    trees = _readable(read_trees(data.texts))
    train, valid, test = (_numbered(trees, recipe, part) for part in PARTS)
    if data.valid_texts:
        valid = _readable(read_trees(data.valid_texts))
    if train is None:
        named = {place for part in PARTS for place in numbers_of(vars(recipe.own)[part]) or ()}
        train = [tree for place, tree in enumerate(trees) if place not in named]
    if valid is None:
        train, valid = _held_out(train, recipe)
    kept = [tuple(tree for tree in part or () if tree is not None) for part in (train, valid, test)]
    empty = sum(tree is None for part in (train, valid, test) for tree in part or ())
    for part, chosen in zip(PARTS[:2], kept, strict=False):
        if not chosen:
            raise DataError(data.texts, f"no tree is left to {part} with")
    return Trees(data, kept[0], kept[1], kept[2], empty)


def _readable(trees: Iterable[Tree]) -> list[Tree | None]:
    """Each tree as parsers are asked for it; None where no word is left of it."""
    return [cleaned(tree) for tree in trees]


def _numbered(trees: Sequence[Tree | None], recipe: Recipe, part: str) -> list[Tree | None] | None:
    """The trees that a key of [parse] names; None where it names none."""
    places = numbers_of(vars(recipe.own)[part])
    if places is None:
        return None
    if places.stop > len(trees):
        problem = f"{recipe.data.texts} has {counted(len(trees), 'tree')}"
        raise ConfigError(f"parse.{part}", problem, got=vars(recipe.own)[part])
    return list(trees[places.start : places.stop])


def _held_out(
    trees: Sequence[Tree | None], recipe: Recipe
) -> tuple[list[Tree | None], list[Tree | None]]:
    """Some are held out by their words, so that no sentence is on both sides."""
    refuse_few(str(recipe.data.texts), len(trees), "tree", "data.valid_texts")
    share, seed = held_out_share(recipe.data, len(trees)), recipe.train.seed
    train, valid = list[Tree | None](), list[Tree | None]()
    for tree in trees:
        text = "" if tree is None else " ".join(words_of_tree(tree))
        (valid if split_for_validation(text, fraction=share, seed=seed) else train).append(tree)
    return train, valid


def prepare_trees(run: RunFolder, recipe: Recipe, trees: Trees) -> None:
    """Fill the run's data folder."""
    own = recipe.own
    with progress_bar("vocabulary", len(trees.train)) as bar:

        def sentences() -> Iterator[str]:
            for tree in trees.train:
                yield " ".join(words_of_tree(tree))
                bar.advance(1)

        section = recipe.tokenizer
        tokenizer = Tokenizer.train(sentences(), section.kind, section.size, section.codes)
    tokenizer.save(run.tokenizer)
    labels, tags = _signs(trees.train)
    tags = tags if own.tags else (UNTAGGED,)
    signs = (*(f"({label}" for label in labels), *tags)
    EncoderFile("regard", recipe.data.max_tokens, signs, own.words).write(run.folder)
    codec = TreeCodec(tokenizer, labels, tags, own.words)
    write_own_json(run.spec, to_tables(spec_of(recipe.model, codec.vocabulary)))
    kinds = dict.fromkeys(("source", "target"), ColumnKind(codec.vocabulary))
    most = recipe.data.max_tokens
    for part in PARTS[:2]:
        rows = _encoded(codec, vars(trees)[part], most)
        if not len(write_store(run.data / part, kinds, rows)):
            problem = f"no tree is left to {part} with: all take more than {most} tokens"
            raise DataError("trees", problem, advice="raise data.max_tokens")
    for name, chosen in {VALID: trees.valid, TEST: trees.test}.items():
        if chosen:
            write_rows(run.data / name, ({"tree": bracketed(tree)} for tree in chosen))


def _signs(trees: Iterable[Tree]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All labels and all tags, the most frequent first."""
    labels, tags = Counter[str](), Counter[str]()

    def visit(tree: Tree) -> None:
        labels[tree.label] += 1
        for child in tree.children:
            if isinstance(child, Tree):
                visit(child)

    for tree in trees:
        visit(tree)
        tags.update(leaf.tag for leaf in leaves(tree))
    return tuple(name for name, _ in labels.most_common()), tuple(n for n, _ in tags.most_common())


def _encoded(codec: TreeCodec, trees: Sequence[Tree], most: int) -> Iterator[StoreRow]:
    """Ids of both sides, without the end of the source; what is too long, or has a sign that the
    training lacks, is left out."""
    with progress_bar("encoding", len(trees)) as bar:
        for tree in trees:
            bar.advance(1)
            try:
                source, target = codec.source(words_of_tree(tree)), codec.target(tree)
            except UnknownSign:
                continue
            if max(len(source), len(target) + 1) <= most:
                yield {"source": source, "target": target}


def load_trees(run: RunFolder) -> TreeData:
    """What was prepared."""
    run.check_data()
    spec = kept_spec(run)
    return TreeData(
        spec,
        read_tree_codec(run.folder, spec.vocabulary),
        Store.open(run.data / "train"),
        Store.open(run.data / "valid"),
        tuple(kept_trees(run, VALID)),
    )


def kept_trees(run: RunFolder, name: str) -> list[Tree]:
    """The held-out trees of a run."""
    path: Path = run.whole(name)
    rows = read_texts(path, tree=str)
    return list(trees_of((row["tree"] for row in rows), str(path)))
