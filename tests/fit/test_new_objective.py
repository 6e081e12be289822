"""A new objective is one file and one row: how many words a text has, as a class and as a number.

"counts" answers with one of the numbers that it has seen, with the loss, the validation and the
commands of "classify"; "count" estimates, and brings a loss and a validation of its own.

The files are written next to the test and imported by name, as those of fit/objectives/ are, also
by the process of a second worker.
"""

import random
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

import regard
from halting import digest, go, go_with_halts
from refusals import refused
from regard.bundle.labels import read_labels
from regard.checkpoint.files import read_own_json
from regard.cli.main import COMMANDS
from regard.errors import ConfigError, MisuseError
from regard.fit.train import Request
from regard.prepare.encoder_data import load_texts, prepare_texts
from regard.prepare.texts import read_rows, survey_texts
from regard.runs.curves import title_of
from regard.runs.folder import RunFolder
from regard.runs.listing import list_runs
from regard.runs.log import read_log
from regard.runs.objectives import OBJECTIVES, Objective, Score
from regard.runs.recipe import make_recipe
from regard.training.shared import can_share

FILE = '''
"""Count: how many words a text has, as one number; judged by how far off it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from regard.data.batch import Batch
from regard.data.buckets import Numbers
from regard.data.labelled import Labelled
from regard.data.store import FLOAT, Store, StoreRow
from regard.fit.encoder_job import EncoderJob, check, texts_of
from regard.fit.job import ObjectiveCode
from regard.model.transformer import Transformer
from regard.prepare.encoder_data import load_texts, prepare_texts, text_row
from regard.prepare.texts import Texts, read_rows, survey_texts
from regard.runs.folder import RunFolder
from regard.runs.sections import Recipe
from regard.text.published import PublishedTokenizer
from regard.training.label_smoothing import SummedLoss
from regard.training.losses import encoded


@dataclass(frozen=True)
class Counting:
    """(sum over the tokens of their first number - words)²."""

    weight: float = 1.0

    def off(self, model: Transformer, batch: Batch) -> Tensor:
        guessed = (encoded(model, batch)[..., 0] * batch["text_real"]).sum(dim=1)
        return guessed - batch["words"].to(guessed.dtype)

    def __call__(self, model: Transformer, batch: Batch) -> SummedLoss:
        loss = self.weight * self.off(model, batch).square().sum()
        return SummedLoss(loss, loss.detach())


@dataclass(frozen=True)
class Counted:
    loss: float
    error: float

    @property
    def numbers(self) -> dict[str, float | None]:
        return {"mean_error": self.error}

    @property
    def score(self) -> float:
        return -self.error

    def sentence(self) -> str:
        return f"validation loss {self.loss:.4f} · {self.error:.2f} words off"


def survey(recipe: Recipe) -> Texts:
    read = partial(read_rows, labelled=False)
    return survey_texts(recipe.data, recipe.train.seed, "text", read)


def prepare(run: RunFolder, recipe: Recipe, texts: Texts) -> None:
    def encode(tokenizer: PublishedTokenizer, row: Labelled, limit: int) -> StoreRow:
        words = len(row.text.split()) * 1.0
        return {**text_row(tokenizer, row, limit), "words": words}

    prepare_texts(run, recipe, texts, {"words": FLOAT}, encode)


def load(run: RunFolder, recipe: Recipe) -> EncoderJob:
    data, counting = load_texts(run), Counting(recipe.own.weight)

    def make_batch(store: Store, numbers: Numbers, chance: Sequence[int]) -> Batch:
        words = torch.from_numpy(store.numbers["words"][numbers])
        return texts_of(store, numbers, data.pad).having(words=words)

    @torch.inference_mode()
    def judge(model: Transformer, batches: Iterator[Batch], budget: int, quick: bool) -> Counted:
        off = torch.cat([counting.off(model, batch) for batch in batches])
        return Counted(float(off.square().mean()), float(off.abs().mean()))

    return EncoderJob(recipe, data, counting, make_batch, judge)


CODE = ObjectiveCode(check, survey, prepare, load)
'''


