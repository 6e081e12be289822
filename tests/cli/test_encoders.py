"""`regard similar`, and `regard explain` for encoders: what they print, what they refuse."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import folders
import regard
from regard.cli.main import group


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("encoders")
    folders.bert(root / "bert", "")
    folders.bert(root / "classes", "SequenceClassification", id2label=folders.LABELS)
    folders.gpt2(root / "gpt2")
    (root / "scored.tsv").write_text("the cat\tthe cat\t5\nthe cat\ta dog\t3\nsea\ttwo\t0\n")
    (root / "plain.csv").write_text('the cat,"the cat"\n"a\ndog",sea\n')
    return root


@pytest.fixture
def run(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "100")
    return lambda *words: CliRunner().invoke(group, list(words))


def test_similar(run: Callable[..., Result]) -> None:
    cosine = regard.load("bert", device="cpu").similar("the cat", "a dog")
    assert run("similar", "bert", "the cat", "a dog").stdout == f"{cosine:.4f}\n"
    found = json.loads(run("similar", "bert", "the cat", "a dog", "--json").stdout)
    assert found == {
        "first": "the cat",
        "second": "a dog",
        "cosine": pytest.approx(cosine, abs=1e-6),
    }


def test_similar_of_pairs(run: Callable[..., Result]) -> None:
    pytest.importorskip("scipy")
    lines = run("similar", "bert", "--file", "plain.csv").stdout.splitlines()
    assert lines[0] == "1.0000\tthe cat\tthe cat" and lines[1].endswith("\ta dog\tsea")
    scored = run("similar", "bert", "--file", "scored.tsv").stdout
    assert scored.startswith("3 pairs of scored.tsv\nSpearman ")
    assert "Pearson" in scored and "4 to 5" in scored and "█" in scored
    found = json.loads(run("similar", "bert", "--file", "scored.tsv", "--json").stdout)
    model = regard.load("bert", device="cpu")
    cosines = model.similar(["the cat", "the cat", "sea"], ["the cat", "a dog", "two"])
    assert found["cosines"] == pytest.approx(cosines.tolist(), abs=1e-6)
    order = sorted(range(3), key=lambda n: cosines[n])
    expected = {(2, 1, 0): 1.0, (1, 2, 0): 0.5}[tuple(order)]  # ranks of 3 pairs, by hand
    assert found["spearman"] == pytest.approx(expected)


def test_explain_a_label(run: Callable[..., Result]) -> None:
    result = run("explain", "classes", "the red cat sat")
    best = regard.load("classes", device="cpu").classify("the red cat sat")[0]
    lines = result.stdout.splitlines()
    assert lines[0] == "the red cat sat"
    assert lines[1].startswith(
        f"p({best.label}) = {best.probability:.4f}; with every word as [MASK]"
    )
    assert [line.split()[0] for line in lines[3:7]] == ["the", "red", "cat", "sat"]
    assert "Rank correlation" in result.stdout
    assert lines[-1].startswith(("They disagree", "Both name"))
    (found,) = json.loads(run("explain", "classes", "the red cat sat", "--json").stdout)
    total = sum(word["gradients"] for word in found["words"])
    assert total + found["gap"] == pytest.approx(found["value"] - found["baseline"], abs=1e-5)
    (other,) = json.loads(run("explain", "classes", "a", "--label", "sad", "--json").stdout)
    assert other["answer"] == "sad"


def test_explain_a_match(run: Callable[..., Result]) -> None:
    found = json.loads(
        run("explain", "bert", "the red cat", "--match", "a dog", "--points", "8", "--json").stdout
    )
    assert [one["text"] for one in found] == ["the red cat", "a dog"]
    assert {one["steps"] for one in found} == {8}
    assert run("explain", "bert", "the red cat", "--match", "a dog").stdout.count("cosine = ") == 2


def test_explain_a_continuation(run: Callable[..., Result]) -> None:
    call = ("explain", "gpt2", "the red cat", "--answer", " sat on a mat")
    lines = run(*call).stdout.splitlines()
    assert lines[0] == "the red cat" and lines[1].startswith("log p(sat on a mat) = -")
    assert [line.split()[0] for line in lines[3:6]] == ["the", "red", "cat"]
    (of_one,) = json.loads(run(*call, "--word", "sat", "--points", "4", "--json").stdout)
    assert (of_one["answer"], of_one["quantity"], of_one["steps"]) == ("sat", "log p(sat)", 4)
    (own,) = json.loads(run(*call[:3], "--max-tokens", "2", "--points", "1", "--json").stdout)
    said = regard.load("gpt2", device="cpu").complete("the red cat", max_tokens=2)
    assert own["answer"] == said.strip()


def test_attention_of_every_kind(run: Callable[..., Result], tmp_path: Path) -> None:
    """A heat map of one layer and head: of a decoder with its continuation, of an encoder."""
    call = ("explain", "gpt2", "the red cat", "--answer", " sat", "--layer", "1", "--head", "3")
    found = json.loads(run(*call, "--json").stdout)
    assert found["rows"] == found["columns"] == ["the", "red", "cat", "sat"]
    assert (found["kind"], found["layer"], found["head"]) == ("decoder", 1, 3)
    svg = tmp_path / "map.svg"
    text = run(*call, "--svg", str(svg)).stdout
    assert "the red cat →  sat" in text and "decoder self-attention, layer 1, head 3" in text
    assert "decoder self-attention" in svg.read_text(encoding="utf-8")
    equations = run(*call[:5], "--as", "equation", "--word", "cat").stdout
    assert "cat = " in equations and equations.count(" = ") == 1
    found = json.loads(run("explain", "bert", "the red cat", "--json").stdout)
    assert found["rows"] == ["[CLS]", "the", "red", "cat", "[SEP]"] and found["output"] == ""
    both = json.loads(run("explain", "bert", "the", "--pair", "cat", "--pieces", "--json").stdout)
    assert both["columns"] == ["[CLS]", "the", "[SEP]", "cat", "[SEP]"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("similar", "bert", "a"), "expected FIRST and SECOND"),
        (("similar", "bert", "a", "b", "--file", "plain.csv"), "not both"),
        (("similar", "gpt2", "a", "b"), "does not offer it; it offers complete"),
        (("explain", "bert", "a", "--as", "words"), "offers embed; words account for a label"),
        (("explain", "classes", "a", "--match", "b", "--label", "sad"), "--match compares"),
        (("explain", "classes", "a", "--as", "words", "--head", "1"), "--head: not for --as wor"),
        (("explain", "classes", "a", "--as", "dots", "--match", "b"), "--match: not for --as do"),
        (
            ("explain", "classes", "a", "--layer", "3"),
            "the encoder of this model has layers 1 to 2",
        ),
        (("explain", "classes", "a", "--kind", "cross"), "this model has encoder self-attention"),
        (("explain", "classes", "a", "--word", "a"), "are for models that make text"),
        (("explain", "classes", "a", "--label", "mad"), "expected one of sad, glad, neither"),
        (("explain", "gpt2", "a", "--match", "b"), "--pair, --match and --label are for encoders"),
        (("explain", "gpt2", "a", "--layer", "9"), "the decoder of this model has layers 1 to 2"),
        (("explain", "gpt2", "a", "--kind", "encoder"), "has decoder self-attention only"),
        (("evaluate", "bert", "--file", "plain.csv"), "offers embed; scored are translations"),
    ],
)
def test_refusals(words: tuple[str, ...], message: str, run: Callable[..., Result]) -> None:
    result = run(*words)
    assert result.exit_code != 0
    assert message in result.output + str(result.exception)


def test_a_run_has_no_labels(run: Callable[..., Result], toy_run: Path) -> None:
    result = run("explain", str(toy_run), "The wombat sleeps.", "--label", "sad")
    assert result.exit_code == 2 and "are for encoders" in result.output
