"""The commands of published models: what they print, and what they say when asked wrongly."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

import folders
import regard
from regard.cli.main import COMMANDS, group
from regard.errors import CheckpointError, MisuseError


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("published")
    folders.bert(root / "bert", "MaskedLM")
    folders.bert(root / "classes", "SequenceClassification", id2label=folders.LABELS)
    folders.bert(root / "labels", "TokenClassification", id2label=folders.LABELS)
    for make in (folders.gpt2, folders.t5, folders.marian, folders.vit):
        make(root / make.__name__)
    noise = np.random.default_rng(0).integers(0, 256, (31, 47, 3), dtype=np.uint8)
    Image.fromarray(noise).save(root / "noise.png")
    return root


@pytest.fixture
def run(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(root)

    def invoke(*words: str, input: str | None = None) -> Result:
        return CliRunner().invoke(group, list(words), input=input, catch_exceptions=False)

    return invoke


def answer(result: Result) -> dict[str, object]:
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def test_complete(run: Callable[..., Result]) -> None:
    model = regard.load("gpt2", device="cpu")
    text = model.complete("the cat", max_tokens=9)
    result = run("complete", "gpt2", "the cat", "--max-tokens", "9")
    assert result.stdout == f"the cat{text}\n"
    as_json = run("complete", "gpt2", "the cat", "--max-tokens", "9", "--json")
    assert answer(as_json) == {"prompt": "the cat", "completion": text}
    drawn = ("complete", "gpt2", "--temperature", "1.2", "--top-k", "9", "--seed", "3")
    assert run(*drawn, input="one\n").stdout == run(*drawn, input="one\n").stdout


def test_a_prompt_that_does_not_fit_is_not_printed(run: Callable[..., Result]) -> None:
    result = CliRunner().invoke(group, ["complete", "gpt2", "猫" * 61])
    assert result.exit_code != 0 and "猫" not in result.stdout
    assert isinstance(result.exception, MisuseError) or "so 0 are left" in result.stderr


def test_fill(run: Callable[..., Result]) -> None:
    found = regard.load("bert", device="cpu").fill("the [MASK] sat on [MASK] mat.", top=2)
    result = run("fill", "bert", "the [MASK] sat on [MASK] mat.", "--top", "2")
    lines = result.stdout.splitlines()
    assert [lines[0], lines[3]] == ["mask 1", "mask 2"]
    assert lines[1].split()[:2] == [f"{found[0][0].probability:.4f}", found[0][0].word]
    masks = answer(run("fill", "bert", "a [MASK]", "--json"))["masks"]
    assert isinstance(masks, list) and len(masks) == 1 and len(masks[0]) == 5


def test_evaluate_takes_published_models(run: Callable[..., Result], root: Path) -> None:
    (root / "a.en").write_text("the cat\nthe dog\n")
    (root / "a.de").write_text("die Katze\nder Hund\n")
    (root / "labels.tsv").write_text("the cat\tsad\na dog\tglad\n")
    (root / "texts.txt").write_text("the cat sat\n")
    for name in ("marian", "t5"):
        model = regard.load(name, device="cpu")
        scores = model.evaluate(("a.en", "a.de"))
        files = ("--source", "a.en", "--reference", "a.de", "--json")
        told = answer(run("evaluate", name, *files))
        assert (told["sentences"], told["bleu"], told["chrf"]) == (2, scores.bleu, scores.chrf)
        with pytest.raises(MisuseError, match=f"evaluate: {name} holds no pairs; give some with"):
            run("evaluate", name)
    scores = regard.load("classes", device="cpu").evaluate("labels.tsv")
    told = answer(run("evaluate", "classes", "--file", "labels.tsv", "--json"))
    assert told["accuracy"] == scores.accuracy
    scores = regard.load("bert", device="cpu").evaluate("texts.txt")
    told = answer(run("evaluate", "bert", "--file", "texts.txt", "--json"))
    assert told["pseudo_perplexity"] == pytest.approx(scores.pseudo_perplexity)
    assert "pseudo-perplexity" in scores._repr_html_()
    scores = regard.load("gpt2", device="cpu").evaluate("texts.txt")
    told = answer(run("evaluate", "gpt2", "--file", "texts.txt", "--json"))
    assert told["perplexity"] == pytest.approx(scores.perplexity)


def test_explain_t5_and_marian(run: Callable[..., Result]) -> None:
    for name in ("t5", "marian"):
        call = ("explain", name, "the cat", "--answer", "a dog", "--json")
        found = answer(run(*call))
        assert found["rows"] == ["a", "dog", "</s>"] and found["columns"] == ["the", "cat", "</s>"]
        told = answer(run(*call, "--kind", "decoder", "--layer", "1"))
        start = "<pad>"
        assert told["columns"] == [start, "a", "dog"] and told["layer"] == 1
        text = run(*call[:-1], "--as", "filter", "--kind", "decoder").stdout
        step = "+ the number of each distance: the scores" if name == "t5" else "÷ √d_k = √4"
        assert step in text
        words = run(*call[:-1], "--as", "words", "--points", "2").stdout
        assert words.splitlines()[1].startswith("log p(a dog) = -")


def test_walk_through_every_kind(run: Callable[..., Result]) -> None:
    for name, answered in (("t5", "a dog"), ("marian", "a dog"), ("gpt2", " sat")):
        call = ("walk", name, "the cat", "--kind", "decoder", "--answer", answered, "--no-pager")
        text = run(*call, "--layer", "2", "--head", "3").stdout
        assert "Masked self-attention of the decoder, layer 2, head 3" in text
        assert "The output goes on with" in text
    assert "Logits of the text" in run("walk", "classes", "the cat", "--no-pager").stdout
    sheet = answer(run("walk", "bert", "the", "--pair", "cat", "--word", "4", "--json"))
    assert str(sheet["title"]).endswith("query cat (position 4 of 5)")
    for words, message in (
        (("gpt2", "a", "--kind", "cross"), "this model has decoder self-attention only"),
        (("bert", "a", "--layer", "3"), "the encoder of this model has layers 1 to 2"),
        (("bert", "a", "--answer", "b"), "it puts out no text"),
        (("vit", "a"), "reads images"),
        (("gpt2", "a", "--word", "zebra"), "word: got 'zebra', the text has"),
    ):
        with pytest.raises(MisuseError, match=message):
            run("walk", *words)


def test_generate_and_translate(run: Callable[..., Result]) -> None:
    for command, name in (("generate", "t5"), ("translate", "marian")):
        model = regard.load(name, device="cpu")
        best = model.translations("the cat", beam=3, n_best=2)
        one = run(command, name, input="the cat\n\n")
        text = model.translations("the cat")[0].text
        assert one.stdout == f"{text}\n\n"
        both = run(command, name, "the cat", "--beam", "3", "--n-best", "2")
        assert [float(line.split("\t")[0]) for line in both.stdout.splitlines()] == pytest.approx(
            [b.score for b in best], abs=1e-4
        )
        key = "outputs" if command == "generate" else "translations"
        assert answer(run(command, name, "the cat", "--json"))[key][0]["text"] == text  # type: ignore[index]


def test_classify(run: Callable[..., Result]) -> None:
    best = regard.load("classes", device="cpu").classify("the cat")[0]
    lines = run("classify", "classes", "the cat").stdout.splitlines()
    assert lines[0].split() == [f"{best.probability:.4f}", best.label] and len(lines) == 3
    found = answer(run("classify", "classes", "the cat", "--top", "1", "--json"))
    assert found["labels"] == [{"label": best.label, "probability": best.probability}]
    tokens = run("classify", "labels", "the cat").stdout.splitlines()
    assert [line.split()[-1] for line in tokens] == ["the", "cat"]


def test_see(run: Callable[..., Result]) -> None:
    best = regard.load("vit", device="cpu").see("noise.png")[0]
    lines = run("see", "vit", "noise.png", "--top", "2").stdout.splitlines()
    assert lines[0].split() == [f"{best.probability:.4f}", best.label] and len(lines) == 2
    assert answer(run("see", "vit", "noise.png", "--json"))["file"] == "noise.png"


def test_embed(run: Callable[..., Result], tmp_path: Path) -> None:
    vectors = regard.load("bert", device="cpu").embed(["the cat", "a dog"])
    one, two = vectors
    cosine = float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))
    lines = run("embed", "bert", "the cat", "a dog").stdout.splitlines()
    assert [float(x) for x in lines[0].split()[1:3]] == pytest.approx([1, cosine], abs=1e-4)
    assert lines[1].endswith("a dog")
    assert answer(run("embed", "bert", "the cat", "--json"))["vector"] == pytest.approx(
        one.tolist(), abs=1e-6
    )
    file = tmp_path / "v.npy"
    run("embed", "bert", "--output", str(file), input="the cat\na dog\n")
    assert np.allclose(np.load(file), vectors, atol=1e-6)
    lines = tmp_path / "v.jsonl"
    (tmp_path / "texts.txt").write_text("the cat\n\na dog")
    done = run("embed", "bert", "--file", str(tmp_path / "texts.txt"), "--output", str(lines))
    assert "3 × 20 numbers" in done.stderr and not done.stdout
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [row["text"] for row in rows] == ["the cat", "", "a dog"]
    assert np.allclose([row["vector"] for row in rows[::2]], vectors, atol=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--output", "v.npy", "--json"), "--output or --json, not both"),
        (("a",) * 21, "more than 20 texts"),
        (("a", "--file", "x.txt"), "x.txt: cannot be read"),
        ((), "no text"),
    ],
)
def test_embed_refuses(
    words: tuple[str, ...], message: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    found = CliRunner().invoke(group, ["embed", "bert", *words], input="")
    assert found.exit_code != 0
    assert message in found.output + str(found.exception)
    assert not (root / "v.npy").exists()


@pytest.mark.parametrize("command", ["translate", "score", "embed", "complete"])
def test_an_unknown_family_is_named(command: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "xlnet"}')
    words = [command, str(tmp_path), "a", *(["b"] if command == "score" else [])]
    result = CliRunner().invoke(group, words)
    assert isinstance(result.exception, CheckpointError)
    assert "xlnet" in str(result.exception) and "none of the families" in str(result.exception)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fill", "gpt2", "a"), "fill: gpt2 .*it offers complete, logits"),
        (("complete", "bert", "a"), "complete: bert .*it offers fill, embed, logits"),
        (("see", "bert", "a.png"), "see: bert .*it offers fill"),
        (("translate", "t5", "a"), "translate: t5 .*it offers generate"),
        (("complete", "gpt2", "a", "--seed", "1"), "seed: at temperature 0"),
    ],
)
def test_wrong_tasks_are_named(
    words: tuple[str, ...], message: str, run: Callable[..., Result]
) -> None:
    with pytest.raises(MisuseError, match=message):
        run(*words)


@pytest.mark.parametrize("name", ["complete", "fill", "generate", "classify", "see", "embed"])
def test_help_has_an_example(name: str, run: Callable[..., Result]) -> None:
    shown = run(name, "--help").stdout
    assert name in COMMANDS and f"  regard {name} " in shown and "--json" in shown
