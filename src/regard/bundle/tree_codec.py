"""Sentences and trees ↔ ids, of a run that parses: its tokenizer's pieces, and signs behind them.

    id      0 …           the tokenizer's pieces, special tokens among them
            T             )
            T + 1 …       (S (NP …      a sign for each label
            then          DT NN …       one for each tag, if tags are put out
            then          <0> <1> …     the marks, which count words (decode/tree_rule.py)

Each word is cut by itself, so a word that stands twice has the same pieces twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from regard.bundle.encoder_file import read_encoder_file
from regard.data.trees import CLOSE, Tree, linearised, rebuilt
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
    tags: tuple[str, ...]  # none: none is put out
    marks: int
    split: str

    def __post_init__(self) -> None:
        if not self.labels or self.marks < 1 or self.split not in SPLITTERS:
            raise CheckpointError("encoder.json", "says nothing about trees that can be used")

    @property
    def vocabulary(self) -> int:
        """Rows of the table of tokens."""
        return self.tokenizer.size + 1 + len(self.labels) + len(self.tags) + self.marks

    @cached_property
    def rule(self) -> TreeRule:
        """What an output may be."""
        close = self.tokenizer.size
        opens = range(close + 1, close + 1 + len(self.labels))
        tags = range(opens.stop, opens.stop + len(self.tags))
        marks = range(tags.stop, tags.stop + self.marks)
        return TreeRule(self.tokenizer.special.eos, close, opens, tags, marks)

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
    def most_words(self) -> int | None:
        """Of a sentence: marks that count words must differ; one alone counts nothing."""
        return None if self.marks == 1 else self.marks

    def split_text(self, text: str) -> list[str]:
        """The words of a text, as the sentences of the training were cut."""
        return SPLITTERS[self.split](text)

    def source(self, words: Sequence[str], first: int = 0) -> list[int]:
        """The pieces of each word and its mark, the end last; marks begin with number `first`."""
        ids: list[int] = []
        for number, word in enumerate(words):
            ids += self._cut(word)
            ids.append(self.mark(number + first))
        return [*ids, self.tokenizer.special.eos]

    def mark(self, number: int) -> int:
        """The mark of a word."""
        return self.rule.marks[number % self.marks]

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
        """The signs of a tree, each word's mark before its tag."""
        ids: list[int] = []
        come = 0
        for sign in linearised(tree):
            if not (sign == CLOSE or sign.startswith("(")):
                ids.append(self.mark(come))
                come += 1
                if not self.tags:
                    continue
            if sign not in self._ids:
                raise UnknownSign("tree", f"{sign} does not occur in the training trees")
            ids.append(self._ids[sign])
        return ids

    def tree(self, ids: Sequence[int], words: Sequence[str]) -> Tree:
        """The tree of an output over these words."""
        rule, signs = self.rule, list[str]()
        for token in ids:
            if token in rule.marks:
                signs += [] if self.tags else [UNTAGGED]
            elif token in rule.opens:
                signs.append(f"({self.labels[token - rule.opens.start]}")
            elif token in rule.tags:
                signs.append(self.tags[token - rule.tags.start])
            else:
                signs.append(CLOSE)
        return rebuilt(signs, words)

    def check_words(self, words: Sequence[str], which: str) -> None:
        """Insist that a sentence has words, and no more than can be told apart."""
        if not words:
            raise MisuseError("parse", f"{which} has no words", advice="give a sentence")
        if self.most_words is not None and len(words) > self.most_words:
            problem = f"{which} has {len(words):,} words, this model reads at most {self.marks:,}"
            raise MisuseError("parse", problem, advice="divide it")


def read_tree_codec(folder: Path, vocabulary: int) -> TreeCodec:
    """That of a run whose model knows so many tokens."""
    file = read_encoder_file(folder)
    labels = tuple(sign[1:] for sign in file.labels if sign.startswith("("))
    tags = tuple(sign for sign in file.labels if not sign.startswith("("))
    codec = TreeCodec(
        Tokenizer.load(folder / "tokenizer.json"), labels, tags, file.limit, file.kind
    )
    if codec.vocabulary != vocabulary:
        problem = f"tokenizer and signs are {codec.vocabulary} tokens, the spec says {vocabulary}"
        raise CheckpointError(folder, problem, advice="one of the files belongs to another run")
    return codec
