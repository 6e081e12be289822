"""A toy language for tests of training: each word has one translation, in the same order."""

import hashlib
import random
from pathlib import Path

from regard.checkpoint.files import folder_name

WORDS = {
    "red": "rot", "blue": "blau", "green": "grün", "one": "eins", "two": "zwei", "three": "drei",
    "cat": "Katze", "dog": "Hund", "bird": "Vogel", "house": "Haus", "tree": "Baum", "sea": "Meer",
}  # fmt: skip


def pairs(count: int, seed: int = 1) -> list[tuple[str, str]]:
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        words = [chance.choice(list(WORDS)) for _ in range(chance.randint(1, 5))]
        made.append((" ".join(words), " ".join(WORDS[w] for w in words)))
    return made


def write(folder: Path, count: int) -> tuple[Path, Path]:
    """a.en and a.de in `folder`."""
    made = pairs(count)
    source, target = folder / "a.en", folder / "a.de"
    source.write_text("".join(f"{s}\n" for s, _ in made), encoding="utf-8")
    target.write_text("".join(f"{t}\n" for _, t in made), encoding="utf-8")
    return source, target


SMALL = (
    "model.d_model=32",
    "model.ffn_size=64",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.heads=2",
    "model.dropout=0.1",
    "tokenizer.size=320",
    "train.token_budget=256",
    "train.threads=1",
    "train.bleu_sentences=5",
)


def digest(run: Path, steps: int) -> dict[str, str]:
    """SHA-256 of the last checkpoint's weights and optimizer, of the final weights and the log."""
    last = run / "checkpoints" / folder_name(steps)
    files = {
        "weights": last / "weights.safetensors",
        "optimizer": last / "optimizer.safetensors",
        "final": run / "model.safetensors",
        "log": run / "log.jsonl",
    }
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
