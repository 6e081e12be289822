"""Tables as users have them: no command may read the wrong column, or a row of names, silently."""

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import folders
import toy
from regard.checkpoint.files import read_own_json
from regard.cli.main import group
from regard.errors import DataError, MisuseError

pytestmark = pytest.mark.end_to_end

PLAIN = ("train.threads=1", "train.workers=1", "train.precision=fp32")
ANIMALS, THINGS = ["cat", "dog", "bird"], ["house", "tree", "sea"]


def mail(count: int, seed: int = 1) -> list[tuple[str, str, str]]:
    """Rows of a number, a text about an animal or a thing, and which of them it is."""
    chance, rows = random.Random(seed), []
    for n in range(count):
        word = chance.choice(ANIMALS + THINGS)
        rest = chance.choices(["the", "red", "blue", "on", "mat", "is"], k=chance.randint(2, 6))
        kind = "animal" if word in ANIMALS else "thing"
        rows.append((str(1000 + n), " ".join([*rest, word]), kind))
    return rows


def spreadsheet(path: Path, names: list[str], rows: list[tuple[str, ...]]) -> None:
    """As one that is set to German writes it: a UTF-8 mark, semicolons, Windows line ends."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=";").writerows([names, *rows])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier that was trained in one command, beside its table."""
    root = tmp_path_factory.mktemp("tables")
    folders.bert(root / "bert", "")
    spreadsheet(root / "mail.csv", ["id", "message", "category"], [*mail(200)])
    words = ["train", "--texts", f"{root}/mail.csv", "--run", f"{root}/run", *PLAIN]
    more = ["train.steps=60", "train.rate=0.005"]
    done = CliRunner().invoke(group, [*words, *more], catch_exceptions=False)
    (root / "said").write_text(done.stdout)
    return root


