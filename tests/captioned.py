"""Small pictures with captions to learn from: the bars and squares of drawn.py, and a table."""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import drawn

CAPTIONS = {"across": "a bar across", "down": "a bar down the page", "square": "one square"}
MODEL = (
    "model.preset=vit-tiny",
    "model.image_size=12",
    "model.patch_size=3",
    "model.channels=1",
    "model.d_model=32",
    "model.encoder_layers=2",
    "model.decoder_layers=1",
    "model.heads=2",
    "model.ffn_size=64",
    "model.max_length=16",
    "model.dropout=0.0",
    "tokenizer.kind=words",
    "data.max_tokens=16",
)


def pictures(count: int, seed: int = 1) -> tuple[NDArray[np.uint8], list[str]]:
    """So many, with their captions."""
    rows, labels = drawn.pictures(count, seed)
    return rows, [CAPTIONS[label] for label in labels]


def write_folder(folder: Path, count: int, seed: int = 1) -> Path:
    """Files, and captions.csv beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "captions.csv").open("w", newline="") as table:
        writer = csv.writer(table)
        writer.writerow(("file", "caption"))
        for number, (picture, caption) in enumerate(zip(*pictures(count, seed), strict=True)):
            Image.fromarray(picture).save(folder / f"{number:03}.png")
            writer.writerow((f"{number:03}.png", caption))
    return folder


def recipe(folder: Path, data: str, steps: int) -> Path:
    """A recipe that trains in seconds."""
    (folder / "r.toml").write_text(
        f'objective = "caption"\n[data]\n{data}\n'
        f'[train]\nsteps = {steps}\ntoken_budget = 408\nschedule = "constant"\nrate = 0.003\n'
        "warmup = 5\nvalidate_every = 50\nlabel_smoothing = 0.0\nthreads = 1\nworkers = 1\n"
        'bleu_sentences = 24\nprecision = "fp32"\n[decode]\nbeam = 1\n'
    )
    return folder / "r.toml"
