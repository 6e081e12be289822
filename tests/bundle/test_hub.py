"""Models by their names on the hub: which files are asked for, and when; the hub is played here."""

import json
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
from regard.bundle.hub import fetch
from regard.convert.convert import convert
from regard.errors import CheckpointError

NAME = "owner/name"


class Hub:
    """A repository, this machine's cache of it, and a network that can be cut."""

    def __init__(self, root: Path) -> None:
        self.repository, self.cache = root / "repository", root / "cache"
        self.online = True
        self.requests: list[str] = []

    def snapshot_download(
        self,
        name: str,
        allow_patterns: list[str],
        local_files_only: bool = False,
        revision: str | None = None,
    ) -> str:
        assert name == NAME and revision in (None, self.cache.name)
        pickles = any(fnmatch("pytorch_model.bin", pattern) for pattern in allow_patterns)
        self.requests.append("cache" if local_files_only else "pickles" if pickles else "safe")
        if local_files_only or not self.online:
            if local_files_only and self.cache.is_dir():
                return str(self.cache)  # whatever it holds, as older versions of the library do
            raise LocalEntryNotFoundError("no network")
        self.cache.mkdir(exist_ok=True)
        for file in self.repository.iterdir():
            if any(fnmatch(file.name, pattern) for pattern in allow_patterns):
                shutil.copyfile(file, self.cache / file.name)
        return str(self.cache)

    def model_info(self, name: str, timeout: float) -> None:
        assert name == NAME and timeout < 10
        self.requests.append("is it there")
        if not self.online:
            raise TimeoutError


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub(tmp_path)
    small_models.save("bert", hub.repository)
    (hub.repository / "modeling.py").write_text("raise SystemExit\n")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]
    (hub.repository / "vocab.txt").write_text("\n".join(words) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub.snapshot_download)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", hub.model_info)
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
    assert hub.requests == ["cache", "safe"]  # allowed, but there are better ones
    assert files(hub.cache) == ["config.json", "model.safetensors", "vocab.txt"]
    regard.load(NAME, device="cpu")
    assert hub.requests == ["cache", "safe", "cache"]


@pytest.mark.parametrize("half", ["no weights", "a shard is missing"])
def test_half_a_model_in_the_cache_is_completed(hub: Hub, half: str) -> None:
    hub.cache.mkdir()
    shutil.copyfile(hub.repository / "config.json", hub.cache / "config.json")
    if half == "a shard is missing":
        index = '{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}'
        (hub.cache / "model.safetensors.index.json").write_text(index)
        (hub.cache / "model-1.safetensors").touch()
    regard.load(NAME, device="cpu")
    assert hub.requests == ["cache", "safe"]


@pytest.mark.parametrize("online", [True, False])
def test_weights_without_a_tokenizer_are_completed(hub: Hub, online: bool) -> None:
    hub.cache.mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copyfile(hub.repository / name, hub.cache / name)
    hub.online = online
    model = regard.load(NAME, device="cpu")
    assert hub.requests == (
        ["cache", "is it there", "safe"] if online else ["cache", "is it there"]
    )
    assert (model.tokenizer is not None) is online
    assert tuple(model.logits([[1, 2]]).shape) == (1, 2, 101)
    hub.requests.clear()
    regard.load(NAME, device="cpu")
    assert hub.requests == (["cache"] if online else ["cache", "is it there"])


SMALL_FILES = [("bert", "modules.json"), ("vit", "preprocessor_config.json")]


@pytest.mark.parametrize(("family", "file"), SMALL_FILES)
def test_what_else_a_snapshot_may_lack(hub: Hub, family: str, file: str) -> None:
    """A trunk may be an encoder of sentences, whose modules.json says how it is pooled."""
    shutil.rmtree(hub.repository)
    small_models.save(family, hub.repository)
    (hub.repository / "vocab.txt").write_text("[PAD]\n")
    config = json.loads((hub.repository / "config.json").read_text())
    if family == "bert":
        config["architectures"] = ["BertModel"]
    (hub.repository / "config.json").write_text(json.dumps(config))
    shutil.copytree(hub.repository, hub.cache)
    (hub.repository / file).write_text("{}")
    for _ in range(2):
        assert fetch(NAME) == hub.cache and (hub.cache / file).is_file()
    assert hub.requests == ["cache", "is it there", "safe", "cache"]


@pytest.mark.parametrize("family", ["gpt2", "marian"])
def test_a_head_whose_class_is_called_model_lacks_nothing(hub: Hub, family: str) -> None:
    """GPT2LMHeadModel and MarianMTModel are no trunks."""
    small_models.save(family, hub.cache)
    (hub.cache / "vocab.txt").write_text("[PAD]\n")
    assert fetch(NAME) == hub.cache and hub.requests == ["cache"]


def test_pickled_weights_only_the_error_says_what_to_do(hub: Hub) -> None:
    pickle_only(hub)
    command = f"regard convert {NAME} OUT --to hf --allow-pickle"
    for _ in range(2):  # the second time, its config is in the cache
        with pytest.raises(CheckpointError, match="looked for model.safetensors") as error:
            regard.load(NAME)
        assert command in str(error.value)
    assert "pickles" not in hub.requests and files(hub.cache) == ["config.json", "vocab.txt"]


def test_convert_fetches_pickled_weights_when_asked(hub: Hub, tmp_path: Path) -> None:
    weights = load_file(hub.repository / "model.safetensors")
    pickle_only(hub)
    convert(NAME, tmp_path / "out", "hf", allow_pickle=True)
    assert hub.requests == ["cache", "safe", "pickles"]
    written = load_file(tmp_path / "out/model.safetensors")
    assert all(torch.equal(written[name], weights[name]) for name in written)
    hub.online = False
    regard.load(NAME, device="cpu", allow_pickle=True)  # from the cache now
    assert hub.requests[3:] == ["cache"]
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
