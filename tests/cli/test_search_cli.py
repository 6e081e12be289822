"""`regard index` and `regard search`: what they print, and how they refuse."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import folders
import library
from regard.cli.main import group
from regard.errors import RegardError


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("search")
    folders.bert(root / "bert", "")
    library.write(root / "texts")
    (root / "texts/picture.png").write_bytes(b"\x89PNG")
    (root / "texts/odd\x1b[31m.txt").write_bytes(b"one \x1b[31mred bird\n\xff\n")
    return root


@pytest.fixture
def run(root: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.chdir(root)

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(group, words, catch_exceptions=False)

    return invoke


def test_from_a_folder_to_answers(run) -> None:  # type: ignore[no-untyped-def]
    made = run("index", "texts", "--model", "bert", "--output", "index", "--device", "cpu")
    assert made.exit_code == 0
    first, second, *rest = made.stdout.splitlines()
    assert first.startswith("4 files, ") and second.startswith("4 files new, 0 changed, 0 gone; ")
    assert rest[0] == "skipped: 1 file of other kinds (.png 1)"
    assert rest[1].startswith("left out, not UTF-8 text: 1 line (odd")
    assert "Written: index\n" in made.stderr and "\x1b" not in made.output
    again = run("index", "texts", "--output", "index", "--json")
    assert json.loads(again.stdout)["embedded"] == 0
    keyword = run("search", "index", "--mode", "keyword", "-k", "2", "red", "cat").stdout
    assert keyword.startswith("animals.md:1-3  1.")
    assert (
        "\n    the «cat» sat on a «red» mat.\n" in keyword and "the «red» «cat» is good." in keyword
    )
    rows = run("search", "index", "one house", "--json", "-k", "3").stdout.splitlines()
    assert len(rows) == 3
    row = json.loads(rows[0])
    assert set(row) == {"file", "first", "last", "score", "text", "highlights", "ranks"}
    assert "semantic 1." in run("search", "index", "red cat", "--mode", "hybrid").stdout
    nothing = run("search", "index", "zebra", "--mode", "keyword")
    assert nothing.exit_code == 0 and nothing.stdout.startswith("No passage holds any of these")
    strange = run("search", "index", "кошка на ковре", "-k", "1")
    assert "less than half of this query" in strange.stderr and strange.exit_code == 0
    shown = run("search", "index", "bird", "--mode", "keyword").stdout
    assert "\x1b" not in shown  # nothing of a file speaks to the terminal


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search", "absent", "cat"], "no such index"),
        (["index", "absent", "--model", "bert", "--output", "x"], "no such folder"),
        (["index", "texts", "--model", "nowhere", "--output", "x"], "the model is not there"),
        (["index", "texts", "--output", "x"], "name an encoder with --model"),
    ],
)
def test_misuse_ends_with_2(run, words: list[str], said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(RegardError, match=said) as refused:
        run(*words)
    assert refused.value.exit_code == 2
