"""`regard.train`: recipes, files and rows, from Python."""

import threading
from pathlib import Path
from typing import Any

import pandas
import pytest

import regard
import toy
from refusals import refused
from regard.errors import ConfigError, MisuseError
from regard.runs.folder import RunFolder

pytestmark = pytest.mark.end_to_end
SMALL: dict[str, dict[str, Any]] = {
    "model": {
        "d_model": 16, "ffn_size": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1
    },
    "tokenizer": {"size": 300},
    "train": {"steps": 20, "validate_every": 10, "workers": 1, "precision": "fp32"},
}  # fmt: skip


def pairs(tmp_path: Path) -> list[tuple[str, str]]:
    source, target = toy.write(tmp_path, 120)
    return list(zip(source.read_text().splitlines(), target.read_text().splitlines(), strict=True))


def test_a_list_of_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[dict[str, Any]] = []
    run = regard.train(
        pairs(tmp_path), run=tmp_path / "run", on_record=heard.append, quiet=True, **SMALL
    )
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert run.state == "finished" and repr(run) == f"<regard.Run '{tmp_path}/run': finished>"
    assert list(run.history) == heard
    assert [record["step"] for record in run.history.of("validation")] == [10, 20]
    assert "<table" in run.history._repr_html_()
    assert isinstance(run.model.translate("a b c"), str)
    assert 0 <= run.evaluate().bleu <= 100  # type: ignore[attr-defined]
    assert run.plot()._repr_png_().startswith(b"\x89PNG")


def test_a_frame_with_named_columns_is_the_same_as_its_files(tmp_path: Path) -> None:
    source, target = toy.write(tmp_path, 120)
    sides = [file.read_text().splitlines() for file in (source, target)]
    frame = pandas.DataFrame({"id": range(120), "there": sides[0], "back": sides[1]})
    names = {"source": "there", "target": "back"}
    one = regard.train(frame, columns=names, run=tmp_path / "one", quiet=True, **SMALL)
    other = regard.train(source=source, target=target, run=tmp_path / "two", quiet=True, **SMALL)
    weights = [RunFolder(run.folder).weights.read_bytes() for run in (one, other)]
    assert weights[0] == weights[1]


def test_texts_with_labels_make_a_classifier(tmp_path: Path) -> None:
    words = {"animal": ["cat", "dog", "bird"], "thing": ["mat", "tree", "sea"]}
    rows = [
        {"message": f"the {a} and the {b} number {n}", "category": kind}
        for n in range(12)
        for kind, names in words.items()
        for a in names
        for b in names
    ]
    model = {"d_model": 16, "ffn_size": 32, "heads": 2, "encoder_layers": 1}
    keys = {"steps": 40, "validate_every": 20, "workers": 1, "precision": "fp32"}
    run = regard.train(rows, run=tmp_path / "run", quiet=True, model=model, train=keys)
    assert set(run.model.labels) == {"animal", "thing"}
    assert run.model.classify("the cat and the dog number 3").best.label == "animal"
    scores = run.evaluate(rows, columns={"text": "message", "label": "category"})
    assert scores.texts == len(rows)  # type: ignore[attr-defined]


def test_a_recipe_as_a_dict_and_a_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = toy.write(tmp_path, 120)
    recipe = {**SMALL, "data": {"source": str(source), "target": str(target)}}

    def three(record: dict[str, Any]) -> bool:
        print("step", record["step"])
        return bool(record["step"] < 3)

    keys = {"steps": 200, "validate_every": 10}
    run = regard.train(recipe, run=tmp_path / "run", quiet=True, on_record=three, train=keys)
    assert run.state == "stopped"
    assert capsys.readouterr().out.startswith("step 1\n")  # what the listener prints, no more
    last = max(record["step"] for record in run.history)
    again = regard.train(resume=run.folder, quiet=True, train={"steps": last + 10})
    assert again.state == "finished" and again.folder == run.folder


def test_records_come_one_by_one(tmp_path: Path) -> None:
    rows = pairs(tmp_path)
    with regard.train_records(rows, run=tmp_path / "run", quiet=True, **SMALL) as records:
        steps = [record["step"] for record in records]
    assert records.run is not None and records.run.state == "finished"
    assert steps == [record["step"] for record in records.run.history]
    long = SMALL | {"train": SMALL["train"] | {"steps": 100_000}}
    with regard.train_records(rows, run=tmp_path / "other", quiet=True, **long) as records:
        next(records)
    assert records.run is not None and records.run.state == "stopped"
    assert not [thread for thread in threading.enumerate() if thread.name == "regard.train"]
    with refused(MisuseError, problem="the table has no rows"):
        list(regard.train_records([], quiet=True))


def test_what_cannot_be_is_told(tmp_path: Path) -> None:
    with refused(MisuseError, problem="unknown option 'trian'", advice='did you mean "train"'):
        regard.train("demo", trian={"steps": 3})
    with refused(ConfigError, problem="unknown key 'stepps'"):
        regard.train("demo", train={"stepps": 3}, run=tmp_path / "run", quiet=True)
    with refused(MisuseError, subject="columns", problem="unknown role 'sources'"):
        regard.train([("a", "b")], columns={"sources": "x"})
    with refused(MisuseError, problem="got data and files"):
        regard.train([("a", "b")], source="a.en")
    with pytest.raises(MisuseError, match="expected either a recipe"):
        regard.train(quiet=True)
