"""Encoder–decoders trained in seconds: T5, FLAN-T5 and Marian folders beside transformers, from
scratch, on several tasks at once, and on texts with holes."""

import json
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
from regard.data.batch import IGNORED
from regard.errors import ConfigError, DataError
from regard.fit.job import code_of
from regard.fit.train import Request
from regard.runs.folder import RunFolder
from regard.runs.log import read_log
from regard.runs.recipe import make_recipe

pytestmark = pytest.mark.end_to_end
STILL = ("model.dropout=0.0", "model.attention_dropout=0.0", "model.ffn_dropout=0.0")
SMALL = (
    "model.preset=t5-tiny", "model.d_model=32", "model.heads=2", "model.ffn_size=64",
    "model.encoder_layers=1", "model.decoder_layers=1", "model.dropout=0.0",
    "tokenizer.kind=words", "tokenizer.size=60",
)  # fmt: skip
GATED = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
START: dict[str, Any] = {
    "t5": folders.t5,
    "flan": lambda folder: folders.t5(folder, **GATED),
    "marian": folders.marian,
}


def sentences(count: int, seed: int = 1) -> list[str]:
    """Three words of the folders' vocabulary."""
    chance = random.Random(seed)
    return [" ".join(chance.choices(folders.WORDS[:9], k=3)) for _ in range(count)]


def reversed_words(text: str) -> str:
    return " ".join(reversed(text.split()))


def write_pairs(path: Path, count: int = 120, seed: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"{text}\t{reversed_words(text)}\n" for text in sentences(count, seed)]
    path.write_text("source\ttarget\n" + "".join(rows))
    return path


def ask(folder: Path, *changes: str, steps: int = 30, tables: dict[str, Any] | None = None) -> Any:
    """A training of the pairs in `folder`; `tables` is another [data]."""
    data = tables or {"source": str(write_pairs(folder / "pairs.tsv")), "validation": 12}
    usual = (
        "train.schedule=constant", "train.rate=0.003", "train.warmup=1", f"train.steps={steps}",
        f"train.validate_every={max(1, steps // 2)}", "train.workers=1", "train.threads=1",
        "train.precision=fp32", "train.label_smoothing=0.0", "train.token_budget=200",
        "train.bleu_sentences=12", "data.max_tokens=40",
    )  # fmt: skip
    return Request(
        tables={"objective": "text-to-text", "data": data},
        assignments=(*usual, *changes),
        folder=folder / "run",
    )


def checks_of(folder: Path) -> list[dict[str, Any]]:
    return [r for r in read_log(folder / "run/log.jsonl") if r["kind"] == "validation"]


def logits_of(twin: Any, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        logits: torch.Tensor = twin(input_ids=source, decoder_input_ids=target).logits
    return logits


@pytest.mark.parametrize("name", START)
def test_thirty_steps_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    """From the same weights, on the same batches, with the same optimizer."""
    start = tmp_path / "start"
    twin = START[name](start)
    # What transformers keeps as it is.
    frozen = ['train.freeze=["output.bias"]'] if name == "marian" else []
    go(ask(tmp_path, f"train.start_from={start}", *STILL, *frozen))
    run = RunFolder(tmp_path / "run")
    recipe = make_recipe(read_own_json(run.recipe), "recipe")
    batches = code_of(recipe).load(run, recipe).batches(0, 0)
    twin.eval()  # nothing is dropped; gradients are the same
    for module in twin.modules():
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None  # or Marian's start token, which is pad, would learn nothing
    optimizer = torch.optim.AdamW(
        twin.parameters(), lr=0.003, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0
    )
    losses = {}
    for step in range(1, 31):
        batch = next(batches)[1]
        labels = batch["target_out"].masked_fill(~batch["target_real"], IGNORED)
        loss = twin(
            input_ids=batch["source"], attention_mask=batch["source_real"].long(), labels=labels
        ).loss  # it shifts the labels itself, and begins with its own start token
        losses[step] = loss.item()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), recipe.train.clip)
        optimizer.step()
    ours = {r["step"]: r["plain_loss"] for r in read_log(run.log) if r["kind"] == "train"}
    assert set(ours) >= {1, 10, 20, 30} and ours[30] < ours[1]
    assert ours == pytest.approx({step: losses[step] for step in ours}, abs=1e-4)


