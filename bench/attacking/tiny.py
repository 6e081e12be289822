"""The tiny things that are attacked: a corpus, a training of seconds, and what is made from it."""

import random
import shutil
from functools import cached_property
from pathlib import Path

from attacking.forked import Done, run

WORDS = {
    "one": "eins", "two": "zwei", "red": "rot", "blue": "blau", "cat": "Katze", "dog": "Hund",
    "tree": "Baum", "house": "Haus", "sea": "Meer", "bird": "Vogel",
}  # fmt: skip
STEPS, EVERY = 24, 6
SHAPE = (
    "model.d_model=32", "model.ffn_size=64", "model.encoder_layers=1", "model.heads=2",
    "tokenizer.size=300", "train.token_budget=256", "train.threads=1", "train.workers=1",
    "train.precision=fp32",
)  # fmt: skip
SHORT = (
    *SHAPE, "model.decoder_layers=1", "model.dropout=0.1", f"train.steps={STEPS}",
    f"train.validate_every={EVERY}", "train.average=3", "train.bleu_sentences=4",
)  # fmt: skip
FILES = ("weights.safetensors", "optimizer.safetensors")
TEXT = "one red cat"


class Tiny:
    """Made when it is first asked for."""

    def __init__(self, place: Path) -> None:
        self.place = place
        chance = random.Random(3)
        rows = [chance.choices(list(WORDS), k=chance.randint(1, 5)) for _ in range(300)]
        self._write("a.en", [" ".join(row) for row in rows])
        self._write("a.de", [" ".join(WORDS[word] for word in row) for row in rows])
        animals = {"cat", "dog", "bird"}
        labelled = [f"{' '.join(row)}\t{'yes' if animals & {*row} else 'no'}" for row in rows]
        self._write("labels.tsv", ["text\tlabel", *labelled])
        self._write("texts/one.txt", [f"The {' '.join(row)}." for row in rows[:20]])
        self._write("texts/two.md", [f"# {row[0]}\n\n{' '.join(row)}\n" for row in rows[20:40]])

    def _write(self, name: str, lines: list[str]) -> None:
        (self.place / name).parent.mkdir(exist_ok=True)
        (self.place / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def training(self, folder: Path) -> list[str]:
        """The arguments of the training that is attacked."""
        files = ["--source", str(self.place / "a.en"), "--target", str(self.place / "a.de")]
        return ["train", *files, "--run", str(folder), *SHORT]

    def copy(self, folder: Path, name: str) -> Path:
        """Something to damage."""
        shutil.rmtree(self.place / name, ignore_errors=True)
        return Path(shutil.copytree(folder, self.place / name))

    @cached_property
    def straight(self) -> Path:
        """The run that nothing happens to."""
        insist(run(*self.training(self.place / "straight")))
        return self.place / "straight"

    @cached_property
    def bits(self) -> dict[str, str]:
        """Its checksums."""
        return bits_of(self.straight)

    @cached_property
    def with_engines(self) -> Path:
        """A copy that has answered by both precisions of the fast engine."""
        folder = self.copy(self.straight, "engines")
        for precision in ("fp32", "int8"):
            insist(run("translate", str(folder), TEXT, *by_library(precision)))
        return folder

    @cached_property
    def converted(self) -> Path:
        insist(run("convert", str(self.straight), str(self.place / "native"), "--to", "native"))
        return self.place / "native"

    @cached_property
    def classifier(self) -> Path:
        folder = self.place / "classifier"
        short = (*SHAPE, "train.steps=6", "train.validate_every=3", "data.validation=30")
        texts = ["--texts", str(self.place / "labels.tsv")]
        insist(run("train", *texts, "--run", str(folder), *short))
        return folder

    @cached_property
    def index(self) -> Path:
        place, texts = self.place / "index", str(self.place / "texts")
        model = ["--model", str(self.classifier)]
        insist(run("index", texts, "--output", str(place), *model))
        return place


def by_library(precision: str) -> list[str]:
    return ["--engine", "ctranslate2", "--precision", precision]


def insist(done: Done) -> None:
    """What is needed before anything can be attacked."""
    if done.code:
        raise SystemExit(f"nothing to attack: {done.last_words}")


def bits_of(folder: Path) -> dict[str, str]:
    """SHA-256 of the last checkpoint, of the final weights and of the log."""
    from regard.checksums import sha256

    last = folder / f"checkpoints/step-{STEPS:08d}"
    files = [*(last / name for name in FILES), folder / "model.safetensors", folder / "log.jsonl"]
    return {file.name: sha256(file) if file.is_file() else "" for file in files}
