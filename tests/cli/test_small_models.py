"""The small models of docs/families.md: made as the page says; every command answers as shown."""

import json
import re
import shlex
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

import test_docs
from regard.cli.main import group

pytestmark = pytest.mark.end_to_end
PAGES = Path(__file__).parents[2]
NAMES = ["bert", "distilbert", "vit", "gpt2", "llama", "qwen2", "t5", "flan-t5", "marian", "bart"]
RunFolder = Callable[[str], Result]


def page(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


def table(name: str, start: str) -> list[list[str]]:
    """The rows of a page's table one cell of which begins with that command."""
    rows = [line for line in page(name).splitlines() if line.startswith("| ") and start in line]
    return [[cell.strip().strip("`") for cell in row.strip("| ").split(" | ")] for row in rows]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("small")
    (snippet,) = re.findall(r"```python\n(import tokenizers.*?)```", page("docs/families.md"), re.S)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        exec(compile(snippet, "families.md", "exec"), {})
    for name in ("cat.png", "image.png"):
        Image.linear_gradient("L").save(root / name)
    return root


@pytest.fixture
def run(root: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(root)

    def invoke(command: str) -> Result:
        program, *words = shlex.split(command)
        assert program == "regard"
        return CliRunner().invoke(group, words, catch_exceptions=False)

    return invoke


def test_doctor_says_of_each_family_what_its_page_shows(run: RunFolder) -> None:
    rows = table("docs/doctor.md", "`regard doctor tiny/")
    assert [command.removeprefix("regard doctor tiny/") for _, command, *_ in rows] == NAMES
    for _, command, weights, how in rows:
        result = run(command)
        lines = result.stdout.splitlines()
        assert result.exit_code == 0 and f"weights     {weights}" in lines
        assert lines[-2:] == ["regard runs it: yes", f"  {how}"]
        assert run(how).exit_code == 0, how


def test_verify_says_of_each_family_what_its_page_shows(run: RunFolder) -> None:
    rows = table("docs/verify.md", "`regard verify tiny/")
    assert [command.removeprefix("regard verify tiny/") for _, command, _ in rows] == NAMES
    for _, command, printed in rows:
        assert run(f"{command} --update").stderr == f"Written: {command.split()[-1]}/golden.json\n"
        result = run(command)
        assert result.exit_code == 0 and result.stdout.splitlines()[0] == printed


@pytest.mark.parametrize("name", NAMES)
def test_there_and_back(name: str, run: RunFolder) -> None:
    run(f"regard convert tiny/{name} {name}-native --to native")
    run(f"regard convert {name}-native {name}-hf --to hf")
    for made in (f"{name}-native", f"{name}-hf"):
        assert run(f"regard verify {made}").stdout.startswith("Equal: weights, ")
        assert "regard runs it: yes" in run(f"regard doctor {made}").stdout


def test_the_commands_of_the_page_run(run: RunFolder) -> None:
    commands = re.findall(r"^regard \w+ tiny/.*$", page("docs/families.md"), re.M)
    assert {re.split("[/ ]", command)[3] for command in commands} == set(NAMES)
    for command in commands:
        result = run(command)
        assert result.exit_code == 0 and result.stdout.strip(), command


def test_the_table_of_families_has_a_command_for_each(run: RunFolder) -> None:
    """With the name of the hub replaced by the small model of that family."""
    hub = {
        "Llama": "llama",
        "Qwen": "qwen2",
        "GPT-2": "gpt2",
        "ViT": "vit",
        "Marian": "marian",
        "BERT": "bert",
    }
    hub |= {
        "T5 1.0": "t5",
        "T5 1.1": "flan-t5",
        "BART": "bart",
        "DistilBERT": "distilbert",
        "sentence": "bert",
    }
    seen = set()
    for family, *_, command in table("docs/families.md", "`regard "):
        small = [hub[start] for start in hub if family.startswith(start)]
        if not small or "/" not in command:
            continue
        seen.add(small[0])
        program, task, _, *words = shlex.split(command)
        if small == ["distilbert"]:
            task = "classify"  # what the small one offers
        result = run(shlex.join([program, task, f"tiny/{small[0]}", *words]))
        assert result.exit_code == 0, command
    assert seen == set(NAMES)


def test_the_blocks_of_the_pages_are_what_is_printed(run: RunFolder, root: Path) -> None:
    blocks = [
        (command.text, list(command.shown))
        for name in ("doctor.md", "verify.md")
        for command in test_docs.commands_in(test_docs.text_of(name))
        if " tiny/" in command.text
    ]
    assert [command.split()[1] for command, _ in blocks] == ["doctor", "doctor", "verify", "verify"]
    without = shutil.ignore_patterns("tokenizer.json")  # as docs/manifest.toml makes it
    shutil.copytree(root / "tiny/llama", root / "tiny/wordless", ignore=without)
    for command, output in blocks:
        printed = run(command).output.splitlines()
        assert not test_docs.shows(output, printed)


@pytest.mark.parametrize("file", ["config.json", "generation_config.json"])
@pytest.mark.parametrize(("task", "name"), [("complete", "gpt2"), ("translate", "marian")])
def test_settings_that_are_not_done_are_named_with_their_file(
    task: str, name: str, file: str, run: RunFolder, root: Path, tmp_path: Path
) -> None:
    for source in filter(Path.is_file, (root / "tiny" / name).iterdir()):
        if source.name != "generation_config.json" or file == source.name:
            (tmp_path / source.name).write_bytes(source.read_bytes())
    values = json.loads((tmp_path / file).read_text()) | {"forced_bos_token_id": 9999}
    (tmp_path / file).write_text(json.dumps(values))
    last = json.loads((tmp_path / "config.json").read_text())["vocab_size"] - 1
    outside = f"forced_bos_token_id = 9999 (outside of the vocabulary, 0 to {last})"
    warning = f"{file} asks for {outside}: not done by regard\n"
    text = "a --engine torch"
    assert run(f"regard {task} {shlex.quote(str(tmp_path))} {text}").stderr == warning
    assert run(f"regard convert {shlex.quote(str(tmp_path))} {tmp_path / 'out'} --to hf").stderr
    assert run(f"regard {task} {tmp_path / 'out'} {text}").stderr == warning  # it came along


def test_a_file_in_place_of_a_folder(run: RunFolder, root: Path) -> None:
    with pytest.raises(Exception, match="is a file, .*`regard doctor tiny/gpt2/config.json` says"):
        run("regard complete tiny/gpt2/config.json a")


def test_a_folder_with_a_llama2c_file_gets_its_command(run: RunFolder, tmp_path: Path) -> None:
    header = (4, 6, 1, 1, 1, 7, 5)  # width, hidden, layers, heads, key heads, words, positions
    count = 7 * 4 + 4 + 4 * 16 + 4 + 3 * 24 + 4 + 2 * 5 * 2  # the last: unused tables of angles
    words = struct.pack("<7i", *header) + np.full(count, 0.25, "<f4").tobytes()
    (tmp_path / "story.bin").write_bytes(words)
    result = run(f"regard doctor {tmp_path}")
    *_, why, how = result.stdout.splitlines()
    assert result.exit_code == 1 and why == "  no config.json, but story.bin needs none"
    assert how == f"  regard convert {tmp_path / 'story.bin'} OUT --to native"
    made = run(how.strip().replace("OUT", str(tmp_path / "out")))
    assert made.exit_code == 0 and "every bit of the weights is equal" in made.stderr
