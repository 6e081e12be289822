"""What a model may be trained for: one row an objective, with all that is known without torch.

A new objective is a row here and a file in fit/objectives/, which reads its data, computes its loss
and judges it. Nothing else asks which objective it is: recipes, plots, listings and whoever opens
a run take what they need from the row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from regard.checkpoint.files import read_own_json
from regard.errors import CheckpointError, ConfigError
from regard.runs.folder import Run
from regard.runs.sections import DistilSection, Recipe, SimilarSection, spec_of
from regard.untrusted import shown


def check_pairs(recipe: Recipe, where: str) -> None:
    """A recipe that translates."""
    if recipe.data.texts:
        raise ConfigError(f"{where}: [data]: texts are for objectives of an encoder, not translate")
    spec = spec_of(recipe.model, 4000, f"{where}: [model]")  # now, not after an hour of tokenizing
    if not spec.encoder_layers or not spec.decoder_layers:
        raise ConfigError(f"{where}: [model]: translation needs an encoder and a decoder")
    if spec.position_limit is not None and spec.position_limit <= recipe.data.max_tokens:
        raise ConfigError(
            f"{where}: [model]: max_length {spec.position_limit} learned positions cannot hold "
            f"data.max_tokens {recipe.data.max_tokens} and an end; change one of them"
        )


def check_texts(recipe: Recipe, where: str) -> None:
    """A recipe for an encoder."""
    phrasebook = OBJECTIVES[recipe.objective].phrasebook
    if not recipe.data.texts and not (phrasebook and recipe.data.phrasebook):
        needed = "a file, or the phrasebook's English side" if phrasebook else "a file with labels"
        raise ConfigError(f"{where}: [data]: {recipe.objective} needs texts, {needed}")
    start = recipe.train.start_from
    if start is not None and "preset" in recipe.model:
        raise ConfigError(f"{where}: [model]: the model is that of {start}; leave preset out")
    if recipe.train.embeddings is not None or recipe.tokenizer.dropout or recipe.data.more:
        raise ConfigError(
            f"{where}: train.embeddings, tokenizer.dropout and data.more are for translate alone"
        )
    for name in ("head", "classes", "decoder_layers", "image_size"):
        if name in recipe.model:
            raise ConfigError(f"{where}: [model]: {name} follows from the objective; leave it out")
    if start is None:
        spec = spec_of({**recipe.model, "decoder_layers": 0}, 4000, f"{where}: [model]")
        if spec.position_limit is not None and spec.position_limit < recipe.data.max_tokens:
            raise ConfigError(
                f"{where}: [model]: max_length {spec.position_limit} learned positions cannot hold "
                f"data.max_tokens {recipe.data.max_tokens}; change one of them"
            )


@dataclass(frozen=True)
class Objective:
    """One row."""

    name: str
    learned: str  # as the first words of a title
    offers: tuple[str, ...]  # tasks of a trained run; the first is the command to try it with
    head: str  # of the model (model/spec.py)
    module: str = ""  # whose DOERS read its data (fit/job.py); "": of its name in fit/objectives/
    model: Literal["encoder", "encoder-decoder"] = "encoder"
    check: Callable[[Recipe, str], None] = check_texts  # refuse a recipe before its data is read
    unit: str = ""  # of its loss; "" where several things are added up
    scores: Mapping[str, str] = field(default_factory=dict)  # key in the log → name; the best first
    section: type[Any] | None = None  # of a recipe, named as the objective
    needs: Mapping[str, str] = field(default_factory=dict)  # key of a recipe → why
    refuses: Mapping[str, str] = field(default_factory=dict)  # a key that is not as usual → why
    phrasebook: bool = False  # whether an encoder can do with the phrasebook's English side

    def check_recipe(self, recipe: Recipe, where: str) -> None:
        """What can be said about a recipe before its data is read."""
        for needed, keys in ((True, self.needs), (False, self.refuses)):
            for dotted, why in keys.items():
                section, key = dotted.split(".")
                values = vars(recipe)[section]
                is_usual = vars(values)[key] == vars(type(values))[key]  # a field's default
                if is_usual is needed:
                    raise ConfigError(f"{where}: [{section}]: {key}: {why}")
        self.check(recipe, where)


_SHARES = {"accuracy": "accuracy", "f1": "F1"}
OBJECTIVES: dict[str, Objective] = {
    row.name: row
    for row in (
        Objective(
            "translate",
            learned="Translation",
            offers=("translate",),
            head="tokens",
            model="encoder-decoder",
            check=check_pairs,
            unit="nats per token",
            scores={"bleu": "BLEU"},
        ),
        Objective(
            "classify",
            learned="Classification",
            offers=("classify", "embed"),
            head="classes",
            unit="nats per text",
            scores=_SHARES,
        ),
        Objective(
            "fill",
            learned="Filling holes",
            offers=("fill", "embed"),
            head="tokens",
            unit="nats per hidden token",
            scores={"accuracy": "accuracy"},
            phrasebook=True,
        ),
        Objective(
            "tag",
            learned="Tagging",
            offers=("tag", "classify", "embed"),
            head="labels",
            unit="nats per word",
            scores=_SHARES,
            refuses={
                "data.pair": "tag reads one text; leave pair out",
                "data.labels": "tag knows one label a word, not several",
            },
            phrasebook=True,
        ),
        Objective(
            "similar",
            learned="Similarity",
            offers=("embed",),
            head="none",
            scores={"spearman": "Spearman"},
            section=SimilarSection,
            needs={"data.pair": "similar compares two texts; name both columns"},
        ),
        Objective(
            "distil",
            learned="Distillation",
            offers=("classify", "embed"),
            head="classes",
            scores=_SHARES,
            section=DistilSection,
            needs={
                "train.start_from": "distil needs a teacher, a run that classifies or a published "
                "classifier"
            },
            refuses={"data.labels": "distil knows one label a text, not several"},
        ),
    )
}


def objective_of(run: Run) -> Objective:
    """What a run was trained for; those of earlier versions translate."""
    tables = read_own_json(run.recipe) if run.recipe.is_file() else {}
    name = str(tables.get("objective", "translate"))
    if name not in OBJECTIVES:
        raise CheckpointError(
            f"{run.recipe}: objective: got {shown(name)}, expected one of {', '.join(OBJECTIVES)}; "
            "a later version of regard may know it"
        )
    return OBJECTIVES[name]


def score_names() -> dict[str, str]:
    """What validations are judged by: key in the log → name."""
    return {key: name for row in OBJECTIVES.values() for key, name in row.scores.items()}
