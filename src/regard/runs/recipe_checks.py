"""What can be said about a recipe before its data is read: one check for each kind of model.

A row of runs/objectives.py names the one of its objective.
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
    spec = _spec_of_both_sides(recipe, where, "translation")
    if spec.position_limit is not None and spec.position_limit <= recipe.data.max_tokens:
        raise ConfigError(
            f"{where}: [model]: max_length {spec.position_limit} learned positions cannot hold "
            f"data.max_tokens {recipe.data.max_tokens} and an end; change one of them"
        )


def _refuse_of_translate(recipe: Recipe, where: str, advice: str = "") -> None:
    """Keys that only objective "translate" has."""
    if recipe.train.embeddings is not None or recipe.tokenizer.dropout or recipe.data.more:
        problem = "train.embeddings, tokenizer.dropout and data.more are for translate alone"
        raise ConfigError(where, problem, advice=advice)


def _refuse_of_start(recipe: Recipe, where: str, *names: str) -> None:
    """Keys of [model] that are those of the model that training begins with."""
    start = recipe.train.start_from
    for name in names:
        if start is not None and name in recipe.model:
            problem, advice = f"the model is that of {start}", f"leave {name} out"
            raise ConfigError(f"{where}: [model]", problem, advice=advice)


def _refuse_of_objective(recipe: Recipe, where: str, *names: str) -> None:
    """Keys of [model] that nobody can choose."""
    for name in names:
        if name in recipe.model:
            raise ConfigError(f"{where}: [model]: {name} follows from the objective; leave it out")


def _spec_of_both_sides(recipe: Recipe, where: str, who: str, advice: str = "") -> Spec:
    """The spec, of an encoder and a decoder."""
    spec = spec_of(recipe.model, SOME_VOCABULARY, f"{where}: [model]")
    if not spec.encoder_layers or not spec.decoder_layers:
        problem = f"{who} needs an encoder and a decoder"
        raise ConfigError(f"{where}: [model]", problem, advice=advice)
    return spec


def _check_positions(spec: Spec, recipe: Recipe, where: str) -> None:
    """Learned positions are as many as tokens of a text."""
    if spec.position_limit is not None and spec.position_limit < recipe.data.max_tokens:
        raise ConfigError(
            f"{where}: [model]: max_length {spec.position_limit} learned positions cannot hold "
            f"data.max_tokens {recipe.data.max_tokens}; change one of them"
        )


def check_texts_or_phrasebook(recipe: Recipe, where: str) -> None:
    """A recipe for an encoder that can do with the phrasebook's English side."""
    if not recipe.data.texts and not recipe.data.phrasebook:
        needed = "texts, a file, or the phrasebook's English side"
        raise ConfigError(f"{where}: [data]", f"{recipe.objective} needs {needed}")
    _check_encoder(recipe, where)


def check_texts(recipe: Recipe, where: str) -> None:
    """A recipe for an encoder."""
    if not recipe.data.texts:
        raise ConfigError(f"{where}: [data]", f"{recipe.objective} needs texts, a file")
    _check_encoder(recipe, where)


def _check_encoder(recipe: Recipe, where: str) -> None:
    _refuse_of_start(recipe, where, "preset")
    _refuse_of_translate(recipe, where)
    _refuse_of_objective(recipe, where, "head", "classes", "decoder_layers", "image_size")
    if recipe.train.start_from is None:
        spec = spec_of({**recipe.model, "decoder_layers": 0}, SOME_VOCABULARY, f"{where}: [model]")
        _check_positions(spec, recipe, where)


def check_similar(recipe: Recipe, where: str) -> None:
    """A recipe whose pairs stand in a table, or are made of labels."""
    if bool(recipe.data.pair) == bool(recipe.own.label_pairs):
        why = "similar compares two texts; name both columns"
        made = "similar.label_pairs makes the pairs; leave pair out"
        raise ConfigError(f"{where}: [data]: pair", made if recipe.data.pair else why)
    check_texts(recipe, where)


def check_documents(recipe: Recipe, where: str) -> None:
    """A recipe for a decoder."""
    if not recipe.data.texts:
        raise ConfigError(f"{where}: [data]", f"{recipe.objective} needs texts: a file")
    _refuse_of_start(recipe, where, "preset")
    _refuse_of_translate(recipe, where)
    if recipe.train.start_from is None:
        spec = spec_of(recipe.model, SOME_VOCABULARY, f"{where}: [model]")
        if spec.encoder_layers or not spec.decoder_layers:
            problem = f"{recipe.objective} trains a decoder alone"
            advice = "take preset gpt-tiny or llama-tiny, or set encoder_layers to 0"
            raise ConfigError(f"{where}: [model]", problem, advice=advice)
        _check_positions(spec, recipe, where)


def check_text_to_text(recipe: Recipe, where: str) -> None:
    """A recipe for an encoder and a decoder, published or like those."""
    data, corrupt = recipe.data, recipe.own.corrupt
    if bool(data.texts) and not corrupt:
        raise ConfigError(
            f"{where}: [data]: texts have no answers to learn; give pairs (source, target), or set "
            "text-to-text.corrupt to true, and the texts are learned from by their own holes"
        )
    if corrupt and (data.source or data.tasks):
        raise ConfigError(f"{where}: [text-to-text]", "corrupt learns from texts, not from pairs")
    _refuse_of_start(recipe, where, "preset")
    _refuse_of_translate(recipe, where, "several corpora are data.tasks")
    if recipe.train.start_from is None:
        advice = "take preset t5-tiny, or one of translate"
        spec = _spec_of_both_sides(recipe, where, "text-to-text", advice)
        _check_positions(spec, recipe, where)


def check_images(recipe: Recipe, where: str) -> None:
    """A recipe for an encoder of pictures."""
    if not recipe.data.images:
        raise ConfigError(f"{where}: [data]", "see needs images: a folder, a table, IDX or .npz")
    _refuse_of_start(recipe, where, "preset", "image_size", "patch_size", "channels")
    _refuse_of_translate(recipe, where)
    _refuse_of_objective(recipe, where, "head", "classes", "decoder_layers")
    if recipe.train.start_from is None:
        section = f"{where}: [model]"
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
    _refuse_of_translate(recipe, where)
    _check_positions(_spec_of_both_sides(recipe, where, "parse"), recipe, where)


def check_caption(recipe: Recipe, where: str) -> None:
    """A recipe for pictures on one side and words on the other."""
    section = f"{where}: [model]"
    if not recipe.data.images and not recipe.data.scenes:
        needed = 'scenes = "en", or images: a table of files and captions'
        raise ConfigError(f"{where}: [data]", f"caption needs pictures: {needed}")
    _refuse_of_translate(recipe, where)
    for name in ("image_size", "patch_size", "decoder_layers"):
        if not recipe.model.get(name):
            advice = "for example image_size = 48, patch_size = 6 and decoder_layers = 2"
            raise ConfigError(section, f"{name} is not given", advice=advice)
    spec = _spec_of_both_sides(recipe, where, "caption")
    if recipe.own.names and spec.image_size % 2:
        problem = f"{spec.image_size} pixels cannot be halved for a grid of two by two"
        raise ConfigError(f"{section}: image_size", problem)
    _check_positions(spec, recipe, where)


def check_draw(recipe: Recipe, where: str) -> None:
    """A recipe that learns to draw."""
    if not recipe.data.scenes:
        raise ConfigError(f"{where}: [data]", 'draw needs scenes: "en" or "de"')
    _refuse_of_translate(recipe, where)
    _check_positions(_spec_of_both_sides(recipe, where, "draw"), recipe, where)
