"""Files of word2vec, written by hand, byte by byte; and gensim's reader where it is installed."""

import gzip
import importlib.util
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from refusals import refused
from regard.errors import DataError
from regard.text.vectors import read_dimensions, read_vectors

TEXT = "3 4\nking 0.6 0.1 1.0 0.9\nqueen 0.3 0.2 0.9 1.0\nKönig 0.5 0 -1e-1 2\n".encode()


def binary(line_ends: bool) -> bytes:
    """The same three vectors as the original program writes them, or as gensim does."""
    rows = {"king": (0.6, 0.1, 1.0, 0.9), "queen": (0.3, 0.2, 0.9, 1.0), "König": (0.5, 0, -0.1, 2)}
    end = b"\n" if line_ends else b""
    return b"3 4\n" + b"".join(
        word.encode() + b" " + struct.pack("<4f", *row) + end for word, row in rows.items()
    )


FILES = {
    "header.vec": TEXT,
    "plain.txt": TEXT.partition(b"\n")[2],
    "trailing.vec": TEXT.replace(b"\n", b" \r\n"),
    "mark.txt": b"\xef\xbb\xbf" + TEXT,
    "no-end.txt": TEXT.rstrip(b"\n"),
    "lines.bin": binary(line_ends=True),
    "dense.bin": binary(line_ends=False),
    "text.vec.gz": gzip.compress(TEXT),
    "binary.bin.gz": gzip.compress(binary(line_ends=True)),
}


