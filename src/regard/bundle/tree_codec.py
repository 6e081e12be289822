"""Sentences and trees ↔ ids, of a run that parses: its tokenizer's pieces, and signs behind them.

    id      0 …           the tokenizer's pieces, special tokens among them
            T             the mark behind each word of a source
            T + 1         )
            T + 2 …       (S (NP …      a sign for each label
            then          DT NN …       one for each tag; a single one where tags are not put out

Each word is cut by itself, so a word that stands twice has the same pieces twice. What an output
looks like, decode/tree_rule.py says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from regard.bundle.encoder_file import read_encoder_file
from regard.data.trees import CLOSE, Tree, leaves, linearised, rebuilt
from regard.decode.engine import Frame
from regard.decode.options import Rules
from regard.decode.tree_rule import TreeRule
from regard.errors import CheckpointError, DataError, MisuseError
from regard.text.tokenizer import Tokenizer
from regard.text.words import SPLITTERS

UNTAGGED = "XX"  # in place of each tag, where none is put out


class UnknownSign(DataError):
    """A label or a tag that the model has no sign for."""


@dataclass(frozen=True)
class TreeCodec:
    """How sentences and trees become rows; `split` names how a text is cut into words."""

    tokenizer: Tokenizer
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    split: str

    def __post_init__(self) -> None:
        if not self.labels or not self.tags or self.split not in SPLITTERS:
            raise CheckpointError("encoder.json", "says nothing about trees that can be used")

    @property
    def vocabulary(self) -> int:
        """Rows of the table of tokens."""
        return self.rule.tags.stop

    @cached_property
    def rule(self) -> TreeRule:
        """What an output may be."""
        mark = self.tokenizer.size
        opens = range(mark + 2, mark + 2 + len(self.labels))
        tags = range(opens.stop, opens.stop + len(self.tags))
        return TreeRule(self.tokenizer.special.eos, mark, mark + 1, opens, tags)

    @property
    def rules(self) -> Rules:
        """The same for a search."""
        return Rules(tree=self.rule)

    @property
    def frame(self) -> Frame:
        """Padding, start and end."""
        special = self.tokenizer.special
        return Frame(special.pad, special.bos, special.eos)

    @property
    def has_tags(self) -> bool:
        """Whether words are told apart by their tags."""
        return self.tags != (UNTAGGED,)

    def split_text(self, text: str) -> list[str]:
        """The words of a text, as the sentences of the training were cut."""
        return SPLITTERS[self.split](text)

    def source(self, words: Sequence[str]) -> list[int]:
        """The pieces of each word and the mark behind it, the end last."""
        ids: list[int] = []
        for word in words:
            ids += [*self._cut(word), self.rule.mark]
        return [*ids, self.tokenizer.special.eos]

    def _cut(self, word: str) -> list[int]:
        known = self._pieces.get(word)
        if known is None:
            known = self.tokenizer.encode(word) or [self.tokenizer.special.unk]
            self._pieces[word] = known
        return known

    @cached_property
    def _pieces(self) -> dict[str, list[int]]:
        return {}

    @cached_property
    def _ids(self) -> dict[str, int]:
        rule = self.rule
        signs = dict(zip((f"({label}" for label in self.labels), rule.opens, strict=True))
        return {**signs, **dict(zip(self.tags, rule.tags, strict=True)), CLOSE: rule.close}

    def target(self, tree: Tree) -> list[int]:
        """The signs of a tree, each word's pieces as soon as it is its turn."""
        words = iter(leaves(tree))
        first = next(words)
        ids: list[int] = [*self._cut(first.word)]
        for sign in linearised(tree):
            is_tag = sign != CLOSE and not sign.startswith("(")
            name = sign if self.has_tags or not is_tag else UNTAGGED
            if name not in self._ids:
                raise UnknownSign("tree", f"{sign} does not occur in the training trees")
            ids.append(self._ids[name])
            if is_tag and (word := next(words, None)) is not None:
                ids += self._cut(word.word)
        return ids

    def tree(self, ids: Sequence[int], words: Sequence[str]) -> Tree:
        """The tree of an output over these words."""
        rule, signs = self.rule, list[str]()
        for token in ids:
            if token in rule.opens:
                signs.append(f"({self.labels[token - rule.opens.start]}")
            elif token in rule.tags:
                signs.append(self.tags[token - rule.tags.start])
            elif token == rule.close:
                signs.append(CLOSE)
        return rebuilt(signs, words)

    def check_words(self, words: Sequence[str], most: int | None, which: str) -> None:
        """Insist that a sentence has words, and that the model has positions for a tree of them."""
        if not words:
            raise MisuseError("parse", f"{which} has no words", advice="give a sentence")
        if not self.fits(words, most):
            problem = (
                f"{which} has {len(words):,} words, too many for the model's {most:,} positions"
            )
            raise MisuseError("parse", problem, advice="divide it")

    def fits(self, words: Sequence[str], most: int | None) -> bool:
        """Whether so many positions are enough."""
        source = self.source(words)
        return most is None or max(len(source), self.rule.fewest(source)) <= most


def read_tree_codec(folder: Path, vocabulary: int) -> TreeCodec:
    """That of a run whose model knows so many tokens."""
    file = read_encoder_file(folder)
    labels = tuple(sign[1:] for sign in file.labels if sign.startswith("("))
    tags = tuple(sign for sign in file.labels if not sign.startswith("("))
    codec = TreeCodec(Tokenizer.load(folder / "tokenizer.json"), labels, tags, file.kind)
    if codec.vocabulary != vocabulary:
        problem = f"tokenizer and signs are {codec.vocabulary} tokens, the spec says {vocabulary}"
        raise CheckpointError(folder, problem, advice="one of the files belongs to another run")
    return codec
