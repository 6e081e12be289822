"""Pictures in one file. In: IDX (MNIST's format) or .npz. Out: one picture of numbers at a time.

    train-images-idx3-ubyte.gz    0 0 8 n, n sizes of 4 bytes each, then the pixels, row by row
    train-labels-idx1-ubyte.gz    the same with one size: a class a picture; found by its name
    digits.npz                    arrays of NumPy by name, one of pictures and one of labels

Both are streams: sizes are compared with what there is, and only one picture is held at a time,
however large a header says the file is, or an archive unpacks to. Arrays of objects, which would be
unpickled, are refused.
"""

import gzip
import math
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from regard.data.lines import find_file
from regard.data.picture import check_size
from regard.errors import DataError, MisuseError
from regard.untrusted import opened

MOST = 20_000_000  # pictures of a file
LONGEST_LABEL = 1000  # bytes of one in an array
IDX = re.compile(r"(?P<part>.*)images(?P<between>[.-])idx[34](?P<rest>.*)")
UBYTE = 8  # IDX's number for whole numbers of a byte
IMAGES = ("images", "x", "x_train", "x_test", "data", "pixels")
LABELS = ("labels", "y", "y_train", "y_test", "target", "targets", "label")
Numbered = tuple[NDArray[Any], str]


def is_idx(path: Path) -> bool:
    """Whether the name is that of a file of pictures in IDX."""
    return IDX.fullmatch(path.name) is not None


def read_idx(path: Path) -> Iterator[Numbered]:
    """Each picture with its label, out of the two files."""
    labels = _labels_beside(path)
    with _stream(path) as pixels, _stream(labels) as classes:
        count, *shape = _idx_header(pixels, path, (3, 4))
        (other,) = _idx_header(classes, labels, (1,))
        if count != other:
            raise DataError(labels, f"{other:,} labels for {count:,} pictures of {path.name}")
        check_size(shape[1], shape[0], str(path))
        for _ in range(count):
            row = _exactly(pixels, math.prod(shape), path)
            label = _exactly(classes, 1, labels)[0]
            yield np.frombuffer(row, np.uint8).reshape(shape), str(label)
        for stream, name in ((pixels, path), (classes, labels)):
            if stream.read(1):
                raise DataError(name, f"goes on after the {count:,} that its header says")


def _labels_beside(path: Path) -> Path:
    named = IDX.fullmatch(path.name)
    assert named is not None
    labels = path.with_name(f"{named['part']}labels{named['between']}idx1{named['rest']}")
    find_file(labels)
    return labels


