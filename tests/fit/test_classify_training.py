"""Classifiers trained in seconds: on BERT, on DistilBERT, and on an encoder of our own."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from click.testing import CliRunner
from sklearn import metrics

import folders
import regard
from folders import fresh
from halting import digest, forget_steps, go, go_with_halts
from refusals import refused
from regard.checkpoint.files import read_own_json
from regard.cli.main import group
from regard.convert.convert import convert
from regard.errors import CheckpointError, ConfigError, DataError, MisuseError
from regard.fit.objectives.classify import f1_macro, f1_micro
from regard.fit.train import Request
from regard.runs.folder import RunFolder, write_own_json
from regard.runs.log import read_log
from regard.runs.recipe import make_recipe
from regard.text.encoder_tokenizer import save_for_encoder
from regard.text.published import load_tokenizer
from regard.text.tokenizer import Tokenizer

ANIMALS, THINGS = ["cat", "dog", "bird"], ["house", "tree", "sea"]
OWN = (
    "model.preset=tiny",
    "model.d_model=32",
    "model.encoder_layers=1",
    "model.heads=2",
    "model.ffn_size=64",
    "model.norm_order=pre",
    "tokenizer.size=320",
)


def sentence(chance: random.Random, word: str) -> str:
    words = [
        word,
        *chance.choices(["the", "red", "blue", "on", "mat", "is"], k=chance.randint(1, 5)),
    ]
    chance.shuffle(words)
    return " ".join(words)


def texts(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """A text is about an animal or a thing; one word says it."""
    chance, rows = random.Random(seed), []
    for _ in range(count):
        word = chance.choice(ANIMALS + THINGS)
        rows.append((sentence(chance, word), "animal" if word in ANIMALS else "thing"))
    return rows


def ask(folder: Path, *changes: str, rows: list[tuple[str, ...]] | None = None) -> Request:
    folder.mkdir(parents=True, exist_ok=True)
    lines = rows or [("text", "label"), *texts(200)]
    (folder / "t.tsv").write_text("".join("\t".join(row) + "\n" for row in lines))
    (folder / "r.toml").write_text(
        'objective = "classify"\n[data]\n'
        f'texts = "{folder}/t.tsv"\nvalidation = 30\n'
        '[train]\nsteps = 80\ntoken_budget = 400\nschedule = "constant"\nrate = 0.002\nwarmup = 5\n'
        'validate_every = 40\nlabel_smoothing = 0.0\nthreads = 1\nworkers = 1\nprecision = "fp32"\n'
    )
    return Request(recipe=folder / "r.toml", assignments=changes, folder=folder / "run")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A trained run on each kind of encoder, made when it is first asked for."""
    root, folders = tmp_path_factory.mktemp("classifiers"), dict[str, Path]()

    def run(name: str) -> Path:
        if name not in folders:
            keys = OWN
            if name != "own":
                keys = (f"train.start_from={fresh(root / name / 'start', name)}",)
            lines = go(ask(root / name, *keys))
            (root / name / "said").write_text("\n".join(lines))
            folders[name] = root / name / "run"
        return folders[name]

    return run


