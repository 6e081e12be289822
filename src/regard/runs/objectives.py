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
from regard.runs.folder import RunFolder
from regard.runs.objective_sections import (
    AnswerSection,
    CaptionSection,
    ChatSection,
    DistilSection,
    DrawSection,
    ParseSection,
    SeeSection,
    SimilarSection,
    TextToTextSection,
)
from regard.runs.recipe_checks import (
    check_caption,
    check_documents,
    check_draw,
    check_images,
    check_pairs,
    check_parse,
    check_similar,
    check_text_to_text,
    check_texts,
    check_texts_or_phrasebook,
)
from regard.runs.sections import Recipe


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
            check=check_texts_or_phrasebook,
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
            check=check_texts_or_phrasebook,
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
            check=check_texts_or_phrasebook,
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
