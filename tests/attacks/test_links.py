"""Line 5: shards and links that lead elsewhere, and indexes that contradict their shards."""

import json
import os
import shutil
from pathlib import Path

import pytest
from safetensors.torch import save_file

from attacks.craft import BIAS, WORDS, Attack, good, refused, sharded, tensors
from regard.bundle.generation_settings import read_settings
from regard.bundle.pixels import read_preparation
from regard.checkpoint.published import load_published
from regard.errors import CheckpointError
from regard.model.spec import Spec


def place(shard: str) -> Attack:
    return lambda folder: sharded(folder, {WORDS: shard})


def index(folder: Path, content: object) -> None:
    sharded(folder)
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "model.safetensors.index.json").write_text(text)


def linked(folder: Path, name: str) -> None:
    """Move a file out of the folder and link to it."""
    shutil.move(folder / name, folder.parent / name)
    (folder / name).symlink_to(folder.parent / name)


def linked_shard(folder: Path) -> None:
    sharded(folder)
    linked(folder, "two.safetensors")


def linked_folder(folder: Path) -> None:
    """The shard is plain, its folder's name only begins like ours (commonprefix would allow it)."""
    sharded(folder)
    sibling = folder.with_name(folder.name + "-evil")
    sibling.mkdir()
    shutil.move(folder / "two.safetensors", sibling / "two.safetensors")
    (folder / "two.safetensors").symlink_to(Path("..") / sibling.name / "two.safetensors")


def fake_blobs(folder: Path) -> None:
    """A folder `blobs` beside it does not make it the hub's cache."""
    (folder.parent / "blobs").mkdir()
    shutil.move(folder / "model.safetensors", folder.parent / "blobs/x")
    (folder / "model.safetensors").symlink_to("../blobs/x")


def to_device(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("/dev/zero")


def circle(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("model.safetensors")


def same_file_twice(folder: Path) -> None:
    places = sharded(folder)
    (folder / "three.safetensors").symlink_to("two.safetensors")
    moved = {n: "three.safetensors" if n == WORDS else s for n, s in places.items()}
    other = next(n for n, s in places.items() if s == "two.safetensors")
    moved[other] = "three.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": moved}))


def missing_shard(folder: Path) -> None:
    sharded(folder)
    (folder / "two.safetensors").unlink()


def in_both(folder: Path) -> None:
    found = tensors(folder)
    places = sharded(folder)
    one = {name: found[name] for name, shard in places.items() if shard == "one.safetensors"}
    extra = next(name for name, shard in places.items() if shard == "two.safetensors")
    save_file(one | {extra: found[extra]}, folder / "one.safetensors")


def many_shards(folder: Path) -> None:
    index(folder, {"weight_map": {f"t{i}": f"s{i}.safetensors" for i in range(2000)}})


ATTACKS: dict[str, tuple[Attack, str]] = {
    "a shard above the folder": (place("../two.safetensors"), "is not a plain file name"),
    "a shard by absolute path": (place("/etc/passwd"), "is not a plain file name"),
    "a shard with a backslash": (place("..\\two.safetensors"), "is not a plain file name"),
    "a shard within": (place("sub/two.safetensors"), "is not a plain file name"),
    "a shard named ..": (place(".."), "is not a plain file name"),
    "a shard without name": (place(""), "is not a plain file name"),
    "a shard with a NUL": (place("two\0.safetensors"), "is not a plain file name"),
    "a shard with a stream": (place("two.safetensors:x"), "is not a plain file name"),
    "a shard of another kind": (place("config.json"), "is no .safetensors file"),
    "a shard that is missing": (missing_shard, "no such file"),
    "a shard that is a link": (linked_shard, "leads out of the folder"),
    "a shard beside the folder": (linked_folder, "leads out of the folder"),
    "a shard twice under two names": (same_file_twice, "is another shard once more"),
    "weights that are a link": (lambda f: linked(f, "model.safetensors"), "leads out"),
    "a config that is a link": (lambda f: linked(f, "config.json"), "leads out"),
    "a false blobs folder": (fake_blobs, "leads out of the folder"),
    "a link to a device": (to_device, "leads out of the folder"),
    "a link to itself": (circle, "no such file"),
    "a tensor in two shards": (in_both, "which the index does not place there"),
    "a tensor in the wrong shard": (place("two.safetensors"), "is not in its shard|not place"),
    "two thousand shards": (many_shards, "more than 1000 shards"),
    "an index without map": (lambda f: index(f, {"metadata": {}}), "weight_map is missing"),
    "a map that is a list": (lambda f: index(f, {"weight_map": [1]}), "weight_map is missing"),
    "a shard that is a number": (lambda f: index(f, {"weight_map": {"a": 1}}), "the shard of 'a'"),
    "an index that names a tensor twice": (
        lambda f: index(f, f'{{"weight_map": {{"{BIAS}": "a", "{BIAS}": "b"}}}}'),
        "twice",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_refused(name: str, tmp_path: Path) -> None:
    attack, message = ATTACKS[name]
    attack(good(tmp_path / "m"))
    refused(tmp_path / "m", message)


def test_settings_and_preparation_that_are_links(tmp_path: Path) -> None:
    folder = good(tmp_path / "m")
    spec = Spec(
        vocabulary=0, decoder_layers=0, image_size=8, patch_size=4, head="classes", classes=2
    )
    for name, read in {
        "generation_config.json": lambda: read_settings(folder, 31),
        "preprocessor_config.json": lambda: read_preparation(folder, spec),
    }.items():
        (folder / name).write_text("{}")
        read()
        linked(folder, name)
        with pytest.raises(CheckpointError, match=f"{name}: a link that leads out of the folder"):
            read()
        (folder / name).unlink()


def test_the_hubs_cache_may_link_into_its_blobs(tmp_path: Path) -> None:
    folder = good(tmp_path / "models--a--b/snapshots/0f1e")
    blobs = tmp_path / "models--a--b/blobs"
    blobs.mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.move(folder / name, blobs / f"hash-of-{name}")
        (folder / name).symlink_to(f"../../blobs/hash-of-{name}")
    assert load_published(folder).spec.vocabulary == 31
    os.rename(blobs, tmp_path / "models--a--b/elsewhere")
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to("../../elsewhere/hash-of-config.json")
    refused(folder, "leads out of the folder")
