"""A set into the cache: fetched from a server of this machine or taken from a folder."""

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from loopback import Site, serving
from refusals import refused
from regard.datasets.find import cached_data, find
from regard.datasets.obtain import obtain
from regard.datasets.table import DataFile, DataSet, all_sets, named
from regard.errors import DataError, MisuseError

TRAIN, DEV = b"one\ntwo\n" * 5000, b"three\n"
# Where this machine has them, looked for before a test looks elsewhere.
REAL = {name: find(named(name)) for name in ("multi30k", "multi30k-tok", "sst2")}
HERE = [dataset for dataset in all_sets().values() if dataset.files]


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


SMALL = DataSet(
    name="small",
    what="two files",
    size="3 lines",
    licence="none",
    page="nowhere",
    kind="texts",
    folder="small-folder",
    base="https://example.org/data/",
    train=("train.txt.gz",),
    files=(
        DataFile("train.txt.gz", "train.txt", "", len(TRAIN), digest(TRAIN)),
        DataFile("dev.txt", "dev.txt.gz", "", len(DEV), digest(DEV)),
    ),
)
PATHS = {
    "/example.org/data/train.txt": TRAIN,
    "/example.org/data/dev.txt.gz": gzip.compress(DEV),
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("REGARD_DATA", "")
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    with serving(Site(dict(PATHS))) as opened:
        yield opened


def get(site: Site) -> list[str]:
    said: list[str] = []
    folder = obtain(SMALL, said.append, mirror=site.address, timeout=5, pause=0)
    assert folder == cached_data() / "small-folder" == find(SMALL)
    assert gzip.decompress((folder / "train.txt.gz").read_bytes()) == TRAIN
    assert (folder / "dev.txt").read_bytes() == DEV
    assert not list((cached_data() / ".partial").iterdir())
    return said


def test_a_set_is_fetched_packed_and_unpacked_as_it_is_kept(site: Site) -> None:
    said = get(site)
    assert len(said) == 2 and all("checksum right" in line for line in said)
    assert [path for path, _ in site.asked] == list(PATHS)
    get(site)
    assert len(site.asked) == 2  # it is here: nobody is asked again


def test_a_set_that_was_cut_off_goes_on(site: Site) -> None:
    site.cuts += [9000, 0, 0]
    with pytest.raises(DataError, match="9,000 bytes are kept"):
        obtain(SMALL, print, mirror=site.address, timeout=5, pause=0)
    assert find(SMALL) is None and not (cached_data() / "small-folder").exists()
    get(site)
    assert ("/example.org/data/train.txt", "bytes=9000-") in site.asked


def test_a_wrong_checksum_keeps_nothing(site: Site) -> None:
    site.files["/example.org/data/dev.txt.gz"] = gzip.compress(b"thrre\n")
    with pytest.raises(DataError, match=r"dev.txt holds 6 bytes with SHA-256 \w+…, expected 6"):
        obtain(SMALL, print, mirror=site.address, timeout=5, pause=0)
    assert find(SMALL) is None and not (cached_data() / "small-folder/dev.txt").exists()
    site.files |= PATHS  # repaired at its origin
    get(site)
    assert [path for path, _ in site.asked].count("/example.org/data/train.txt") == 1


def test_a_page_in_place_of_a_file_is_refused(site: Site) -> None:
    site.files["/example.org/data/dev.txt.gz"] = b"<html>log in first</html>"
    with refused(DataError, expected="a gzipped file"):
        obtain(SMALL, print, mirror=site.address, timeout=5, pause=0)


def test_a_damaged_file_of_the_cache_is_fetched_again(site: Site) -> None:
    get(site)
    (cached_data() / "small-folder/dev.txt").write_bytes(b"tree\n")
    said = get(site)
    assert "dev.txt: damaged, removed" in said[0] and len(site.asked) == 3


def test_a_damaged_file_of_ones_own_is_said_and_left(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "own/small-folder"
    folder.mkdir(parents=True)
    (folder / "train.txt.gz").write_bytes(gzip.compress(TRAIN))
    (folder / "dev.txt").write_bytes(b"tree\n")
    monkeypatch.setenv("REGARD_DATA", str(tmp_path / "own"))
    with pytest.raises(DataError, match="own/small-folder/dev.txt: dev.txt holds 5 bytes"):
        obtain(SMALL, print, mirror=site.address)
    assert (folder / "dev.txt").read_bytes() == b"tree\n" and not site.asked


@pytest.mark.parametrize("below", ["", "small-folder"])
@pytest.mark.parametrize("downloads", [False, True])
def test_a_set_is_taken_from_a_folder(
    site: Site, tmp_path: Path, below: str, downloads: bool
) -> None:
    folder = tmp_path / "stick" / below
    folder.mkdir(parents=True)
    if downloads:  # what a browser saved
        (folder / "train.txt").write_bytes(TRAIN)
        (folder / "dev.txt.gz").write_bytes(gzip.compress(DEV))
    else:
        (folder / "train.txt.gz").write_bytes(gzip.compress(TRAIN))
        (folder / "dev.txt").write_bytes(DEV)
    obtain(SMALL, print, origin=tmp_path / "stick")
    (cached_data() / ".partial").mkdir()
    get(site)
    assert not site.asked


def test_a_folder_that_lacks_a_file_or_has_another_is_refused(site: Site, tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="no such folder"):
        obtain(SMALL, print, origin=tmp_path / "none")
    (tmp_path / "dev.txt").write_bytes(DEV)
    with pytest.raises(DataError, match="train.txt.gz of small is not in it"):
        obtain(SMALL, print, origin=tmp_path)
    (tmp_path / "train.txt").write_bytes(TRAIN + b"more\n")
    with pytest.raises(DataError, match="train.txt.gz holds 40,005 bytes"):
        obtain(SMALL, print, origin=tmp_path)
    assert find(SMALL) is None


def test_what_cannot_be_fetched_is_said() -> None:
    with pytest.raises(MisuseError, match="nothing to fetch"):
        obtain(named("phrasebook-de"), print)


def test_a_set_without_address(site: Site) -> None:
    with pytest.raises(MisuseError, match="no public address .*--from FOLDER"):
        obtain(named("libreoffice-hi"), print, mirror=site.address)


@pytest.mark.parametrize("dataset", HERE, ids=lambda dataset: dataset.name)
def test_sets_that_are_here_are_those_of_the_table(dataset: DataSet) -> None:
    if find(dataset) is None:
        pytest.skip(f"{dataset.name} is not here: set REGARD_DATA")
    assert obtain(dataset, print) == find(dataset)


@pytest.mark.parametrize("name", REAL)
def test_real_files_come_over_the_wire(site: Site, name: str) -> None:
    """With the packing that they have at their origin: raw captions gzipped, tokenised ones not."""
    dataset, folder = named(name), REAL[name]
    if folder is None:
        pytest.skip(f"{name} is not here: set REGARD_DATA")
    for file in dataset.files:
        body = (folder / file.name).read_bytes()
        plain = gzip.decompress(body) if file.name.endswith(".gz") else body
        parts = urlsplit(dataset.address(file))
        is_packed = parts.path.endswith(".gz")
        site.files[f"/{parts.netloc}{parts.path}"] = gzip.compress(plain) if is_packed else plain
    assert obtain(dataset, print, mirror=site.address) == cached_data() / dataset.folder
    assert find(dataset) == cached_data() / dataset.folder
