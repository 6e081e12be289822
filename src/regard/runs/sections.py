"""A recipe and its sections: every key with its default, and what a section refuses by itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from regard.config import to_tables
from regard.decode.options import DecodingOptions
from regard.errors import ConfigError, shown
from regard.model.presets import preset
from regard.model.spec import BOUNDS, Spec

# What a key may hold: far above every use, and far below what a typo would exhaust a machine with.
# The least of some is not 0 but anything above it (check_above_zero).
MOST_SEED = 2**63 - 1  # the largest that torch, NumPy and JSON all take
MOST_STEPS = 10**12
MOST = 10**9  # of what is no count
DATA = {
    "validation": (1, 10**9),
    "few": (0, 10**6),
    "max_tokens": (1, 10**6),
    "max_characters": (1, 10**8),
    "max_ratio": (1, MOST),
}
MOST_WEIGHT = 1000  # times that an epoch shows a corpus
TRAIN: dict[str, tuple[float, float]] = {
    "steps": (1, MOST_STEPS),
    "minutes": (0, 10**7),  # 19 years
    "token_budget": (1, 10**8),
    "accumulate": (1, 10_000),
    "warmup": (0, MOST_STEPS),
    "factor": (0, 10**60),  # of a rate: even one that overflows ends well
    "rate": (0, MOST),
    "floor": (0, MOST),
    "plateau_patience": (1, 10**9),
    "clip": (0, MOST),
    "validate_every": (0, MOST_STEPS),
    "bleu_sentences": (0, 10**9),
    "patience": (0, 10**9),
    "average": (1, 1000),  # checkpoints, which are all kept
    "seed": (0, MOST_SEED),
    "threads": (0, 1024),
    "workers": (0, 256),  # processes, each with a model of its own
    "loaders": (0, 256),  # threads, each with two batches that wait
    "memory": (0, 10**9),  # MB
}


def check_within(section: object, bounds: Mapping[str, tuple[float, float]]) -> None:
    """Each of these keys, if it is given, lies between its bounds."""
    for name, (least, most) in bounds.items():
        value = vars(section)[name]
        if value is None or least <= value <= most:
            continue
        expected = f"at most {most:,}" if value > most else f"{least} or more"
        raise ConfigError(name, got=value, expected=expected)  # NaN is here too


def check_above_zero(name: str, value: float, most: float = MOST) -> None:
    """A number of a key is above 0."""
    if not 0 < value <= most:
        expected = f"at most {most:,}" if value > most else "a number above 0"
        raise ConfigError(name, got=value, expected=expected)


@dataclass(frozen=True)
class More:
    """A further corpus: its files, how often an epoch shows it, a word before its sources."""

    source: Path
    target: Path | None = None
    weight: float = 1.0
    tag: str = ""
    set: str = ""  # the data set that these files are of

    def __post_init__(self) -> None:
        check_above_zero("weight", self.weight, MOST_WEIGHT)


# How answers are judged (prepare/task_metrics.py), and what the phrasebook has tasks for
# (prepare/phrase_tasks.py).
Metric = Literal["bleu", "exact", "accuracy", "f1", "rouge"]
PhraseTask = Literal["", "translate", "translate-back", "tag", "classify", "ask"]


@dataclass(frozen=True)
class TaskSection:
    """One of the tasks of objective "text-to-text": its pairs, what stands before each source, how
    often an epoch shows it, and how its answers are judged."""

    name: str
    make: PhraseTask = ""  # out of the phrasebook that data.phrasebook names; or files:
    set: str = ""
    source: Path | None = None
    target: Path | None = None
    valid_source: Path | None = None
    valid_target: Path | None = None
    source_column: str = ""
    target_column: str = ""
    prefix: str = ""
    weight: float = 1.0
    metric: Metric = "bleu"

    def __post_init__(self) -> None:
        check_above_zero("weight", self.weight, MOST_WEIGHT)
        if not self.name.strip():
            raise ConfigError("name", "got none", advice="results are printed under it")
        if bool(self.make) == bool(self.source):
            raise ConfigError("expected either source (with target) or make, not both")
        if self.valid_target and not self.valid_source:
            raise ConfigError("valid_target is given without valid_source")


@dataclass(frozen=True)
class DataSection:
    """Where the pairs come from, and which are left out."""

    phrasebook: Literal["", "de", "hi"] = ""
    scenes: Literal["", "en", "de"] = ""  # drawn, with captions in a language: data/scenes
    set: str = ""  # the data set that the files are of; datasets/find.py puts their names in
    source: Path | None = None
    target: Path | None = None
    valid_source: Path | None = None
    valid_target: Path | None = None
    source_column: str = ""
    target_column: str = ""
    weight: float = 1.0
    more: tuple[More, ...] = ()
    tasks: tuple[TaskSection, ...] = ()
    texts: Path | None = None
    valid_texts: Path | None = None
    text: str = ""
    pair: str = ""
    label: str = ""
    labels: Literal["one", "several"] = "one"
    few: int = 0  # rows of each label to learn from, drawn by the seed; 0: all
    mask: float = 0.15
    whole_words: bool = False
    documents: bool = False  # pairs of a document and what is made of it: data/corpus.py
    images: Path | None = None  # pictures with labels: data/images.py
    valid_images: Path | None = None
    image: str = ""
    validation: int = 500
    max_tokens: int = 200
    max_characters: int = 2000
    max_ratio: float = 9.0

    def __post_init__(self) -> None:
        check_within(self, DATA)
        check_above_zero("weight", self.weight, MOST_WEIGHT)
        if self.tasks:
            self._check_tasks()
        elif self.scenes:
            if self.phrasebook or self.source or self.texts or self.images:
                raise ConfigError("scenes are drawn; leave images, texts and pairs out")
        elif not (self.texts or self.images) and bool(self.phrasebook) == bool(self.source):
            raise ConfigError("expected either phrasebook or source (with target), not both")
        if self.texts and (self.phrasebook or self.source):
            raise ConfigError("expected either texts or pairs (phrasebook, source), not both")
        if self.images and (self.texts or self.phrasebook or self.source):
            raise ConfigError("expected either images or texts and pairs, not both")
        if self.valid_images and not self.images:
            raise ConfigError("valid_images is given without images")
        if self.valid_texts and not self.texts:
            raise ConfigError("valid_texts is given without texts")
        if not 0 < self.mask < 1:
            raise ConfigError("mask", got=self.mask, expected="0 < share < 1")
        if self.valid_target and not self.valid_source:
            raise ConfigError("valid_target is given without valid_source")

    def _check_tasks(self) -> None:
        if self.source or self.texts:
            raise ConfigError("tasks have files of their own; leave source and texts out")
        names = [task.name for task in self.tasks]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(f"tasks: two have the name {shown(twice[0])}; give each its own")
        if not self.phrasebook and any(task.make for task in self.tasks):
            raise ConfigError('tasks: make needs a phrasebook; add phrasebook, for example "de"')


@dataclass(frozen=True)
class TokenizerSection:
    """How text becomes ids: one vocabulary for both languages."""

    kind: Literal["bytes", "gpt2", "unigram", "merges", "words", "characters"] = "bytes"
    size: int = 4000
    codes: Path | None = None  # merges that were learned elsewhere: text/merges.py
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_within(self, {"size": (1, BOUNDS["vocabulary"])})
        if not 0 <= self.dropout < 1:
            raise ConfigError("dropout", got=self.dropout, expected="0 ≤ p < 1")
        if self.dropout and self.kind not in ("bytes", "gpt2", "merges"):
            problem = f'BPE-dropout leaves out merges, which kind "{self.kind}" does not have'
            raise ConfigError("dropout", problem, advice='take kind "bytes", or leave it out')
        if self.codes and self.kind != "merges":
            problem = f'a file of merges is of no use to kind "{self.kind}"'
            raise ConfigError("codes", problem, advice='take kind "merges", or leave it out')


# What a recipe means that leaves these keys out and gives no minutes (rates.py has the rest).
STEPS, WARMUP, VALIDATE_EVERY = 100_000, 4000, 1000


@dataclass(frozen=True)
class TrainSection:
    """The optimisation. `steps` None, `warmup` 0, `validate_every` 0: not given."""

    steps: int | None = None
    minutes: float | None = None
    token_budget: int = 4096
    accumulate: int = 1
    schedule: Literal["noam", "cosine", "plateau", "constant"] = "noam"
    warmup: int = 0
    factor: float = 1.0
    rate: float = 1e-3
    floor: float = 0.0
    plateau_factor: float = 0.5
    plateau_patience: int = 3
    label_smoothing: float = 0.1
    clip: float = 1.0
    validate_every: int = 0
    bleu_sentences: int = 200
    patience: int = 10
    average: int = 5
    choose_by: Literal["loss", "score"] = "loss"
    ema: float = 0.0
    embeddings: Path | None = None
    start_from: Path | None = None
    freeze: tuple[str, ...] = ()
    seed: int = 1
    threads: int = 0
    workers: int = 0
    loaders: int = 0
    memory: int | None = None
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    kernels: Literal["fast", "plain"] = "fast"
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"

    def __post_init__(self) -> None:
        check_within(self, TRAIN)
        self._check_schedule()
        if not 0 <= self.ema < 1:
            raise ConfigError("ema", got=self.ema, expected="0 ≤ decay < 1")
        if self.embeddings and self.start_from:
            raise ConfigError("embeddings and start_from both set the embedding; choose one")
        if not 0 <= self.label_smoothing < 1:
            raise ConfigError("label_smoothing", got=self.label_smoothing, expected="0 ≤ ε < 1")

    @property
    def last_step(self) -> int | None:
        """The step that ends the run; None where minutes alone do."""
        return STEPS if self.steps is None and self.minutes is None else self.steps

    def _check_schedule(self) -> None:
        if not 0 < self.plateau_factor < 1:
            raise ConfigError("plateau_factor", got=self.plateau_factor, expected="0 < factor < 1")
        if self.schedule != "noam" and self.floor > self.rate:
            raise ConfigError("floor", f"above the rate {self.rate}", got=self.floor)
        if self.schedule == "plateau" and 0 < self.patience <= self.plateau_patience:
            raise ConfigError(
                f"patience: {self.patience} validations end the run before plateau_patience, "
                f"{self.plateau_patience}, can lower its rate; raise patience, or set it to 0"
            )


@dataclass(frozen=True)
class LoraSection:
    """Small matrices that are trained in place of the model (model/lora.py); rank 0: off."""

    rank: int = 0
    alpha: float = 16.0
    maps: tuple[Literal["query", "key", "value", "output", "inner", "gate", "outer"], ...] = (
        "query",
        "value",
    )

    def __post_init__(self) -> None:
        check_within(self, {"rank": (0, BOUNDS["d_model"])})
        check_above_zero("alpha", self.alpha)
        if not self.maps:
            raise ConfigError("maps", "got none", expected='one or more, e.g. ["query", "value"]')


@dataclass(frozen=True)
class Recipe:
    """A whole experiment."""

    data: DataSection
    tokenizer: TokenizerSection = field(default_factory=TokenizerSection)
    model: Mapping[str, Any] = field(default_factory=dict)  # preset, and fields of Spec
    train: TrainSection = field(default_factory=TrainSection)
    # How the trained model is asked, unless one says otherwise.
    decode: DecodingOptions = field(default_factory=DecodingOptions)
    objective: str = "translate"  # one of runs/objectives.py
    own: Any = None  # the section that is named after the objective, where it has one
    lora: LoraSection = field(default_factory=LoraSection)

    def spec(self, vocabulary: int) -> Spec:
        """The model's spec, once the tokenizer has said how large the vocabulary is."""
        return spec_of(self.model, vocabulary)

    def tables(self) -> dict[str, Any]:
        """As a file has it."""
        tables = to_tables(self)
        own = tables.pop("own")
        return tables if own is None else {**tables, self.objective: own}


def spec_of(model: Mapping[str, Any], vocabulary: int, where: str = "[model]") -> Spec:
    """`preset` and the fields that differ from it, as a spec."""
    changes = dict(model)
    name = changes.pop("preset", "base")
    name = name if isinstance(name, str) else shown(name)
    if "vocabulary" in changes:
        raise ConfigError(where, "vocabulary follows from tokenizer.size", advice="set it there")
    try:
        return preset(name, vocabulary, **changes)
    except ConfigError as error:
        raise error.within(where) from None