KINDS = ["own", "bert", "distilbert", "roberta"]


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", KINDS)
def test_it_learns_and_is_used_like_a_published_model(
    name: str, runs: Callable[[str], Path]
) -> None:
    run = runs(name)
    model = regard.load(run, device="cpu")
    assert model.tasks == ("classify", "embed")
    best = model.classify("the blue dog is on the mat")
    assert [label.label for label in best] == ["animal", "thing"]
    rows = texts(60, seed=7)
    together = model.classify([text for text, _ in rows])
    right = [best[0].label for best in together]
    assert np.mean([a == b for a, (_, b) in zip(right, rows, strict=True)]) > 0.9
    for (text, _), among in list(zip(rows, together, strict=True))[:5]:  # alone as among others
        alone = {one.label: one.probability for one in model.classify(text)}
        assert alone == pytest.approx({one.label: one.probability for one in among}, abs=1e-5)
    assert model.embed(["the cat", "a dog"]).shape == (2, 32)
    for task in ("translate", "fill"):
        with pytest.raises(MisuseError, match=rf"{task}: .* it offers classify, embed, logits"):
            vars(type(model))[task](model, "a")
    checks = [r for r in read_log(run / "log.jsonl") if r["kind"] == "validation"]
    assert [r["step"] for r in checks] == [40, 80] and checks[-1]["accuracy"] > 0.9


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", KINDS)
def test_the_commands_for_encoders_take_the_run(
    name: str, runs: Callable[[str], Path], tmp_path: Path
) -> None:
    run = str(runs(name))

    def said(*words: str) -> str:
        result = CliRunner().invoke(group, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    (tmp_path / "lines").write_text("the red cat\na dog is on the mat\n")
    said("embed", run, "--file", f"{tmp_path}/lines", "--output", f"{tmp_path}/v.npy")
    a, b = np.load(tmp_path / "v.npy")
    cosine = a @ b / np.sqrt(a @ a * (b @ b))
    assert float(said("similar", run, "the red cat", "a dog is on the mat")) == pytest.approx(
        cosine, abs=1e-3
    )
    for word in ANIMALS + THINGS[:2]:
        (tmp_path / "texts" / f"{word}.txt").parent.mkdir(exist_ok=True)
        (tmp_path / "texts" / f"{word}.txt").write_text(f"the {word} is red\n")
    index = f"{tmp_path}/index"
    said("index", f"{tmp_path}/texts", "--model", run, "--output", index)
    names = [
        json.loads(r)["file"] for r in said("search", index, "the sea", "--json").split("\n")[:2]
    ]
    assert sorted(names) == ["house.txt", "tree.txt"]  # what is no animal, of five
    told = [
        json.loads(said("explain", run, f"the blue {word} is on the mat", "--json"))[0]
        for word in ("dog", "house")
    ]
    assert [each["answer"] for each in told] == ["animal", "thing"]
    for each in told:
        assert [row["word"] for row in each["words"]][2:4] in (["dog", "is"], ["house", "is"])
        whole = sum(row["gradients"] for row in each["words"])
        assert whole == pytest.approx(each["value"] - each["baseline"], abs=0.02)


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", KINDS[1:])
def test_transformers_reads_what_convert_writes(
    name: str, runs: Callable[[str], Path], tmp_path: Path
) -> None:
    convert(runs(name), tmp_path / "hf", "hf")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "hf").eval()
    assert theirs.config.id2label == {0: "animal", 1: "thing"}
    model = regard.load(runs(name), device="cpu")
    for text, _ in texts(5, seed=3):
        with torch.no_grad():
            ids = torch.tensor([model.tokenizer.encode(text).ids])
            expected = theirs(input_ids=ids).logits.softmax(dim=-1)[0]
        shares = {one.label: one.probability for one in model.classify(text)}
        assert [shares["animal"], shares["thing"]] == pytest.approx(expected.tolist(), abs=1e-5)
    again = regard.load(tmp_path / "hf", device="cpu")
    assert again.classify("the cat")[0].label == model.classify("the cat")[0].label


def test_an_encoder_of_our_own_shape_stays_a_run(
    runs: Callable[[str], Path], tmp_path: Path
) -> None:
    with pytest.raises(MisuseError, match="a shape of regard's own"):
        convert(runs("own"), tmp_path / "hf", "hf")
    assert not (tmp_path / "hf").exists()


@pytest.mark.end_to_end
def test_a_start_says_what_is_new_and_takes_the_rest(runs: Callable[[str], Path]) -> None:
    said = (runs("distilbert").parent / "said").read_text()
    assert "from chance: classifier.map.bias, classifier.map.weight, pooler.map.bias" in said
    assert "careful" not in said and "Try: regard classify" in said


