"""Files that a reader of the pages would have, made up: pairs, letters with labels, odd weights.

    python tools/page_files.py a.en mail.csv      these files, in the current folder

docs/manifest.toml asks for them before the commands that read them. The same names give the same
files each time, so that an output of today can be compared with the one that a page shows.
"""

import csv
import gzip
import json
import os
import pickle
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from doc_pages import commands_in, text_of

from regard.checkpoint.files import read_own_json
from regard.data.phrasebook.corpus import phrasebook
from regard.runs.folder import RunFolder, write_own_json

THINGS = (
    "bill",
    "chair",
    "coat",
    "lamp",
    "order",
    "package",
    "password",
    "phone",
    "router",
    "ticket",
)
GREETINGS = ("Hi,", "Hello,", "Dear team,")
LETTERS = {
    "complaint": (
        "The {} never arrived and nobody answers.",
        "My {} is broken.",
        "I want my money back for this {}.",
    ),
    "praise": (
        "I love the new {}, really.",
        "What a wonderful {}, thank you.",
        "The {} works better than ever.",
    ),
    "question": (
        "Where can I find my {}?",
        "How long does the {} take?",
        "Can I change the {} that I asked for?",
    ),
}


def pairs(count: int) -> list[tuple[str, str]]:
    """Short pairs of the phrasebook, from all of its patterns."""
    short = [
        (pair.source, pair.target)
        for pair in phrasebook("de")
        if pair.split == "train" and len(pair.source.split()) <= 9
    ]
    return random.Random(1).sample(short, count)


def letters(count: int, seed: int) -> list[tuple[str, str]]:
    """Texts and what they are: nine sentences about ten things."""
    chance = random.Random(seed)
    labels = [chance.choice(list(LETTERS)) for _ in range(count)]
    return [
        (chance.choice(LETTERS[label]).format(chance.choice(THINGS)), label) for label in labels
    ]


def turns(count: int) -> list[dict[str, list[dict[str, str]]]]:
    """A question each, and its answer: what a sentence is in German."""
    return [
        {
            "messages": [
                {"role": "user", "content": f"What is this in German? {source}"},
                {"role": "assistant", "content": target},
            ]
        }
        for source, target in pairs(count)
    ]


def mail(count: int, seed: int) -> list[tuple[str, str]]:
    """Letters with a greeting and a number, so that nearly all of them are different."""
    chance = random.Random(seed)
    return [
        (f"{chance.choice(GREETINGS)} {text} Nr {chance.randint(1000, 9999)}", label)
        for text, label in letters(count, seed)
    ]


def lines(name: str, rows: list[str]) -> None:
    Path(name).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def table(name: str, rows: list[tuple[object, ...]]) -> None:
    """A .csv as spreadsheets write it, or a .tsv."""
    with open(name, "w", encoding="utf-8", newline="") as file:
        if name.endswith(".csv"):
            csv.writer(file).writerows(rows)
        else:
            file.writelines("\t".join(map(str, row)) + "\n" for row in rows)


def two_files(stem: str, count: int) -> None:
    sources, targets = zip(*pairs(count), strict=True)
    lines(f"{stem}.en", list(sources))
    lines(f"{stem}.de", list(targets))


def broken_lines() -> None:
    """own.en and own.de with a line that is not UTF-8, an empty one and one with a NUL."""
    two_files("own", 300)
    path = Path("own.en")
    rows = path.read_bytes().split(b"\n")
    rows[4] += b"\xff"
    rows[9] = b""
    rows[11] += b"\x00"
    path.write_bytes(b"\n".join(rows))


def back_translation() -> None:
    """2,000 pairs of one's own, and 12,000 German sentences more."""
    train = [pair for pair in phrasebook("de") if pair.split == "train"]
    chosen = random.Random(2).sample(train, 14_000)
    table("own.tsv", [(pair.source, pair.target) for pair in chosen[:2000]])
    lines("only.de", [pair.target for pair in chosen[2000:]])


