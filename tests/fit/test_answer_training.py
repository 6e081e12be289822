"""Answers to questions, trained in seconds: on BERT, DistilBERT and an own encoder."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from click.testing import CliRunner, Result

import folders
import regard
from halting import go
from regard.answer.answer import own_stride, windows_of
from regard.checkpoint.published import load_published
from regard.cli.main import group
from regard.convert.convert import convert
from regard.data.batch import text_batch
from regard.errors import DataError, MisuseError
from regard.fit.objectives.answer import judge
from regard.fit.train import Request
from regard.runs.log import read_log
from regard.search.index import index_folder
from regard.training.losses import Answering

OWN = (
    "model.preset=tiny",
    "model.d_model=32",
    "model.encoder_layers=2",
    "model.heads=2",
    "model.ffn_size=64",
    "model.norm_order=pre",
    "tokenizer.size=320",
)
FILLER = "one two is not bad. "
ANIMALS, PLACES = ["cat", "dog", "bird"], ["mat", "house", "tree", "sea"]


def articles(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """ "one" asks for the animal, "two" for the place with what it is like, "three" for nothing."""
    chance, paragraphs = random.Random(seed), list[dict[str, Any]]()
    for number in range(count):
        animal, place = chance.choice(ANIMALS), chance.choice(PLACES)
        place = f"{chance.choice(['red', 'blue', 'good'])} {place}"
        first = chance.choice(["", FILLER])
        context = f"{first}the {animal} sat on a {place}."
        asked = {"one": [animal], "two": [place], "three": []}
        if number % 5 == 4:  # a context without any answer
            context, asked = FILLER * 3, {question: [] for question in asked}
        questions = [
            {
                "question": f"{question} is?",
                "is_impossible": not texts,
                "answers": [{"text": t, "answer_start": context.index(t)} for t in texts],
            }
            for question, texts in asked.items()
        ]
        paragraphs.append({"context": context, "qas": questions})
    return [{"title": "animals", "paragraphs": paragraphs}]


def write(file: Path, data: list[dict[str, Any]]) -> Path:
    file.write_text(json.dumps({"version": "v2.0", "data": data}))
    return file


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    root, trained = tmp_path_factory.mktemp("answers"), dict[str, Path]()

    def run(name: str) -> Path:
        if name not in trained:
            folder = root / name
            folder.mkdir()
            write(folder / "q.json", articles(120))
            keys = OWN
            if name != "own":
                keys = (f"train.start_from={folders.fresh(folder / 'start', name)}",)
            (folder / "r.toml").write_text(
                f'objective = "answer"\n[data]\ntexts = "{folder}/q.json"\nvalidation = 30\n'
                'max_tokens = 23\n[train]\nsteps = 240\ntoken_budget = 600\nschedule = "cosine"\n'
                "rate = 0.006\nwarmup = 30\nvalidate_every = 120\nlabel_smoothing = 0.0\n"
                'threads = 1\nworkers = 1\nprecision = "fp32"\n[answer]\nstride = 4\n'
            )
            go(Request(recipe=folder / "r.toml", assignments=keys, folder=folder / "run"))
            trained[name] = folder / "run"
        return trained[name]

    return run


def call(*words: object, **more: Any) -> Result:
    return CliRunner().invoke(group, [str(word) for word in words], catch_exceptions=False, **more)


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", ["own", "bert", "distilbert"])
def test_it_learns_to_point_at_the_answer(name: str, runs: Callable[[str], Path]) -> None:
    model = regard.load(runs(name), device="cpu")
    assert model.tasks == ("answer", "embed")
    text = "the dog sat on a blue house."
    found = model.answer("two is?", text).best
    assert found.text == text[found.start : found.end] == "blue house" and found.line == 1
    assert found.probability is not None and 0.5 < found.probability <= 1
    assert model.answer("three is?", text).best.text == ""
    scores: Any = model.evaluate(write(runs(name).parent / "test.json", articles(40, seed=7)))
    assert scores.f1 > 95 and scores.without == 40 + 2 * 8 and scores.without_right > 90
    checks = [r for r in read_log(runs(name) / "log.jsonl") if r["kind"] == "validation"]
    assert checks[-1]["f1"] > 0.9 and checks[-1]["loss"] < checks[0]["loss"]


@pytest.mark.end_to_end
def test_a_long_context_is_read_by_windows(runs: Callable[[str], Path]) -> None:
    """The answer is the same wherever it stands; one window sees it, the others say nothing."""
    model = regard.load(runs("distilbert"), device="cpu")
    filler = FILLER.strip() + "\n"
    for before in (0, 3, 9):
        text = f"{filler * before}the bird sat on a red mat.\n{filler * (9 - before)}"
        best = model.answer("one is?", text, threshold=1e9).best
        assert (best.text, best.line) == ("bird", before + 1), before
    assert len(windows_of(model, "one is?", text)) > len(windows_of(model, "one is?", text, 8))
    three = model.answer("one is?", text, top=3)
    assert len({(one.start, one.end) for one in three}) == len(three) == 3
    p = [one.probability or 0.0 for one in three]
    assert p == sorted(p, reverse=True) and sum(p) <= 1
    assert model.answer("three is?", text, threshold=1e9).best.text  # no answer never leads so far
    assert model.answer("one is?", text, threshold=-1e9).best.text == ""


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", ["bert", "distilbert"])
def test_transformers_reads_what_convert_writes(
    name: str, runs: Callable[[str], Path], tmp_path: Path
) -> None:
    convert(runs(name), tmp_path / "hf", "hf")
    theirs = transformers.AutoModelForQuestionAnswering.from_pretrained(tmp_path / "hf").eval()
    cut = transformers.BertTokenizerFast(str(tmp_path / "hf/vocab.txt"))
    rows = cut("two is?", "the dog sat on a blue house.", return_tensors="pt")
    keys = ("input_ids", "attention_mask", *(["token_type_ids"] if name == "bert" else []))
    with torch.no_grad():
        out = theirs(**{key: rows[key] for key in keys})
    theirs_logits = torch.stack((out.start_logits, out.end_logits), dim=-1)
    model = regard.load(runs(name), device="cpu")
    segments = rows["token_type_ids"] if name == "bert" else None
    ours = model.logits(rows["input_ids"], segments=segments)
    torch.testing.assert_close(ours, theirs_logits, atol=1e-5, rtol=1e-5)
    published = regard.load(tmp_path / "hf", device="cpu")
    assert (own_stride(model), own_stride(published)) == (4, 128)  # of the recipe; the usual one
    first, second = (
        m.answer("two is?", "a bird sat on a red sea.").best for m in (model, published)
    )
    assert first.text == second.text == "red sea"
    assert first.probability == pytest.approx(second.probability, abs=1e-5)


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_the_loss_is_that_of_transformers_step_by_step(family: str, tmp_path: Path) -> None:
    """Rows of one length: theirs gives a share to padding, which ours leaves out."""
    theirs = folders.bert(tmp_path / "m", "QuestionAnswering", family).eval()
    ours = load_published(tmp_path / "m").eval()
    rows = [[2, 9, 10, 3, 11, 12, 3], [2, 12, 3, 13, 14, 9, 3]]
    batch = text_batch(rows, [4, 3], pad=0).having(
        begin=torch.tensor([4, 0]),
        end=torch.tensor([5, 0]),
        text_context=torch.tensor([[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1, 0]]).bool(),
    )
    kinds = {"token_type_ids": batch["text_segments"]} if family == "bert" else {}
    steps = [torch.optim.SGD(model.parameters(), lr=0.05) for model in (theirs, ours)]
    losses = list[float]()
    for _ in range(4):
        out = theirs(
            input_ids=batch["text"],
            attention_mask=batch["text_real"].long(),
            start_positions=batch["begin"],
            end_positions=batch["end"],
            **kinds,
        )
        loss = Answering()(ours, batch).smoothed / batch.targets
        torch.testing.assert_close(loss, out.loss, atol=1e-5, rtol=1e-4)
        assert judge(ours, [batch]).loss == pytest.approx(float(loss.detach()), abs=1e-5)
        losses.append(float(loss.detach()))
        for step, value in zip(steps, (out.loss, loss), strict=True):
            step.zero_grad()
            value.backward()  # type: ignore[no-untyped-call]
            step.step()
    assert losses[-1] < losses[0]


def test_padding_has_no_share(tmp_path: Path) -> None:
    folders.bert(tmp_path / "m", "QuestionAnswering")
    model = load_published(tmp_path / "m").eval()
    rows, first, places = [[2, 9, 3, 11, 3], [2, 12, 3, 13, 14, 9, 3]], [3, 3], ([3, 4], [3, 5])

    def loss(which: list[int]) -> torch.Tensor:
        batch = text_batch([rows[n] for n in which], [first[n] for n in which], pad=0)
        ends = {"begin": places[0], "end": places[1]}
        tensors = {name: torch.tensor([at[n] for n in which]) for name, at in ends.items()}
        return Answering(0.1)(model, batch.having(**tensors)).smoothed

    torch.testing.assert_close(loss([0, 1]), loss([0]) + loss([1]), atol=1e-5, rtol=1e-5)


@pytest.mark.end_to_end
def test_the_command_shows_where_it_stands(runs: Callable[[str], Path], tmp_path: Path) -> None:
    run, file = runs("distilbert"), tmp_path / "in.txt"
    file.write_text("one two is not bad.\nthe dog sat on a blue house.\n")
    printed = call("answer", run, "two is?", "--context", file).stdout.splitlines()
    first, probability, where = printed[0].split("  ")
    assert (first, where) == ("blue house", f"{file}:2") and 0.5 < float(probability) <= 1
    assert printed[1].strip() == "one two is not bad. the dog sat on a «blue house»."
    piped = call("answer", run, "two is?", "three is?", "--json", input=file.read_text()).stdout
    one, none = map(json.loads, piped.splitlines())
    assert one["answer"] == "blue house" and one["answers"][0]["line"] == 2
    assert none["answer"] is None and 0 < none["no_answer"] <= 1 and none["answers"] == []
    assert call("answer", run, "three is?", "--context", file).stdout.startswith("no answer  ")
    table = tmp_path / "q.csv"
    table.write_text("question,context\ntwo is?,the cat sat on a red sea.\n")
    assert call("answer", run, "-f", table).stdout.startswith("red sea  ")
    (tmp_path / "q.txt").write_text("one is?\ntwo is?\n")
    both = call("answer", run, "-f", tmp_path / "q.txt", "--context", file, "--json").stdout
    assert [json.loads(line)["answer"] for line in both.splitlines()] == ["dog", "blue house"]
    squad = write(tmp_path / "q.json", articles(3))
    assert len(call("answer", run, "-f", squad, "--json").stdout.splitlines()) == 9
    printed = call("evaluate", run, "--file", squad).stdout
    assert "9 questions of" in printed and "3 without: " in printed
    assert "questions of the run's validation questions" in call("evaluate", run).stdout


@pytest.mark.end_to_end
def test_what_cannot_be_answered_is_said(runs: Callable[[str], Path], tmp_path: Path) -> None:
    run, file = runs("distilbert"), tmp_path / "in.txt"
    model = regard.load(run, device="cpu")
    with pytest.raises(MisuseError, match="answer: context: it is empty"):
        model.answer("one is?", " \n")
    with pytest.raises(MisuseError, match="answer: question: it is empty"):
        model.answer(" ", "the cat")
    with pytest.raises(MisuseError, match="the question is 20 tokens too long; half of 23"):
        model.answer("cat " * 30, "the cat")
    with pytest.raises(MisuseError, match="either a context or an index"):
        model.answer("one is?")
    with pytest.raises(MisuseError, match="as many of one as of the other"):
        model.answer(["one is?"], ["a", "b"])
    with pytest.raises(MisuseError, match="answer: top"):
        model.answer("one is?", "the cat", top=0)
    file.write_text("\n")
    with pytest.raises(DataError, match="it holds no text"):
        call("answer", run, "one is?", "--context", file)
    with pytest.raises(DataError, match="cannot be read"):
        call("answer", run, "one is?", "--context", tmp_path / "none.txt")
    assert call("answer", run, "--context", file).exit_code == 2
    assert call("answer", run, "a", "--context", file, "--index", file).exit_code == 2


@pytest.mark.end_to_end
def test_an_index_is_read_where_there_is_no_context(
    runs: Callable[[str], Path], tmp_path: Path
) -> None:
    encoder = folders.fresh(tmp_path / "encoder", "bert")
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "far.txt").write_text(FILLER * 3)
    (texts / "near.txt").write_text("one two is not bad.\n\nthe bird sat on a red mat.\n")
    index_folder(texts, tmp_path / "index", encoder)
    model = regard.load(runs("distilbert"), device="cpu")
    best = model.answer("two is?", index=tmp_path / "index").best
    assert (best.text, best.source, best.line) == ("red mat", "near.txt", 3)
    printed = call("answer", runs("distilbert"), "two is?", "--index", tmp_path / "index").stdout
    assert printed.startswith("red mat  ") and printed.strip().endswith("near.txt:3")


@pytest.mark.end_to_end
def test_words_account_for_an_answer(runs: Callable[[str], Path]) -> None:
    """Explained is s_i + e_j, as the model's own logits have it, and the words add up to it."""
    model = regard.load(runs("distilbert"), device="cpu")
    text = "the dog sat on a blue house."
    account: Any = model.explain("two is?", pair=text)
    assert account.answer == "blue house" and account.words[:2] == ["two", "is"]
    tokenizer: Any = model.tokenizer
    encoded = tokenizer.encode("two is?", text)
    logits = model.logits(list(encoded.ids))[0]
    pieces = tokenizer.pieces(encoded.ids)
    value = logits[pieces.index("blue"), 0] + logits[pieces.index("house"), 1]
    assert account.attribution.value == pytest.approx(float(value), abs=1e-4)
    assert abs(account.attribution.gap) <= 0.02 * abs(account.attribution.difference)
    printed = call("explain", runs("distilbert"), "two is?", "--pair", text).stdout
    assert "begin + end of 'blue house'" in printed
    with pytest.raises(MisuseError, match="a question needs a context"):
        model.explain("two is?")