AS_CLASS = '''
"""Counts: how many words a text has, as one of the numbers that training has seen."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from regard.data.report import Report
from regard.data.labelled import Labelled
from regard.data.store import ColumnKind
from regard.fit.encoder_job import check
from regard.fit.job import ObjectiveCode
from regard.fit.objectives.classify import labelled_row, load
from regard.prepare.encoder_data import prepare_texts
from regard.prepare.texts import Texts, read_rows, survey_texts
from regard.runs.folder import RunFolder
from regard.runs.sections import DataSection, Recipe


def read_counted(path: Path, data: DataSection, report: Report) -> Iterator[Labelled]:
    for row in read_rows(path, data, report, labelled=False):
        yield replace(row, labels=(str(len(row.text.split())),))


def survey(recipe: Recipe) -> Texts:
    return survey_texts(recipe.data, recipe.train.seed, "text", read_counted)


def prepare(run: RunFolder, recipe: Recipe, texts: Texts) -> None:
    labels = texts.labels
    columns = {"labels": ColumnKind(len(labels))}
    prepare_texts(run, recipe, texts, columns, labelled_row(labels), labels)


CODE = ObjectiveCode(check, survey, prepare, load)
'''


@dataclass(frozen=True)
class CountSection:
    """Of objective "count"."""

    weight: float = 1.0


ROW = Objective(
    "count",
    learned="Counting words",
    offers=("embed",),
    module="count_words",
    head="none",
    unit="words²",
    scores=(Score("mean_error", "words off", less_is_better=True),),
    section=CountSection,
    refuses={"data.pair": "count reads one text; leave pair out"},
)


ROW_AS_CLASS = Objective(
    "counts",
    learned="Counting words",
    offers=("classify", "embed"),
    module="count_as_class",
    head="classes",
    unit="nats per text",
    scores=(Score("accuracy", "accuracy"),),
    from_texts=True,
)