@pytest.mark.end_to_end
def test_a_run_can_start_from_a_run(runs: Callable[[str], Path], tmp_path: Path) -> None:
    """Same tokenizer, same head: everything is taken, and a rate of 0 keeps it."""
    lines = go(ask(tmp_path, f"train.start_from={runs('own')}", "train.rate=0.0", "train.steps=2"))
    started = next(line for line in lines if line.startswith("Start:"))
    assert "from chance" not in started
    mine, other = (regard.load(p, device="cpu") for p in (tmp_path / "run", runs("own")))
    assert mine.classify("the red cat") == other.classify("the red cat")


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", ["own", "bert"])
def test_resume_is_exact(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = OWN if name == "own" else (f"train.start_from={fresh(tmp_path / 'start', 'bert')}",)
    keys += ("train.steps=30", "train.validate_every=10")
    go(ask(tmp_path / "straight", *keys))
    go_with_halts(ask(tmp_path / "halted", *keys), [1, 13, 25], monkeypatch)
    assert digest(tmp_path / "halted/run") == digest(tmp_path / "straight/run")


@pytest.mark.end_to_end
def test_a_run_that_lost_its_start_is_not_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = fresh(tmp_path / "start", "bert")
    go(ask(tmp_path, f"train.start_from={start}", "train.steps=20"))
    run = tmp_path / "run"
    forget_steps(RunFolder(run))
    twin = transformers.BertModel.from_pretrained(start)
    twin.embeddings.word_embeddings.weight.data += 1
    twin.save_pretrained(start)
    with pytest.raises(CheckpointError, match="not those that this run began with"):
        go(Request(resume=run))


@pytest.mark.end_to_end
def test_pairs_and_several_labels(tmp_path: Path) -> None:
    """Which of two texts names an animal: both may, or none."""
    chance = random.Random(2)
    rows: list[tuple[str, ...]] = [("text", "other", "label")]
    for _ in range(260):
        words = [chance.choice(ANIMALS + THINGS) for _ in range(2)]
        names = [n for n, w in zip(("first", "second"), words, strict=True) if w in ANIMALS]
        rows.append((*(f"the {word}" for word in words), "|".join(names)))
    keys = ("data.pair=other", "data.labels=several", "train.choose_by=score", "train.steps=160")
    lines = go(ask(tmp_path, *OWN, *keys, "model.segments=2", "train.validate_every=80", rows=rows))
    assert any("F1" in line for line in lines)
    model = regard.load(tmp_path / "run", device="cpu")
    shares = {one.label: one.probability for one in model.classify("the dog", pair="the sea")}
    assert shares["first"] > 0.8 and shares["second"] < 0.2
    both = {one.label: one.probability for one in model.classify("the dog", pair="the cat")}
    assert min(both.values()) > 0.5  # each by itself: they do not add up to 1


def test_f1_is_that_of_scikit_learn() -> None:
    chance = np.random.default_rng(3)
    truth, answers = chance.integers(0, 4, 200), chance.integers(0, 3, 200)
    expected = metrics.f1_score(truth, answers, average="macro")
    f1 = f1_macro(torch.from_numpy(answers), torch.from_numpy(truth), 4)
    assert f1 == pytest.approx(expected)
    truth, answers = chance.random((50, 4)) > 0.6, chance.random((50, 4)) > 0.5
    expected = metrics.f1_score(truth, answers, average="micro")
    f1 = f1_micro(torch.from_numpy(answers), torch.from_numpy(truth))
    assert f1 == pytest.approx(expected)


@pytest.mark.end_to_end
def test_evaluate_prints_accuracy_f1_and_confusions(
    runs: Callable[[str], Path], tmp_path: Path
) -> None:
    rows = [*texts(40, seed=9), ("a mystery", "")]
    rows[0] = (rows[0][0], "thing" if rows[0][1] == "animal" else "animal")  # one is wrong
    file = tmp_path / "dev.tsv"
    file.write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    run = runs("own")
    model = regard.load(run, device="cpu")
    answers = [model.classify(text)[0].label for text, _ in rows[:-1]]
    truth = [label for _, label in rows[:-1]]
    words = ["evaluate", str(run), "--file", str(file)]
    printed = CliRunner().invoke(group, [*words, "--json"], catch_exceptions=False)
    scores = json.loads(printed.stdout)
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(truth, answers))
    assert scores["f1"] == pytest.approx(metrics.f1_score(truth, answers, average="macro"))
    assert scores["confusion"] == metrics.confusion_matrix(truth, answers).tolist()
    assert "no label: 1 line (41)." in printed.stderr
    svg = tmp_path / "c.svg"
    printed = CliRunner().invoke(group, [*words, "--svg", str(svg)], catch_exceptions=False)
    assert f"accuracy {metrics.accuracy_score(truth, answers):8.2%}" in printed.stdout
    assert "texts by their label (rows) and the answer (columns)" in printed.stdout
    assert "animal" in svg.read_text()
    file.write_text("the cat\tanimal\na rose\tplant\n")
    with refused(DataError, problem="labels that training has not seen: 'plant' (1)"):
        CliRunner().invoke(group, words, catch_exceptions=False)


@pytest.mark.end_to_end
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_a_table_is_classified_into_a_table(
    suffix: str, runs: Callable[[str], Path], tmp_path: Path
) -> None:
    source, target = tmp_path / "in.csv", tmp_path / f"out{suffix}"
    source.write_text('id,text,label\n1,"the red\ncat, really",x\n2,,y\n3,"a ""red"" house",z\n')
    words = ["classify", str(runs("own")), "--file", str(source), "--output", str(target)]
    printed = CliRunner().invoke(group, words, catch_exceptions=False)
    assert "empty side: 1 line (2)." in printed.stderr and "2 rows" in printed.stderr
    assert "text = column 2 'text'" in printed.stderr
    if suffix == ".jsonl":
        rows = [json.loads(line) for line in target.read_text().splitlines()]
    else:
        import csv

        divided = "," if suffix == ".csv" else "\t"
        quoting = csv.QUOTE_MINIMAL if suffix == ".csv" else csv.QUOTE_NONE
        with target.open(newline="") as file:
            rows = list(csv.DictReader(file, delimiter=divided, quoting=quoting))
    assert list(rows[0]) == ["id", "text", "label", "predicted_label", "probability"]
    assert [(row["id"], row["label"]) for row in rows] == [("1", "x"), ("3", "z")]
    assert [row["predicted_label"] for row in rows] == ["animal", "thing"]
    first = "the red cat, really" if suffix == ".tsv" else "the red\ncat, really"
    assert [row["text"] for row in rows] == [first, 'a "red" house']
    assert all(0.5 < float(row["probability"]) <= 1 for row in rows)