@pytest.fixture
def run(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(root)
    return lambda *words: CliRunner().invoke(group, list(words), catch_exceptions=False)


def test_a_classifier_in_one_command(root: Path, run: Callable[..., Result]) -> None:
    said = (root / "said").read_text()
    assert "text = column 2 'message', label = column 3 'category'." in said
    assert "2 labels: animal " in said and "held out for validation, 2 labels" in said
    assert "Try: regard classify " in said
    recipe = read_own_json(root / "run/recipe.json")
    assert recipe["objective"] == "classify"
    assert (recipe["data"]["text"], recipe["data"]["label"]) == ("message", "category")
    assert run("classify", "run", "the red dog").stdout.split()[1] == "animal"
    assert json.loads(run("evaluate", "run", "--json").stdout)["accuracy"] > 0.9


def test_the_one_command_fine_tunes(root: Path, run: Callable[..., Result]) -> None:
    start = (f"train.start_from={root}/bert", "train.steps=1", "train.warmup=1", *PLAIN)
    said = run("train", "--texts", "mail.csv", "--run", "tuned", *start).stdout
    assert "Model:      bert: " in said and "Start: " in said
    recipe = read_own_json(root / "tuned/recipe.json")
    assert recipe["train"]["rate"] == 5e-5 and recipe["data"]["text"] == "message"


def test_classify_takes_the_runs_column_and_no_row_of_names(
    root: Path, run: Callable[..., Result]
) -> None:
    rows = [(number, "2026-01-05", text) for number, text, _ in mail(9, seed=2)]
    spreadsheet(root / "new.csv", ["id", "text", "message"], rows)  # a `text`, but not its own
    done = run("classify", "run", "--file", "new.csv", "--json")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["text"] for answer in answers] == [text for _, _, text in rows]
    assert done.stderr.strip() == "text = column 3 'message'"
    run("classify", "run", "--file", "new.csv", "--output", "out.csv")
    with (root / "out.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert list(written[0]) == ["id", "text", "message", "label", "probability"]
    assert [(row["id"], row["message"]) for row in written] == [(n, text) for n, _, text in rows]
    right = [kind for _, _, kind in mail(9, seed=2)]
    assert [row["label"] for row in written] == right
    with pytest.raises(MisuseError, match="has no column 'mesage' .*did you mean .message"):
        run("classify", "run", "--file", "new.csv", "--text-column", "mesage")
    assert run("classify", "run", "x", "--text-column", "a").exit_code == 2


def test_train_takes_the_languages_and_not_the_ids(root: Path, run: Callable[..., Result]) -> None:
    rows = [f"{n},{source},{target}" for n, (source, target) in enumerate(toy.pairs(60))]
    (root / "ids.csv").write_text("\n".join(["id,english,german", *rows]) + "\n")
    keys = (*toy.SMALL, "train.steps=1", *PLAIN)
    said = run("train", "--source", "ids.csv", "--run", "pairs", *keys).stdout
    assert "60 lines read, 60 kept" in said
    assert "source = column 2 'english', target = column 3 'german'." in said
    held_out = [json.loads(line) for line in (root / "pairs/data/valid.jsonl").open()]
    assert {(row["source"], row["target"]) for row in held_out} <= {*toy.pairs(60)}
    assert read_own_json(root / "pairs/recipe.json")["data"]["source_column"] == "english"
    backwards = ("--source-column", "german", "--target-column", "2")
    said = run("train", "--source", "ids.csv", *backwards, "--run", "back", *keys).stdout
    assert "source = column 3 'german', target = column 2 'english'." in said
    done = run("translate", "pairs", "--file", "ids.csv", "--engine", "torch", "--max-length", "3")
    assert len(done.stdout.splitlines()) == 60
    assert done.stderr.startswith("source = column 2 'english'")
    scored = run("score", "pairs", "--source", "ids.csv", "--json").stdout.splitlines()
    assert json.loads(scored[0])["target"] == toy.pairs(60)[0][1]


def test_embed_makes_one_vector_a_row(root: Path, run: Callable[..., Result]) -> None:
    rows = mail(12)
    with (root / "breaks.csv").open("w", newline="") as file:
        broken = [(n, f"{text}\nand\nmore", kind) for n, text, kind in rows]
        csv.writer(file).writerows([("id", "message", "category"), *broken])
    done = run("embed", "bert", "--file", "breaks.csv", "--output", "v.npy")
    assert "text = column 2 'message'" in done.stderr
    assert np.load(root / "v.npy").shape[0] == 12
    lines = run("embed", "bert", "--file", "breaks.csv", "--json").stdout.splitlines()
    assert json.loads(lines[0])["text"] == f"{rows[0][1]} and more"
    (root / "lines.txt").write_text("id,message\n1,hello\n")  # no table: each line is a text
    run("embed", "bert", "--file", "lines.txt", "--output", "v.npy")
    assert np.load(root / "v.npy").shape[0] == 2
    (root / "two.tsv").write_text("".join(f"{t} one\t{t} two\n" for _, t, _ in rows))
    with pytest.raises(MisuseError, match=r"which column is the text\? .*--text-column"):
        run("embed", "bert", "--file", "two.tsv", "--output", "v.npy")


REFUSED = [
    (("--text-column", "mesage"), MisuseError, "has no column 'mesage'.*did you mean .message"),
    (("--label-column", "id"), DataError, "each of the 200 rows has a label of its own"),
    (("--label-column", "message"), MisuseError, "which column is the text"),
    (("--text-column", "2", "--label-column", "2"), MisuseError, "both column 2"),
]


@pytest.mark.parametrize(("options", "error", "says"), REFUSED)
def test_what_cannot_be_learned_from_is_refused(
    options: tuple[str, ...], error: type[Exception], says: str, run: Callable[..., Result]
) -> None:
    with pytest.raises(error, match=says):
        run("train", "--texts", "mail.csv", "--run", "refused", *options)


def test_other_tables_are_refused(root: Path, run: Callable[..., Result]) -> None:
    spreadsheet(root / "one.csv", ["text", "label"], [(text, "spam") for _, text, _ in mail(30)])
    with pytest.raises(DataError, match="every row has the label 'spam'.*--label-column"):
        run("train", "--texts", "one.csv")
    with pytest.raises(DataError, match=r"mial\.csv: there is no such file; did you mean mail"):
        run("train", "--texts", "mial.csv")
    with pytest.raises(MisuseError, match="either a recipe .* or own files"):
        run("train", "--texts", "mail.csv", "--source", "mail.csv")
    with pytest.raises(MisuseError, match='objective "tag" takes a recipe'):
        run("train", "--texts", "mail.csv", "objective=tag")
    assert not (root / "runs").exists()
