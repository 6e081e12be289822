"""The house rules that can be counted: short files and functions, docstrings, no hidden doors."""

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src/regard"
FILES = sorted(SOURCE.rglob("*.py"))
NAMES = [str(path.relative_to(SOURCE)) for path in FILES]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_file_is_short_and_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = parsed(path)
    assert ast.get_docstring(tree), "every module opens with a docstring"
    assert len(text.splitlines()) <= 400, "one concept a file, rarely over 400 lines"
    for function in functions(tree):
        length = (function.end_lineno or 0) - function.lineno + 1
        assert length <= 60, f"{function.name} has {length} lines"


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_nothing_unsafe_and_nothing_by_literal_name(path: Path) -> None:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [vars(node).get("module") or ""]
            assert not {"pickle", "marshal", "shelve", "dill"} & set(names)
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in ("eval", "exec", "hasattr", "yaml.load"), called
            if called == "torch.load":  # one place, which has looked at every instruction before
                given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                assert path == SOURCE / "checkpoint/pickled.py" and given["weights_only"] == "True"
            if called == "getattr":
                assert not isinstance(node.args[1], ast.Constant)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_what_is_printed_passes_one_place(path: Path) -> None:
    """printable.py, by way of the streams of a command or of draw/terminal/console.py."""
    tree = parsed(path)
    foreign = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "rich.console"
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in foreign, f"{called} of rich: use that of draw/terminal/console.py"
            assert called not in ("click.secho", "click.style"), f"{called}: use a console"
        if isinstance(node, ast.Attribute):
            assert ast.unparse(node) not in ("sys.stdout.buffer", "sys.stderr.buffer")


@pytest.mark.parametrize("path", sorted((SOURCE / "model").glob("*.py")), ids=lambda p: p.name)
def test_modules_are_one_level_deep_with_few_arguments(path: Path) -> None:
    tree = parsed(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base) for base in node.bases]
            assert bases in ([], ["nn.Module"], ["torch.autograd.Function"]), (node.name, bases)
    for function in functions(tree):
        assert len(function.args.args) <= 8, function.name
        if path.name != "presets.py":
            assert function.args.kwarg is None, function.name


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_an_import_inside_a_function_says_why(path: Path) -> None:
    """Commands load what they use, and no more: that is why `cli` has them without a word."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for function in functions(parsed(path)) if path.parent.name != "cli" else ():
        for node in ast.walk(function):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("regard"):
                said = "".join(lines[node.lineno - 1 : node.end_lineno])
                assert "#" in said, f"line {node.lineno}: an import inside {function.name}"


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_what_was_got_and_expected_are_fields_of_an_error(path: Path) -> None:
    """Not words of its sentence (errors.py); errors of Python are for programmers."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Raise | ast.Return) and isinstance(
            call := error_of(node), ast.Call
        ):
            for argument in call.args:
                parts = ast.walk(argument)
                texts = [part.value for part in parts if isinstance(part, ast.Constant)]
                sentence = "".join(text for text in texts if isinstance(text, str))
                is_old = ": got " in sentence and "expected" in sentence
                assert not is_old, f"line {node.lineno}: {sentence}"


def error_of(node: ast.Raise | ast.Return) -> ast.expr | None:
    """What is raised, or returned to be raised, if its class is one of ours."""
    error = node.exc if isinstance(node, ast.Raise) else node.value
    name = vars(error.func).get("id", "") if isinstance(error, ast.Call) else ""
    return error if name.endswith("Error") and name not in vars(builtins) else None


def test_no_name_has_two_meanings() -> None:
    """Of classes and types; an alias may be repeated where it is the same."""
    meanings: dict[str, set[str]] = {}
    for path in FILES:
        for node in parsed(path).body:
            names = [node.name] if isinstance(node, ast.ClassDef) else []
            if isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            for name in names:
                if name[0].isupper() and not name.isupper():
                    is_class = isinstance(node, ast.ClassDef)
                    meaning = str(path) if is_class else ast.unparse(node)
                    meanings.setdefault(name, set()).add(meaning)
    assert not {name: places for name, places in meanings.items() if len(places) > 1}


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_file_that_is_named_is_there(path: Path) -> None:
    """In docstrings and comments: `room/file.py`, or `file.py` of the same room or of the top."""
    for line in path.read_text(encoding="utf-8").splitlines():
        for name in re.findall(r"(?<![\w/*{}.])(?:\w+/)*\w+\.py\b", line):
            places = (SOURCE, path.parent, path.parent.parent, SOURCE.parent.parent)
            assert any((place / name).is_file() for place in places), name


def test_no_catch_all_modules() -> None:
    assert not {"utils.py", "helpers.py", "common.py"} & {path.name for path in FILES}