def test_what_no_classifier_can_learn_from_is_refused(tmp_path: Path) -> None:
    def refused(match: str, rows: list[tuple[str, ...]], *changes: str) -> None:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        with pytest.raises((DataError, MisuseError), match=match):
            go(ask(tmp_path, *OWN, *changes, rows=rows))
        assert not (tmp_path / "run").exists() or not any((tmp_path / "run").iterdir())

    one = [(text, "good") for text, _ in texts(40)]
    refused("every row has the label 'good', a classifier needs two", one)
    refused(r"which column is the label\? .*--label-column", [(t,) for t, _ in texts(40)])
    many = [(text, f"label {n}") for n, (text, _) in enumerate(texts(200))]
    refused("each of the 200 rows has a label of its own in column '2'.*an id perhaps", many)
    refused("180 labels in 200 rows, most of them once", [*many[:180], *many[:20]])
    refused("15 rows: too few", texts(15))
    valid = tmp_path / "v.tsv"
    valid.write_text("the cat\tmineral\n")
    refused(
        r"not seen: 'mineral' \(1\); known are 'animal', 'thing'",
        texts(40),
        f"data.valid_texts={valid}",
    )


def test_recipes_for_encoders_are_checked() -> None:
    base: dict[str, Any] = {"objective": "classify", "data": {"texts": "t.tsv"}}
    cases = [
        ({"objective": "clasify"}, 'objective: got .clasify., expected one of "translate", "text'),
        ({"data": {"phrasebook": "de"}}, "classify needs texts"),
        ({"data": {"texts": "a", "source": "b"}}, "either texts or pairs"),
        ({"model": {"head": "none"}}, "head follows from the objective"),
        ({"model": {"preset": "tiny"}, "train": {"start_from": "x"}}, "leave preset out"),
        ({"model": {"positions": "learned", "max_length": 40}}, "cannot hold data.max_tokens 200"),
        ({"objective": "translate"}, "texts are for objectives of an encoder"),
    ]
    make_recipe(base, "r")
    for changes, message in cases:
        with pytest.raises(ConfigError, match=message):
            make_recipe(base | changes, "r")


def test_only_an_encoder_can_be_started_from(toy_run: Path, tmp_path: Path) -> None:
    with refused(ConfigError, problem="is a run that translates", expected="a published encoder"):
        go(ask(tmp_path, f"train.start_from={toy_run}"))
    folders.gpt2(tmp_path / "gpt2")
    with refused(ConfigError, problem="(gpt2) is no encoder of texts"):
        go(ask(tmp_path, f"train.start_from={tmp_path / 'gpt2'}"))


@pytest.mark.parametrize("kind", ["bytes", "unigram", "merges", "words", "characters"])
def test_our_tokenizer_frames_texts_for_an_encoder(kind: str, tmp_path: Path) -> None:
    tokenizer = Tokenizer.train([text for text, _ in texts(100)], kind, 300)
    save_for_encoder(tokenizer, tmp_path)
    framed = load_tokenizer(tmp_path)
    assert framed is not None and framed.size == tokenizer.size + 1
    special, cat, dog = tokenizer.special, tokenizer.encode("cat"), tokenizer.encode("dog")
    both = framed.encode("cat", "dog")
    assert list(both.ids) == [special.bos, *cat, special.eos, *dog, special.eos]
    assert list(both.segments) == [0] * (len(cat) + 2) + [1] * (len(dog) + 1)
    assert framed.roles["mask"] == tokenizer.size and framed.roles["pad"] == special.pad
    assert tokenizer.size in framed.encode("the <mask> sat").ids


@pytest.mark.end_to_end
def test_labels_that_are_not_those_of_the_head_are_named(
    runs: Callable[[str], Path], tmp_path: Path
) -> None:
    shutil.copytree(runs("own"), tmp_path / "run")
    file = tmp_path / "run/encoder.json"
    write_own_json(file, read_own_json(file) | {"labels": ["animal"]})
    with refused(CheckpointError, problem="got 1 label, the model answers with 2"):
        regard.load(tmp_path / "run", device="cpu").classify("the cat")
