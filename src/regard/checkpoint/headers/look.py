"""One file → what it holds, by its first bytes (never by its name alone)."""

from pathlib import Path

from regard.checkpoint.headers.archive import open_archive
from regard.checkpoint.headers.arrays import MAGIC as NUMPY
from regard.checkpoint.headers.arrays import look_npy, look_npz
from regard.checkpoint.headers.contents import Contents
from regard.checkpoint.headers.gguf import MAGIC as GGUF
from regard.checkpoint.headers.gguf import look_gguf
from regard.checkpoint.headers.llama2c import look_llama2c
from regard.checkpoint.headers.pickled import look_pickle, look_torch_zip
from regard.checkpoint.headers.safetensors import look_safetensors
from regard.untrusted import opened

# Kinds that are recognised and not looked into.
OTHERS = {
    b"\x89HDF": "HDF5 (Keras, TensorFlow)",
    b"ustar": "tar archive",
    b"\x1f\x8b": "gzip",
    b"<!DO": "a web page",
    b"<htm": "a web page",
    b"vers": "a Git LFS pointer",
}


def look(path: Path) -> Contents:
    """The contents of a file of weights; what is wrong with it stands in its findings."""
    try:
        with opened(path) as file:
            start = file.read(16)
        return _look(path, start)
    except OSError as error:
        contents = Contents("unreadable" if path.is_file() else "nothing", path)
        contents.find("broken", f"cannot be read: {error.strerror}")
        return contents


def is_gguf(path: Path) -> bool:
    """Whether a file begins as one of llama.cpp; the rest of its header is not read."""
    try:
        with opened(path) as file:
            return file.read(len(GGUF)) == GGUF
    except OSError:
        return False


def _look(path: Path, start: bytes) -> Contents:
    if start.startswith(GGUF):
        return look_gguf(path)
    if start.startswith(NUMPY):
        return look_npy(path)
    if start.startswith(b"PK\3\4"):
        return _look_zip(path)
    if start[8:9] == b"{" or path.suffix == ".safetensors":
        return look_safetensors(path)
    other = next((kind for magic, kind in OTHERS.items() if start.startswith(magic)), None)
    if other is None:
        llama = look_llama2c(path)
        if not llama.findings:
            return llama
        if start[:1] == b"\x80" or path.suffix in (".pt", ".pth", ".pkl", ".pickle", ".ckpt"):
            return look_pickle(path)
    contents = Contents(other or "unknown", path)
    if not start:
        contents.find("broken", "the file is empty")
    elif other == "a Git LFS pointer":
        contents.find("missing", "only a pointer to the weights; fetch them with `git lfs pull`")
    elif other is None:
        contents.find("broken", "none of safetensors, torch.save, npz, gguf, llama2.c by its bytes")
    else:
        contents.find("note", f"{other}: regard does not look into it")
    return contents


def _look_zip(path: Path) -> Contents:
    """torch.save or NumPy, by the names of the members."""
    probe = Contents("zip archive", path)
    with open_archive(path, probe) as archive:
        names = list(archive.members) if archive else []
    if any(name.split("/")[-1] == "data.pkl" for name in names):
        return look_torch_zip(path)
    if path.suffix == ".npz" or (names and all(name.endswith(".npy") for name in names)):
        return look_npz(path)
    if archive is None:
        return look_torch_zip(path)
    probe.find("note", f"a zip archive of {len(names)} members, none of them weights")
    return probe
