"""Files that would speak to the terminal: names, labels, words, keys and numbers of a stranger.

Each call is made twice: into a pipe, where no control character comes out at all, and on a
terminal, where colours are regard's own and nothing of the hostile text acts.
"""

import json
import os
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import folders
import library
import toy
from cli.shell import Shell
from regard.printable import printable, printable_name
from regard.search.index import index_folder

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(os.name != "posix", reason="terminals and file names as Unix has them"),
]
# A title, a colour, the second escape, another direction, a step back, the start of the line.
HOSTILE = "pwn\x1b]0;title\x07\x1b[99mcolour\x9b99m\u202eturned\u2066\x08\r\x7f"
ACTING = re.compile(
    "\x1b\\]|\x1b\\[99m|[\x07\x08\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n|\x1b\\[2K)"
)
SPEAKING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
NAME = HOSTILE.replace("/", "")


def test_what_becomes_of_each_character() -> None:
    every = "".join(map(chr, range(0x110000)))
    shown = printable(every)
    assert not SPEAKING.search(shown)
    kept = SPEAKING.sub("", every)
    assert re.sub(r"\\u[0-9a-f]{4}", "", shown) == kept.replace("\\", "\\", 1)
    assert "\t\n" in kept and "\u200d" in kept and "\u200f" in kept  # joiners and marks stay
    value = "a\x1b[31m\x9b\u202e\x7f"
    assert json.loads(printable(json.dumps(value, ensure_ascii=False))) == value
    assert printable_name("a\nb\tc") == "a\\u000ab\\u0009c"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, models: Path, toy_run: Path) -> Path:
    """A folder in which everything that can be named or said is hostile."""
    place = tmp_path_factory.mktemp("hostile")
    for name in ("run", "bert", "gpt2", "vit"):
        (place / name).symlink_to((models / name).resolve())
    (place / "labels").mkdir()
    labels = {0: f"sad{HOSTILE}", 1: f"glad{HOSTILE}", 2: "neither"}
    for kind in ("SequenceClassification", "TokenClassification"):
        folders.bert(place / kind, kind, id2label=labels)
    words = place / "words"
    folders.bert(words, "MaskedLM")
    pieces = (words / "vocab.txt").read_text(encoding="utf-8").split("\n")
    pieces = [p if p[:1] in "[#" or len(p) < 3 else f"{p}\x1b[99m\x9b" for p in pieces]
    (words / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    save_file({f"weight{HOSTILE}": torch.zeros(2)}, place / "names.safetensors", {HOSTILE: HOSTILE})
    (place / f"{NAME}.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{\x1b]0;x}")
    texts = library.write(place / "texts", {f"a{NAME}.txt": f"the cat {HOSTILE} sat.\n"})
    (texts / f"b{NAME}.txt").write_bytes(b"the dog\n\xff\n")
    (texts / f"c.{NAME}").write_bytes(b"x")
    (texts / os.fsdecode(b"d\xff\x9b.txt")).write_bytes(b"the sea\n")
    index_folder(texts, place / "made.index", models / "bert")
    lines = "".join(f"{s} {HOSTILE}\t{t} {HOSTILE}\n" for s, t in toy.pairs(60))
    (place / "pairs.tsv").write_text(lines, encoding="utf-8", newline="\n")
    (place / f"bad{NAME}.tsv").write_text(
        f"{HOSTILE}\n" * 9 + lines, encoding="utf-8", newline="\n"
    )
    (place / "lines.txt").write_text(f"the {HOSTILE}\na cat\n", encoding="utf-8", newline="\n")
    table = f'"text{HOSTILE}","label{HOSTILE}"\n' + f'"the cat {HOSTILE}","{HOSTILE}"\n' * 3
    (place / "table.csv").write_text(table, encoding="utf-8", newline="\n")
    rows = "".join(f'"{s}","{HOSTILE}{i % 3}"\n' for i, (s, _) in enumerate(toy.pairs(90)))
    (place / "labelled.csv").write_text(f'"text","label"\n{rows}', encoding="utf-8", newline="\n")
    (place / "similar.tsv").write_text(f"the {HOSTILE}\ta {HOSTILE}\n", encoding="utf-8")
    escaped = json.dumps(HOSTILE)
    (place / "key.toml").write_text(f"{escaped} = 1\n")
    data = '[data]\nphrasebook = "de"\n'
    (place / "value.toml").write_text(f"{data}[train]\nschedule = {escaped}\n")
    (place / "sheet.toml").write_text(f"words = [{escaped}]\n{escaped} = [[1]]\n")
    config = json.loads((models / "bert/config.json").read_text())
    for name, more in (("family", {"model_type": HOSTILE}), ("kind", {"hidden_act": HOSTILE})):
        (place / name).mkdir()
        (place / name / "config.json").write_text(json.dumps(config | more))
        (place / name / "model.safetensors").write_bytes(
            (models / "bert/model.safetensors").read_bytes()
        )
    run = place / "runs" / f"run{NAME}"
    run.mkdir(parents=True)
    for file in toy_run.iterdir():
        if file.is_file():
            (run / file.name).write_bytes(file.read_bytes())
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**info, "state": HOSTILE, "machine": HOSTILE}))
    golden = {"format": HOSTILE, "weights": HOSTILE}
    (place / "golden.json").write_text(json.dumps(golden))
    (place / f"image{NAME}.png").write_bytes(b"\x89PNG")
    return place


