"""Sentences → trees: a search that only well-formed trees over the given words can leave."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch

from regard.answer.loaded import LoadedModel
from regard.bundle.tree_codec import TreeCodec
from regard.data.trees import Tree, bracketed, leaves
from regard.decode.engine import Layout, best_of
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import DecodingOptions
from regard.errors import MisuseError
from regard.model.transformer import Transformer
from regard.printable import Advance, unheard

AT_ONCE = 256  # sentences between two signs of progress


@dataclass(frozen=True)
class Parse:
    """A sentence's tree; `log_probability` is that of all its signs."""

    tree: Tree
    score: float
    log_probability: float

    @property
    def brackets(self) -> str:
        """The tree on a line, as bracket files have it."""
        return bracketed(self.tree)

    @property
    def words(self) -> list[str]:
        """Its words."""
        return [leaf.word for leaf in leaves(self.tree)]

    @property
    def tags(self) -> list[str]:
        """The tag of each."""
        return [leaf.tag for leaf in leaves(self.tree)]

    def __str__(self) -> str:
        return self.brackets


def parse_texts(
    model: LoadedModel,
    texts: Sequence[str | Sequence[str]],
    beam: int | None = None,
    alpha: float | None = None,
    advance: Advance = unheard,
) -> list[Parse]:
    """The tree of each text; one that is a list has its words already."""
    codec = model.bundle.tree_codec
    rows = [codec.split_text(one) if isinstance(one, str) else list(one) for one in texts]
    for number, words in enumerate(rows, start=1):
        which = "the sentence" if len(rows) == 1 else f"sentence {number}"
        for word in words:
            if len(word.split()) != 1 or word != word.strip():
                raise MisuseError("parse", got=word, expected="words without spaces")
        codec.check_words(words, model.bundle.limit, which)
    usual = model.bundle.settings.search
    decoding = replace(
        usual,
        beam=usual.beam if beam is None else beam,
        alpha=usual.alpha if alpha is None else alpha,
    )
    return parse_rows(model.transformer, codec, rows, decoding, advance)


def parse_rows(
    transformer: Transformer,
    codec: TreeCodec,
    rows: Sequence[Sequence[str]],
    decoding: DecodingOptions,
    advance: Advance = unheard,
) -> list[Parse]:
    """The best tree of each sentence, in order."""
    layout = Layout(threads=torch.get_num_threads())
    engine = TorchEngine(transformer, codec.frame, codec.rules, layout)
    parses: list[Parse] = []
    try:
        for words in _chunks(rows):
            found = engine.submit([codec.source(each) for each in words], decoding)()
            for each, n_best in zip(words, found, strict=True):
                best = best_of(n_best)
                tree = codec.tree(best.ids, each)
                parses.append(Parse(tree, best.score, best.log_probability))
            advance(len(words))
    finally:
        engine.close()
    return parses


def _chunks(rows: Sequence[Sequence[str]]) -> Iterable[Sequence[Sequence[str]]]:
    return (rows[first : first + AT_ONCE] for first in range(0, len(rows), AT_ONCE))
