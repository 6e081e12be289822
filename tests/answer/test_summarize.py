"""Summaries: which sentences are taken, how windows are cut, what each kind of model is asked."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sklearn.metrics.pairwise import cosine_similarity

import folders
import regard
from regard.answer.extract import sentence_scores, taken
from regard.answer.summarize import cut_windows, numbered_sentences, read_length
from regard.cli.main import group
from regard.errors import MisuseError

TEXT = (
    "The cat sat on a mat. A bird sat on the tree.\n\nThe red house is\nnot blue. One dog is bad.\n"
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("summaries")
    folders.bert(root / "bert", "")
    folders.gpt2(root / "gpt2")
    folders.vit(root / "vit")
    folders.t5(root / "t5")
    config = json.loads((root / "t5" / "config.json").read_text())
    own = {"prefix": "the cat: ", "num_beams": 2, "max_length": 9}
    config["task_specific_params"] = {"summarization": own}
    folders.bart(root / "bart")
    (root / "t5" / "config.json").write_text(json.dumps(config))
    (root / "text.txt").write_text(TEXT)
    (root / "few").mkdir()
    (root / "few" / "b.md").write_text(TEXT)
    (root / "few" / "a.txt").write_text("One dog is bad.")
    rows = [{"id": 1, "source": ["The cat sat.", "A dog sat."]}, {"id": 2, "source": "One bird."}]
    (root / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (root / "empty.txt").write_text(" \n")
    (root / "binary.bin").write_bytes(b"\x7fELF\x00\x01\xff\xfe")
    (root / "nul.txt").write_bytes(b"a\x00b")
    return root


@pytest.fixture
def run(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(root)
    return lambda *words, **more: CliRunner().invoke(group, ["summarize", *words], **more)


def test_scores_and_redundancy_by_hand() -> None:
    vectors = np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    scores = sentence_scores(vectors, np.array([3.0, 4.0]))
    assert scores == pytest.approx([0.6 + 0.05, 0.6 + 0.025, 0.8])  # 3/5, 3/5, 4/5; 1, 1/2, 0
    assert taken(vectors, scores, lambda chosen: len(chosen) == 2) == [0, 2]
    nearly = np.array([[0.0, 1.0], [0.1, 1.0], [1.0, 0.5]])
    scores = np.array([0.9, 0.8, 0.7])
    # the second is nearly the first: 0.8 - 0.25 · 0.995 < 0.7 - 0.25 · 0.447
    assert taken(nearly, scores, lambda chosen: len(chosen) == 2) == [0, 2]
    assert taken(nearly, scores, lambda chosen: True) == [0]  # never none


def test_sentences_know_their_lines() -> None:
    found = [(one.text, one.line) for one in numbered_sentences(TEXT + "\n * \n")]
    assert found == [
        ("The cat sat on a mat.", 1),
        ("A bird sat on the tree.", 1),
        ("The red house is not blue.", 3),
        ("One dog is bad.", 4),
    ]


def test_windows_hold_whole_sentences() -> None:
    words: Callable[[str], int] = lambda text: len(text.split())  # noqa: E731
    assert cut_windows(["a b", "c d", "e f g h i", "j"], words, 4) == ["a b c d", "e f", "g h i j"]
    assert cut_windows([], words, 4) == []


@pytest.mark.parametrize("length", ["", "0", "long", "-3", "2 lines"])
def test_a_length_is_a_number(length: str) -> None:
    with pytest.raises(MisuseError, match="length"):
        read_length(length)


def test_extracted_scores_are_cosines_with_the_whole(root: Path) -> None:
    model = regard.load(root / "bert", "cpu")
    summary = model.summaries(TEXT, length="2 sentences")
    texts = [one.text for one in summary.sentences]
    whole = cut_windows(texts, lambda t: len(model.tokenizer.encode(t).ids), 23)
    theirs = cosine_similarity(model.embed(texts), model.embed(whole).mean(axis=0)[None])[:, 0]
    assert [one.score for one in summary.sentences] == pytest.approx(
        theirs + 0.05 * np.array([1, 2 / 3, 1 / 3, 0]), abs=1e-5
    )
    assert summary.way == "extracted" and len(summary.taken) == 2
    assert summary.text == " ".join(texts[number - 1] for number in summary.taken)
    assert model.summarize(["One dog is bad.", " "]) == ["One dog is bad.", ""]


def test_t5_is_asked_as_its_config_says(root: Path) -> None:
    model = regard.load(root / "t5", "cpu")
    plain = " ".join(TEXT.split())
    asked = model.generate(f"the cat: {plain}", beam=2, max_length=8)  # theirs counts the start
    assert model.summarize(TEXT) == " ".join(asked.split())
    short = model.summaries(TEXT, length=2)
    assert short.way == "written" and len(model.tokenizer.encode(short.text).ids) <= 12


def test_a_long_text_is_read_in_windows(root: Path) -> None:
    model = regard.load(root / "bart", "cpu")  # reads 64 tokens
    summary = model.summaries(TEXT * 8, length=6)
    assert summary.windows > 3 and summary.text
    assert model.summaries("The cat sat.", length=3).windows == 1


def test_a_decoder_goes_on(root: Path) -> None:
    model = regard.load(root / "gpt2", "cpu", engine="torch")  # no engines are compared
    text = "The cat sat."
    assert model.summaries(text, length=4).way == "continued"
    more = model.complete(f"{text}\n\nTL;DR:", max_tokens=80, stop_text="\n\n")
    summary = model.summaries(text).text
    assert summary and " ".join(more.split()).startswith(summary)


def test_command(run: Callable[..., Result]) -> None:
    done = run("bert", "text.txt", "--sentences", "1")
    assert done.exit_code == 0 and done.stdout.strip() in " ".join(TEXT.split())
    assert "(extracted: 1 of 4 sentences, line " in done.stderr
    found = json.loads(run("bert", "text.txt", "--json").stdout)
    assert found["way"] == "extracted" and [one["line"] for one in found["sentences"]] == [
        1, 1, 3, 4,
    ]  # fmt: skip
    assert sum(one["taken"] for one in found["sentences"]) == len(found["lines"]) == 1
    assert run("bert", input=TEXT).stdout == run("bert", "text.txt").stdout
    scores = run("bert", "--scores", "text.txt").stdout.splitlines()
    assert len(scores) == 4 and sum(line.startswith("*") for line in scores) == 1
    named = run("bert", "few", "text.txt").stdout.splitlines()
    assert [line.split("\t")[0] for line in named] == ["a.txt", "b.md", "text.txt"]
    rows = run("bert", "rows.jsonl", "--text-column", "source", "--sentences", "9").stdout
    assert rows == "rows.jsonl:1\tThe cat sat. A dog sat.\nrows.jsonl:2\tOne bird.\n"
    assert json.loads(run("t5", "text.txt", "--json").stdout)["way"] == "written"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("bert empty.txt", "the document is empty"),
        ("bert binary.bin", "line 1 is not valid UTF-8"),
        ("bert nul.txt", "NUL characters"),
        ("bert text.tx", "did you mean text.txt"),
        ("bert rows.jsonl --text-column txt", "has no column 'txt'"),
        ("bert text.txt --text-column source", "belongs to a table"),
        ("bert text.txt --length soon", "is not a valid integer"),
        ("bert text.txt --length 0", "words or sentences"),
        ("bert text.txt --length 5 --sentences 1", "give one of them"),
        ("t5 text.txt --scores", "only sentences that are extracted"),
        ("vit text.txt", "a sentence encoder"),
    ],
)
def test_refusals(run: Callable[..., Result], words: str, said: str) -> None:
    done = run(*words.split())
    assert done.exit_code and said in f"{done.stderr} {done.exception}"