@pytest.mark.parametrize("name", FILES)
def test_every_form_of_the_same_vectors(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    assert read_dimensions(path) == 4
    got = read_vectors(path, {"king", "König", "absent"})
    assert set(got) == {"king", "König"}
    assert got["king"].dtype == np.float32
    assert got["king"].tolist() == pytest.approx([0.6, 0.1, 1.0, 0.9])
    assert got["König"].tolist() == pytest.approx([0.5, 0, -0.1, 2])


def test_the_first_of_two_equal_words_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a 1 2\nb 3 4\na 5 6\n")
    assert read_vectors(path, {"a"})["a"].tolist() == [1, 2]


def test_words_with_spaces_are_passed_over(tmp_path: Path) -> None:
    """As in GloVe's largest file: ". . ." is one word there."""
    path = tmp_path / "a.txt"
    path.write_text("a 1 2\n. . . 3 4\nat x@y.org 5 6\nb 7 8\n")
    got = read_vectors(path, {"a", ".", "at", "b"})
    assert {word: vector.tolist() for word, vector in got.items()} == {"a": [1, 2], "b": [7, 8]}


def test_a_vector_across_two_blocks(tmp_path: Path) -> None:
    """Binary files are read a mebibyte at a time; no word and no number may be lost at the seam."""
    words = [f"w{n}" for n in range(3000)]
    rows = np.arange(3000 * 100, dtype="<f4").reshape(3000, 100)
    path = tmp_path / "a.bin"
    content = zip(words, rows, strict=True)
    path.write_bytes(b"3000 100\n" + b"".join(f"{w} ".encode() + r.tobytes() for w, r in content))
    assert path.stat().st_size > 1 << 20
    got = read_vectors(path, set(words))
    assert list(got) == words and np.array_equal(np.stack(list(got.values())), rows)


@pytest.mark.parametrize(("name", "words", "most"), [("a.vec", 2_000, 4e5), ("a.bin", 20_000, 4e6)])
def test_only_the_wanted_words_are_kept(name: str, words: int, most: float, tmp_path: Path) -> None:
    """Of 4 MB of text (0.8 MB as numbers) and of 8 MB of binary, a line and two blocks are held."""
    rows = np.random.default_rng(1).standard_normal((words, 100)).astype("<f4")
    if name == "a.bin":
        content = b"".join(f"w{n} ".encode() + row.tobytes() for n, row in enumerate(rows))
    else:
        content = b"".join(
            f"w{n} {' '.join(map(str, row.tolist()))}\n".encode() for n, row in enumerate(rows)
        )
    path = tmp_path / name
    path.write_bytes(f"{words} 100\n".encode() + content)
    del content
    tracemalloc.start()
    got = read_vectors(path, {f"w{words - 1}"})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(got[f"w{words - 1}"], rows[-1])
    assert peak < most


WRONG = {
    "few.txt": (b"a 1 2 3\nb 1 2\n", "line 2: has 2 numbers, expected 3"),
    "many.txt": (b"2 3\na 1 2 3\nb 1 2 3 4\n", "line 3: has 4 numbers, expected 3"),
    "nan.txt": (b"1 2\na 1 nan\n", 'line 2: the vector of "a" holds something else than finite'),
    "huge.txt": (b"1 2\na 1 1e99\n", "line 2: .* something else than finite numbers"),
    "letters.txt": (b"x 1 2\na 1 two\n", 'line 2: the vector of "a"'),
    "short.txt": (b"3 2\na 1 2\nb 1 2\n", "first line says 3 words, it holds 2"),
    "long.txt": (b"1 2\na 1 2\nb 1 2\n", "first line says 1 words, it holds 2"),
    "latin.txt": (b"a 1 2\nK\xf6nig 1 2\n", r"line 2: the word b'K\\xf6nig' is not UTF-8"),
    "empty.txt": (b"", "line 1: expected a word and its numbers"),
    "one.txt": (b"word\n", "line 1: expected a word and its numbers"),
    "zero.txt": (b"1 0\na\n", "says 0 dimensions, expected 1 to 65536"),
    "wide.bin": (b"1 99999999999\na ", "says 99999999999 dimensions"),
    "cut.bin": (binary(True)[:-3], "ends within word 3 of 3; the file is cut off"),
    "cut-word.bin": (b"2 1\na \0\0\0\0b", "ends within word 2 of 2"),
    "none.bin": (b"2 1\n", "ends within word 1 of 2"),
    "nan.bin": (b"1 1\na " + struct.pack("<f", float("nan")), "word 1 of 1: the vector of"),
    "latin.bin": (b"1 1\nK\xf6 \0\0\0\0", "word 1 of 1: the word .* is not UTF-8"),
    "endless.bin": (b"1 1\n" + b"x" * (3 << 20), "word 1 of 1: has no end"),
    "fasttext.bin": (struct.pack("<ii", 793712314, 12) + b"\0" * 99, "take its .vec file"),
    "not.txt.gz": (b"a 1 2\n", "cannot be read: Not a gzipped file"),
    "cut.txt.gz": (gzip.compress(TEXT)[:-9], "cannot be read: "),
}


@pytest.mark.parametrize("name", WRONG)
def test_files_that_are_not_in_order_are_named(name: str, tmp_path: Path) -> None:
    content, message = WRONG[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as error:
        read_vectors(path, {"a", "b", "König"})
    assert str(error.value).startswith(f"{path}: ")


def test_an_absent_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.vec", tmp_path):
        for read in (read_dimensions, lambda p: read_vectors(p, {"a"})):
            with pytest.raises(DataError, match="cannot be read: (No such file|Is a directory)"):
                read(path)


def test_dimensions_of_what_is_no_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(WRONG["fasttext.bin"][0])
    with refused(DataError, problem="does not begin with"):
        read_dimensions(path)


@pytest.mark.skipif(importlib.util.find_spec("gensim") is None, reason="gensim is not installed")
@pytest.mark.parametrize("name", ["header.vec", "plain.txt", "lines.bin", "dense.bin"])
def test_gensim_reads_the_same(name: str, tmp_path: Path) -> None:
    from gensim.models import KeyedVectors

    path = tmp_path / name
    path.write_bytes(FILES[name])
    theirs = KeyedVectors.load_word2vec_format(
        str(path), binary=name.endswith(".bin"), no_header=name == "plain.txt"
    )
    ours = read_vectors(path, set(theirs.index_to_key))
    assert set(ours) == set(theirs.index_to_key)
    assert all(np.array_equal(ours[word], theirs[word]) for word in ours)
