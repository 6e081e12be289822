"""The tokenizer of a run whose folder is laid out like a published one, and the rows it needs.

It is that of the model that training begins with, or it is learned from the texts.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from regard.checkpoint.files import copy_around
from regard.config import build
from regard.draw.terminal.progress import progress_bar
from regard.errors import CheckpointError
from regard.model.spec import Spec
from regard.prepare.encoder_spec import Start
from regard.runs.folder import RunFolder
from regard.runs.sections import Recipe, TokenizerSection, spec_of
from regard.text.published import PublishedTokenizer, load_tokenizer
from regard.text.tokenizer import Tokenizer


def tokenizer_for(
    run: RunFolder,
    section: TokenizerSection,
    start: Start | None,
    texts: Iterable[str],
    characters: int | None,
    save: Callable[[Tokenizer, Path], None],
) -> PublishedTokenizer:
    """Copied or learned, saved in the run's folder, and opened there.

    `texts` are read where a vocabulary is learned from them; they have so many characters. `save`
    writes one that is learned (text/encoder_tokenizer.py).
    """
    if start is not None:
        copy_around(start.folder, run.folder)
    else:
        with progress_bar("vocabulary", characters) as bar:

            def read() -> Iterator[str]:
                for text in texts:
                    yield text
                    bar.advance(len(text))

            learned = Tokenizer.train(read(), section.kind, section.size)
        save(learned, run.folder)
    tokenizer = load_tokenizer(run.folder)
    if tokenizer is None:
        assert start is not None
        raise CheckpointError(start.folder, "has no tokenizer files, so text cannot become ids")
    return tokenizer


def kept_tokenizer(run: RunFolder) -> PublishedTokenizer:
    """That of a run which was prepared before."""
    tokenizer = load_tokenizer(run.folder)
    if tokenizer is None:
        advice = "copy it again"
        raise CheckpointError(run.folder, "the files of its tokenizer are gone", advice=advice)
    return tokenizer


def rows_needed(tokenizer: PublishedTokenizer, start: Start | None) -> int:
    """Rows of the embedding; a published one may have more than its tokenizer has tokens."""
    if start is not None and tokenizer.size > start.spec.vocabulary:
        raise CheckpointError(
            f"{start.folder}: the tokenizer knows {tokenizer.size} tokens, the weights "
            f"{start.spec.vocabulary}; its files belong to another model"
        )
    return tokenizer.size if start is None else start.spec.vocabulary


def generator_spec(recipe: Recipe, tokenizer: PublishedTokenizer, start: Start | None) -> Spec:
    """That of a model which writes text: by the recipe, or of the model it begins with."""
    rows = rows_needed(tokenizer, start)
    if start is None:
        return spec_of(recipe.model, rows)
    return build(Spec, {**vars(start.spec), **recipe.model}, "[model]")
