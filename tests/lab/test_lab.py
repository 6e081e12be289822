"""Every experiment in its quick size, what is kept of it, its report; the command."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from regard.cli.main import group
from regard.errors import DataError
from regard.lab.experiment import Experiment
from regard.lab.run import Unit, run
from regard.lab.table import EXPERIMENTS


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What CI runs: all of them, one seed."""
    folder = tmp_path_factory.mktemp("lab") / "out"
    done = CliRunner().invoke(group, ["lab", "all", "--quick", "--report", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


@pytest.mark.end_to_end
def test_the_report_has_verdict_figure_rule_and_numbers_of_each(report: Path) -> None:
    page = (report / "index.html").read_text(encoding="utf-8")
    results = {row["experiment"]: row for row in json.loads((report / "results.json").read_text())}
    assert list(results) == list(EXPERIMENTS)
    for name, row in results.items():
        assert row["verdict"] in ("holds", "does not hold", "not decided")
        assert f'<h2 id="{name}">' in page and row["rule"] and row["paragraph"]
        assert (report / f"{name}.svg").stat().st_size > 1000
        assert (report / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        seeds = row["seeds"]["1"]
        assert list(seeds) == list(EXPERIMENTS[name].variants(True))
        assert len(row["held"]) == len(row["rule"])
        assert f'<img src="{name}.svg" alt="' in page
    assert "://" not in page


@pytest.mark.end_to_end
def test_what_is_arithmetic_is_decided_by_one_seed(report: Path) -> None:
    results = {row["experiment"]: row for row in json.loads((report / "results.json").read_text())}
    assert results["scale"]["verdict"] == "holds"
    assert results["quadratic"]["verdict"] == "holds"
    order = results["order"]["seeds"]["1"]
    assert order["none"]["moved"] < 1e-6 < 0.01 < order["sinusoidal"]["moved"]
    assert order["none"]["told apart"] == 0.0
    assert results["positions-why"]["verdict"] == "holds"


@pytest.mark.end_to_end
def test_a_second_start_measures_nothing_again(report: Path) -> None:
    before = {path: path.read_bytes() for path in (report / "kept").rglob("*.json")}
    assert len(before) == sum(len(e.variants(True)) for e in EXPERIMENTS.values())
    never = {name: replace(e, measure=must_not_run) for name, e in EXPERIMENTS.items()}
    for experiment in never.values():
        run(experiment, True, kept=report / "kept")
    assert {path: path.read_bytes() for path in (report / "kept").rglob("*.json")} == before


def must_not_run(variant: str, seed: int, quick: bool) -> dict[str, float]:
    raise AssertionError(f"{variant} was measured again")


def counting(calls: list[tuple[str, int]]) -> Experiment:
    """An experiment of two variants that measures nothing but its own calls."""

    def measure(variant: str, seed: int, quick: bool) -> dict[str, float]:
        calls.append((variant, seed))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return {"x": float(seed)}

    return replace(EXPERIMENTS["mask"], name="own", variants=lambda q: ("a", "b"), measure=measure)


def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    calls: list[tuple[str, int]] = []
    experiment = counting(calls)
    with pytest.raises(KeyboardInterrupt):
        run(experiment, kept=tmp_path)
    heard: list[Unit] = []
    outcome = run(experiment, kept=tmp_path, done=heard.append)
    assert calls == [("a", 1), ("b", 1), ("a", 2), ("a", 2), ("b", 2), ("a", 3), ("b", 3)]
    assert [(unit.variant, unit.seed) for unit in heard[:2]] == [("a", 1), ("b", 1)]
    assert outcome.values("a", "x") == [1.0, 2.0, 3.0]
    assert outcome.said("a", "x") == "2.00 ± 1.00"
    run(experiment, quick=True, kept=tmp_path)  # of another size: measured anew
    assert calls[7:] == [("a", 1), ("b", 1)]


def test_a_kept_file_that_is_no_unit_is_named(tmp_path: Path) -> None:
    kept = tmp_path / "own" / "a-1.json"
    kept.parent.mkdir()
    for text in ("{", "[]", '{"measures": {"x": "1"}, "seconds": 1}'):
        kept.write_text(text)
        with pytest.raises(DataError) as caught:
            run(counting([]), kept=tmp_path)
        assert caught.value.subject == str(kept) and "remove the file" in str(caught.value)


def test_the_list_and_what_cannot_be_asked(tmp_path: Path) -> None:
    runner = CliRunner()
    listed = runner.invoke(group, ["lab"])
    assert all(name in listed.output for name in EXPERIMENTS)
    rows = json.loads(runner.invoke(group, ["lab", "--json"]).output)
    assert [row["name"] for row in rows] == list(EXPERIMENTS)
    (tmp_path / "file").write_text("")
    for arguments, said in (
        (["lab", "odrer"], "did you mean"),
        (["lab", "--quick"], "name an experiment"),
        (["lab", "all"], "--report"),
        (["lab", "residual", "--report", str(tmp_path / "file")], "a folder"),
    ):
        done = runner.invoke(group, arguments)
        assert done.exit_code != 0
        assert said in done.output + str(done.exception), arguments


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_an_experiment_names_a_page_of_the_notes(experiment: Experiment, repository: Path) -> None:
    page = experiment.page.partition("#")[0]
    assert (repository / "docs/notes" / page).is_file()