@pytest.mark.parametrize("name", START)
def test_what_was_tuned_opens_in_transformers(name: str, tmp_path: Path) -> None:
    start = tmp_path / "start"
    START[name](start)
    go(ask(tmp_path, f"train.start_from={start}", steps=4))
    model = regard.load(tmp_path / "run", "cpu")
    model.save(tmp_path / "hf", "hf")
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "hf").eval()
    before = transformers.AutoModelForSeq2SeqLM.from_pretrained(start).eval()
    source, target = torch.tensor([[5, 6, 7, 8, 1]]), torch.tensor([[0, 9, 10]])
    expected = logits_of(theirs, source, target)
    assert (model.logits(source, target=target) - expected).abs().max() < 1e-5
    assert (logits_of(before, source, target) - expected).abs().max() > 1e-3
    for key in ("decoder_start_token_id", "eos_token_id", "pad_token_id"):
        assert vars(theirs.generation_config)[key] == vars(before.generation_config)[key]
    assert regard.load(tmp_path / "hf", "cpu").logits(source, target=target).shape[-1] > 100


@pytest.mark.parametrize("name", START)
def test_a_tuned_run_answers_as_its_export_does(name: str, tmp_path: Path) -> None:
    """Start token, end tokens and forbidden words are those of the folder."""
    start = tmp_path / "start"
    START[name](start)
    go(ask(tmp_path, f"train.start_from={start}", steps=20))
    model = regard.load(tmp_path / "run", "cpu")
    assert model.tasks == ("generate", "translate")
    model.save(tmp_path / "hf", "hf")
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "hf").eval()
    text = "the cat sat"
    assert model.tokenizer is not None
    source = torch.tensor([list(model.tokenizer.encode(text).ids)])
    ids = theirs.generate(source, num_beams=1, do_sample=False, max_length=20)[0].tolist()
    answer = model.generate(text, beam=1, max_length=19)
    assert answer == model.tokenizer.decode(ids)
    assert model.translate(text, beam=1, max_length=19) == answer


def test_lora_trains_few_weights_of_a_t5(tmp_path: Path) -> None:
    folders.t5(tmp_path / "start")
    said = go(ask(tmp_path, f"train.start_from={tmp_path / 'start'}", "lora.rank=2", steps=3))
    assert any(line.startswith("LoRA:") for line in said)
    assert regard.load(tmp_path / "run", "cpu").generate("the cat", max_length=5) is not None


@pytest.mark.parametrize("kind", ["two files", "csv", "jsonl", "parquet"])
def test_pairs_are_read_from_any_table(kind: str, tmp_path: Path) -> None:
    texts = sentences(60)
    pairs = [(text, reversed_words(text)) for text in texts]
    file = tmp_path / f"pairs.{kind}"
    tables: dict[str, Any] = {"source": str(file), "validation": 12}
    if kind == "two files":
        for name, column in (("a.txt", 0), ("b.txt", 1)):
            (tmp_path / name).write_text("".join(f"{pair[column]}\n" for pair in pairs))
        tables |= {"source": str(tmp_path / "a.txt"), "target": str(tmp_path / "b.txt")}
    elif kind == "csv":
        rows = "".join(f"{target},{source}\n" for source, target in pairs)
        file.write_text("back,text\n" + rows)
        tables |= {"source_column": "text", "target_column": "back"}
    elif kind == "jsonl":
        rows = (json.dumps({"source": s, "target": t}) for s, t in pairs)
        file.write_text("".join(f"{row}\n" for row in rows))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        table = {"source": [s for s, _ in pairs], "target": [t for _, t in pairs]}
        parquet.write_table(pyarrow.table(table), file)
    go(ask(tmp_path, *SMALL, 'text-to-text.prefix="turn: "', steps=2, tables=tables))
    rows = [json.loads(line) for line in (tmp_path / "run/data/valid.jsonl").open()]
    assert rows and {(row["source"], row["target"]) for row in rows} <= {
        (f"turn: {source}", target) for source, target in pairs
    }


def test_a_model_from_scratch_learns_and_opens_in_transformers(tmp_path: Path) -> None:
    file = write_pairs(tmp_path / "pairs.tsv", count=600)
    learn = ("train.rate=0.01", "train.token_budget=800", "text-to-text.metric=exact")
    go(ask(tmp_path, *SMALL, *learn, steps=200, tables={"source": str(file)}))
    model = regard.load(tmp_path / "run", "cpu")
    checks = checks_of(tmp_path)
    assert checks[-1]["pairs.tsv exact"] == checks[-1]["score"] > 80
    scores = model.evaluate()
    assert [(task.name, task.metric) for task in scores.tasks] == [("pairs.tsv", "exact")]  # type: ignore[union-attr]
    assert model.generate("the cat dog") == "dog cat the"
    model.save(tmp_path / "hf", "hf")
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "hf").eval()
    source, target = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[0, 9, 10]])
    expected = logits_of(theirs, source, target)
    assert (model.logits(source, target=target) - expected).abs().max() < 1e-5
    words = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    assert model.tokenizer is not None
    assert words("the cat sat").input_ids == list(model.tokenizer.encode("the cat sat").ids)


