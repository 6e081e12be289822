"""What a model may be trained for: one row an objective, with all that is known without torch.

A new objective is a row here and a file in fit/objectives/, which reads its data and judges it;
docs/adding.md walks through one, tests/fit/test_new_objective.py has two to copy. Nothing else asks
which objective it is: recipes, plots, listings and whoever opens a run take what they need from the
row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from regard.checkpoint.files import read_own_json
from regard.errors import CheckpointError, ConfigError
from regard.model.spec import Spec
from regard.runs.caption_section import CaptionSection
from regard.runs.draw_section import DrawSection
from regard.runs.folder import RunFolder
from regard.runs.sections import (
    AnswerSection,
    ChatSection,
    DistilSection,
    Recipe,
    SimilarSection,
    TextToTextSection,
    spec_of,
)
from regard.runs.see_section import SeeSection
from regard.runs.tree_section import ParseSection

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


def _refuse_of_translate(recipe: Recipe, where: str, advice: str = "") -> None:
    """Keys that only objective "translate" has."""
    if recipe.train.embeddings is not None or recipe.tokenizer.dropout or recipe.data.more:
        problem = "train.embeddings, tokenizer.dropout and data.more are for translate alone"
        raise ConfigError(where, problem, advice=advice)


def _check_positions(spec: Spec, recipe: Recipe, where: str) -> None:
    """Learned positions are as many as tokens of a text."""
    if spec.position_limit is not None and spec.position_limit < recipe.data.max_tokens:
        raise ConfigError(
            f"{where}: [model]: max_length {spec.position_limit} learned positions cannot hold "
            f"data.max_tokens {recipe.data.max_tokens}; change one of them"
        )


def check_texts(recipe: Recipe, where: str) -> None:
    """A recipe for an encoder."""
    phrasebook = OBJECTIVES[recipe.objective].phrasebook
    if not recipe.data.texts and not (phrasebook and recipe.data.phrasebook):
        needed = "a file, or the phrasebook's English side" if phrasebook else "a file"
        raise ConfigError(f"{where}: [data]", f"{recipe.objective} needs texts, {needed}")
    start = recipe.train.start_from
    if start is not None and "preset" in recipe.model:
        advice = "leave preset out"
        raise ConfigError(f"{where}: [model]", f"the model is that of {start}", advice=advice)
    _refuse_of_translate(recipe, where)
    for name in ("head", "classes", "decoder_layers", "image_size"):
        if name in recipe.model:
            raise ConfigError(f"{where}: [model]: {name} follows from the objective; leave it out")
    if start is None:
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
    start = recipe.train.start_from
    if start is not None and "preset" in recipe.model:
        raise ConfigError(f"{where}: [model]: the model is that of {start}; leave preset out")
    _refuse_of_translate(recipe, where)
    if start is None:
        spec = spec_of(recipe.model, SOME_VOCABULARY, f"{where}: [model]")
        if spec.encoder_layers or not spec.decoder_layers:
            problem = f"{recipe.objective} trains a decoder alone"
            advice = "take preset gpt-tiny or llama-tiny, or set encoder_layers to 0"
            raise ConfigError(f"{where}: [model]", problem, advice=advice)
        _check_positions(spec, recipe, where)


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
    _refuse_of_translate(recipe, where, "several corpora are data.tasks")
    if start is None:
        spec = spec_of(recipe.model, SOME_VOCABULARY, f"{where}: [model]")
        if not spec.encoder_layers or not spec.decoder_layers:
            problem = "text-to-text needs an encoder and a decoder"
            advice = "take preset t5-tiny, or one of translate"
            raise ConfigError(f"{where}: [model]", problem, advice=advice)
        _check_positions(spec, recipe, where)


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
    _refuse_of_translate(recipe, where)
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
    _refuse_of_translate(recipe, where)
    spec = spec_of(recipe.model, SOME_VOCABULARY, f"{where}: [model]")
    if not spec.encoder_layers or not spec.decoder_layers:
        raise ConfigError(f"{where}: [model]", "parse needs an encoder and a decoder")
    _check_positions(spec, recipe, where)


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
    spec = spec_of(recipe.model, SOME_VOCABULARY, section)
    if not spec.encoder_layers:
        raise ConfigError(section, "caption needs an encoder and a decoder")
    if recipe.own.names and spec.image_size % 2:
        problem = f"{spec.image_size} pixels cannot be halved for a grid of two by two"
        raise ConfigError(f"{section}: image_size", problem)
    _check_positions(spec, recipe, where)


def check_draw(recipe: Recipe, where: str) -> None:
    """A recipe that learns to draw."""
    if not recipe.data.scenes:
        raise ConfigError(f"{where}: [data]", 'draw needs scenes: "en" or "de"')
    _refuse_of_translate(recipe, where)
    spec = spec_of(recipe.model, SOME_VOCABULARY, f"{where}: [model]")
    if not spec.encoder_layers or not spec.decoder_layers:
        raise ConfigError(f"{where}: [model]", "draw needs an encoder and a decoder")
    _check_positions(spec, recipe, where)


@dataclass(frozen=True)
class Score:
    """A number of a validation that runs are judged by."""

    key: str  # in the log
    name: str
    less_is_better: bool = False  # an error; `Validated.score` (fit/job.py) is its negative

    def best(self, values: Sequence[float]) -> float | None:
        """Of several validations; None if there are none."""
        return (min if self.less_is_better else max)(values, default=None)


@dataclass(frozen=True)
class Objective:
    """One row."""

    name: str
    learned: str  # as the first words of a title
    offers: tuple[str, ...]  # tasks of a trained run; the first is the command to try it with
    head: str  # of the model (model/spec.py)
    module: str = ""  # with its CODE (fit/job.py), where it is not the one of fit/objectives/
    model: Literal["encoder", "encoder-decoder", "decoder"] = "encoder"
    own_tokenizer: bool = False  # regard's own, not one in the layout of published folders
    check: Callable[[Recipe, str], None] = check_texts  # refuse a recipe before its data is read
    unit: str = ""  # of its loss; "" where several things are added up
    scores: tuple[Score, ...] = ()  # the first that its log has is what it is judged by
    score_of_several: Score | None = None  # … where several labels may hold (data.labels)
    section: type[Any] | None = None  # of a recipe, named as the objective
    needs: Mapping[str, str] = field(default_factory=dict)  # key of a recipe → why
    refuses: Mapping[str, str] = field(default_factory=dict)  # a key that is not as usual → why
    phrasebook: bool = False  # whether an encoder can do with the phrasebook's English side
    from_texts: bool = False  # whether `regard train --texts` does without a recipe

    def check_recipe(self, recipe: Recipe, where: str) -> None:
        """What can be said about a recipe before its data is read."""
        for needed, keys in ((True, self.needs), (False, self.refuses)):
            for dotted, why in keys.items():
                section, key = dotted.split(".")
                values = vars(recipe)[section]
                is_usual = vars(values)[key] == vars(type(values))[key]  # a field's default
                if is_usual is needed:
                    raise ConfigError(f"{where}: [{section}]: {key}", why)
        self.check(recipe, where)

    def score_in(
        self, checks: Sequence[Mapping[str, Any]], several_labels: bool = False
    ) -> Score | None:
        """What these validations are judged by; None if they have no score."""
        first = (self.score_of_several,) if several_labels and self.score_of_several else ()
        scores = (*first, *self.scores)
        return next((s for s in scores if any(r.get(s.key) is not None for r in checks)), None)


_ACCURACY, _F1 = Score("accuracy", "accuracy"), Score("f1", "F1")
OBJECTIVES: dict[str, Objective] = {
    row.name: row
    for row in (
        Objective(
            "translate",
            learned="Translation",
            offers=("translate",),
            head="tokens",
            model="encoder-decoder",
            own_tokenizer=True,
            check=check_pairs,
            unit="nats per token",
            scores=(Score("bleu", "BLEU"),),
        ),
        Objective(
            "text-to-text",
            learned="Text to text",
            offers=("generate", "translate"),
            head="tokens",
            model="encoder-decoder",
            check=check_text_to_text,
            unit="nats per token",
            scores=(
                Score("score", "mean score"),
                Score("perplexity", "perplexity", less_is_better=True),
            ),
            section=TextToTextSection,
            refuses={"data.pair": "text-to-text reads pairs as source and target"},
        ),
        Objective(
            "complete",
            learned="Completion",
            offers=("complete",),
            head="tokens",
            model="decoder",
            check=check_documents,
            unit="nats per token",
            scores=(Score("perplexity", "perplexity", less_is_better=True),),
            refuses={"data.pair": "complete reads one text; leave pair out"},
        ),
        Objective(
            "chat",
            learned="Conversation",
            offers=("chat", "complete"),
            head="tokens",
            model="decoder",
            check=check_documents,
            unit="nats per token",
            scores=(Score("perplexity", "perplexity", less_is_better=True),),
            section=ChatSection,
        ),
        Objective(
            "classify",
            learned="Classification",
            offers=("classify", "embed"),
            head="classes",
            unit="nats per text",
            scores=(_ACCURACY, _F1),
            score_of_several=_F1,
            from_texts=True,
        ),
        Objective(
            "fill",
            learned="Filling holes",
            offers=("fill", "embed"),
            head="tokens",
            unit="nats per hidden token",
            scores=(_ACCURACY,),
            phrasebook=True,
        ),
        Objective(
            "tag",
            learned="Tagging",
            offers=("tag", "classify", "embed"),
            head="labels",
            unit="nats per word",
            scores=(_ACCURACY, _F1),
            refuses={
                "data.pair": "tag reads one text; leave pair out",
                "data.labels": "tag knows one label a word, not several",
            },
            phrasebook=True,
        ),
        Objective(
            "answer",
            learned="Question answering",
            offers=("answer", "embed"),
            head="spans",
            unit="nats per window",
            scores=(_F1, Score("exact", "exact match")),
            section=AnswerSection,
            refuses={"data.labels": "answer knows any number of right answers already"},
            phrasebook=True,
        ),
        Objective(
            "see",
            learned="Seeing",
            offers=("see",),
            head="classes",
            unit="nats per picture",
            scores=(_ACCURACY, _F1),
            section=SeeSection,
            check=check_images,
            refuses={"data.labels": "see knows one label a picture, not several"},
        ),
        Objective(
            "caption",
            learned="Captions",
            offers=("caption",),
            head="tokens",
            model="encoder-decoder",
            own_tokenizer=True,
            check=check_caption,
            unit="nats per token",
            scores=(Score("exact", "exact"),),
            section=CaptionSection,
            refuses={
                "data.labels": "caption learns sentences, not labels",
                "train.start_from": "caption begins from chance: its words are its own",
            },
        ),
        Objective(
            "parse",
            learned="Parsing",
            offers=("parse",),
            head="tokens",
            model="encoder-decoder",
            check=check_parse,
            unit="nats per sign",
            scores=(_F1, Score("exact", "exact")),
            section=ParseSection,
            refuses={
                "data.pair": "parse reads trees; leave pair out",
                "train.start_from": "parse begins from chance: its signs are its own",
            },
        ),
        Objective(
            "draw",
            learned="Drawing",
            offers=("draw",),
            head="tokens",
            model="encoder-decoder",
            check=check_draw,
            unit="nats per patch",
            scores=(Score("right", "right"),),
            section=DrawSection,
            refuses={
                "data.pair": "draw reads captions; leave pair out",
                "train.start_from": "draw begins from chance: its patches are its own",
            },
        ),
        Objective(
            "similar",
            learned="Similarity",
            offers=("embed",),
            head="none",
            scores=(Score("spearman", "Spearman"),),
            section=SimilarSection,
            check=check_similar,
        ),
        Objective(
            "distil",
            learned="Distillation",
            offers=("classify", "embed"),
            head="classes",
            scores=(_ACCURACY, _F1),
            section=DistilSection,
            needs={
                "train.start_from": "distil needs a teacher, a run that classifies or a published "
                "classifier"
            },
            refuses={"data.labels": "distil knows one label a text, not several"},
        ),
    )
}


def objective_of(run: RunFolder) -> Objective:
    """What a run was trained for; those of earlier versions translate."""
    tables = read_own_json(run.recipe) if run.recipe.is_file() else {}
    name = str(tables.get("objective", "translate"))
    if name not in OBJECTIVES:
        raise CheckpointError(
            f"{run.recipe}: objective",
            got=name,
            expected=f"one of {', '.join(OBJECTIVES)}",
            advice="a later version of regard may know it",
        )
    return OBJECTIVES[name]


def score_of(run: RunFolder, checks: Sequence[Mapping[str, Any]]) -> Score | None:
    """What the validations of a run are judged by; None without a score, or of an objective that
    only a later version knows."""
    tables = read_own_json(run.recipe) if run.recipe.is_file() else {}
    row = OBJECTIVES.get(str(tables.get("objective", "translate")))
    several = tables.get("data", {}).get("labels") == "several"
    return None if row is None else row.score_in(checks, several)
