"""`regard walk`: terminal, pager, files, JSON, and what it refuses."""

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from regard.cli.main import group
from regard.errors import MisuseError

pytestmark = pytest.mark.end_to_end


def call(*arguments: object, **environment: str) -> Result:
    """Run a command in this process; our own errors are raised as they are."""
    runner = CliRunner(env={"COLUMNS": "100", **environment})
    result = runner.invoke(group, ["walk", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_terminal_shows_every_step(toy_run: Path) -> None:
    text = call(toy_run, "red cat", "--kind", "cross", "--word", 1).stdout
    words = ["Tokens", "Embedding", "Times √d_model", "Position", "Word and place", "The memory"]
    words += ["Queries", "Scores", "Divided", "Mask:", "Softmax", "The weighted sum", "All heads"]
    words += ["Concat", "W_O", "Add", "Feed-forward", "Logits"]
    places = [re.search(rf"^ ?\d+  {word}", text, re.MULTILINE) for word in words]
    starts = [place.start() for place in places if place]
    assert len(starts) == len(words) and starts == sorted(starts)
    assert max(map(len, text.splitlines())) <= 100 and "\x1b" not in text


def test_json_is_the_whole_worksheet(toy_run: Path) -> None:
    data = json.loads(call(toy_run, "red cat", "--head", 2, "--json").stdout)
    assert data["title"].startswith("Encoder self-attention, layer 1, head 2, query")
    softmax = next(step for step in data["steps"] if step["title"].startswith("Softmax"))
    (table,) = softmax["parts"]
    assert [sum(row) for row in table["values"]] == pytest.approx([1] * len(table["rows"]))
    assert table["rows"] == table["columns"]


def test_files_are_written_instead(toy_run: Path, tmp_path: Path) -> None:
    page, paper = tmp_path / "new/walk.html", tmp_path / "walk.tex"
    result = call(toy_run, "red cat", "--html", page, "--latex", paper, "--columns", 3)
    assert result.stdout == "" and result.stderr.count("Written: ") == 2
    assert "29 of 32 columns are hidden" in page.read_text(encoding="utf-8")
    assert r"\end{document}" in paper.read_text(encoding="utf-8")


def test_decimals_and_columns(toy_run: Path) -> None:
    text = call(toy_run, "red cat", "--decimals", 1, "--columns", 2).stdout
    assert "30 of 32 columns are hidden" in text and "√32 = 5.6569" in text
    row = next(line for line in text.split("Concat")[1].splitlines() if "▸" in line)
    assert [len(cell.split(".")[1]) for cell in row.split() if "." in cell] == [1, 1]


def test_a_long_worksheet_is_paged_on_a_terminal(
    toy_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paged: list[str] = []
    monkeypatch.setattr(click, "echo_via_pager", paged.append)
    # truecolor, because rich keeps the codes of a style as it first painted them
    terminal = {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "LINES": "40"}
    assert call(toy_run, "red cat", **terminal).stdout == ""
    assert "\x1b[" in paged[0] and "Softmax" in paged[0]
    assert "Softmax" in call(toy_run, "red cat", "--no-pager", **terminal).stdout
    assert "Softmax" in call(toy_run, "red cat", **{**terminal, "LINES": "9999"}).stdout
    assert "Softmax" in call(toy_run, "red cat").stdout  # not a terminal
    assert len(paged) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing MODEL and TEXT"),
        (["run"], "Missing TEXT"),
        (["run", "text", "--matrices", "a.toml"], "got MODEL 'run' too"),
        (["--matrices", "a.toml", "--head", "2"], "--head: only for a MODEL"),
        (["run", "text", "--layer", "0"], "0 is not in the range"),
        (["run", "text", "--kind", "self"], "'self' is not one of"),
        (["run", "text", "--columns", "-1"], "-1 is not in the range"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2 and message in result.output.replace("\n", " ")


def test_wrong_places_are_named(toy_run: Path) -> None:
    for arguments, message in (
        (["", "--head", 1], "got an empty text"),
        (["red cat", "--word", "dog"], "word: got 'dog', the text has .* red cat </s>"),
        (["red cat", "--word", 99], "word: got '99'"),
        (["red cat", "--layer", 7], "layers 1 to 1"),
        (["red cat", "--head", 7], "heads 1 to 2"),
    ):
        with pytest.raises(MisuseError, match=message):
            call(toy_run, *arguments)
