"""How the attacks are made: a good folder of weights, then one thing in it that lies.

Nothing here is random and nothing is downloaded. A pickle that would run code writes a canary file;
that file must never appear.
"""

import json
import struct
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.checkpoint.families.bert import BERT
from regard.checkpoint.families.config import Config
from regard.checkpoint.published import load_published, save_published
from regard.errors import CheckpointError
from regard.model.transformer import Transformer

CONFIG = {
    "model_type": "bert",
    "vocab_size": 31,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 17,
    "max_position_embeddings": 11,
    "type_vocab_size": 2,
}
WORDS = "embeddings.word_embeddings.weight"  # 31 × 12
BIAS = "encoder.layer.0.output.dense.bias"  # 12
Attack = Callable[[Path], object]


def good(folder: Path) -> Path:
    """A folder that loads."""
    spec = BERT.spec(Config(CONFIG, "config.json"), frozenset())
    save_published(Transformer(spec, seed=3), BERT, folder)
    return folder


def refused(folder: Path, message: str, **options: bool) -> None:
    """The folder is refused by name, soon, without running what it carries."""
    start = time.process_time()
    with pytest.raises(CheckpointError, match=message) as caught:
        load_published(folder, **options)
    assert time.process_time() - start <= 10  # a second, ten times: the machine may be crowded
    assert not canary(folder).exists(), "code from the file ran"
    text = str(caught.value)
    assert len(text) <= 1000 and text.isprintable(), "a message is short and moves no cursor"


def canary(folder: Path) -> Path:
    """The file that appears if anything in the folder ran."""
    return folder.parent / "canary"


# safetensors


def parts(folder: Path) -> tuple[dict[str, Any], bytes]:
    """Header and data of the folder's weights."""
    raw = (folder / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def write(folder: Path, header: Any, data: bytes, name: str = "model.safetensors") -> None:
    """A safetensors file with this header, given as a value or as bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    (folder / name).write_bytes(struct.pack("<Q", len(text)) + text + data)


def edited(folder: Path, name: str, **changes: Any) -> None:
    """Change what the header says of one tensor."""
    header, data = parts(folder)
    header[name] |= changes
    write(folder, header, data)


def tensors(folder: Path) -> dict[str, Tensor]:
    """The weights of the folder."""
    header, data = parts(folder)
    header.pop("__metadata__", None)
    return {
        name: torch.frombuffer(
            bytearray(data[slice(*entry["data_offsets"])]), dtype=torch.float32
        ).reshape(entry["shape"])
        for name, entry in header.items()
    }


def config(folder: Path, **changes: Any) -> None:
    """Change keys of config.json."""
    values = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps(values))


# shards


def sharded(folder: Path, places: Mapping[str, str] | None = None) -> dict[str, str]:
    """Split the weights into two shards with an index; `places` changes single entries."""
    from safetensors.torch import save_file

    found = tensors(folder)
    (folder / "model.safetensors").unlink()
    names = sorted(found)
    files = {"one.safetensors": names[:9], "two.safetensors": names[9:]}
    for file, listed in files.items():
        save_file({name: found[name] for name in listed}, folder / file)
    index = {name: file for file, listed in files.items() for name in listed} | dict(places or {})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    return index


# pickles and archives


def pickled(folder: Path, content: Any = None) -> Path:
    """Weights as torch.save writes them, in place of the safetensors file."""
    found = tensors(folder) if content is None else content
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    torch.save(found, path)
    return path


def repacked(
    path: Path, change: Callable[[str, bytes], bytes] | None = None, **options: Any
) -> None:
    """Write the archive again, with members changed; options are those of ZipFile."""
    with zipfile.ZipFile(path) as files:
        members = {info.filename: files.read(info) for info in files.infolist()}
    with zipfile.ZipFile(path, "w", **options) as files:
        for name, data in members.items():
            files.writestr(name, change(name, data) if change else data)


def with_pickle(folder: Path, data: bytes) -> Path:
    """A file of pickled weights whose instructions are `data`."""
    path = pickled(folder)
    repacked(path, lambda name, old: data if name.endswith("data.pkl") else old)
    return path


class Runs:
    """An object whose pickle writes the canary when it is loaded by pickle itself."""

    def __init__(self, folder: Path) -> None:
        self.target = canary(folder)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.write_text, (self.target, "ran"))


def spent() -> int:
    """The most memory this process has had since `forget`, in bytes (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def forget() -> int:
    """Start measuring anew; what the process has now."""
    Path("/proc/self/clear_refs").write_text("5")
    return spent()
