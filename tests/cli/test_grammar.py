"""One word, one meaning: what an option is called, takes and stands for, in every command."""

import json
import re
from collections import defaultdict
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cli.every_command import CALLS, make, place
from regard import errors
from regard.cli.declare import SectionedCommand
from regard.cli.main import COMMANDS, GROUPS, group

SHORT = {"-f": "--file", "-o": "--output", "-k": "--top", "-q": "--quiet", "-v": "--verbose"}
OLD = {  # command → a call with the name that an option had, and with the present one
    "similar": ("--pairs", "--file"),
    "translate": ("--pairs", "--with-source"),
    "score": ("--tokens", "--per-token"),
    "index": ("--tokens", "--passage-tokens"),
    "doctor": ("--all", "--tensors"),
    "explain": ("--all", "--all-terms"),
    "verify": ("--write", "--update"),
    "phrasebook": ("--write", "--output"),
    "evaluate": ("--texts", "--file"),
    "walk": ("--query", "--word"),
}


def commands() -> dict[str, SectionedCommand]:
    found = {name: group.get_command(click.Context(group), name) for name in COMMANDS}
    assert all(isinstance(command, SectionedCommand) for command in found.values())
    return found  # type: ignore[return-value]


def options() -> dict[str, dict[str, click.Option]]:
    """Of each long name, the option that each command has for it."""
    named: dict[str, dict[str, click.Option]] = defaultdict(dict)
    for command, declared in commands().items():
        for parameter in declared.params:
            if isinstance(parameter, click.Option):
                for name in (*parameter.opts, *parameter.secondary_opts):
                    named[name][command] = parameter
    return named


@pytest.mark.parametrize("name", sorted(options()))
def test_an_option_means_the_same_everywhere(name: str) -> None:
    meanings = defaultdict(list)
    for command, option in options()[name].items():
        meanings[option.type.name, option.is_flag, option.name, option.multiple].append(command)
    assert len(meanings) == 1, f"{name}: {dict(meanings)}"


def test_short_names_are_those_of_the_long_ones() -> None:
    for name, of_commands in options().items():
        if name.startswith("--"):
            continue
        for command, option in of_commands.items():
            assert SHORT.get(name) in option.opts, f"{command} {name}"
    for short, long in SHORT.items():
        assert set(options()[short]) == set(options()[long]), long


def test_every_command_has_its_group_quiet_and_verbose() -> None:
    assert list(COMMANDS) == [name for names in GROUPS.values() for name in names]
    for name in ("--quiet", "--verbose"):
        assert set(options()[name]) == set(COMMANDS)


def test_verbose_ends_with_its_command() -> None:
    """Whatever the command is, it says how long it took; the next one is silent again."""
    wordy = CliRunner().invoke(group, ["positions", "--dim", "8", "-v"])
    assert re.fullmatch(r"\d+\.\d seconds, the start of Python aside\n", wordy.stderr)
    assert CliRunner().invoke(group, ["positions", "--dim", "8"]).stderr == ""
    assert CliRunner().invoke(group, ["positions", "--dim", "8", "-v", "-q"]).stderr == ""


@pytest.mark.parametrize("command", OLD)
def test_names_that_options_had_go_on_working(command: str) -> None:
    before, now = OLD[command]
    declared = commands()[command]
    assert declared.old[before] == now
    assert before not in options() or command not in options()[before]
    assert now in {opt for p in declared.params if isinstance(p, click.Option) for opt in p.opts}
    text = CliRunner().invoke(group, [command, "--help"]).output
    assert now in text and f" {before} " not in text
    context = click.Context(declared)
    assert declared._renamed(f"{before}=a=b") == f"{now}=a=b"
    assert declared._renamed("word") == "word"
    del context


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, toy_run: Path) -> Path:
    return make(tmp_path_factory.mktemp("calls") / "models", toy_run)


@pytest.mark.end_to_end
def test_quiet_leaves_answers_alone(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(models)
    call = [*CALLS["embed"].split()[:2], "the cat", "a dog", "--json"]
    plain, quiet = (CliRunner().invoke(group, [*call, *more]) for more in ([], ["-q"]))
    assert plain.exit_code == quiet.exit_code == 0
    assert quiet.stdout == plain.stdout and quiet.stderr == ""


@pytest.mark.end_to_end
@pytest.mark.parametrize("command", sorted(options()["--json"]))
def test_json_parses(command: str, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One object, one list, or an object a line; nothing else on stdout."""
    monkeypatch.chdir(place(models.parent / f"of-{command}", models))
    call = re.sub(" --output (labelled|vectors|pairs)[^ ]*", "", CALLS[command])  # the answers
    result = CliRunner().invoke(group, [*call.split(), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    try:
        answers = [json.loads(result.stdout)]
    except json.JSONDecodeError:
        answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert answers and all(isinstance(one, dict | list) for one in answers)


def test_the_page_has_every_exit_code(repository: Path) -> None:
    page = (repository / "docs/reference/cli.md").read_text(encoding="utf-8")
    table = page.split("## Exit codes")[1].split("##")[0]
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    codes = {kind.exit_code for kind in kinds if issubclass(kind, errors.RegardError)}
    assert {int(code) for code in re.findall(r"^\| (\d+) ", table, re.M)} == codes | {0, 130}
