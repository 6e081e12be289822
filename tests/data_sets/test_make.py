"""Downloads become files: the rule that splits Tatoeba by hand, archives, joined trees, bombs."""

import gzip
import hashlib
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
import sklearn.datasets

from refusals import refused
from regard.datasets import make
from regard.datasets.find import find
from regard.datasets.make import CUTS, content, part_of, part_of_pairs, unpacked
from regard.datasets.table import named
from regard.errors import DataError

GERMAN = CUTS["tatoeba-de"]


def test_the_part_of_a_sentence_by_hand() -> None:
    for text in ("Hi.", "Excuse me.", "I got it.", "hi.", "About how much will it cost?"):
        n = int.from_bytes(hashlib.sha256(text.lower().encode()).digest(), "big") % 1000
        expected = "dev" if n < 10 else "test" if n < 20 else "" if n < 30 else "train"
        assert part_of(text, GERMAN) == expected
    # These three stand in those parts of the files that results were made with.
    assert [part_of(t, GERMAN) for t in ("I got it.", "Excuse me.", "Hi.")] == [
        "dev",
        "test",
        "train",
    ]
    hindi = ("About how much will it cost?", "A book is lying on the desk.")
    assert [part_of(t, CUTS["tatoeba-hi"]) for t in hindi] == ["dev", "test"]


def test_pairs_lose_other_columns_and_repetitions() -> None:
    rows = ["Hi.\tHallo!\tCC-BY 2.0 (France)\r", "Hi.\tGrüß Gott!\tCC", "Hi.\tHallo!\tother"]
    text = "\n".join([*rows, "", "nothing", "\tx", "Hi.\t \tx"])
    assert list(part_of_pairs(text, "train", GERMAN)) == ["Hi.\tHallo!\n", "Hi.\tGrüß Gott!\n"]
    assert list(part_of_pairs(text, "dev", GERMAN)) == []


def test_capitals_do_not_part_a_sentence() -> None:
    for text in ("Go on in.", "GO ON IN.", "go on in."):
        assert part_of(text, GERMAN) == part_of("go on in.", GERMAN)


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as opened:
        for name, body in members.items():
            opened.writestr(name, body)
    return path


def test_tatoeba_is_taken_out_of_its_archive(tmp_path: Path) -> None:
    rows = "Hi.\tHallo!\tCC\nI got it.\tIch habe es.\tCC\nExcuse me.\tVerzeihung!\tCC\n"
    download = archive(tmp_path / "deu-eng.zip", {"_about.txt": b"x", "deu.txt": rows.encode()})
    dataset = named("tatoeba-de")
    found = {file.name: content(dataset, file, download).decode() for file in dataset.files}
    assert found == {
        "en-de.train.tsv.gz": "Hi.\tHallo!\n",
        "en-de.dev.tsv.gz": "I got it.\tIch habe es.\n",
        "en-de.test.tsv.gz": "Excuse me.\tVerzeihung!\n",
    }


def test_trees_are_joined_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = "treebank/combined/"
    members = {
        f"{folder}wsj_0002.mrg": b"2",
        f"{folder}wsj_0001.mrg": b"1",
        "treebank/README": b"r",
    }
    download = archive(tmp_path / "treebank.zip", {**members, f"{folder}more/x": b"x", folder: b""})
    dataset = named("treebank")
    assert content(dataset, dataset.files[0], download) == b"12"


def test_the_digits_are_parted_by_their_lines() -> None:
    """scikit-learn brings the file that lies at the address."""
    data = Path(sklearn.datasets.__file__).parent / "data/digits.csv.gz"
    dataset = named("digits")
    train, test = (content(dataset, file, data) for file in dataset.files)
    for file, part in zip(dataset.files, (train, test), strict=True):
        assert (len(part), hashlib.sha256(part).hexdigest()) == (file.bytes, file.sha256)
    rows = [np.loadtxt(part.decode().splitlines(), delimiter=",") for part in (train, test)]
    assert (len(rows[0]), len(rows[1])) == (1404, 393)
    both = sklearn.datasets.load_digits()
    expected = np.column_stack((both.data, both.target))
    assert {*map(tuple, expected)} == {*map(tuple, rows[0])} | {*map(tuple, rows[1])}
    for line in test.splitlines()[:9]:
        assert int.from_bytes(hashlib.sha256(line).digest(), "big") % 1000 < 200


def test_an_archive_of_another_layout_is_refused(tmp_path: Path) -> None:
    dataset = named("wikitext2")
    download = archive(tmp_path / "a.zip", {"elsewhere.raw": b"x"})
    with pytest.raises(DataError, match="no wikitext-2-raw/wiki.train.raw in it"):
        content(dataset, dataset.files[0], download)
    download.write_bytes(b"<html>not here any more</html>")
    with pytest.raises(DataError, match="not the archive that was expected"):
        content(dataset, dataset.files[0], download)


def test_damaged_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"text" * 1000)[:-9])
    with refused(DataError, expected="a gzipped file"):
        unpacked(path, is_packed=True)
    path.write_bytes(b"plain")
    with refused(DataError, expected="a gzipped file"):
        unpacked(path, is_packed=True)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "MOST", 1000)
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"0" * 1001))
    with pytest.raises(DataError, match="over 1,000 bytes"):
        unpacked(path, is_packed=True)


@pytest.mark.parametrize(("name", "language"), [("tatoeba-de", "de"), ("tatoeba-hi", "hi")])
def test_the_split_is_the_one_of_the_files_that_results_were_made_with(
    name: str, language: str
) -> None:
    folder = find(named(name))
    if folder is None:
        pytest.skip(f"{name} is not here: set REGARD_DATA")
    for part in ("dev", "test", "train"):
        with gzip.open(folder / f"en-{language}.{part}.tsv.gz", "rt", encoding="utf-8") as lines:
            sentences = {line.split("\t")[0] for line in list(lines)[:3000]}
        assert {part_of(sentence, CUTS[name]) for sentence in sentences} == {part}
