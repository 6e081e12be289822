"""Runs whose data an earlier version wrote, without named columns, go on to the same bits."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fit import test_classify_training, test_similar_training, test_tag_training
from fit.test_classify_training import OWN
from halting import digest, go
from regard.checksums import sealed, sha256
from regard.data.store import Store
from regard.fit.train import Request


def write_older(folder: Path) -> None:
    """The store as version 2 had it: what is asked stood in the target, scores in another file."""
    store = Store.open(folder)
    rows = range(len(store))
    sources = [store["text"][i].tolist() for i in rows]
    if "second" in store.columns:
        targets = [store["second"][i].tolist() for i in rows]
        np.save(folder.with_name(f"{folder.name}-scores.npy"), store.numbers["score"])
    else:
        rest = store["tags" if "tags" in store.columns else "labels"]
        targets = [[int(store.numbers["first"][i]), *rest[i].tolist()] for i in rows]
    del store
    shutil.rmtree(folder)
    folder.mkdir()
    arrays: dict[str, Any] = {}
    for side, lists in (("source", sources), ("target", targets)):
        arrays[side] = np.array([i for row in lists for i in row], dtype=np.uint16)
        arrays[f"{side}_offsets"] = np.cumsum([0, *map(len, lists)])
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    facts = {
        "version": 2,
        "vocabulary": 400,
        "counts": {name: len(array) for name, array in arrays.items()},
        "sha256": {name: sha256(folder / f"{name}.npy") for name in arrays},
    }
    (folder / "store.json").write_text(json.dumps(sealed(facts)))


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    "ask",
    [test_classify_training.ask, test_tag_training.ask, test_similar_training.ask],
    ids=["classify", "tag", "similar"],
)
def test_it_goes_on_to_the_same_bits(ask: Callable[..., Request], tmp_path: Path) -> None:
    go(ask(tmp_path, *OWN, "train.steps=6", "train.validate_every=3"))
    run, older = tmp_path / "run", tmp_path / "older"
    shutil.copytree(run, older)
    for name in ("train", "valid"):
        write_older(older / "data" / name)
    for folder in (run, older):
        go(Request(resume=folder, assignments=("train.steps=12",)))
    assert digest(older) == digest(run)