STEP = ["train.steps=1"]
ENCODER = [each for each in toy.SMALL if "decoder" not in each and "bleu" not in each]
CALLS: dict[str, list[str]] = {
    "no command": [HOSTILE],
    "no option": ["translate", "run", f"--{HOSTILE}"],
    "no model": ["translate", HOSTILE, "a"],
    "tensors": ["doctor", "names.safetensors", "--tensors"],
    "tensors json": ["doctor", "names.safetensors", "--json", "--tensors"],
    "header": ["doctor", f"{NAME}.safetensors"],
    "a family": ["doctor", "family"],
    "a setting": ["embed", "kind", "the cat"],
    "another setting": ["convert", "family", "out", "--to", "native"],
    "labels": ["classify", "SequenceClassification", "the cat"],
    "labels json": ["classify", "SequenceClassification", "the cat", "--json"],
    "rows": ["classify", "SequenceClassification", "--file", "table.csv"],
    "columns": ["classify", "SequenceClassification", "--file", "table.csv", "--text-column", "x"],
    "tags": ["tag", "TokenClassification", "the cat"],
    "pieces": ["fill", "words", "the [MASK] sat pwn"],
    "cosines": ["embed", "bert", "--file", "lines.txt"],
    "vectors": ["embed", "bert", "--file", "lines.txt", "--json"],
    "a table of vectors": ["embed", "bert", "--file", "table.csv"],
    "pairs": ["similar", "bert", "--file", "similar.tsv"],
    "an index": ["index", "texts", "--model", "bert", "--output", "new.index"],
    "an index json": ["index", "texts", "--model", "bert", "--output", "other.index", "--json"],
    "passages": ["search", "made.index", "cat"],
    "keywords": ["search", "made.index", "sea", "cat", "--mode", "keyword"],
    "passages json": ["search", "made.index", "cat", "--json"],
    "no index": ["search", NAME, "cat"],
    "a key": ["train", "key.toml"],
    "a value": ["train", "value.toml"],
    "no recipe": ["train", f"{NAME}.toml"],
    "an override": ["train", "demo", f"train.{HOSTILE}=1"],
    "another override": ["train", "demo", f"train.schedule={HOSTILE}"],
    "a corpus": ["train", "--source", f"bad{NAME}.tsv", "--run", f"r1{NAME}", *STEP, *toy.SMALL],
    "classes": ["train", "--texts", "labelled.csv", "--run", "r2", *STEP, *ENCODER],
    "runs": ["runs", "runs"],
    "runs json": ["runs", "runs", "--json"],
    "plots": ["plot", "run", f"runs/run{NAME}"],
    "scores": ["score", "run", "--source", "pairs.tsv", "--json"],
    "words": ["explain", "run", f"red {HOSTILE} cat"],
    "an equation": ["explain", "run", f"red {HOSTILE} cat", "--as", "equation"],
    "a filter": ["explain", "run", f"red {HOSTILE} cat", "--as", "filter"],
    "dots": ["explain", "run", f"red {HOSTILE} cat", "--as", "dots"],
    "no word": ["explain", "run", "red cat", "--as", "equation", "--word", HOSTILE],
    "a classifier": ["explain", "SequenceClassification", f"the cat {HOSTILE} sat"],
    "no label": ["explain", "SequenceClassification", "the cat", "--label", HOSTILE],
    "numbers": ["walk", "run", f"red {HOSTILE}", "--no-pager"],
    "a sheet": ["walk", "--matrices", "sheet.toml"],
    "an evaluation": ["evaluate", "SequenceClassification", "--file", "labelled.csv"],
    "golden": ["verify", "bert", "--golden", "golden.json"],
    "an image": ["see", "vit", f"image{NAME}.png"],
    "no image": ["see", "vit", f"{NAME}.png"],
    "a folder of data": ["data", "multi30k", "--from", NAME],
    "no data set": ["data", HOSTILE],
    "a slice": ["phrasebook", "--sample", "--slice", HOSTILE],
    "a device": ["embed", "bert", "a", "--device", HOSTILE],
    "an output": ["embed", "bert", "a", "--output", NAME],
    "a picture": ["positions", "--svg", f"{NAME}.svg"],
    "no file": ["translate", "run", "--engine", "torch", "--file", NAME],
    "a completion": ["complete", "gpt2", f"the {HOSTILE}", "--max-tokens", "2"],
    "a completion json": ["complete", "gpt2", f"the {HOSTILE}", "--max-tokens", "2", "--json"],
}  # fmt: skip
OWN_TEXT = {"a completion"}  # what a model wrote: in a pipe it stays as it is


@pytest.mark.parametrize("call", CALLS)
def test_nothing_that_a_file_says_acts(call: str, shell: Shell, hostile: Path) -> None:
    piped = shell(*CALLS[call], cwd=hostile)
    assert "Traceback" not in piped.err, piped.err
    if call not in OWN_TEXT:
        assert not SPEAKING.search(piped.out), repr(SPEAKING.search(piped.out))
    assert not SPEAKING.search(piped.err)
    for name in ("new.index", "other.index", f"r1{NAME}", "r2"):
        if (hostile / name).exists():
            (hostile / name).rename(hostile / f"{name}-{len(list(hostile.iterdir()))}")
    assert "pwn" in piped.out + piped.err  # it was said, or this test would prove nothing
    shown = shell(*CALLS[call], cwd=hostile, terminal=True)
    assert not ACTING.search(shown.out), repr(shown.out)
    assert shown.code == piped.code
