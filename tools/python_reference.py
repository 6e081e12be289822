"""docs/reference/python.md: what `regard.__all__` names, as its source writes it.

Signatures, fields and docstrings are read from the files (ast), not from imported objects: they
look as they do in an editor, with their overloads and comments.
"""

import ast
import inspect
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from doc_pages import REPOSITORY

import regard
from regard import errors
from regard.api.model import NEEDS

SOURCE = REPOSITORY / "src"
INTRODUCTION = """\
Everything below is `import regard`, then `regard.name`. Importing regard imports no PyTorch; the
names bring what they need when they are first used. A method takes one text or several and gives
back the same shape; what a model cannot do is an error that lists what it can."""
# Methods that hand their options on: the function that says what they are.
HANDED_ON = {"Model.evaluate": "regard.api.evaluation", "Run.evaluate": "regard.api.evaluation"}
# What a result holds and nobody asks it for.
# Parts of Model, and where they are.
PARTS = {
    "GoesOn": "regard.api.talk",
    "Asked": "regard.api.ask",
    "WithPictures": "regard.api.pictures",
}
INNER = ("Spec", "Bundle", "LoadedModel", "Encoder", "Trace")
FIRST = ("load", "train")  # the names that a reader looks for first


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(path_of(module).read_text(encoding="utf-8"))


def path_of(module: str) -> Path:
    path = SOURCE / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def python_page(decode: Mapping[str, str]) -> str:
    """Names of `regard.__all__` with their members, options, results and errors.

    `decode` says what each key of a recipe's [decode] means, which are options of methods too.
    """
    places = {name: module for name, module in regard._LAZY.items() if name in regard.__all__}
    lines = [
        *heading("Python"),
        INTRODUCTION,
    ]
    results: dict[str, str] = {}  # name → module, of the classes that these return
    for name in sorted(places, key=lambda name: (name not in FIRST, not name.islower(), name)):
        module, node = places[name], definition(places[name], name)
        lines += ["", f"## {name}", ""]
        if isinstance(node, ast.ClassDef):
            lines += class_lines(node, module, results, inherited=name == "Model")
        elif isinstance(node, ast.Assign):  # made of another function: the docstring says of which
            lines.append(getattr(regard, name).__doc__)
            results["Records"] = module
        else:
            lines += function_lines([node], module, results)
            lines += examples(module)
    lines += option_lines(decode)
    lines += ["", "## Results", "", "What the methods above give back."]
    for name in sorted(reached(results) - set(places)):
        lines += ["", f"### {name}", "", *result_lines(name, results[name])]
    return "\n".join([*lines, *error_lines(), ""])


def reached(results: dict[str, str]) -> set[str]:
    """The classes of results, and those that their fields and methods lead to."""
    new = set(results)
    while new:
        found: dict[str, str] = {}
        for name in new:
            for n in definition(results[name], name).body:
                kind = n.annotation if isinstance(n, ast.AnnAssign) else getattr(n, "returns", None)
                if not (named(n) or ast.unparse(n)).startswith("_"):
                    found.update(classes_in(kind, results[name]))
        new = set(found) - set(results) - set(INNER)
        results.update({name: found[name] for name in new})
    return set(results)


def definition(module: str, name: str) -> Any:
    """The class, or the last function of that name: the one that overloads describe."""
    nodes = [node for node in tree_of(module).body if named(node) == name]
    assert nodes, f"{module} defines no {name}"
    return nodes[-1]


def named(node: ast.AST) -> str:
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else ""


