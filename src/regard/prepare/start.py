"""What a training begins with: the model of train.start_from or none, its spec and its tokenizer.

The spec is by the recipe, or that of the model with what the recipe changes. The tokenizer is the
model's own, or it is learned from the texts; either way its files lie in the run's folder, which is
laid out like a published one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bundle.bundle import open_bundle
from regard.checkpoint.families.family import Family
from regard.checkpoint.files import copy_around, read_own_json
from regard.config import build
from regard.draw.terminal.progress import progress_bar
from regard.errors import CheckpointError, ConfigError
from regard.model.spec import Spec
from regard.runs.folder import RunFolder
from regard.runs.objectives import OBJECTIVES
from regard.runs.sections import Recipe, TokenizerSection, spec_of
from regard.text.published import PublishedTokenizer, load_tokenizer
from regard.text.tokenizer import Tokenizer

# What belongs to a head and goes with it; a new one has of this what its family says.
NO_HEAD = {"pool": "none", "output_transform": False, "output_bias": False, "tie": "all"}


@dataclass(frozen=True)
class Start:
    """The model that training begins with, before its weights are read."""

    folder: Path
    family: Family
    spec: Spec


def open_start(folder: Path) -> Start:
    """A published folder of an encoder, or a run that trained one."""
    bundle = open_bundle(folder)
    expected = "a published encoder folder, or a run that trained an encoder"
    if bundle.is_own_translator:
        problem = f"{folder} is a run that translates"
        raise ConfigError("train.start_from", problem, expected=expected)
    start = Start(bundle.path, family=bundle.family, spec=bundle.spec)
    if start.spec.decoder_layers or start.spec.image_size:
        problem = f"{folder} ({start.family.name}) is no encoder of texts"
        raise ConfigError("train.start_from", problem, expected=expected)
    return start


def open_seer(recipe: Recipe) -> Start | None:
    """The model that training begins with, if there is one: an encoder of pictures."""
    folder = recipe.train.start_from
    if folder is None:
        return None
    bundle = open_bundle(folder)
    if bundle.is_own_translator or not bundle.spec.image_size:
        problem = f"{folder} is no encoder of pictures"
        expected = "a published ViT folder, or a run with objective see"
        raise ConfigError("train.start_from", problem, expected=expected)
    return Start(bundle.path, family=bundle.family, spec=bundle.spec)


def open_decoder(recipe: Recipe) -> Start | None:
    """The model that training begins with, if there is one: a decoder and nothing else."""
    what = "decoder that goes on with texts"
    expected = "a GPT-2 or Llama folder, or a run with objective complete"
    return _open_writer(recipe, lambda spec: not spec.encoder_layers, what, expected)


def open_text_to_text(recipe: Recipe) -> Start | None:
    """The model that training begins with, if there is one: an encoder and a decoder."""
    what = "model that makes a text of a text"
    expected = "a T5, FLAN-T5 or Marian folder, or a run with objective text-to-text"
    return _open_writer(
        recipe, lambda spec: bool(spec.encoder_layers and spec.decoder_layers), what, expected
    )


def _open_writer(
    recipe: Recipe, fits: Callable[[Spec], bool], what: str, expected: str
) -> Start | None:
    folder = recipe.train.start_from
    if folder is None:
        return None
    bundle = open_bundle(folder)
    if bundle.is_own_translator or not fits(bundle.spec) or bundle.spec.head != "tokens":
        raise ConfigError("train.start_from", f"{folder} is no {what}", expected=expected)
    return Start(bundle.path, family=bundle.family, spec=bundle.spec)


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

            learned = Tokenizer.train(read(), section.kind, section.size, section.codes)
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


def kept_spec(run: RunFolder) -> Spec:
    """The same of its model."""
    return build(Spec, read_own_json(run.spec), str(run.spec))


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


def encoder_spec(
    recipe: Recipe, vocabulary: int, classes: int, start: Start | None, **changes: int
) -> Spec:
    """The spec with the head that the objective needs; single fields as `changes`, then [model],
    say."""
    head = OBJECTIVES[recipe.objective].head
    needed: dict[str, Any] = {"decoder_layers": 0, "head": head, "classes": classes, **changes}
    if start is None:
        return spec_of({**recipe.model, **needed}, vocabulary)
    if head == "tokens" and start.spec.head == "tokens":
        of_head: Mapping[str, Any] = {"pool": "none"}  # a layer that nothing asks learns nothing
    elif head == "classes" and start.spec.pool != "none":
        of_head = NO_HEAD | {"pool": start.spec.pool}
    else:
        of_head = {**NO_HEAD, **start.family.new_heads.get(head, {})}
    values = {**vars(start.spec), **of_head, **needed, **recipe.model}
    return build(Spec, values, "[model]")
