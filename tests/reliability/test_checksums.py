"""A byte that flips in any file of a run, an engine, an index or a converted model is noticed.

Noticed is: an error of ours that names the file, or the same answer after the file was made again.
Never: another answer with exit code 0, NaN, or a traceback.
"""

import json
import math
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

import folders
import library
import regard
from fit import test_classify_training as classifiers
from regard.answer.loaded import open_model
from regard.bundle.box import Boxed, models_in_the_box
from regard.bundle.bundle import open_bundle
from regard.checkpoint.files import read_own_json
from regard.checksums import NAME as CHECKSUMS
from regard.checksums import OWN, add_checksums, check, read_checksums
from regard.cli.main import group
from regard.convert.convert import convert
from regard.decode.engine import Layout
from regard.decode.engines.ctranslate2 import CTranslate2Engine
from regard.decode.options import DecodingOptions
from regard.engines import autotune
from regard.engines.engines import PREPARING, EngineRequest
from regard.errors import DamageError, RegardError
from regard.fit.train import Request, train
from regard.search import index as index_module
from regard.search.index import index_folder

pytestmark = pytest.mark.end_to_end
NOTHING_RESTS_ON = ("loss.png", ".lock", "tensorboard", "engines")
TEXT = "red cat one dog"


def flip(file: Path, chance: random.Random) -> None:
    """One byte becomes another; in JSON one that means something."""
    data = bytearray(file.read_bytes())
    meaning = [i for i, byte in enumerate(data) if not chr(byte).isspace()] or [0]
    place = chance.choice(meaning) if file.suffix in (".json", ".jsonl") else None
    data[chance.randrange(len(data)) if place is None else place] ^= chance.randint(1, 7)
    file.write_bytes(data)


