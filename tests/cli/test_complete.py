"""`regard complete` as a person meets it: several prompts, stop texts, pipes, Ctrl-C."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import folders
import regard
from regard.cli.main import group
from regard.errors import DataError, MisuseError


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("decoders")
    folders.gpt2(root / "gpt2")
    (root / "prompts.txt").write_text("the cat\none\na red house\n")
    return root


@pytest.fixture
def run(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(root)

    def invoke(*words: str, input: str | None = None) -> Result:
        arguments = ["complete", "gpt2", *words, "--engine", "torch", "--device", "cpu"]
        return CliRunner().invoke(group, arguments, input=input, catch_exceptions=False)

    return invoke


def test_a_file_of_prompts(run: Callable[..., Result]) -> None:
    model = regard.load("gpt2", "cpu", engine="torch")
    prompts = ["the cat", "one", "a red house"]
    texts = model.complete(prompts, max_tokens=6)
    whole = "".join(f"{prompt}{text}\n" for prompt, text in zip(prompts, texts, strict=True))
    assert run("--file", "prompts.txt", "--max-tokens", "6").stdout == whole
    assert run(*prompts, "--max-tokens", "6").stdout == whole
    lines = run("--max-tokens", "6", "--json", input="the cat\none\n").stdout.splitlines()
    assert [json.loads(line)["completion"] for line in lines] == texts[:2]


def test_several_continuations_and_a_stop_text(run: Callable[..., Result]) -> None:
    model = regard.load("gpt2", "cpu", engine="torch")
    draw = ("--temperature", "1.5", "--seed", "0", "--max-tokens", "9")
    drawn = model.completions("one", n=3, temperature=1.5, seed=0, max_tokens=9)
    texts = [one.text for one in drawn]
    told = json.loads(run("one", *draw, "--n", "3", "--json").stdout)
    assert told == {"prompt": "one", "completions": texts}
    assert run("one", *draw, "--n", "3").stdout == "".join(f"one{text}\n" for text in texts)
    stop = texts[0][3:5]
    cut = texts[0][: texts[0].index(stop)]
    assert run("one", *draw, "--stop-text", "@@", "--stop-text", stop).stdout == f"one{cut}\n"


def test_batches_are_checked(run: Callable[..., Result]) -> None:
    result = run("--file", "prompts.txt", "--check-batch", "--max-tokens", "8")
    assert result.exit_code == 0 and "torch fp32, beam 1: 3 sentences" in result.stdout
    told = json.loads(run("--file", "prompts.txt", "--check-batch", "--beam", "2", "--json").stdout)
    assert told["kept"] and all(way["same"] == 3 for way in told["ways"])
    with pytest.raises(MisuseError, match="leave out --temperature, --window and --stop-text"):
        run("one", "--check-batch", "--temperature", "1.0")


def test_what_cannot_be_read_is_named(run: Callable[..., Result], root: Path) -> None:
    (root / "empty.txt").write_text("")
    with pytest.raises(DataError, match="empty.txt: is empty, expected a prompt a line"):
        run("--file", "empty.txt")
    assert run(input="").stdout == ""
    with pytest.raises(DataError, match="missing.txt: cannot be read"):
        run("--file", "missing.txt")
    long = "猫" * 61
    with pytest.raises(MisuseError, match="has 183 tokens, this model reads 61, so 0 are left"):
        run(long)
    assert run(long, "--window", "--max-tokens", "3").stdout.startswith(long)


@pytest.mark.end_to_end
def test_a_stream_arrives_piece_by_piece_and_ctrl_c_ends_its_line(root: Path) -> None:
    """Without an end token and with a window it would write for hours."""
    config = json.loads((root / "gpt2/config.json").read_text()) | {"eos_token_id": None}
    endless = root / "endless"
    endless.mkdir()
    for file in (root / "gpt2").iterdir():
        if file.is_file() and file.name != "generation_config.json":
            (endless / file.name).write_bytes(file.read_bytes())
    (endless / "config.json").write_text(json.dumps(config))
    words = ["endless", "the cat", "--max-tokens", "10000000", "--window", "--engine", "torch"]
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", "complete", *words],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    arrived = process.stdout.read(300)  # it is still writing
    assert arrived.startswith(b"the cat") and process.poll() is None
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert rest.endswith(b"\n") and errors.decode().strip() == "Stopped."
    (arrived + rest).decode("utf-8")  # no half character
