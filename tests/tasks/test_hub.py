"""Models by their names on the hub: which files are asked for, and when; the hub is played here."""

import shutil
from fnmatch import fnmatch
from pathlib import Path

import huggingface_hub
import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import load_file

import regard
import small_models
from regard.errors import CheckpointError
from regard.tasks.convert import convert

NAME = "owner/name"


class Hub:
    """A repository, this machine's cache of it, and a network that can be cut."""

    def __init__(self, root: Path) -> None:
        self.repository, self.cache = root / "repository", root / "cache"
        self.online = True
        self.asked: list[str] = []

    def snapshot_download(
        self, name: str, allow_patterns: list[str], local_files_only: bool = False
    ) -> str:
        assert name == NAME
        pickles = any(fnmatch("pytorch_model.bin", pattern) for pattern in allow_patterns)
        self.asked.append("cache" if local_files_only else "pickles" if pickles else "safe")
        if local_files_only or not self.online:
            if local_files_only and self.cache.is_dir():
                return str(self.cache)  # whatever it holds, as older versions of the library do
            raise LocalEntryNotFoundError("no network")
        self.cache.mkdir(exist_ok=True)
        for file in self.repository.iterdir():
            if any(fnmatch(file.name, pattern) for pattern in allow_patterns):
                shutil.copyfile(file, self.cache / file.name)
        return str(self.cache)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub(tmp_path)
    small_models.save("bert", hub.repository)
    (hub.repository / "modeling.py").write_text("raise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub.snapshot_download)
    return hub


def pickle_only(hub: Hub) -> None:
    file = hub.repository / "model.safetensors"
    torch.save(load_file(file), hub.repository / "pytorch_model.bin")
    file.unlink()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_weights_are_fetched_once_and_never_code(hub: Hub) -> None:
    torch.save({}, hub.repository / "pytorch_model.bin")
    regard.load(NAME, device="cpu", allow_pickle=True)
    assert hub.asked == ["cache", "safe"]  # allowed, but there are better ones
    assert files(hub.cache) == ["config.json", "model.safetensors"]
    regard.load(NAME, device="cpu")
    assert hub.asked == ["cache", "safe", "cache"]


@pytest.mark.parametrize("half", ["no weights", "a shard is missing"])
def test_half_a_model_in_the_cache_is_completed(hub: Hub, half: str) -> None:
    hub.cache.mkdir()
    shutil.copyfile(hub.repository / "config.json", hub.cache / "config.json")
    if half == "a shard is missing":
        index = '{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}'
        (hub.cache / "model.safetensors.index.json").write_text(index)
        (hub.cache / "model-1.safetensors").touch()
    regard.load(NAME, device="cpu")
    assert hub.asked == ["cache", "safe"]


def test_pickled_weights_only_the_error_says_what_to_do(hub: Hub) -> None:
    pickle_only(hub)
    command = f"regard convert {NAME} OUT --to hf --allow-pickle"
    for _ in range(2):  # the second time, its config is in the cache
        with pytest.raises(CheckpointError, match="looked for model.safetensors") as error:
            regard.load(NAME)
        assert command in str(error.value)
    assert "pickles" not in hub.asked and files(hub.cache) == ["config.json"]


def test_convert_fetches_pickled_weights_when_asked(hub: Hub, tmp_path: Path) -> None:
    weights = load_file(hub.repository / "model.safetensors")
    pickle_only(hub)
    convert(NAME, tmp_path / "out", "hf", allow_pickle=True)
    assert hub.asked == ["cache", "safe", "pickles"]
    written = load_file(tmp_path / "out/model.safetensors")
    assert all(torch.equal(written[name], weights[name]) for name in written)
    hub.online = False
    regard.load(NAME, device="cpu", allow_pickle=True)  # from the cache now
    assert hub.asked[3:] == ["cache"]
    with pytest.raises(CheckpointError, match="its weights are pickled .* --allow-pickle"):
        regard.load(NAME)


def test_no_weights_at_all(hub: Hub) -> None:
    (hub.repository / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="looked for model.safetensors, pytorch_model.bin"):
        regard.load(NAME, allow_pickle=True)


@pytest.mark.parametrize("cached", [False, True])
def test_without_a_network(hub: Hub, cached: bool) -> None:
    hub.online = False
    if cached:
        hub.cache.mkdir()
    with pytest.raises(CheckpointError, match="or not all of it, and the hub cannot be reached"):
        regard.load(NAME)