def _idx_header(stream: IO[bytes], path: Path, dimensions: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes that it states."""
    zero, kind, count = struct.unpack(">HBB", _exactly(stream, 4, path))
    if zero or kind != UBYTE or count not in dimensions:
        problem = f"begins with {zero}, type {kind}, {count} dimensions"
        expected = f"0, type {UBYTE} (bytes), {' or '.join(map(str, dimensions))} dimensions"
        raise DataError(path, problem, expected=expected)
    sizes: tuple[int, ...] = struct.unpack(f">{count}I", _exactly(stream, 4 * count, path))
    if not 0 < sizes[0] <= MOST:
        raise DataError(path, f"{sizes[0]:,} rows", expected=f"1 to {MOST:,}")
    if count == 4 and sizes[3] not in (1, 3):
        raise DataError(path, f"{sizes[3]} channels", expected="1 or 3")
    return sizes


def read_npz(path: Path, images: str = "", labels: str = "") -> Iterator[Numbered]:
    """Each picture with its label; the arrays by these names, or by those that are usual."""
    find_file(path)
    with _refusing(path), opened(path) as file, ZipFile(file) as archive:
        sizes = {
            member.filename.removesuffix(".npy"): member.file_size
            for member in archive.infolist()
            if member.filename.endswith(".npy")
        }
        pixels = _named(sizes, images, IMAGES, "images", path)
        classes = _named(sizes, labels, LABELS, "labels", path)
        names = _label_names(archive, classes, sizes[classes], path)
        with archive.open(f"{pixels}.npy") as stream:
            shape, dtype = _npy_header(stream, sizes[pixels], f"{path}: {pixels}")
            if len(shape) not in (3, 4):
                expected = "(pictures, height, width) or (pictures, height, width, channels)"
                raise DataError(f"{path}: {pixels}", f"shape {shape}", expected=expected)
            if shape[0] != len(names):
                raise DataError(path, f"{len(names):,} labels for {shape[0]:,} pictures")
            check_size(math.prod(shape[2:]), shape[1], f"{path}: {pixels}")
            for name in names:
                row = _exactly(stream, math.prod(shape[1:]) * dtype.itemsize, path)
                yield np.frombuffer(row, dtype).reshape(shape[1:]), name


def _named(
    sizes: Mapping[str, int], asked: str, usual: tuple[str, ...], what: str, path: Path
) -> str:
    """The name of the array that holds the pictures, or the labels."""
    found = [name for name in ((asked,) if asked else usual) if name in sizes]
    if found:
        return found[0]
    key = "data.image" if what == "images" else "data.label"
    got = ", ".join(sorted(sizes)[:20]) or "no array"
    expected = f"{asked!r}" if asked else f"one of {', '.join(usual)}"
    advice = f"name the array of {what} in the recipe: {key}"
    raise MisuseError(path, got=got, expected=expected, advice=advice)


def _label_names(archive: ZipFile, name: str, size: int, path: Path) -> list[str]:
    """The labels as text: whole numbers, or words."""
    where = f"{path}: {name}"
    with archive.open(f"{name}.npy") as stream:
        shape, dtype = _npy_header(stream, size, where)
        if len(shape) == 2 and shape[1] == 1:
            shape = shape[:1]
        if len(shape) != 1 or dtype.kind not in "iuUSb" or dtype.itemsize > LONGEST_LABEL:
            expected = "a row of whole numbers or of words"
            raise DataError(where, f"shape {shape} of {dtype}", expected=expected)
        values = np.frombuffer(_exactly(stream, shape[0] * dtype.itemsize, path), dtype)
    if dtype.kind == "S":
        return [bytes(value).decode("utf-8", "replace") for value in values]
    return [str(value if dtype.kind == "U" else int(value)) for value in values]


def _npy_header(stream: IO[bytes], size: int, where: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array, as long as its member of the archive says it is."""
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise DataError(where, f"version {version} of NumPy's format", expected="1.0 or 2.0")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, is_fortran, dtype = read(stream)
    if dtype.hasobject or dtype.fields:
        raise DataError(where, f"holds {dtype}", expected="plain numbers or words, no objects")
    if is_fortran and len(shape) > 1:
        advice = "save it by rows: numpy.ascontiguousarray"
        raise DataError(where, "stored by columns", advice=advice)
    if not shape or not 0 < shape[0] <= MOST or min(shape) < 1:
        raise DataError(where, f"shape {shape}", expected=f"1 to {MOST:,} rows, none empty")
    if stream.tell() + math.prod(shape) * dtype.itemsize != size:
        raise DataError(where, f"{size:,} bytes are not what shape {shape} of {dtype} takes")
    return shape, dtype


@contextmanager
def _stream(path: Path) -> Iterator[IO[bytes]]:
    """A file, unpacked while it is read where its name ends in .gz."""
    find_file(path)
    with _refusing(path), opened(path) as file:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked  # type: ignore[misc]
        else:
            yield file


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """What a damaged archive raises, as one error."""
    try:
        yield
    except (BadZipFile, EOFError, OSError, ValueError, KeyError, zlib.error) as error:
        raise DataError(path, f"cannot be read: {str(error)[:200]}") from None
    except (NotImplementedError, RuntimeError, SyntaxError, TypeError) as error:
        raise DataError(path, f"cannot be read: {str(error)[:200]}") from None


def _exactly(stream: IO[bytes], count: int, path: Path) -> bytes:
    """So many bytes, or an error."""
    data = stream.read(count)
    while data and len(data) < count and (more := stream.read(count - len(data))):
        data += more  # an archive may give a part at a time
    if len(data) < count:
        raise DataError(path, "ends in the middle of what its header says it holds")
    return data
