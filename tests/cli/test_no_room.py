"""A full disk: whatever cannot be written is named, what was there stays, nothing half is left."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.shell import Shell
from small_disk import fill, mounted

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with mounted(tmp_path_factory.mktemp("mount") / "disk", megabytes=1) as place:
        (place / "old").write_text("old")
        fill(place)
        yield place


CALLS = {
    "index texts --model bert --output disk/index": "disk/index",
    "embed bert --file few.en --output disk/vectors.npy": "disk/vectors.npy",
    "embed bert --file few.en --output disk/vectors.jsonl": "disk/vectors.jsonl",
    "embed bert --file few.en --output disk/vectors.parquet": "disk/vectors.parquet",
    "convert bert disk/native --to native": "disk/native",
    "convert run disk/run --to native": "disk/run",
    "convert run disk/fast --to ctranslate2": "disk/fast",
    "explain run red --svg disk/explain.svg": "disk/explain.svg",
    "explain run red --png disk/explain.png": "disk/explain.png",
    "evaluate run --source few.en --reference few.de --output disk/out.de": "disk/out.de",
    "evaluate classes --file table.csv --svg disk/table.svg": "disk/table.svg",
    "classify classes --file table.csv --output disk/labelled.csv": "disk/labelled.csv",
    "positions --svg disk/positions.svg": "disk/positions.svg",
    "walk run red --html disk/walk.html": "disk/walk.html",
    "plot run --png disk/plot.png": "disk/plot.png",
    "phrasebook --output disk/pairs": "disk/pairs/train.tsv",
    "verify bert --update --golden disk/golden.json": "disk/golden.json",
    "embed bert --file few.en --output old.jsonl": "old.jsonl",  # a link to the disk
}


@pytest.mark.parametrize("call", CALLS)
def test_no_space_left_names_its_file(call: str, shell: Shell, place: Path, disk: Path) -> None:
    (place / "disk").symlink_to(disk)
    (place / "old.jsonl").symlink_to(disk / "old")
    done = shell(*call.split(), cwd=place)
    said = rf"regard: (.*/)?{re.escape(CALLS[call])}(/\S+)?: No space left on device\n"
    assert re.search(said, done.err), done.err
    assert done.code == 1 and "Traceback" not in done.err
    assert (disk / "old").read_text() == "old" and (place / "old.jsonl").is_symlink()
    left = {path.name for path in disk.rglob("*") if path.is_file()} - {"old", "filler"}
    assert left <= {".lock"}, left


@pytest.mark.parametrize("pages", [2, 7, 17])
def test_an_index_that_room_ends_for_is_named_and_goes_on(
    pages: int, shell: Shell, place: Path, tmp_path: Path
) -> None:
    """In its vectors, which a memory map would end the process for; in BM25; in its passages."""
    texts = place / "many"
    texts.mkdir()
    for number in range(60):
        (texts / f"{number}.txt").write_text(f"the cat sat on a red mat {number}.\n\n" * 8)
    call = ["index", "many", "--model", "bert", "--output", "disk/index"]
    with mounted(place / "disk", megabytes=1) as disk:
        filler = fill(disk)
        with filler.open("r+b") as file:
            file.truncate(filler.stat().st_size - 4096 * pages)
        done = shell(*call, cwd=place)
        said = "regard: disk/index/generation-000001: No space left on device\n"
        assert (done.err, done.code) == (said, 1)
        filler.unlink()
        assert shell(*call, cwd=place).code == 0
        assert shell("search", "disk/index", "cat", cwd=place).code == 0


@pytest.mark.parametrize(
    "call",
    [
        "translate run --engine torch --file few.en",
        "translate demo-de Hello --engine torch",
    ],
)
def test_a_full_cache_is_named_or_does_without(
    call: str, shell: Shell, place: Path, disk: Path
) -> None:
    done = shell(*call.split(), cwd=place, REGARD_CACHE=str(disk / "cache"))
    assert "Traceback" not in done.err, done.err
    assert done.code == 0 or re.search(rf"{disk}/\S+: No space left on device", done.err), done.err