def files_of(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(NOTHING_RESTS_ON) and path.name != ".lock":
            yield name


def damaged_in_turn(folder: Path, names: list[str], flips: int = 2) -> Iterator[str]:
    """Each file with a byte flipped, and whole again afterwards."""
    for name in names:
        whole = (folder / name).read_bytes()
        for number in range(flips):
            flip(folder / name, random.Random(f"{name} {number}"))
            yield name
            (folder / name).write_bytes(whole)


def asked(*arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a command; anything but an error of ours is raised."""
    done = CliRunner().invoke(group, list(arguments))
    if isinstance(done.exception, RegardError):
        return done.exception.exit_code, done.stdout, str(done.exception)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def noticed(name: str, folder: Path, use: Callable[[], object]) -> None:
    """That use is an error of ours which names the file, or its folder."""
    path = folder / name
    with pytest.raises(RegardError) as error:
        use()
    assert str(path) in str(error.value) or str(path.parent) in str(error.value), (name, error)


@pytest.fixture(scope="module")
def run(toy_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("damage") / "run"
    shutil.copytree(toy_run, copy, ignore=shutil.ignore_patterns("engines"))
    return copy


def test_every_file_of_a_run_that_answers(run: Path) -> None:
    names = [n for n in files_of(run) if not n.startswith(("data/", "checkpoints/", "log"))]
    assert {*names} == {
        "run.json", "recipe.json", "spec.json", "tokenizer.json", "model.json",
        "model.safetensors", CHECKSUMS,
    }  # fmt: skip
    before = asked("translate", str(run), TEXT, "--engine", "torch")
    for name in damaged_in_turn(run, names, flips=4):
        code, answer, said = asked("translate", str(run), TEXT, "--engine", "torch")
        assert (code, answer) == (1, "") and f"{run / name}: " in said, (name, said)
    assert asked("translate", str(run), TEXT, "--engine", "torch") == before


def test_the_doctor_looks_at_everything(run: Path) -> None:
    assert asked("doctor", str(run))[0] == 0
    for name in damaged_in_turn(run, ["tokenizer.json", "data/valid.jsonl", "spec.json"], flips=1):
        code, told, _ = asked("doctor", str(run))
        assert code == 1 and "broken" in told and "regard runs it: no" in told, name


def test_every_file_of_the_data_before_a_run_goes_on(run: Path, tmp_path: Path) -> None:
    """data/valid.jsonl was read without a look: changed words changed what training saw."""
    names = [name for name in files_of(run) if name.startswith("data/")]
    assert {"data/valid.jsonl", "data/parts.jsonl", "data/valid/store.json"} <= {*names}
    for name in damaged_in_turn(run, names):
        noticed(name, run, lambda: train(Request(resume=run), lambda line: None))
    assert read_own_json(run / "run.json")["state"] == "finished"  # nothing was begun


def test_one_changed_word_of_the_held_out_pairs(run: Path) -> None:
    file = run / "data/valid.jsonl"
    whole = file.read_text(encoding="utf-8")
    word = "Katze" if "Katze" in whole else "Hund"
    before = file.stat()
    file.write_text(whole.replace(word, "Vogel", 1), encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    try:
        for use in (["evaluate", str(run)], ["train", "--resume", str(run)]):
            code, _, said = asked(*use)
            assert code == 1 and f"{file}: differs from its checksum" in said, use
    finally:
        file.write_text(whole, encoding="utf-8")


def test_the_log_is_not_drawn_but_the_run_goes_on(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    for name in damaged_in_turn(copy, ["log.jsonl"], flips=6):
        noticed(name, copy, lambda: asked_or_raise("plot", str(copy)))
        code, listed, _ = asked("runs", str(copy), "--json")
        (row,) = json.loads(listed)
        assert code == 0 and row["loss"] is None
        assert re.search(r"log\.jsonl: (differs|1 line is no record)", row["problem"]), row
    flip(copy / "log.jsonl", random.Random(1))
    said: list[str] = []
    train(Request(resume=copy), said.append)
    (line,) = [line for line in said if line.startswith("Warning")]
    assert f"{copy / 'log.jsonl'}: differs from its checksum" in line
    assert (copy / "model.safetensors").read_bytes() == (run / "model.safetensors").read_bytes()


def asked_or_raise(*arguments: str) -> None:
    done = CliRunner().invoke(group, list(arguments), standalone_mode=False)
    if done.exception is not None:
        raise done.exception


# Engines.


@pytest.fixture(scope="module")
def with_engines(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ctranslate2")
    copy = tmp_path_factory.mktemp("engines") / "run"
    shutil.copytree(run, copy, ignore=shutil.ignore_patterns("checkpoints"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(autotune, "layouts_for", lambda count: [(1, 1)])
        for precision in ("fp32", "int8"):
            answer(copy, precision)
    return copy


def answer(run: Path, precision: str, say: Callable[[str], None] = lambda line: None) -> Any:
    """What the engine of that precision answers, with its scores."""
    wanted = EngineRequest("ctranslate2", precision, workers=1, threads=1)
    engines = open_model(run, "cpu", wanted, say=say).engines
    engine = engines.take(DecodingOptions(beam=2, n_best=2))
    found = engine.submit([[5, 9, 12, 2], [7, 3, 2]], DecodingOptions(beam=2, n_best=2))()
    engines.close()
    return [[(h.ids, round(h.score, 4)) for h in row] for row in found]


@pytest.mark.needs("ctranslate2", "int8")
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_damaged_engine_is_made_again(with_engines: Path, precision: str) -> None:
    folder = with_engines / f"engines/ctranslate2-{precision}"
    before = answer(with_engines, precision)
    assert {*files_of(folder)} == {
        "model.bin", "config.json", "shared_vocabulary.json", "regard.json", CHECKSUMS
    }  # fmt: skip
    for name in list(files_of(folder)):
        flip(folder / name, random.Random(name))
        said: list[str] = []
        assert answer(with_engines, precision, said.append) == before, name
        (line,) = said
        assert f"{folder / name}: " in line and "made again from the weights" in line
        said.clear()
        assert answer(with_engines, precision, said.append) == before and not said


@pytest.mark.needs("ctranslate2")
@pytest.mark.parametrize("key", ["add_source_bos", "unk_token", "decoder_start_token"])
def test_an_engine_whose_config_lacks_a_key_is_made_again(with_engines: Path, key: str) -> None:
    """With the right checksum: the library would say so only when it first translates."""
    before, file = answer(with_engines, "fp32"), "engines/ctranslate2-fp32/config.json"
    config = json.loads((with_engines / file).read_text())
    (with_engines / file).write_text(json.dumps({k: v for k, v in config.items() if k != key}))
    add_checksums((with_engines / file).parent, ["config.json"])
    said: list[str] = []
    assert answer(with_engines, "fp32", said.append) == before
    (line,) = said
    assert f"has no {key}" in line and "made again from the weights" in line


@pytest.mark.needs("ctranslate2")
def test_an_engine_that_is_a_link_replaces_nobodys_folder(
    with_engines: Path, tmp_path: Path
) -> None:
    before = answer(with_engines, "fp32")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter").write_text("not yours")
    folder = with_engines / "engines/ctranslate2-fp32"
    shutil.rmtree(folder)
    folder.symlink_to(tmp_path / "mine")
    assert answer(with_engines, "fp32") == before
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter"]
    assert (tmp_path / "mine/letter").read_text() == "not yours" and not folder.is_symlink()


@pytest.mark.needs("ctranslate2", "int8")
def test_a_damaged_choice_is_made_again(
    with_engines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autotune, "layouts_for", lambda count: [(1, 1)])
    before, file = answer(with_engines, "fp32"), with_engines / "engines/choice.json"
    text = file.read_text().replace('"limit": ', '"limit": 1', 1)
    file.write_text(text)
    said: list[str] = []
    assert answer(with_engines, "fp32", said.append) == before and said == [PREPARING]


def spoilt(whole: bytes, number: int, chance: random.Random) -> bytes:
    """A file of weights after an accident: cut off, zeroed, overwritten, a bit, a byte, longer."""
    data = bytearray(whole)
    place = chance.randrange(len(data))
    kinds: list[Callable[[], bytes]] = [
        lambda: bytes(data[:place]),
        lambda: bytes(data[:place]) + bytes(len(data) - place),
        lambda: bytes(data[:place]) + chance.randbytes(64) + bytes(data[place + 64 :]),
        lambda: bytes(data[:place]) + bytes([data[place] ^ 1]) + bytes(data[place + 1 :]),
        lambda: bytes(data[:place]) + bytes([data[place] ^ 0x7F]) + bytes(data[place + 1 :]),
        lambda: bytes(data) + chance.randbytes(16),
        lambda: bytes(data[:place]) + b"\xff\xff\xff\x7f" + bytes(data[place + 4 :]),
        lambda: bytes(data[4:]),
    ]
    return kinds[number % len(kinds)]()


@pytest.mark.needs("ctranslate2", "int8")
@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("count", [8, pytest.param(80, marks=pytest.mark.long)])
def test_damaged_weights_of_an_engine_are_never_opened(
    with_engines: Path, tmp_path: Path, precision: str, count: int
) -> None:
    """Without checksums 1 of 80 int8 files answered wrongly, and an fp32 one with NaN."""
    codec = open_bundle(with_engines).codec
    folder = Path(
        shutil.copytree(with_engines / f"engines/ctranslate2-{precision}", tmp_path / "m")
    )
    whole, chance = (folder / "model.bin").read_bytes(), random.Random(precision)
    for number in range(count):
        (folder / "model.bin").write_bytes(spoilt(whole, number, chance))
        with pytest.raises(DamageError, match=r"model\.bin: differs from its checksum"):
            CTranslate2Engine(folder, codec.frame, layout=Layout(precision))
    (folder / "model.bin").write_bytes(whole)
    CTranslate2Engine(folder, codec.frame, layout=Layout(precision)).close()


@pytest.mark.needs("ctranslate2", "int8")
def test_a_shortlist_without_a_checksum_is_learned_again(with_engines: Path) -> None:
    folder = with_engines / "engines/ctranslate2-fp32"
    asked_for = ["translate", str(with_engines), TEXT, "--engine", "ctranslate2"]
    asked_for += ["--precision", "fp32", "--shortlist"]
    before = asked(*asked_for)
    learned = (folder / "vmap.txt").read_bytes()
    assert before[0] == 0 and "vmap.txt" in (read_checksums(folder) or {})
    for damage in (lambda: flip(folder / "vmap.txt", random.Random(1)), lambda: _unlist(folder)):
        damage()
        assert asked(*asked_for)[:2] == before[:2]
        assert (folder / "vmap.txt").read_bytes() == learned
        check(folder, ["vmap.txt"])


def _unlist(folder: Path) -> None:
    """As a kill between the file and its checksum leaves it, and not even whole."""
    sums = dict(read_checksums(folder) or {})
    del sums["vmap.txt"]
    from regard.checksums import write_checksums

    write_checksums(folder, sums)
    (folder / "vmap.txt").write_text("damaged")


# Encoders: their data, their files, a teacher, scores.


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("classifier")
    short = ("train.steps=4", "train.validate_every=2")
    request = classifiers.ask(place, *classifiers.OWN, *short)
    train(request, lambda line: None)
    return place / "run"


def test_every_file_of_a_classifier(classifier: Path) -> None:
    names = [n for n in files_of(classifier) if not n.startswith(("data/", "checkp", "log"))]
    assert {"encoder.json", "tokenizer.json", "tokenizer_config.json"} <= {*names}
    before = asked("classify", str(classifier), "the cat")
    assert before[0] == 0
    for name in damaged_in_turn(classifier, names):
        code, answer, said = asked("classify", str(classifier), "the cat")
        assert (code, answer) == (1, "") and f"{classifier / name}: " in said, (name, said)
    for name in damaged_in_turn(classifier, [n for n in files_of(classifier) if "data/" in n]):
        noticed(name, classifier, lambda: train(Request(resume=classifier), lambda line: None))
    flip(classifier / "data/valid.jsonl", random.Random(1))
    noticed("data/valid.jsonl", classifier, lambda: asked_or_raise("evaluate", str(classifier)))


def test_a_teacher_and_scores(classifier: Path, tmp_path: Path) -> None:
    lines = "".join(f"the cat {n}\tthe dog {n}\t{n % 6}\n" for n in range(60))
    (tmp_path / "pairs.tsv").write_text("text\tpair\tlabel\n" + lines)
    (tmp_path / "t.tsv").write_text((classifier.parent / "t.tsv").read_text())
    for objective, table in (("similar", "pairs.tsv"), ("distil", "t.tsv")):
        recipe = tmp_path / f"{objective}.toml"
        recipe.write_text(
            f'objective = "{objective}"\n[data]\ntexts = "{tmp_path / table}"\nvalidation = 20\n'
            + ('pair = "pair"\n' if objective == "similar" else "")
            + f'[train]\nstart_from = "{classifier}"\nsteps = 2\ntoken_budget = 400\n'
            'validate_every = 1\nthreads = 1\nworkers = 1\nprecision = "fp32"\n'
        )
        run, again = tmp_path / objective, Request(resume=tmp_path / objective)
        train(Request(recipe=recipe, folder=run), lambda line: None)
        names = [name for name in files_of(run) if "/score.npy" in name or "teacher" in name]
        assert len(names) == 2
        for name in damaged_in_turn(run, names):
            noticed(name, run, partial(train, again, lambda line: None))


# What is converted, indexed, and in the box.


def test_every_file_of_a_converted_model(tmp_path: Path) -> None:
    folders.bert(tmp_path / "bert", "SequenceClassification")
    convert(tmp_path / "bert", tmp_path / "native", "native")
    names = list(files_of(tmp_path / "native"))
    assert {"config.json", "spec.json", "regard.json", "vocab.txt", "golden.json"} <= {*names}
    before = regard.load(tmp_path / "native", "cpu").classify("the cat")
    for name in damaged_in_turn(tmp_path / "native", names):
        code, answer, said = asked(
            "verify" if name == "golden.json" else "classify",
            str(tmp_path / "native"),
            *([] if name == "golden.json" else ["the cat"]),
        )
        assert (code, answer) == (1, "") and str(tmp_path / "native") in said, (name, said)
    assert regard.load(tmp_path / "native", "cpu").classify("the cat") == before


def test_a_converted_run(run: Path, tmp_path: Path) -> None:
    convert(run, tmp_path / "small", "native")
    names = list(files_of(tmp_path / "small"))
    assert CHECKSUMS in names
    for name in damaged_in_turn(tmp_path / "small", [n for n in names if n != "golden.json"]):
        noticed(name, tmp_path / "small", lambda: regard.load(tmp_path / "small", "cpu"))


def test_vectors_of_an_unfinished_index_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were taken up without a look, damaged or not."""
    folders.bert(tmp_path / "bert", "")
    model = regard.load(tmp_path / "bert", "cpu")
    texts = library.write(tmp_path / "texts")
    monkeypatch.setattr(index_module, "CHUNK", 2)
    index_folder(texts, tmp_path / "whole", model)
    real = index_module.write_vectors

    def interrupted(*given: Any) -> None:
        for _ in given[3]:
            pass
        raise KeyboardInterrupt

    monkeypatch.setattr(index_module, "write_vectors", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index_folder(texts, tmp_path / "index", model)
    kept = sorted((tmp_path / "index/pending").iterdir())
    assert len(kept) > 2
    for file in kept[:-1]:
        data = bytearray(file.read_bytes())
        data[-3] ^= 0x40
        file.write_bytes(data)
    monkeypatch.setattr(index_module, "write_vectors", real)
    index_folder(texts, tmp_path / "index", model)
    found, expected = (library.answers(tmp_path / n, model) for n in ("index", "whole"))
    assert library.alike(found, expected)


def test_the_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    copy = Path(shutil.copytree(models_in_the_box()["demo-de"].folder, tmp_path / "demo-de"))
    box = Boxed("demo-de", copy)
    names = list(files_of(copy))
    for _ in damaged_in_turn(copy, names, flips=1):
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        with pytest.raises(RegardError, match="install regard again"):
            box.unpacked()
    place = box.unpacked()
    assert capsys.readouterr().err == ""  # a model of the box has checksums: no note
    for name in list(files_of(place)):
        whole = (place / name).read_bytes()
        flip(place / name, random.Random(name))
        assert box.unpacked() == place and (place / name).read_bytes() == whole
        said = capsys.readouterr().err
        assert str(place / name) in said and "demo-de is unpacked again" in said
    assert box.unpacked() == place and capsys.readouterr().err == ""


# What was made before.


def without_checksums(run: Path) -> None:
    """As an earlier version left it."""
    (run / CHECKSUMS).unlink()
    for file in run.rglob("*.json"):
        values = json.loads(file.read_text(encoding="utf-8"))
        if OWN in values:
            del values[OWN]
            values.pop("log_sha256", None)
            if file.name == "store.json":
                below = values.pop("columns")["source"]["below"]
                values |= {"version": 1, "vocabulary": below}
            file.write_text(json.dumps(values), encoding="utf-8")


def test_a_run_of_before_loads_with_a_note_and_is_given_checksums(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = Path(shutil.copytree(run, tmp_path / "old"))
    without_checksums(old)
    expected = regard.load(run, "cpu", engine="torch").translate(TEXT)
    capsys.readouterr()
    for note in ("made before regard kept checksums", ""):
        assert regard.load(old, "cpu", engine="torch").translate(TEXT) == expected
        said = capsys.readouterr().err
        assert (note in said and said.count("\n") == 1) if note else said == ""
    train(Request(resume=old), lambda line: None)
    assert read_checksums(old) == read_checksums(run)
    assert (old / "model.safetensors").read_bytes() == (run / "model.safetensors").read_bytes()
    for name in ("run.json", "recipe.json", "spec.json", "model.json"):
        assert OWN in json.loads((old / name).read_text())
    flip(old / "spec.json", random.Random(1))
    with pytest.raises(DamageError):
        regard.load(old, "cpu")


def test_an_edit_on_purpose_can_be_accepted(run: Path, tmp_path: Path) -> None:
    """As the message says: without its line, and without the folder's checksums."""
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    text = (copy / "recipe.json").read_text()
    (copy / "recipe.json").write_text(text.replace('"beam": ', '"beam": 1', 1))
    with pytest.raises(DamageError, match="if you changed it on purpose"):
        regard.load(copy, "cpu")
    values = json.loads((copy / "recipe.json").read_text())
    del values[OWN]
    (copy / "recipe.json").write_text(json.dumps(values))
    with pytest.raises(DamageError):
        regard.load(copy, "cpu")
    (copy / CHECKSUMS).unlink()
    assert regard.load(copy, "cpu").bundle.settings.search.beam > 10


def test_nan_is_never_an_answer(run: Path) -> None:
    """Whatever made it: here weights that were spoilt after they had been checked."""
    model = regard.load(run, "cpu", engine="torch")
    with torch.no_grad():
        for parameter in model.transformer.parameters():
            parameter.fill_(math.nan)
    with pytest.raises(RegardError, match="line 1: the score of the answer is NaN"):
        model.translate(TEXT)
    with pytest.raises(RegardError, match="line 1: the score of the answer is NaN"):
        model.score(TEXT, "rot")