def class_lines(
    node: ast.ClassDef, module: str, results: dict[str, str], inherited: bool
) -> list[str]:
    lines = [docstring(node)]
    lines += field_lines(node, module)
    members = list(node.body)
    if inherited:  # what every task works with is of no use to a user but for these two
        loaded = definition("regard.answer.loaded", "LoadedModel")
        members = [n for n in loaded.body if named(n) in ("tasks", "spec")] + members
        members += [n for name, home in PARTS.items() for n in definition(home, name).body]
    attributes = [
        (f"`{named(n)}`", f"`{text_of_type(n.returns, module)}`", one_line(docstring(n)))
        for n in members
        if isinstance(n, ast.FunctionDef) and is_public(n) and is_property(n)
    ]
    for n in members:
        if isinstance(n, ast.FunctionDef) and is_public(n) and is_property(n):
            shown = dict(classes_in(n.returns, module))
            results.update({c: home for c, home in shown.items() if home.startswith("regard.api")})
    if attributes:
        lines += ["", *table(("attribute", "type", "what"), attributes)]
    methods: dict[str, list[ast.FunctionDef]] = {}
    for n in members:
        if isinstance(n, ast.FunctionDef) and is_public(n) and not is_property(n):
            methods.setdefault(n.name, []).append(n)
    for name, versions in methods.items():
        home = HANDED_ON.get(f"{node.name}.{name}")
        called = versions if home is None else [definition(home, name)]
        home = home or (part_of(versions[-1]) if inherited else None)
        lines += ["", f"### {node.name}.{name}", ""]
        lines += function_lines(called, home or module, results, without=("self", "model"))
        if node.name == "Model" and name in NEEDS:
            offered = " or ".join(f"`{task}`" for task in NEEDS[name])
            lines += ["", f"Of models whose `tasks` have {offered}."]
    return lines


def part_of(method: ast.FunctionDef) -> str | None:
    """The file of the part of Model that a method is of; None: it is of Model itself."""
    homes = (home for name, home in PARTS.items() if method in definition(home, name).body)
    return next(homes, None)


def is_public(node: ast.FunctionDef) -> bool:
    return not node.name.startswith("_")


def is_property(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(mark) in ("property", "cached_property") for mark in node.decorator_list)


def function_lines(
    versions: list[ast.FunctionDef],
    module: str,
    results: dict[str, str],
    without: tuple[str, ...] = (),
) -> list[str]:
    """Signatures, of the overloads where there are some, and the docstring of the last one."""
    overloads = [n for n in versions if "overload" in map(ast.unparse, n.decorator_list)]
    for node in versions:
        results.update(classes_in(node.returns, module))
    signatures = [signature(node, module, without) for node in overloads or versions]
    return ["```py", *signatures, "```", "", docstring(versions[-1])]


def signature(
    node: ast.FunctionDef, module: str, without: tuple[str, ...] = (), width: int = 90
) -> str:
    """One line, or a line for each parameter where it is long."""
    shown = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(shown, ast.FunctionDef)
    arguments = shown.args
    everyone = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in [*everyone, *filter(None, (arguments.vararg, arguments.kwarg))]:
        if argument.annotation is not None:
            argument.annotation = ast.Name(text_of_type(argument.annotation, module))
    for group in (arguments.posonlyargs, arguments.args):
        group[:] = [argument for argument in group if argument.arg not in without]
    returns = f" -> {text_of_type(node.returns, module)}" if node.returns else ""
    inside = ast.unparse(arguments).replace("=", " = ")  # every parameter has a type
    line = f"{node.name}({inside}){returns}"
    if len(line) <= width:
        return line
    parts = split_at_commas(inside)
    return f"{node.name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"


def split_at_commas(text: str) -> list[str]:
    """At the commas that stand in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def text_of_type(node: ast.expr | None, module: str) -> str:
    """An annotation without quotes, `Unpack` and the file's own short names for types."""
    if node is None:
        return ""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = ast.parse(node.value, mode="eval").body
    short = {
        ast.unparse(n.targets[0]): ast.unparse(n.value)
        for n in tree_of(module).body
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Subscript)
    }
    text = re.sub(r"Unpack\[(\w+)\]", r"\1", ast.unparse(node))
    return re.sub(r"\b\w+\b", lambda word: short.get(word[0], word[0]), text)


def classes_in(node: ast.expr | None, module: str) -> Iterator[tuple[str, str]]:
    """Classes of regard that an annotation names: name, module."""
    imported = {
        alias.name: n.module
        for n in ast.walk(tree_of(module))
        if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("regard.")
        for alias in n.names
    }
    own = {named(n): module for n in tree_of(module).body if isinstance(n, ast.ClassDef)}
    for word in re.findall(r"\w+", text_of_type(node, module)):
        home = (imported | own).get(word)
        classes = [n for n in tree_of(home).body if isinstance(n, ast.ClassDef)] if home else []
        if home and word in map(named, classes):
            yield word, home