@pytest.mark.parametrize("kind", ["tuned", "holes"])
def test_it_is_resumed_to_the_bit(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders.t5(tmp_path / "start")

    def asked(folder: Path) -> Any:
        if kind == "tuned":
            return ask(folder, f"train.start_from={tmp_path / 'start'}", steps=20)
        (tmp_path / "t.txt").write_text("".join(f"{text}\n" for text in sentences(80)))
        holes = ("text-to-text.corrupt=true", "text-to-text.sentinels=3")
        return ask(folder, *SMALL, *holes, steps=20, tables={"texts": str(tmp_path / "t.txt")})

    go(asked(tmp_path / "one"))
    with monkeypatch.context() as patch:
        go_with_halts(asked(tmp_path / "two"), [3, 13], patch)
    one, two = (digest(tmp_path / name / "run") for name in ("one", "two"))
    assert one == two


@pytest.mark.parametrize(
    ("tables", "error"),
    [
        ({"data": {"texts": "a"}}, "texts have no answers to learn"),
        ({"text-to-text": {"corrupt": True}}, "corrupt learns from texts, not from pairs"),
        ({"model": {"preset": "gpt-tiny"}}, "text-to-text needs an encoder and a decoder"),
        ({"data": {"source": "a", "pair": "b"}}, "text-to-text reads pairs as source and target"),
        ({"data": {"source": "a", "tasks": [{"name": "x", "source": "b"}]}}, "files of their own"),
        ({"data": {"tasks": [{"name": "x", "make": "tag"}]}}, "make needs a phrasebook"),
        ({"data": {"tasks": 2 * [{"name": "x", "source": "b"}]}}, "two have the name"),
        ({"data": {"tasks": [{"name": "x"}]}}, "either source .* or make"),
    ],
)
def test_wrong_recipes_are_named(tables: dict[str, Any], error: str) -> None:
    usual = {
        "objective": "text-to-text",
        "data": {"source": "a", "target": "b"},
        "model": {"preset": "t5-tiny"},
    }
    with pytest.raises(ConfigError, match=error):
        make_recipe({**usual, **tables}, "recipe")


def test_what_cannot_begin_is_refused(tmp_path: Path) -> None:
    folders.gpt2(tmp_path / "gpt2")
    with pytest.raises(ConfigError, match="no model that makes a text of a text"):
        go(ask(tmp_path, f"train.start_from={tmp_path / 'gpt2'}"))
    with pytest.raises(DataError, match="no pair is left to train on"):
        go(ask(tmp_path, *SMALL, "data.max_tokens=2"))
    folders.marian(tmp_path / "marian")
    (tmp_path / "t.txt").write_text("".join(f"{text}\n" for text in sentences(80)))
    corrupt = ("text-to-text.corrupt=true", f"train.start_from={tmp_path / 'marian'}")
    with pytest.raises(ConfigError, match="no signs for holes"):
        go(ask(tmp_path, *corrupt, tables={"texts": str(tmp_path / "t.txt")}))


@pytest.mark.parametrize("further", [False, True])
def test_without_a_recipe_everything_is_chosen(further: bool, tmp_path: Path) -> None:
    changes = ["objective=text-to-text", "train.workers=1", "train.threads=1"]
    if further:
        folders.t5(tmp_path / "start")
        changes += [f"train.start_from={tmp_path / 'start'}"]
    file = write_pairs(tmp_path / "pairs.tsv")
    go(Request(source=file, assignments=(*changes, "train.steps=2"), folder=tmp_path / "run"))
    recipe = read_own_json(tmp_path / "run/recipe.json")
    assert recipe["objective"] == "text-to-text"
    assert recipe["train"]["rate"] == (3e-4 if further else 3e-3)
    assert recipe["model"] == ({} if further else {"preset": "t5-tiny", "dropout": 0.1})


def test_it_is_written_in_other_formats(tmp_path: Path) -> None:
    folders.t5(tmp_path / "start")
    go(ask(tmp_path, f"train.start_from={tmp_path / 'start'}", steps=2))
    model = regard.load(tmp_path / "run", "cpu")
    model.save(tmp_path / "native")
    again = regard.load(tmp_path / "native", "cpu")
    assert again.generate("the cat sat", max_length=6) == model.generate(
        "the cat sat", max_length=6
    )
