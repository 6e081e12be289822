"""Conversations, of which answers alone are learned: beside transformers, resumed, refused."""

import gzip
import json
import random
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import torch
import transformers

import folders
from halting import digest, go, go_with_halts
from refusals import refused
from regard.checkpoint.files import read_own_json
from regard.data.batch import IGNORED, Batch
from regard.data.store import Store
from regard.errors import ConfigError, DataError
from regard.fit.job import code_of
from regard.fit.train import Request
from regard.runs.chat_section import ChatSection
from regard.runs.folder import RunFolder
from regard.runs.log import read_log
from regard.runs.recipe import make_recipe
from regard.text.chat_template import TEMPLATES
from regard.text.published import load_tokenizer

pytestmark = pytest.mark.end_to_end
SMALL = (
    "model.d_model=32", "model.decoder_layers=2", "model.heads=2", "model.ffn_size=64",
    "model.preset=gpt-tiny", "tokenizer.kind=words", "tokenizer.size=60",
)  # fmt: skip
STILL = ("model.dropout=0.0", "model.attention_dropout=0.0", "model.ffn_dropout=0.0")
JINJA = (  # "plain" for a tokenizer that puts nothing before texts
    "{% for m in messages %}{% if m['role'] == 'user' %}{{ 'User: ' + m['content'] + '\n' }}"
    "{% else %}{{ 'Assistant:' }}{% generation %}{{ ' ' + m['content'] + eos_token }}"
    "{% endgeneration %}{{ '\n' }}{% endif %}{% endfor %}"
)
SOUNDS = {"cat": "purrs", "dog": "barks", "bird": "sings"}


def turns(*contents: str) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {
        "messages": [{"role": roles[n % 2], "content": text} for n, text in enumerate(contents)]
    }


def talks(count: int = 120, seed: int = 1) -> list[dict[str, Any]]:
    """One or two questions each; the second one needs the first."""
    chance = random.Random(seed)
    rows = []
    for number in range(count):
        animal = chance.choice(list(SOUNDS))
        more = ("and it", "the " + animal) if chance.random() < 0.5 else ()
        rows.append(turns(f"a {animal} {number}", SOUNDS[animal], *more))
    return rows


def ask(
    folder: Path, *changes: str, steps: int = 30, rows: list[dict[str, Any]] | str = ""
) -> Request:
    folder.mkdir(parents=True, exist_ok=True)
    text = rows if isinstance(rows, str) and rows else ""
    lines = text or "".join(json.dumps(row) + "\n" for row in rows or talks())
    (folder / "talks.jsonl").write_text(lines)
    recipe = folder / "own.toml"
    recipe.write_text(f'objective = "chat"\n[data]\ntexts = "{folder / "talks.jsonl"}"\n')
    usual = (
        "train.schedule=constant", "train.rate=0.003", "train.warmup=1", f"train.steps={steps}",
        f"train.validate_every={steps // 2}", "train.workers=1", "train.threads=1",
        "train.precision=fp32", "train.label_smoothing=0.0", "train.token_budget=240",
        "data.max_tokens=60",
    )  # fmt: skip
    return Request(recipe, assignments=(*usual, *changes), folder=folder / "run")


def conversations(batch: Batch) -> list[list[int]]:
    """The ids of each in a batch; the last of a row has lost its line break, which teaches none."""
    rows = []
    for ids, documents, real in zip(
        batch["text"], batch["text_documents"], batch["text_real"], strict=True
    ):
        for number in range(int(documents[real].max()) + 1):
            rows.append(ids[real & (documents == number)].tolist())
    return rows


def test_thirty_steps_are_those_of_transformers(tmp_path: Path) -> None:
    """Each conversation alone, with the labels of transformers' own template: -100 elsewhere."""
    start = tmp_path / "start"
    twin = folders.gpt2(start)
    go(ask(tmp_path, f"train.start_from={start}", *STILL))
    tokenizer = transformers.AutoTokenizer.from_pretrained(start)
    labels = {}
    for row in talks():
        whole = tokenizer.apply_chat_template(
            row["messages"],
            chat_template=JINJA,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        ids, mask = whole["input_ids"], whole["assistant_masks"]
        wanted = [i if m else IGNORED for i, m in zip(ids, mask, strict=True)]
        labels[tuple(ids)] = labels[tuple(ids[:-1])] = wanted
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
        nats, count = torch.zeros(()), 0
        for ids in conversations(next(batches)[1]):
            wanted = torch.tensor([labels[tuple(ids)][: len(ids)]])
            answers = int((wanted != IGNORED).sum())
            nats = nats + twin(torch.tensor([ids]), labels=wanted).loss * answers
            count += answers
        losses[step] = float(nats.detach() / count)
        optimizer.zero_grad()
        (nats / count).backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), recipe.train.clip)
        optimizer.step()
    ours = {r["step"]: r["plain_loss"] for r in read_log(run.log) if r["kind"] == "train"}
    assert set(ours) >= {1, 10, 20, 30} and ours[30] < ours[1]
    assert ours == pytest.approx({step: losses[step] for step in ours}, abs=1e-4)


