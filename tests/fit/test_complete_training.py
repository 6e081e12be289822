"""Decoders trained in seconds: from scratch, on GPT-2 and on Llama, beside transformers."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import folders
import regard
from halting import digest, go, go_with_halts
from regard.checkpoint.files import read_own_json
from regard.convert.convert import convert
from regard.data.batch import IGNORED
from regard.errors import ConfigError, DataError
from regard.fit.job import code_of
from regard.fit.train import Request
from regard.runs.folder import RunFolder
from regard.runs.log import read_log
from regard.runs.recipe import make_recipe

pytestmark = pytest.mark.end_to_end
SMALL = (
    "model.d_model=32", "model.decoder_layers=2", "model.heads=2", "model.ffn_size=64",
    "data.max_tokens=24", "train.token_budget=192", "train.label_smoothing=0.0",
)  # fmt: skip
OWN = (*SMALL, "model.preset=gpt-tiny", "tokenizer.kind=characters", "tokenizer.size=60")


STILL = ("model.dropout=0.0", "model.attention_dropout=0.0", "model.ffn_dropout=0.0")


def story(seed: int = 1, lines: int = 300) -> str:
    """Lines whose second half follows from the first."""
    chance = random.Random(seed)
    pairs = {"cat": "purrs", "dog": "barks", "bird": "sings"}
    words = [chance.choice(list(pairs)) for _ in range(lines)]
    return "".join(f"the {word} {pairs[word]}\n" for word in words)


def ask(folder: Path, *changes: str, steps: int = 60, text: str | None = None) -> Request:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "story.txt").write_text(story() if text is None else text)
    recipe = folder / "own.toml"
    recipe.write_text(f'objective = "complete"\n[data]\ntexts = "{folder / "story.txt"}"\n')
    usual = (
        "train.schedule=constant", "train.rate=0.003", "train.warmup=1", f"train.steps={steps}",
        f"train.validate_every={steps // 2}", "train.workers=1", "train.threads=1",
        "train.precision=fp32",
    )  # fmt: skip
    return Request(recipe, assignments=(*usual, *changes), folder=folder / "run")


@pytest.mark.parametrize(
    "changes",
    [OWN, (*OWN[:-1], "tokenizer.size=40", "model.preset=llama-tiny"),
     (*SMALL, "model.preset=gpt-tiny", "tokenizer.kind=bytes", "tokenizer.size=300")],
    ids=["gpt, characters", "llama, characters", "gpt, bytes"],
)  # fmt: skip
def test_it_learns_and_goes_on_with_a_text(changes: tuple[str, ...], tmp_path: Path) -> None:
    lines = go(ask(tmp_path, *changes, steps=150))
    assert any("in 1 document." in line for line in lines)
    model = regard.load(tmp_path / "run", "cpu")
    assert model.tasks == ("complete",)
    assert model.complete("the dog", max_tokens=6).startswith(" bark")
    assert model.complete("the bird", max_tokens=6).startswith(" sing")
    assert isinstance(model.complete("", max_tokens=3), str)  # a text from its beginning
    checks = [r for r in read_log(tmp_path / "run/log.jsonl") if r["kind"] == "validation"]
    assert checks[-1]["loss"] < 0.7  # at first log 30
    assert checks[-1]["perplexity"] == pytest.approx(2.718281828 ** checks[-1]["loss"], rel=1e-6)


def test_spaces_and_line_breaks_come_back(tmp_path: Path) -> None:
    text = " two  spaces\n\n\tand a tab, end "
    go(ask(tmp_path, *SMALL, "model.preset=gpt-tiny", "tokenizer.size=300", steps=2))
    tokenizer = regard.load(tmp_path / "run", "cpu").tokenizer
    assert tokenizer is not None and tokenizer.decode(tokenizer.encode(text).ids) == text


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_thirty_steps_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    """From the same weights, on the same batches, with the same optimizer."""
    start = tmp_path / "start"
    twin = {"gpt2": folders.gpt2, "llama": folders.llama}[name](start)
    request = ask(tmp_path, *SMALL[4:], f"train.start_from={start}", *STILL, steps=30)
    go(request)
    run = RunFolder(tmp_path / "run")
    recipe = make_recipe(read_own_json(run.recipe), "recipe")
    batches = code_of(recipe).load(run, recipe).batches(0, 0)
    twin.train()
    for module in twin.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    optimizer = torch.optim.Adam(twin.parameters(), lr=0.003, betas=(0.9, 0.98), eps=1e-9)
    losses = {}
    for step in range(1, 31):
        batch = next(batches)[1]
        assert "text_documents" not in batch  # one text: nothing to keep apart
        logits = twin(input_ids=batch["text"]).logits
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), batch["text_labels"].flatten(), ignore_index=IGNORED
        )
        losses[step] = float(loss)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), recipe.train.clip)
        optimizer.step()
    ours = {r["step"]: r["plain_loss"] for r in read_log(run.log) if r["kind"] == "train"}
    assert set(ours) >= {1, 10, 20, 30} and ours[30] < ours[1]
    assert ours == pytest.approx({step: losses[step] for step in ours}, abs=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_what_was_tuned_opens_in_transformers(name: str, tmp_path: Path) -> None:
    start = tmp_path / "start"
    {"gpt2": folders.gpt2, "llama": folders.llama}[name](start)
    go(ask(tmp_path, *SMALL[4:], f"train.start_from={start}", steps=4))
    convert(tmp_path / "run", tmp_path / "hf", "hf")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf").eval()
    ids = torch.tensor([[1, 5, 6, 7, 8]])
    with torch.no_grad():
        expected = theirs(ids).logits
    ours = regard.load(tmp_path / "run", "cpu").logits(ids)
    assert (ours - expected).abs().max() < 1e-5


def test_it_is_resumed_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = story() + "\n"
    go(ask(tmp_path / "one", *OWN, steps=30, text=text))
    with monkeypatch.context() as patch:
        go_with_halts(ask(tmp_path / "two", *OWN, steps=30, text=text), [7, 19], patch)
    one, two = (digest(tmp_path / name / "run") for name in ("one", "two"))
    assert one == two


def test_folders_and_tables_are_documents(tmp_path: Path) -> None:
    texts = [story(n, 20).strip() for n in range(12)]
    (tmp_path / "many").mkdir()
    for number, text in enumerate(texts):
        (tmp_path / "many" / f"{number:02}.txt").write_text(text)
    rows = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (tmp_path / "rows.jsonl").write_text(rows)
    for where in ("many", "rows.jsonl"):
        changes = (f"data.texts={tmp_path / where}", "data.max_characters=10000")
        lines = go(ask(tmp_path / f"run-{where}", *OWN, *changes, steps=2))
        assert any(f"{sum(map(len, texts)):,} characters in 12 documents." in x for x in lines)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "holds no text"),
        ("a", "no text to learn a vocabulary from"),
    ],
)
def test_too_little_text_is_refused(text: str, error: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=error):
        go(ask(tmp_path, *OWN, text=text))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("tables", "error"),
    [
        ({"model": {"preset": "tiny"}}, "complete trains a decoder alone; take preset gpt-tiny"),
        ({"data": {"texts": "a", "pair": "b"}}, "complete reads one text"),
        ({"model": {"preset": "gpt-tiny", "max_length": 8}}, "8 learned positions cannot hold"),
    ],
)
def test_wrong_recipes_are_named(tables: dict[str, Any], error: str) -> None:
    usual = {"objective": "complete", "data": {"texts": "a"}, "model": {"preset": "gpt-tiny"}}
    with pytest.raises(ConfigError, match=error):
        make_recipe({**usual, **tables}, "recipe")


def test_evaluate_adds_up_what_transformers_says(tmp_path: Path) -> None:
    twin = folders.gpt2(tmp_path / "gpt2").eval()
    text = story(3, 40)
    (tmp_path / "new.txt").write_text(text)
    model = regard.load(tmp_path / "gpt2", "cpu")
    assert model.tokenizer is not None
    stream = torch.tensor([*model.tokenizer.encode(text).ids, 0])  # its end is id 0
    nats, width = 0.0, 61
    for first in range(0, len(stream) - 1, width):
        row = stream[first : first + width + 1]
        with torch.no_grad():
            log_p = twin(row[None, :-1]).logits[0].log_softmax(-1)
        nats -= float(log_p.gather(1, row[1:, None]).sum())
    scores = model.evaluate(str(tmp_path / "new.txt"))
    assert vars(scores) == pytest.approx(
        {
            "documents": 1,
            "tokens": len(stream) - 1,
            "words": len(text.split()),
            "bytes": len(text),
            "loss": nats / (len(stream) - 1),
            "perplexity": math.exp(nats / (len(stream) - 1)),
            "bits_per_byte": nats / math.log(2) / len(text),
            "word_perplexity": math.exp(min(50, nats / len(text.split()))),
        },
        rel=1e-5,
    )


def test_a_run_is_evaluated_on_what_it_held_out(tmp_path: Path) -> None:
    go(ask(tmp_path, *OWN, *STILL, steps=8, text="one two three four five six seven " * 60))
    run = RunFolder(tmp_path / "run")
    scores = regard.load(run.folder, "cpu").evaluate()
    validated = [record["loss"] for record in read_log(run.log) if record["kind"] == "validation"]
    assert scores.loss == pytest.approx(min(validated), abs=1e-4)
    assert scores.documents == 1 and scores.bytes == pytest.approx(34 * 6, abs=1)
