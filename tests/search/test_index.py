"""An index is made, updated, refused, damaged and killed."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import folders
import library
import regard
from refusals import refused
from regard.cli.main import group
from regard.errors import CheckpointError, DataError, MisuseError
from regard.search import index as index_module
from regard.search.encoder import Encoder
from regard.search.index import index_folder
from regard.search.query import open_index
from regard.search.store import read_manifest, write_down, write_manifest, writing


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    folders.bert(root / "bert", "")
    folders.bert(root / "distilbert", "MaskedLM", "distilbert")
    folders.gpt2(root / "gpt2")
    return root


@pytest.fixture(scope="module")
def model(root: Path) -> Any:
    return regard.load(root / "bert", "cpu")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return library.write(tmp_path / "texts")


@pytest.fixture
def made(texts: Path, tmp_path: Path, model: Any) -> Path:
    index_folder(texts, tmp_path / "index", model)
    return tmp_path / "index"


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_passages_are_found_with_their_lines(
    family: str, root: Path, texts: Path, tmp_path: Path
) -> None:
    done = index_folder(texts, tmp_path / "index", root / family)
    assert (done.files, done.new, done.changed, done.removed) == (3, 3, 0, 0)
    assert done.passages == done.embedded > 5
    opened = open_index(tmp_path / "index")
    for row in range(done.passages):
        name, passage = opened.table.passage(row)
        lines = (texts / name).read_text().split("\n")[passage.first - 1 : passage.last]
        assert "".join(passage.text.split()) in "".join("".join(lines).split())
    text = opened.table.passage(3)[1].text
    best = opened.search(text, 1)[0]
    assert best.text == text and best.score == pytest.approx(1, abs=1e-3)


def test_an_update_embeds_what_changed_and_equals_an_index_made_at_once(
    texts: Path, made: Path, tmp_path: Path, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    real = Encoder.embed
    monkeypatch.setattr(Encoder, "embed", lambda self, t: (seen.extend(t), real(self, t))[1])
    library.change(texts)
    done = index_folder(texts, made, model)
    assert (done.files, done.new, done.changed, done.removed) == (3, 1, 1, 1)
    assert len(seen) == done.embedded < done.passages
    assert not any("cat sat" in text for text in seen)  # animals.md is as it was
    assert [path.name for path in made.glob("gen*")] == ["generation-000002"]
    index_folder(texts, tmp_path / "at once", model)
    assert library.alike(library.answers(made, model), library.answers(tmp_path / "at once", model))


def test_where_nothing_changed_nothing_is_written(texts: Path, made: Path, model: Any) -> None:
    before = (made / "manifest.json").stat().st_mtime_ns
    done = index_folder(texts, made)  # with the model that the index names
    assert not done.did_something and done.embedded == 0 and done.passages > 0
    assert (made / "manifest.json").stat().st_mtime_ns == before


def test_other_passages_are_cut_when_asked(texts: Path, made: Path, model: Any) -> None:
    done = index_folder(texts, made, model, tokens=9)
    assert done.changed == 3 and done.embedded == done.passages
    assert read_manifest(made).tokens == 9
    assert not index_folder(texts, made, model).did_something  # and it stays so


@pytest.mark.end_to_end
@pytest.mark.skipif(sys.platform != "linux", reason="stops a process before it is killed")
def test_killed_at_any_step_it_answers_as_before_or_as_after(
    texts: Path, made: Path, root: Path, tmp_path: Path, repository: Path
) -> None:
    (tmp_path / "work").mkdir()
    child = Path(__file__).parent.parent / "killed.py"
    paths = [root / "bert", texts, made, tmp_path / "work"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(repository / "src")}
    done = subprocess.run(
        [sys.executable, str(child), *map(str, paths)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["before"] > 20 and counts["after"] > 3


def test_vectors_of_an_update_that_was_killed_are_not_computed_again(
    texts: Path, tmp_path: Path, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "CHUNK", 2)
    seen: list[str] = []
    real = Encoder.embed

    def embed(self: Encoder, given: list[str]) -> Any:
        if len(seen) >= 4:
            raise KeyboardInterrupt
        seen.extend(given)
        return real(self, given)

    monkeypatch.setattr(Encoder, "embed", embed)
    with pytest.raises(KeyboardInterrupt):
        index_folder(texts, tmp_path / "index", model)
    monkeypatch.setattr(Encoder, "embed", lambda self, t: (seen.extend(t), real(self, t))[1])
    done = index_folder(texts, tmp_path / "index", model)
    assert len(seen) == done.passages > 4 and len(set(seen)) == len(seen)
    assert not (tmp_path / "index/pending").exists()


def test_a_flipped_byte_is_found_in_every_file(made: Path, model: Any) -> None:
    files = [path for path in made.rglob("*") if path.is_file() and path.name != ".lock"]
    assert len(files) == 10
    for path in files:
        good = path.read_bytes()
        for place in (0, len(good) // 2, len(good) - 1):
            path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
            with pytest.raises(CheckpointError, match=path.name):
                open_index(made, model)
        path.write_bytes(good[:-2])
        with pytest.raises(CheckpointError):
            open_index(made, model, check=False)
        path.write_bytes(good)
    assert open_index(made, model).search("a cat", 1)


def test_no_byte_of_the_manifest_can_change_unseen(made: Path) -> None:
    path = made / "manifest.json"
    good = path.read_bytes()
    whole = read_manifest(made)
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 2]) + good[place + 1 :])
        with suppress(CheckpointError):
            assert read_manifest(made) == whole, place  # white space only


def test_a_damaged_index_is_not_carried_on_but_can_be_made_anew(
    texts: Path, made: Path, model: Any
) -> None:
    path = next(made.glob("generation-*/vectors.npy"))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    library.change(texts)
    with refused(CheckpointError, problem="damaged", advice="--rebuild"):
        index_folder(texts, made, model)
    index_folder(texts, made, model, rebuild=True)
    assert open_index(made, model).search("a cat", 1)


def test_another_model_is_refused(texts: Path, made: Path, root: Path) -> None:
    other = regard.load(root / "distilbert", "cpu")
    with pytest.raises(MisuseError, match="made with another model.*--rebuild"):
        index_folder(texts, made, other)
    with pytest.raises(MisuseError, match="made with another model"):
        open_index(made, other).search("a cat")
    assert open_index(made, other).search("cat", mode="keyword")  # needs none


def test_a_model_without_embeddings_says_what_it_offers(
    texts: Path, root: Path, tmp_path: Path
) -> None:
    with refused(MisuseError, subject="embed", problem="gpt2", advice="offers complete, logits"):
        index_folder(texts, tmp_path / "index", root / "gpt2")
    with refused(MisuseError, problem="the model is not there"):
        index_folder(texts, tmp_path / "index", root / "absent")
    with refused(MisuseError, advice="name an encoder with --model"):
        index_folder(texts, tmp_path / "index")


def test_folders_without_text(tmp_path: Path, made: Path, texts: Path, model: Any) -> None:
    with refused(MisuseError, problem="no such folder"):
        index_folder(tmp_path / "absent", tmp_path / "x", model)
    empty = tmp_path / "empty"
    empty.mkdir()
    with refused(DataError, problem="no text file", expected="files that end in"):
        index_folder(empty, tmp_path / "x", model)
    (empty / "a.png").write_text("x")
    with refused(DataError, expected="other kinds (.png 1): add one with --suffix"):
        index_folder(empty, tmp_path / "x", model)
    (empty / "a.txt").write_text(" \n\n")
    with refused(DataError, problem="no text in them"):
        index_folder(empty, tmp_path / "x", model)
    for path in texts.rglob("*.*"):
        path.unlink()
    with refused(DataError, problem="no text file"):
        index_folder(texts, made, model)
    assert open_index(made, model).search("a cat")  # nothing was lost


def test_what_is_skipped_is_counted(texts: Path, tmp_path: Path, model: Any) -> None:
    (texts / "x.png").write_bytes(b"\x89PNG")
    (texts / "bad.txt").write_bytes(b"the cat\n\xff\xfe\nthe dog\n")
    (texts / "code.py").write_text("the red house\n")
    done = index_folder(texts, texts / "index", model)
    assert done.other == {".png": 1, ".py": 1}
    assert (done.bad_lines, done.first_bad) == (1, ["bad.txt:2"])
    assert not index_folder(texts, texts / "index", model).did_something  # not itself
    more = index_folder(texts, texts / "index", model, suffixes=["py"])
    assert (more.new, more.bad_lines, more.other) == (1, 1, {".png": 1})


def test_places_that_are_no_index(texts: Path, made: Path, tmp_path: Path, model: Any) -> None:
    with refused(MisuseError, problem="holds animals.md, which is no part of an index"):
        index_folder(texts, texts, model)
    with refused(MisuseError, problem="is the index of", advice="--rebuild"):
        index_folder(library.write(tmp_path / "other"), made, model)
    with refused(MisuseError, subject="tokens", got=24, expected="3 to 23"):
        index_folder(texts, tmp_path / "new", model, tokens=24)
    assert not (tmp_path / "new").exists()
    with writing(made), refused(MisuseError, problem="another process is writing"):
        index_folder(texts, made, model)
    (tmp_path / "empty").mkdir()
    with refused(MisuseError, problem="empty", expected="an index"):
        open_index(tmp_path / "empty")
    with refused(MisuseError, problem="no such index"):
        open_index(tmp_path / "absent")
    with refused(MisuseError, problem="without manifest.json"):
        open_index(texts)


def test_who_has_an_index_open_keeps_its_answers(texts: Path, made: Path, model: Any) -> None:
    opened = open_index(made, model)
    before = opened.search("a good cat", 4, "hybrid")
    library.change(texts)
    index_folder(texts, made, model)
    assert opened.search("a good cat", 4, "hybrid") == before
    assert open_index(made, model).manifest.generation == "generation-000002"


def test_what_a_kill_left_behind_is_removed(texts: Path, made: Path, model: Any) -> None:
    left = ("generation-000007", "pending", ".tmp-generation-000007-1", ".tmp-removed-pending-2")
    write_down(made, read_manifest(made), *left[:2])  # as an update does before it writes them
    for name in left:
        (made / name).mkdir()
        (made / name / "x.npy").write_bytes(b"half")
    assert open_index(made, model).search("a cat", 1)
    assert not index_folder(texts, made, model).did_something
    assert sorted(p.name for p in made.iterdir()) == [".lock", "generation-000001", "manifest.json"]
    assert read_manifest(made).written == ["generation-000001"]


OWN = (
    "pending",
    "generation-plans",
    "generation-000001",
    "generation-000042",
    "manifest.json",
    "manifest.json.bak",
    ".tmp-drafts",
    ".tmp-generation-000001-77",
    ".lock.md",
)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


@pytest.mark.parametrize("rebuild", [False, True])
@pytest.mark.parametrize("name", OWN)
def test_a_folder_of_the_users_own_is_refused_and_keeps_everything(
    name: str, rebuild: bool, texts: Path, tmp_path: Path, model: Any
) -> None:
    place = tmp_path / "work"
    for path in (place / name / "deep.txt", place / f"{name}-too.txt"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("years of work")
    for folder in (place, place / name):
        before = contents(folder)
        with pytest.raises((MisuseError, CheckpointError)):
            index_folder(texts, folder, model, rebuild=rebuild)
        assert contents(folder) == before and not (folder / ".lock").exists()
    (place / name / "deep.txt").unlink()  # and as a file
    (place / name).rmdir()
    (place / name).write_text('{"name": "my own app"}')
    before = contents(place)
    with pytest.raises((MisuseError, CheckpointError)):
        index_folder(texts, place, model, rebuild=rebuild)
    assert contents(place) == before


@pytest.mark.parametrize("name", [name for name in OWN if name not in ("manifest.json",)])
def test_what_a_user_puts_into_an_index_stays(
    name: str, texts: Path, made: Path, model: Any
) -> None:
    name = name.replace("000001", "000003")
    (made / name).mkdir()
    (made / name / "deep.txt").write_text("years of work")
    library.change(texts)
    with refused(MisuseError, problem="no part of an index"):
        index_folder(texts, made, model)
    assert (made / name / "deep.txt").read_text() == "years of work"
    assert open_index(made, model).search("a cat", 1)  # as before


def test_a_first_making_that_was_stopped_goes_on(
    texts: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path / "index"
    (tmp_path / "index").mkdir()  # empty is as good as new

    def interrupted(self: Encoder, given: list[str]) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as change:
        change.setattr(Encoder, "embed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index_folder(texts, index, root / "bert")
    with refused(MisuseError, problem="its first making was stopped", advice="go on with"):
        open_index(index)
    assert index_folder(texts, index).did_something  # it knows the model
    assert open_index(index).search("a cat", 1)
    assert sorted(p.name for p in index.iterdir()) == [
        ".lock",
        "generation-000001",
        "manifest.json",
    ]


def test_while_an_index_is_made_anew_the_old_one_answers(
    texts: Path, made: Path, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = library.answers(made, model)
    seen = []
    real = Encoder.embed

    def embed(self: Encoder, given: list[str]) -> Any:
        seen.append(open_index(made, model, check=False).manifest.generation)
        return real(self, given)

    monkeypatch.setattr(Encoder, "embed", embed)
    index_folder(texts, made, model, rebuild=True)
    assert seen == ["generation-000001"]
    assert library.alike(library.answers(made, model), before)
    assert read_manifest(made).written == ["generation-000002"]


def test_a_damaged_manifest_is_made_anew_and_nothing_is_left(
    texts: Path, made: Path, model: Any
) -> None:
    path = made / "manifest.json"
    path.write_text(path.read_text().replace('"tokens": ', '"tokens": 1'))
    with refused(CheckpointError, problem="damaged", advice="--rebuild"):
        index_folder(texts, made, model)
    index_folder(texts, made, model, rebuild=True)
    assert open_index(made, model).search("a cat", 1)
    assert [path.name for path in made.glob("gen*")] == ["generation-000002"]


@pytest.mark.parametrize("name", ["../texts", "..", "/etc", "generation-plans", 7, "texts"])
def test_a_manifest_that_names_something_else_removes_nothing(
    name: Any, texts: Path, made: Path, model: Any
) -> None:
    """Its checksum is right: who writes a manifest can compute one."""
    manifest = read_manifest(made)
    write_manifest(made, replace(manifest, written=[*manifest.written, name]))
    library.change(texts)
    before = contents(texts)
    with refused(CheckpointError, problem="damaged"):
        index_folder(texts, made, model)
    assert contents(texts) == before
    write_manifest(made, replace(manifest, generation=name))
    with refused(CheckpointError, problem="damaged"):
        open_index(made, model)


def many(folder: Path, count: int) -> Path:
    for number in range(count):
        name = f"{number:04d}.txt"
        library.write(folder, {name: f"the {'red' if number % 2 else 'blue'} cat sat\n"})
    return folder


def replaced(path: Path, kind: str) -> None:
    """What another program does to a file meanwhile."""
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/etc/passwd")


@pytest.mark.skipif(os.name != "posix", reason="pipes and links")
@pytest.mark.parametrize("kind", ["deleted", "folder", "pipe", "link"])
def test_one_file_that_goes_meanwhile_is_skipped_and_counted(
    kind: str, tmp_path: Path, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = many(tmp_path / "many", 40)
    real = index_module.cut

    def cut(data: bytes, *rest: Any) -> Any:
        if (texts / "0030.txt").is_file() and not (texts / "0030.txt").is_symlink():
            replaced(texts / "0030.txt", kind)
        return real(data, *rest)

    monkeypatch.setattr(index_module, "cut", cut)
    done = index_folder(texts, tmp_path / "index", model)
    assert (done.files, done.passages, done.new) == (39, 39, 39)
    assert list(done.unread) == ["0030.txt"] and done.unread["0030.txt"]
    assert len(open_index(tmp_path / "index", model).table.entries) == 39
    told = CliRunner().invoke(group, ["index", str(texts), "--output", str(tmp_path / "index")])
    assert "39 files, 39 passages" in told.stdout  # and now it is simply not there


def test_what_was_skipped_is_said(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = many(tmp_path / "many", 3)
    real = index_module.content

    def content(path: Path) -> bytes:
        if path.name == "0001.txt":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(index_module, "content", content)
    words = ["index", str(texts), "--output", str(tmp_path / "index"), "--model"]
    told = CliRunner().invoke(group, [*words, str(root / "bert")])
    assert "skipped: 1 file that could not be read (0001.txt: Permission denied)" in told.stdout
    assert told.exit_code == 0
    (texts / "0000.txt").unlink()
    (texts / "0002.txt").unlink()
    with refused(DataError, problem="that can be read (0001.txt: Permission denied)"):
        index_folder(texts, tmp_path / "index")


def test_a_folder_that_goes_as_a_whole_is_an_error_and_the_index_stays(
    tmp_path: Path, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a disk is taken away: the old index must not lose what it knows."""
    texts = many(tmp_path / "many", 5)
    index_folder(texts, tmp_path / "index", model)
    real = index_module.content

    def content(path: Path) -> bytes:
        if texts.is_dir():
            texts.rename(tmp_path / "away")
        return real(path)

    monkeypatch.setattr(index_module, "content", content)
    with refused(DataError, problem="no such folder any more"):
        index_folder(texts, tmp_path / "index", model)
    assert len(open_index(tmp_path / "index", model).table.entries) == 5