@pytest.fixture(autouse=True)
def objective(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the files and their rows."""
    (tmp_path / "count_words.py").write_text(FILE, encoding="utf-8")
    (tmp_path / "count_as_class.py").write_text(AS_CLASS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for row in (ROW, ROW_AS_CLASS):
        monkeypatch.setitem(OBJECTIVES, row.name, row)


def ask(folder: Path, *changes: str, most: int = 9) -> Request:
    chance = random.Random(1)
    words = ["cat", "dog", "bird", "house", "tree", "sea"]
    texts = [" ".join(chance.choices(words, k=chance.randint(1, most))) for _ in range(300)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "t.txt").write_text("".join(f"{text}\n" for text in texts))
    (folder / "r.toml").write_text(
        f'objective = "count"\n[data]\ntexts = "{folder}/t.txt"\nvalidation = 30\n'
        '[tokenizer]\nkind = "words"\nsize = 50\n'
        '[model]\npreset = "tiny"\nd_model = 32\nencoder_layers = 1\nheads = 2\n'
        'ffn_size = 64\ndropout = 0.0\nnorm_order = "pre"\n'
        '[train]\nsteps = 60\ntoken_budget = 400\nschedule = "constant"\nrate = 0.01\n'
        "warmup = 5\nvalidate_every = 20\nthreads = 1\nworkers = 1\n"
        'precision = "fp32"\n[count]\nweight = 0.5\n'
    )
    return Request(recipe=folder / "r.toml", assignments=changes, folder=folder / "run")


@pytest.mark.end_to_end
def test_it_trains_is_judged_and_is_known_everywhere(tmp_path: Path) -> None:
    said = go(ask(tmp_path / "a"))
    run = RunFolder(tmp_path / "a/run")
    assert any(line.endswith(f'Try: regard embed {run.folder} "…"') for line in said)
    checks = [r for r in read_log(run.log) if r["kind"] == "validation"]
    assert checks[-1]["mean_error"] < 1  # who says 5 of every text is 2.2 off
    assert read_own_json(run.recipe)["count"] == {"weight": 0.5}
    assert title_of(run).startswith("Counting words: t.txt, ")
    (row,) = list_runs(run.folder)
    errors = [r["mean_error"] for r in checks]
    assert (row.score_name, row.score) == ("words off", min(errors)) and min(errors) < max(errors)
    model = regard.load(run.folder, device="cpu")
    assert model.tasks == ("embed",) and model.embed(["cat dog"]).shape == (1, 32)


@pytest.mark.end_to_end
def test_own_texts_need_no_recipe_and_the_run_answers(tmp_path: Path) -> None:
    ask(tmp_path, most=4)
    small = ("tokenizer.kind=words", "tokenizer.size=50", "model.dropout=0.0", "train.rate=0.01")
    alone = ("train.workers=1", "train.threads=1", "train.precision=fp32")
    length = ("train.token_budget=400", "train.validate_every=50")
    asked = ("objective=counts", *small, *alone, *length)
    said = go(Request(texts=tmp_path / "t.txt", assignments=asked, folder=tmp_path / "run"))
    assert any(line.endswith(f'Try: regard classify {tmp_path / "run"} "…"') for line in said)
    model = regard.load(tmp_path / "run", device="cpu")
    texts = ["cat", "dog sea", "house tree cat", "sea cat dog bird"]
    assert [answers[0].label for answers in model.classify(texts)] == ["1", "2", "3", "4"]
    with refused(MisuseError, problem="--texts alone is for classify, counts"):
        go(Request(texts=tmp_path / "t.txt", assignments=("objective=count",)))


@pytest.mark.end_to_end
@pytest.mark.skipif(not can_share(), reason="several workers are for Linux")
def test_another_process_finds_its_loss(tmp_path: Path) -> None:
    go(ask(tmp_path / "a", "train.steps=3", "train.workers=2"))
    assert read_log(tmp_path / "a/run/log.jsonl")[-1]["step"] == 3


@pytest.mark.end_to_end
def test_resume_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = ("train.steps=20", "train.validate_every=10")
    go(ask(tmp_path / "straight", *keys))
    go_with_halts(ask(tmp_path / "halted", *keys), [1, 13], monkeypatch)
    assert digest(tmp_path / "halted/run") == digest(tmp_path / "straight/run")


def test_its_recipe_is_checked() -> None:
    base = {"objective": "count", "data": {"texts": "t.txt"}}
    assert make_recipe(base, "r").own == CountSection()
    with pytest.raises(ConfigError, match=r"\[data\]: pair: count reads one text"):
        make_recipe({**base, "data": {"texts": "t.txt", "pair": "x"}}, "r")
    with pytest.raises(ConfigError, match=r"\[count\].*unknown key .wait.*weight"):
        make_recipe({**base, "count": {"wait": 2.0}}, "r")
    with pytest.raises(ConfigError, match="count needs texts"):
        make_recipe({"objective": "count", "data": {"phrasebook": "de"}}, "r")


def test_a_head_may_have_classes_without_labels(tmp_path: Path) -> None:
    """One number, as of a regression: no label has to be made up for it."""
    ask(tmp_path)
    tables = {"objective": "classify", "data": {"texts": str(tmp_path / "t.txt")}}
    recipe = make_recipe(tables | {"model": {"preset": "tiny"}}, "r")
    texts = survey_texts(recipe.data, 1, "text", partial(read_rows, labelled=False))
    run = RunFolder(tmp_path / "run")
    prepare_texts(run, recipe, texts, {}, classes=1)
    data = load_texts(run)
    assert (data.spec.head, data.spec.classes, data.file.labels) == ("classes", 1, ())
    assert read_labels(run.folder, classes=1).names == ("LABEL_0",)


@pytest.mark.parametrize("row", OBJECTIVES.values(), ids=OBJECTIVES)
def test_what_an_objective_offers_is_a_command_and_a_method(row: Objective) -> None:
    """The end of a training says which command to try."""
    assert row.offers
    for task in row.offers:
        assert task in COMMANDS and callable(getattr(regard.Model, task))
