"""What a recipe says that its objective cannot do, before its data is read: a function for each.

runs/objectives.py has the rows that name them, and those of encoders of texts.
"""

from regard.errors import ConfigError
from regard.model.spec import Spec
from regard.runs.sections import Recipe, spec_of

SOME_VOCABULARY = 4000  # to check a spec with, now, not after an hour of tokenizing


def check_pairs(recipe: Recipe, where: str) -> None:
    """A recipe that translates."""
    if recipe.data.texts:
        problem = "texts are for objectives of an encoder, not translate"
        raise ConfigError(f"{where}: [data]", problem)
    spec = spec_of(recipe.model, SOME_VOCABULARY, f"{where}: [model]")
    if not spec.encoder_layers or not spec.decoder_layers:
        raise ConfigError(f"{where}: [model]", "translation needs an encoder and a decoder")
    if spec.position_limit is not None and spec.position_limit <= recipe.data.max_tokens:
        raise ConfigError(
            f"{where}: [model]: max_length {spec.position_limit} learned positions cannot hold "
            f"data.max_tokens {recipe.data.max_tokens} and an end; change one of them"
        )


def refuse_of_translate(recipe: Recipe, where: str, advice: str = "") -> None:
    """Keys that only objective "translate" has."""
    if recipe.train.embeddings is not None or recipe.tokenizer.dropout or recipe.data.more:
        problem = "train.embeddings, tokenizer.dropout and data.more are for translate alone"
        raise ConfigError(where, problem, advice=advice)


def check_positions(spec: Spec, recipe: Recipe, where: str) -> None:
    """Learned positions are as many as tokens of a text."""
    if spec.position_limit is not None and spec.position_limit < recipe.data.max_tokens:
        raise ConfigError(
            f"{where}: [model]: max_length {spec.position_limit} learned positions cannot hold "
            f"data.max_tokens {recipe.data.max_tokens}; change one of them"
        )


def check_documents(recipe: Recipe, where: str) -> None:
    """A recipe for a decoder."""
    if not recipe.data.texts:
        raise ConfigError(f"{where}: [data]", f"{recipe.objective} needs texts: a file")
    start = recipe.train.start_from
    if start is not None and "preset" in recipe.model:
        raise ConfigError(f"{where}: [model]: the model is that of {start}; leave preset out")
    refuse_of_translate(recipe, where)
    if start is None:
        spec = spec_of(recipe.model, SOME_VOCABULARY, f"{where}: [model]")
        if spec.encoder_layers or not spec.decoder_layers:
            problem = f"{recipe.objective} trains a decoder alone"
            advice = "take preset gpt-tiny or llama-tiny, or set encoder_layers to 0"
            raise ConfigError(f"{where}: [model]", problem, advice=advice)
        check_positions(spec, recipe, where)


def check_text_to_text(recipe: Recipe, where: str) -> None:
    """A recipe for an encoder and a decoder, published or like those."""
    data, start, corrupt = recipe.data, recipe.train.start_from, recipe.own.corrupt
    if bool(data.texts) and not corrupt:
        raise ConfigError(
            f"{where}: [data]: texts have no answers to learn; give pairs (source, target), or set "
            "text-to-text.corrupt to true, and the texts are learned from by their own holes"
        )
    if corrupt and (data.source or data.tasks):
        raise ConfigError(f"{where}: [text-to-text]", "corrupt learns from texts, not from pairs")
    if start is not None and "preset" in recipe.model:
        raise ConfigError(f"{where}: [model]: the model is that of {start}; leave preset out")
    refuse_of_translate(recipe, where, "several corpora are data.tasks")
    if start is None:
        spec = spec_of(recipe.model, SOME_VOCABULARY, f"{where}: [model]")
        if not spec.encoder_layers or not spec.decoder_layers:
            problem = "text-to-text needs an encoder and a decoder"
            advice = "take preset t5-tiny, or one of translate"
            raise ConfigError(f"{where}: [model]", problem, advice=advice)
        check_positions(spec, recipe, where)


def check_images(recipe: Recipe, where: str) -> None:
    """A recipe for an encoder of pictures."""
    if not recipe.data.images:
        raise ConfigError(f"{where}: [data]", "see needs images: a folder, a table, IDX or .npz")
    start, section = recipe.train.start_from, f"{where}: [model]"
    if start is not None:
        for name in ("preset", "image_size", "patch_size", "channels"):
            if name in recipe.model:
                advice = f"leave {name} out"
                raise ConfigError(section, f"the model is that of {start}", advice=advice)
    refuse_of_translate(recipe, where)
    for name in ("head", "classes", "decoder_layers"):
        if name in recipe.model:
            raise ConfigError(f"{section}: {name} follows from the objective; leave it out")
    if start is None:
        if not str(recipe.model.get("preset", "")).startswith("vit-"):
            problem = "see trains an encoder of pictures"
            raise ConfigError(section, problem, advice='take preset "vit-tiny" or "vit-small"')
        if "image_size" not in recipe.model or "patch_size" not in recipe.model:
            advice = "for example image_size = 28 and patch_size = 4, in pixels"
            raise ConfigError(section, "image_size and patch_size are not given", advice=advice)
        spec_of({**recipe.model, "classes": 2}, 0, section)


def check_parse(recipe: Recipe, where: str) -> None:
    """A recipe that learns trees."""
    if not recipe.data.texts and not recipe.data.phrasebook:
        needed = "a bracket file as texts, or the phrasebook's English side"
        raise ConfigError(f"{where}: [data]", f"parse needs trees: {needed}")
    refuse_of_translate(recipe, where)
    spec = spec_of(recipe.model, SOME_VOCABULARY, f"{where}: [model]")
    if not spec.encoder_layers or not spec.decoder_layers:
        raise ConfigError(f"{where}: [model]", "parse needs an encoder and a decoder")
    check_positions(spec, recipe, where)


def check_caption(recipe: Recipe, where: str) -> None:
    """A recipe for pictures on one side and words on the other."""
    section = f"{where}: [model]"
    if not recipe.data.images and not recipe.data.scenes:
        needed = 'scenes = "en", or images: a table of files and captions'
        raise ConfigError(f"{where}: [data]", f"caption needs pictures: {needed}")
    refuse_of_translate(recipe, where)
    for name in ("image_size", "patch_size", "decoder_layers"):
        if not recipe.model.get(name):
            advice = "for example image_size = 48, patch_size = 6 and decoder_layers = 2"
            raise ConfigError(section, f"{name} is not given", advice=advice)
    spec = spec_of(recipe.model, SOME_VOCABULARY, section)
    if not spec.encoder_layers:
        raise ConfigError(section, "caption needs an encoder and a decoder")
    if recipe.own.names and spec.image_size % 2:
        problem = f"{spec.image_size} pixels cannot be halved for a grid of two by two"
        raise ConfigError(f"{section}: image_size", problem)
    check_positions(spec, recipe, where)


def check_draw(recipe: Recipe, where: str) -> None:
    """A recipe that learns to draw."""
    if not recipe.data.scenes:
        raise ConfigError(f"{where}: [data]", 'draw needs scenes: "en" or "de"')
    refuse_of_translate(recipe, where)
    spec = spec_of(recipe.model, SOME_VOCABULARY, f"{where}: [model]")
    if not spec.encoder_layers or not spec.decoder_layers:
        raise ConfigError(f"{where}: [model]", "draw needs an encoder and a decoder")
    check_positions(spec, recipe, where)
