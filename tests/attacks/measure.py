"""A process of its own for what would fill the memory: name → (bytes of growth, seconds), as JSON.

    python measure.py FOLDER

No shape checking is on here, so the times are those of a user.
"""

import json
import os
import struct
import sys
import time
import zipfile
from pathlib import Path

from attacks.craft import Attack, canary, config, forget, good, parts, pickled, spent, with_pickle
from regard.checkpoint.published import load_published
from regard.errors import CheckpointError


def write(folder: Path, header: bytes) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header)


def lists(folder: Path) -> None:
    write(folder, b'{"a":[' + b"[]," * (2 * 2**20) + b"1]}")


def objects(folder: Path) -> None:
    write(folder, b"{" + b",".join(b'"%x":{}' % i for i in range(500_000)) + b"}")


def wide_letters(folder: Path) -> None:
    """One letter outside of the basic plane makes every letter of a text four bytes."""
    write(folder, b'{"' + "\U0001f600".encode() + b"x" * (4 * 2**20 - 99) + b'": {}}')


def sparse(folder: Path) -> None:
    """A file of a terabyte, all holes, that really holds what its config asks for."""
    rows, header = 2_000_000, parts(folder)[0]
    config(folder, hidden_size=65_532, vocab_size=rows)
    header.pop("__metadata__", None)
    sizes = {"embeddings.word_embeddings.weight": [rows, 65_532]}
    end = 0
    for name, entry in header.items():
        shape = sizes.get(name, [65_532 if n == 12 else n for n in entry["shape"]])
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    write(folder, json.dumps(header).encode())
    path = folder / "model.safetensors"
    os.truncate(path, path.stat().st_size + end)


def deflated(folder: Path) -> None:
    import torch

    path = pickled(folder, {"a": torch.zeros(1)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr("pytorch_model/data.pkl", b"\x80\x02}.")
        files.writestr("pytorch_model/data/0", bytes(2**28))


def directory(folder: Path) -> None:
    """An archive of nothing but names."""
    path = pickled(folder)
    with zipfile.ZipFile(path, "w") as files:
        for i in range(30_000):
            files.writestr(f"a/data/{i}", b"")


def expanded(folder: Path) -> None:
    import torch

    pickled(folder, {"a": torch.zeros(1).expand(2**33)})


def steps(folder: Path) -> None:
    with_pickle(folder, b"\x80\x02" + b")" * 1_000_000 + b"}.")


def deep(folder: Path) -> None:
    # hashing this as a key would overflow the C stack
    with_pickle(folder, b"\x80\x02})" + b"\x85" * 290_000 + b"Ns.")


def allocates(folder: Path) -> None:
    with_pickle(folder, b"\x80\x02c__builtin__\nbytearray\n\x8a\x05\x00\x00\x00\x00\x10\x85R.")


def wide(folder: Path) -> None:
    config(folder, hidden_size=65_536, num_attention_heads=64, intermediate_size=524_288)


def numbers(folder: Path) -> None:
    (folder / "config.json").write_text('{"a":[' + "1," * 2_000_000 + "1]}")


BOMBS: dict[str, Attack] = {
    attack.__name__: attack
    for attack in (
        lists,
        objects,
        wide_letters,
        sparse,
        deflated,
        directory,
        expanded,
        steps,
        deep,
        allocates,
        wide,
        numbers,
    )
}


def measure(folder: Path, attack: Attack) -> tuple[int, float]:
    attack(good(folder))
    before, start = forget(), time.process_time()
    try:
        load_published(folder, allow_pickle=True)
    except CheckpointError as error:
        print(folder.name, str(error)[-160:], file=sys.stderr)
        assert not canary(folder).exists()
        return spent() - before, time.process_time() - start
    raise AssertionError(f"{folder.name} was loaded")


if __name__ == "__main__":
    root = Path(sys.argv[1])
    load_published(good(root / "first"))
    print(json.dumps({name: measure(root / name, attack) for name, attack in BOMBS.items()}))
