"""`regard explain --as …` on a small run: output, JSON, pictures, and wrong requests."""

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from refusals import refused
from regard.cli.main import group
from regard.errors import MisuseError

pytestmark = pytest.mark.end_to_end


def call(*arguments: object) -> Result:
    result = CliRunner().invoke(group, [str(a) for a in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_equation_is_about_the_encoder_and_its_json_sums_to_one(toy_run: Path) -> None:
    text = call("explain", toy_run, "red cat", "--as", "equation").stdout
    assert "encoder self-attention" in text and "red = 0." in text and " cat" in text
    assert "</s> = " in text
    row = json.loads(call("explain", toy_run, "red cat", "--as", "equation", "--json").stdout)
    assert row["kind"] == "encoder" and [e["word"] for e in row["equations"]] == [
        "red",
        "cat",
        "</s>",
    ]
    for line in row["equations"]:
        total = math.fsum(term["weight"] for term in line["terms"]) + line["others"]
        assert total == pytest.approx(1, abs=1e-5)
        assert line["text"].startswith(f"{line['word']} = ")


def test_equation_of_one_word_and_of_another_kind(toy_run: Path) -> None:
    by_word = call("explain", toy_run, "red cat", "--as", "equation", "--word", "cat").stdout
    assert by_word == call("explain", toy_run, "red cat", "--as", "equation", "--word", 2).stdout
    assert by_word.count(" = ") == 1
    cross = call(
        "explain", toy_run, "red cat", "--as", "equation", "--kind", "cross", "--all-terms"
    )
    assert "cross-attention" in cross.stdout and "others" not in cross.stdout


def test_dots_turn_the_map_on_its_side(toy_run: Path) -> None:
    plain = json.loads(call("explain", toy_run, "red cat", "--json").stdout)
    turned = json.loads(call("explain", toy_run, "red cat", "--as", "dots", "--json").stdout)
    assert turned["rows"] == plain["columns"] == ["red", "cat", "</s>"]  # the source, downwards
    assert turned["columns"] == plain["rows"]
    assert turned["weights"] == [list(column) for column in zip(*plain["weights"], strict=True)]
    assert "⬤ .50" in call("explain", toy_run, "red cat", "--as", "dots").stdout


def test_pictures_honour_the_view(toy_run: Path, tmp_path: Path) -> None:
    svg, png = tmp_path / "dots.svg", tmp_path / "dots.png"
    call("explain", toy_run, "red cat", "--as", "dots", "--svg", svg, "--png", png)
    assert "<circle" in svg.read_text(encoding="utf-8") and png.stat().st_size > 1000
    call("explain", toy_run, "red cat", "--svg", svg)
    assert "<circle" not in svg.read_text(encoding="utf-8")
    call("explain", toy_run, "red cat", "--as", "filter", "--svg", svg, "--png", png)
    assert "softmax of each row" in svg.read_text(encoding="utf-8")


def test_filter_shows_three_tables_and_what_passes(toy_run: Path) -> None:
    text = call("explain", toy_run, "red cat", "--as", "filter", "--word", "cat").stdout
    row = json.loads(call("explain", toy_run, "red cat", "--as", "filter", "--json").stdout)
    assert f"√d_k = √{row['d_k']}" in text and "head 1" in text
    assert "What passes the filter for ▁" in text and "softmax" in text
    for products, scores, weights in zip(
        row["products"], row["scores"], row["weights"], strict=True
    ):
        assert scores == pytest.approx([p / math.sqrt(row["d_k"]) for p in products], abs=1e-5)
        total = math.fsum(math.exp(s) for s in scores)
        assert weights == pytest.approx([math.exp(s) / total for s in scores], abs=1e-5)


def test_filter_of_the_decoder_is_json_with_null(toy_run: Path) -> None:
    answer = call(
        "explain", toy_run, "red cat", "--as", "filter", "--kind", "decoder", "--json",
        "--translation", "rote Katze",
    )  # fmt: skip
    row = json.loads(answer.stdout, parse_constant=lambda name: pytest.fail(name))
    assert row["weights"][0][0] == pytest.approx(1) and row["weights"][0][1] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--word", "cat"], "--word needs --as equation"),
        (["--as", "dots", "--all-terms"], "--all-terms needs --as equation"),
        (["--as", "equation", "--svg", "x.svg"], "--as equation is text"),
        (["--as", "dots", "--heads", "--svg", "x.svg"], "--heads needs --svg"),
        (["--as", "dotz"], "'dotz' is not one of"),
    ],
)
def test_options_that_do_not_go_together(toy_run: Path, arguments: list[str], message: str) -> None:
    result = call("explain", toy_run, "red cat", *arguments)
    assert result.exit_code == 2 and message in result.output


def test_wrong_words_and_empty_texts_are_told(toy_run: Path) -> None:
    with refused(MisuseError, subject="word", expected="1 red, 2 cat, 3 </s>"):
        call("explain", toy_run, "red cat", "--as", "equation", "--word", "dog")
    with pytest.raises(MisuseError, match="position 9, the text has 3"):
        call("explain", toy_run, "red cat", "--as", "equation", "--word", "9")
    for nothing in ("", "  "):
        for view in ("equation", "dots", "filter", "heatmap"):
            with pytest.raises(MisuseError, match="empty text"):
                call("explain", toy_run, nothing, "--as", view)
    with pytest.raises(MisuseError, match="heads 1 to"):
        call("explain", toy_run, "red cat", "--as", "filter", "--head", 99)
