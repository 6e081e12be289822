"""The tasks of a text-to-text recipe, as pairs to be read any number of times.

    data.tasks                several: each with files, or made of the phrasebook
    data.source, target       one, under the name of its file
    data.phrasebook           one: its translations

Each source has the prefix of its task before it, by which a model tells them apart.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from regard.data.mixture import Portion
from regard.draw.terminal.progress import progress_bar
from regard.prepare.pairs import Corpus, survey_pairs
from regard.prepare.phrase_tasks import TextPair, phrase_pairs
from regard.runs.sections import DataSection, Metric, Recipe, TaskSection

# Answers may be much shorter than what is asked about: only of translations lengths say something.
USUAL_RATIO, ANY_RATIO = DataSection(phrasebook="de").max_ratio, 1e9


@dataclass(frozen=True)
class TaskPairs:
    """One task: the pairs of its files, or those made of the phrasebook of a language."""

    section: TaskSection
    corpus: Corpus | None = None
    language: str = ""
    count: int = 0  # pairs to train on

    def train(self) -> Iterator[TextPair]:
        """Those to learn from."""
        return self._read("train")

    def valid(self) -> Iterator[TextPair]:
        """Those to validate on."""
        return self._read("dev")

    def test(self) -> Iterator[TextPair]:
        """Of the phrasebook, those that neither has seen."""
        return self._read("test")

    def _read(self, split: str) -> Iterator[TextPair]:
        if self.corpus is None:
            pairs = phrase_pairs(self.section.make, self.language, split)
        elif split == "test":
            return
        else:
            pairs = self.corpus.train() if split == "train" else self.corpus.valid()
        for source, target in pairs:
            yield self.section.prefix + source, target


@dataclass(frozen=True)
class KeptTask:
    """A task as a run remembers it; `pairs` of its training store are of it."""

    name: str
    pairs: int
    weight: float
    prefix: str
    metric: Metric
    too_long: int = 0  # pairs that were left out

    @property
    def portion(self) -> Portion:
        """What an epoch shows of it."""
        return Portion(self.name, self.pairs, self.weight)

    def row(self) -> dict[str, object]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class Tasks:
    """All tasks of a recipe (a `Survey`, fit/job.py)."""

    data: DataSection
    tasks: tuple[TaskPairs, ...]

    def lines(self) -> list[str]:
        """What was read, for a person."""
        several = len(self.tasks) > 1
        return [
            f"{task.section.name}: {line}" if several else line
            for task in self.tasks
            if task.corpus is not None
            for line in task.corpus.lines()
        ]


def survey_tasks(recipe: Recipe) -> Tasks:
    """Count and check each of them."""
    data, seed = recipe.data, recipe.train.seed
    sections = data.tasks or (_only_task(recipe),)
    tasks = tuple(_surveyed(data, section, seed) for section in sections)
    if data.tasks:
        return Tasks(replace(data, tasks=tuple(task.section for task in tasks)), tasks)
    corpus = tasks[0].corpus
    if corpus is None:
        return Tasks(data, tasks)
    source, target = corpus.data.source_column, corpus.data.target_column
    return Tasks(replace(data, source_column=source, target_column=target), tasks)


def _only_task(recipe: Recipe) -> TaskSection:
    """The pairs of a recipe that lists no tasks."""
    data, own = recipe.data, recipe.own
    if data.source is None:
        return TaskSection("translate", make="translate", prefix=own.prefix, metric=own.metric)
    return TaskSection(
        data.source.name,
        source=data.source,
        target=data.target,
        valid_source=data.valid_source,
        valid_target=data.valid_target,
        source_column=data.source_column,
        target_column=data.target_column,
        weight=data.weight,
        prefix=own.prefix,
        metric=own.metric,
    )


def _surveyed(data: DataSection, section: TaskSection, seed: int) -> TaskPairs:
    if section.make:
        with progress_bar("reading", None):
            count = sum(1 for _ in phrase_pairs(section.make, data.phrasebook, "train"))
        return TaskPairs(section, language=data.phrasebook, count=count)
    own = DataSection(
        source=section.source,
        target=section.target,
        valid_source=section.valid_source,
        valid_target=section.valid_target,
        source_column=section.source_column,
        target_column=section.target_column,
        documents=data.documents,
        validation=data.validation,
        max_tokens=data.max_tokens,
        max_characters=data.max_characters,
        max_ratio=ANY_RATIO if data.max_ratio == USUAL_RATIO else data.max_ratio,
    )
    corpus = survey_pairs(own, seed)
    section = replace(
        section,
        source_column=corpus.data.source_column,
        target_column=corpus.data.target_column,
    )
    return TaskPairs(section, corpus, count=corpus.report.kept)