def test_it_is_resumed_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go(ask(tmp_path / "one", *SMALL))
    with monkeypatch.context() as patch:
        go_with_halts(ask(tmp_path / "two", *SMALL), [7, 19], patch)
    one, two = (digest(tmp_path / name / "run") for name in ("one", "two"))
    assert one == two


def test_two_columns_are_questions_and_answers(tmp_path: Path) -> None:
    """The same ids and answers as from messages; gzipped too."""
    pairs = [(f"a {animal} {n}", sound) for n in range(20) for animal, sound in SOUNDS.items()]
    rows = [turns(*pair) for pair in pairs]
    table = "question\tanswer\n" + "".join(f"{q}\t{a}\n" for q, a in pairs)
    (tmp_path / "table.tsv.gz").write_bytes(gzip.compress(table.encode()))
    lines = go(ask(tmp_path / "one", *SMALL, steps=2, rows=rows))
    assert any("60 conversations with 60 answers." in line for line in lines)
    also = f"data.texts={tmp_path / 'table.tsv.gz'}"
    assert any("question" in line for line in go(ask(tmp_path / "two", *SMALL, also, steps=2)))
    for file in ("text.npy", "answer.npy"):
        one, two = (tmp_path / name / "run/data/train" / file for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_a_long_conversation_loses_its_oldest_turns(tmp_path: Path) -> None:
    long = turns(*(f"word {n}" for n in range(40)))
    valid = tmp_path / "valid.jsonl"
    valid.write_text(json.dumps(long) + "\n")
    go(ask(tmp_path, *SMALL, "data.max_tokens=30", f"data.valid_texts={valid}", steps=2))
    tokenizer = load_tokenizer(tmp_path / "run")
    ids = Store.open(tmp_path / "run/data/valid")["text"][0]
    assert tokenizer is not None and 20 < len(ids) <= 30
    assert tokenizer.decode(ids).count("Assistant") == tokenizer.decode(ids).count("User") >= 2
    one, whole = (Store.open(tmp_path / f"run/data/{name}") for name in ("valid", "train"))
    assert len(one) == 1 and len(whole) == len(talks())


GOOD = json.dumps(turns("a cat", "purrs"))


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('{"messages": [{"role": "robot", "content": "Hi."}]}', "role 'robot', expected one of"),
        ('{"messages": [{"role": "user", "content": " "}]}', "content: the text of this user is e"),
        (json.dumps(turns("a cat")), "no message of the assistant: there is no answer to learn"),
        (json.dumps({"messages": []}), "messages: got nothing"),
        ("{", "no JSON"),
        (json.dumps(turns("a cat", "purrs </s>")), "assistant: the text holds </s>"),
        (json.dumps(turns("a cat " * 99, "purrs")), "the last question and its answer have"),
    ],
)
def test_a_wrong_line_is_named(line: str, error: str, tmp_path: Path) -> None:
    rows = "\n".join([*[GOOD] * 60, "", line, *[GOOD] * 60])
    with pytest.raises(DataError, match=rf"talks\.jsonl: line 62: .*{error}"):
        go(ask(tmp_path, *SMALL, "data.max_tokens=30", rows=rows))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("a.csv", "question,answer\na,b\nc,\n" + "a,b\n" * 20, "row 2 of its .*: empty side"),
        ("a.txt", "Hi.\n", "expected conversations, a .jsonl file with messages or a table"),
        ("a.jsonl", "", "holds no conversation|no row is usable"),
    ],
)
def test_a_wrong_file_is_named(name: str, text: str, error: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=error):
        go(ask(tmp_path / "x", *SMALL, f"data.texts={tmp_path / name}"))


def test_templates_of_recipes_are_those_there_are(tmp_path: Path) -> None:
    assert {*get_args(get_type_hints(ChatSection)["template"])} == {"", *TEMPLATES}
    tables = {"objective": "chat", "data": {"texts": "a"}, "model": {"preset": "gpt-tiny"}}
    with refused(ConfigError, subject="template"):
        make_recipe({**tables, "chat": {"template": "chatm"}}, "recipe")