class Evil:
    """Whoever unpickles it runs a command."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        import os

        return os.system, ("echo this ran",)


def pickles() -> None:
    """evil.pt, which would run a command, and `pickled`, an honest BERT as torch.save has it."""
    import torch
    import transformers

    torch.save(Evil(), "evil.pt", pickle_protocol=pickle.DEFAULT_PROTOCOL)
    shape: dict[str, Any] = {"hidden_size": 20, "num_attention_heads": 5, "num_hidden_layers": 2}
    config = transformers.BertConfig(vocab_size=21, intermediate_size=37, **shape)
    model = transformers.BertForMaskedLM(config)
    config.save_pretrained("pickled")
    torch.save(model.state_dict(), "pickled/pytorch_model.bin")


def gguf() -> None:
    """The smallest file of its kind: version 3, no tensors, no keys."""
    numbers = [(3, 4), (0, 8), (0, 8)]
    header = b"".join(number.to_bytes(size, "little") for number, size in numbers)
    Path("model.gguf").write_bytes(b"GGUF" + header)


def picture() -> None:
    from PIL import Image

    Image.new("RGB", (32, 32), (200, 120, 40)).save("cat.png")


def digits() -> None:
    """The first picture of each digit in the test part of the data set, as files."""
    from PIL import Image

    from regard.data.images import PicturePlace, PictureReport, read_pictures
    from regard.datasets.find import scored_files

    Path("digits").mkdir()
    place = PicturePlace(scored_files("digits")[0], 1, label="65", white=16)
    for picture in read_pictures(place, PictureReport()):
        file = Path("digits", f"{picture.label}.png")
        if not file.exists():
            Image.fromarray(picture.colours[:, :, 0]).save(file)


def scenes() -> None:
    """Four drawn scenes of the test part, as files."""
    from PIL import Image

    from regard.data.scenes.making import scenes

    Path("scenes").mkdir()
    for number, scene in enumerate(scenes("test", 4), start=1):
        Image.fromarray(scene.picture).save(f"scenes/{number}.png")


def new_mail() -> None:
    rows = [(n, f"2026-01-0{n + 1}", text, "?") for n, (text, _) in enumerate(mail(5, 4))]
    table("new.csv", [("id", "date", "message", "category"), *rows])


def letters_recipe(text: str) -> str:
    """The recipe that classify.md shows."""
    return text.partition("```toml\n")[2].partition("```")[0]


def two_classes() -> None:
    """A classifier of two kinds of letters that chance chose: nothing can be learned."""
    recipe = letters_recipe(text_of("classify.md")).replace("letters.tsv", "two-classes.tsv")
    lines("two-classes.toml", recipe.rstrip().split("\n"))
    chance = random.Random(5)
    rows = [(text, chance.choice(("first", "second"))) for text, _ in letters(150, 2)]
    table("two-classes.tsv", list(rows))


def run_block(page: str, name: str) -> None:
    """A Python block of a page, as its reader would run it before."""
    code = next(command.text for command in commands_in(text_of(page)) if command.name == name)
    exec(compile(code, page, "exec"), {"__name__": "__main__"})


def changed() -> None:
    """A copy of `stories` with one matrix changed."""
    from safetensors.torch import load_file, save_file

    shutil.copytree("stories", "changed")
    weights = load_file("changed/model.safetensors")
    name = sorted(name for name in weights if name.endswith("q_proj.weight"))[0]
    weights[name] = weights[name] + 0.02
    save_file(weights, "changed/model.safetensors", {"format": "pt"})


def mirror() -> None:
    """Multi30k under the addresses at which it is published, for a server on this machine."""
    folder = Path("mirror/raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw")
    folder.mkdir(parents=True)
    for path in (Path(os.environ["MIRRORED"]) / "multi30k").iterdir():
        if path.suffix == ".gz":
            shutil.copy(path, folder)
        elif path.suffix in (".en", ".de"):
            (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))


def older(run: str) -> None:
    """A run as another version of torch would have left it."""
    path = RunFolder(Path(run)).info
    info = read_own_json(path)
    info["bits"]["torch"] = "2.12.0"
    write_own_json(path, info)


MADE: dict[str, Callable[[], None]] = {
    "a.en": lambda: two_files("a", 600),
    "b.en": lambda: two_files("b", 600),
    "new.en": lambda: two_files("new", 300),
    "old.en": lambda: two_files("old", 2000),
    "own.en": broken_lines,
    "turns.jsonl": lambda: lines("turns.jsonl", [json.dumps(turn) for turn in turns(200)]),
    "novel.txt": lambda: lines("novel.txt", [source for source, _ in pairs(600)]),
    "own.tsv": back_translation,
    "ids.csv": lambda: table(
        "ids.csv",
        [("id", "english", "german"), *((n, *pair) for n, pair in enumerate(pairs(60)))],
    ),
    "mail.csv": lambda: table(
        "mail.csv",
        [("id", "message", "category"), *((n, *row) for n, row in enumerate(mail(240, 1)))],
    ),
    "new.csv": new_mail,
    "letters.tsv": lambda: table("letters.tsv", list(letters(150, 2))),
    "letters.toml": lambda: lines(
        "letters.toml", letters_recipe(text_of("classify.md")).rstrip().split("\n")
    ),
    "new.tsv": lambda: table("new.tsv", list(letters(40, 3))),
    "two-classes.toml": two_classes,
    "tiny": lambda: run_block("families.md", "python 2"),
    "vectors.vec": lambda: run_block("embeddings.md", "python 1"),
    "changed": changed,
    "mirror": mirror,
    "runs/elsewhere": lambda: older("runs/elsewhere"),
    "evil.pt": pickles,
    "model.gguf": gguf,
    "cat.png": picture,
    "digits": digits,
    "scenes": scenes,
}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        MADE[name]()