def result_lines(name: str, module: str) -> list[str]:
    node = definition(module, name)
    lines = [docstring(node)]
    lines += field_lines(node, module)
    members = [n for n in node.body if isinstance(n, ast.FunctionDef) and is_public(n)]
    told = [
        (
            f"`{n.name}`" if is_property(n) else f"`{signature(n, module, ('self',), width=1000)}`",
            one_line(docstring(n)),
        )
        for n in members
        if ast.get_docstring(n)
    ]
    return [*lines, "", *table(("also", "what"), told)] if told else lines


def fields_of(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [
        n
        for n in node.body
        if isinstance(n, ast.AnnAssign) and not ast.unparse(n.target).startswith("_")
    ]


def field_lines(node: ast.ClassDef, module: str) -> list[str]:
    """The fields as a dataclass has them, with their comments."""
    lines = []
    for n in fields_of(node):
        comment = comments_of(module).get(n.end_lineno or 0, "")
        line = f"{ast.unparse(n.target)}: {text_of_type(n.annotation, module)}"
        lines.append(f"{line}  # {comment}" if comment else line)
    return ["", "```py", *lines, "```"] if lines else []


@cache
def comments_of(module: str) -> dict[int, str]:
    """Line → the comment at its end."""
    with path_of(module).open("rb") as file:
        return {
            token.start[0]: token.string.removeprefix("#").strip()
            for token in tokenize.tokenize(file.readline)
            if token.type == tokenize.COMMENT and not token.string.startswith("# type:")
        }


def option_lines(decode: Mapping[str, str]) -> list[str]:
    """The options behind `**options`; what options.py leaves open, the commented recipe says."""
    module = "regard.api.options"
    lines = ["", "## Options", "", "What is not given is as the model's own folder says."]
    for node in tree_of(module).body:
        if isinstance(node, ast.ClassDef):
            rows = []
            for n in fields_of(node):
                key, kind = ast.unparse(n.target), text_of_type(n.annotation, module)
                comment = comments_of(module).get(n.end_lineno or 0) or decode.get(key, "")
                rows.append((f"`{key}`", f"`{kind}`", comment))
            lines += ["", f"### {node.name}", "", docstring(node), ""]
            lines += table(("option", "type", "what"), rows)
    return lines


def error_lines() -> list[str]:
    classes = [c for c in vars(errors).values() if isinstance(c, type)]
    rows = [
        (f"`{c.__name__}`", f"`{c.__base__.__name__}`", str(c.exit_code), c.__doc__ or "")
        for c in classes
        if issubclass(c, errors.RegardError) and c.__base__ is not None
    ]
    return [
        "",
        "## errors",
        "",
        "What regard raises on purpose, in `regard.errors`; a command ends with the exit code.",
        "",
        *table(("error", "is a", "exit code", "when"), rows),
    ]


def heading(title: str) -> list[str]:
    return [f"# {title}", "", "<!-- Made by tools/make_reference.py: `make reference`. -->", ""]


def docstring(node: ast.AST) -> str:
    return inspect.cleandoc(ast.get_docstring(node) or "")  # type: ignore[arg-type]


def one_line(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


def examples(module: str) -> list[str]:
    """The paragraphs of a module's docstring that are Python."""
    blocks = [b for b in docstring(tree_of(module)).split("\n\n") if "regard." in b and _parses(b)]
    return ["", "```py", *blocks, "```"] if blocks else []


def _parses(text: str) -> bool:
    try:
        ast.parse(inspect.cleandoc(text))
    except SyntaxError:
        return False
    return "(" in text


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Markdown; a | in a cell is escaped."""
    names = list(head)
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    assert all(len(row) == len(names) for row in cells), names
    lines = [f"| {' | '.join(row)} |" for row in [names, *cells]]
    return [lines[0], "|" + "---|" * len(names), *lines[1:]]
