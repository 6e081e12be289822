"""Pictures: a run of objective "see" beside a linear classifier and a small CNN of equal time.

    make bench-see                                     trains recipe digits, then compares
    make bench-see RUN=runs/fashion-mnist SET=fashion-mnist
    python bench/see.py runs/shapes --file test        own pictures to judge by

All three learn from the pictures that the run learned from, and are judged on the same others.

linear    logistic regression on the pixels (scikit-learn), until it has converged
CNN       two layers of convolution of 3 × 3 with 32 and 64 channels, each with a maximum over
          2 × 2, and two dense layers with 128 units and dropout between; Adam, cosine rate,
          batches of 128 that are augmented as the run's were; as many seconds as the run trained,
          on as many threads
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from needs import insist_on_libraries
from torch import nn
from torch.nn import functional as F

from regard import load
from regard.api.model import Model
from regard.checkpoint.files import read_own_json, steps_saved
from regard.checkpoint.training_state import load_state
from regard.data.augment import Augmentation
from regard.evaluate.pictures import pictures_to_score, score_pictures
from regard.prepare.pictures import PictureData, load_pictures
from regard.runs.folder import RunFolder
from regard.runs.recipe import make_recipe

BATCH, RATE = 128, 1e-3
Arrays = tuple[Any, Any]


def seconds_of(run: RunFolder) -> float:
    """How long it was trained: steps and validations."""
    return float(load_state(run.checkpoints, steps_saved(run.checkpoints)[-1])["seconds"])


def threads_of(run: RunFolder) -> int:
    """How many it was trained on."""
    compute = run.read_info()["compute"]
    return int(compute["workers"] * compute["threads"])


def learned_from(data: PictureData) -> Arrays:
    """Colours and labels."""
    labels = data.train.numbers["label"].astype(np.int64)
    return data.colours(data.train, range(len(data.train))), labels


def judged_on(model: Model, place: Path | None) -> Arrays:
    """The same of the others."""
    rows = list(pictures_to_score(model, place).rows())
    labels = np.array([model.labels.index(row.label) for row in rows])
    return np.stack([row.colours for row in rows]), labels


def linear(train: Arrays, test: Arrays) -> tuple[float, float]:
    """Accuracy and seconds of logistic regression."""
    from sklearn.linear_model import LogisticRegression

    begun = time.perf_counter()
    flat = [colours.reshape(len(colours), -1) / 255 for colours, _ in (train, test)]
    learned = LogisticRegression(max_iter=200).fit(flat[0], train[1])
    seconds = time.perf_counter() - begun
    return float((learned.predict(flat[1]) == test[1]).mean()), seconds


def cnn(channels: int, side: int, classes: int) -> nn.Module:
    """The network that is compared with."""
    quarter = side // 2 // 2
    return nn.Sequential(
        nn.Conv2d(channels, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(64 * quarter * quarter, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, classes),
    )  # fmt: skip


def convolution(
    data: PictureData, augment: Augmentation, train: Arrays, test: Arrays, seconds: float
) -> tuple[float, int, int]:
    """Accuracy, parameters and epochs of the CNN after so many seconds."""
    torch.manual_seed(1)
    side, channels = data.spec.image_size, data.spec.channels
    model = cnn(channels, side, len(data.labels))
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    colours, labels = train
    begun, epoch, done = time.perf_counter(), 0, 0.0
    while done < 1:
        order = np.random.default_rng(epoch).permutation(len(labels))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            pixels = data.preparation.numbers(augment(colours[chosen], (1, epoch), chosen))
            optimizer.param_groups[0]["lr"] = RATE * (1 + np.cos(np.pi * done)) / 2
            logits = model(torch.from_numpy(pixels))
            loss = F.cross_entropy(logits, torch.from_numpy(labels[chosen]), label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done = (time.perf_counter() - begun) / seconds
            if done >= 1:
                break
        epoch += 1
    model.eval()
    with torch.no_grad():
        answers = [
            model(torch.from_numpy(data.preparation.numbers(part))).argmax(dim=1).numpy()
            for part in np.array_split(test[0], -(-len(test[0]) // 1000))
        ]
    right = float((np.concatenate(answers) == test[1]).mean())
    return right, sum(p.numel() for p in model.parameters()), epoch


def measured(path: Path, place: Path | None, seconds: float | None) -> dict[str, Any]:
    """Everything that is printed."""
    run, model = RunFolder(path), load(path, "cpu")
    recipe = make_recipe(read_own_json(run.recipe), str(run.recipe))
    data, see = load_pictures(run), recipe.own
    train, test = learned_from(data), judged_on(model, place)
    torch.set_num_threads(threads_of(run))
    given = seconds_of(run) if seconds is None else seconds
    scores, _ = score_pictures(model, pictures_to_score(model, place))
    right, took = linear(train, test)
    augment = Augmentation(see.crop, see.flip, see.erase)
    by_cnn, weights, epochs = convolution(data, augment, train, test, given)
    ours = sum(p.numel() for p in model.transformer.parameters())
    return {
        "pictures": len(test[1]),
        "threads": threads_of(run),
        "rows": [
            ["logistic regression", right, took, (train[0][0].size + 1) * len(data.labels)],
            [f"CNN ({epochs} epochs)", by_cnn, given, weights],
            [f"regard ({path.name})", scores.accuracy, seconds_of(run), ours],
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--set", help="judge on the test part of this data set")
    parser.add_argument("--file", type=Path, help="judge on these pictures")
    parser.add_argument("--seconds", type=float, help="of the CNN; else those of the run")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    insist_on_libraries(["sklearn"])
    place = given.file
    if given.set:
        from regard.datasets.find import scored_files

        place = scored_files(given.set)[0]
    found = measured(given.run, place, given.seconds)
    if given.json:
        print(json.dumps(found))
        return
    name = given.set or place or "the run's validation pictures"
    print(f"{found['pictures']:,} pictures of {name}, {found['threads']} threads")
    print(f"{'':<28} accuracy   seconds   parameters")
    for what, right, took, weights in found["rows"]:
        print(f"{what:<28} {right:8.2%} {took:9.0f} {weights:12,}")


if __name__ == "__main__":
    main()
