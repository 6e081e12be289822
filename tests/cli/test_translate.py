"""`regard translate` and `regard score`, called as click calls them."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import regard
from regard.answer.translate import Reading
from regard.cli.inputs import arriving
from regard.cli.main import group
from regard.decode.options import DecodingOptions
from regard.errors import DataError, MisuseError

pytestmark = pytest.mark.end_to_end
TEXT = "red cat. two birds!"


def call(*arguments: object, text: str | None = None) -> Result:
    result = CliRunner().invoke(group, [str(a) for a in arguments], input=text)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_every_option_has_the_same_name_in_python_and_on_the_command_line() -> None:
    command = group.get_command(None, "translate")  # type: ignore[arg-type]
    assert command is not None
    names = {parameter.name for parameter in command.params}
    assert set(vars(DecodingOptions())) | set(vars(Reading())) - {"split"} | {"no_split"} <= names


@pytest.mark.parametrize(
    "options",
    [
        {"beam": 1},
        {"beam": 3, "n_best": 2, "alpha": 1.0, "length_norm": "paper", "stop": "exact"},
        {"coverage": 0.2},
        {"max_length": 4},
        {"min_length": 6, "max_length": 9},
        {"no_repeat_ngram": 2},
        {"repetition_penalty": 1.5},
        {"temperature": 0.8, "seed": 3},
        {"temperature": 1.2, "top_k": 5, "top_p": 0.9, "seed": 4, "n_best": 3},
        {"prefix": "rot"},
    ],
)
def test_options_do_what_they_do_in_python(toy_run: Path, options: dict[str, object]) -> None:
    flags = [part for n, v in options.items() for part in (f"--{n.replace('_', '-')}", v)]
    row = json.loads(call("translate", toy_run, TEXT, "--engine", "torch", "--json", *flags).stdout)
    model = regard.load(toy_run, "cpu", engine="torch")
    expected = model.translations([TEXT], **options)[0]
    assert [t["text"] for t in row["translations"]] == [t.text for t in expected]
    assert [t["score"] for t in row["translations"]] == pytest.approx(
        [t.score for t in expected], abs=1e-5
    )
    assert row["engine"]["name"] == "torch" and row["engine"]["precision"] == "fp32"


def test_lines_are_split_unless_asked_otherwise(toy_run: Path) -> None:
    model = regard.load(toy_run, "cpu", engine="torch")
    parts = model.translate(["red cat.", "two birds!"])
    torch = ("--engine", "torch")
    assert call("translate", toy_run, TEXT, *torch).stdout.rstrip("\n") == " ".join(parts)
    whole = model.translate(TEXT, split=False)
    assert call("translate", toy_run, TEXT, "--no-split", *torch).stdout.rstrip("\n") == whole


@pytest.mark.needs("ctranslate2")
def test_verbose_says_what_is_opened_who_translates_and_how_long(toy_run: Path) -> None:
    said = call("translate", toy_run, "red", "--verbose", "--stop", "exact").stderr
    assert 'torch, because ctranslate2 does not offer stop "exact"' in said
    assert "engine: torch fp32, " in said
    assert said.startswith(f"model: {toy_run}, kind: run\n")
    assert re.search(r"^weights: [\d,]+, device: cpu$", said, re.MULTILINE)
    assert re.search(r"^\d+\.\d seconds, the start of Python aside$", said, re.MULTILINE)
    assert call("translate", toy_run, "red", "--engine", "torch").stderr == ""
    with pytest.raises(MisuseError, match="ctranslate2 does not offer sampling"):
        call("translate", toy_run, "red", "--engine", "ctranslate2", "--temperature", 1)


NASTY = [
    "",
    " \t ",
    "😀 🏳️‍🌈 👩‍👩‍👧",
    "مرحبا بالعالم. كيف حالك؟",
    "\x00\x01\x1b[31m\x7f",
    "\u202eabc\u202c \u200b\ufeff",
    "ᚠᛇᚻ ᛒᛦᚦ 𓀀𓂀",
    "a" * 300,
    "</s><s><pad>",
    "One. Two! Three?\u2028Four.",
]


def test_bad_lines_lose_no_line(toy_run: Path, tmp_path: Path) -> None:
    file = tmp_path / "nasty.txt"
    file.write_bytes("\n".join(NASTY).encode())
    for engine in ("torch", "auto"):
        result = call("translate", toy_run, "--file", file, "--engine", engine, "--max-length", 5)
        lines = result.stdout.split("\n")
        assert result.exit_code == 0 and len(lines) == len(NASTY) + 1
        assert lines[0] == "" and lines[1].strip() == "" and lines[-1] == ""


def test_a_megabyte_in_one_line(toy_run: Path) -> None:
    """Without a full stop it is one sentence, and too long; nothing is cut in silence."""
    with pytest.raises(DataError, match=r"line 2: a sentence of [\d,]+ tokens, .*at most 1,024"):
        call("translate", toy_run, text=f"red\n{'red cat ' * 125_000}\n")
    long = call("translate", toy_run, "--max-length", 3, text="red cat. " * 100_000 + "\nred\n")
    assert len(long.stdout.split("\n")) == 3


def test_check_batch(toy_run: Path) -> None:
    kept = call("translate", toy_run, "--check-batch", "--engine", "torch", text=f"{TEXT}\nred\n")
    assert kept.exit_code == 0
    assert "torch fp32, beam 4: 3 sentences, compared with each alone" in kept.stdout
    assert "batches of 8" in kept.stdout and "shuffled" in kept.stdout
    assert kept.stdout.rstrip().endswith("log p per token within 1e-5): kept")
    row = json.loads(call("translate", toy_run, "red", "--check-batch", "--json").stdout)
    assert row["kept"] and [way["holds"] for way in row["ways"]] == [True] * 4
    with pytest.raises(MisuseError, match="leave out --temperature"):
        call("translate", toy_run, "red", "--check-batch", "--temperature", 1)
    with pytest.raises(MisuseError, match="blank lines only"):
        call("translate", toy_run, " ", "--check-batch")


def test_a_broken_promise_ends_with_1(toy_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.engines import batch_invariance as check_batch

    monkeypatch.setattr(check_batch, "TOLERANCE", -1.0)
    broken = call("translate", toy_run, "red", "--check-batch", "--engine", "torch")
    assert broken.exit_code == 1 and "BROKEN" in broken.stdout


def test_score(toy_run: Path, tmp_path: Path) -> None:
    scored = regard.load(toy_run, "cpu").score("red cat", "rot Katze")
    row = json.loads(call("score", toy_run, "red cat", "rot Katze", "--json", "--per-token").stdout)
    assert row["log_probability"] == pytest.approx(scored.log_probability, abs=1e-5)
    assert [t["piece"] for t in row["tokens"]] == list(scored.tokens)
    listed = call("score", toy_run, "red cat", "rot Katze", "--per-token").stdout.splitlines()
    assert len(listed) == len(scored.tokens) + 2 and listed[-2].endswith("</s>")
    (tmp_path / "a").write_text("red\nblue\n")
    (tmp_path / "b").write_text("rot\nblau\n")
    lines = call("score", toy_run, "--source", tmp_path / "a", "--target", tmp_path / "b").stdout
    assert len(lines.splitlines()) == 3
    (tmp_path / "b").write_text("rot\n")
    with pytest.raises(DataError, match="b: ends after line 1, .*a goes on"):
        call("score", toy_run, "--source", tmp_path / "a", "--target", tmp_path / "b")
    assert call("score", toy_run, "red").exit_code == 2
    assert call("score", toy_run, "red", "rot", "--source", tmp_path / "a").exit_code == 2


@pytest.mark.parametrize("page", ["translate.md", "score.md"])
def test_the_python_of_the_pages_runs(
    page: str, repository: Path, toy_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/demo").symlink_to(toy_run)
    monkeypatch.chdir(tmp_path)
    text = (repository / "docs" / page).read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert snippets
    for snippet in snippets:
        exec(compile(snippet, page, "exec"), {})


def test_help_is_in_sections() -> None:
    shown = call("translate", "--help").stdout
    heads = ["Search:", "Length and repetition:", "Lines:", "Engine:", "Output:", "Examples:"]
    places = [shown.index(head) for head in heads]
    assert places == sorted(places)


def test_lines_stay_lines(toy_run: Path) -> None:
    torch = ("--engine", "torch", "--max-length", 5)
    shown = call("translate", toy_run, "red\ncat", "--with-source", *torch).stdout
    assert shown.startswith("red cat\t") and shown.count("\n") == 1
    alone = call("translate", toy_run, "red", "--n-best", 2, *torch).stdout.splitlines()
    several = call("translate", toy_run, "--n-best", 2, *torch, text="red\nred\n").stdout
    assert several.splitlines() == [f"{n}\t{line}" for n in (1, 2) for line in alone]


def test_an_empty_prefix_is_none(toy_run: Path) -> None:
    """It neither changes the answer nor keeps the other engine, which lacks prefixes, away."""
    call("translate", toy_run, TEXT)  # prepares the engine, which is said once
    empty = call("translate", toy_run, TEXT, "--verbose", "--prefix", "")
    plain = call("translate", toy_run, TEXT, "--verbose")
    assert empty.stdout == plain.stdout
    assert empty.stderr.splitlines()[:-1] == plain.stderr.splitlines()[:-1]  # but for the seconds


def test_a_missing_file_is_named_before_anything_is_prepared(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none.txt: cannot be read: No such file"):
        call("translate", tmp_path / "no-run", "--file", tmp_path / "none.txt")


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_mark_of_the_encoding_is_no_text(tmp_path: Path, end: bytes) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfred" + end)
    assert list(arriving(tmp_path / "a")) == [["red"]]
