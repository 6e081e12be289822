"""The pages that are read out of the code: reference/recipe.md and python.md, the_transformer.md.

    make reference                       writes them; tests/test_reference.py compares

recipe.md is made here: keys, types and defaults come from the dataclasses of a recipe, the meaning
of each key from its comment in recipes/demo.toml, which has every key. python.md is made by
python_reference.py, the_transformer.md by make_the_transformer.py.
"""

import dataclasses
import re
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import make_the_transformer
from doc_pages import DOCS, REPOSITORY
from python_reference import heading, python_page, table

from regard.model.presets import PRESETS
from regard.model.spec import Spec
from regard.runs.objectives import OBJECTIVES
from regard.runs.recipe import all_sections
from regard.runs.sections import STEPS, VALIDATE_EVERY, WARMUP, More, TaskSection

COMMENTED = REPOSITORY / "src/regard/recipes/demo.toml"
# Keys whose dataclass says "not given": what a recipe without them means.
SETTLED = {"steps": STEPS, "warmup": WARMUP, "validate_every": VALIDATE_EVERY}
KINDS = {int: "whole number", float: "number", str: "text", bool: "true or false", Path: "path"}
TITLES = {
    "data": "What to learn from.",
    "tokenizer": "How text becomes ids: one vocabulary for both languages.",
    "model": "The shape of the model: a preset, and what differs from it.",
    "train": "The optimisation. More of it: [rates, averages, warm starts](../train-more.md).",
    "decode": "How the trained model is asked by default ([translate](../translate.md)).",
    "text-to-text": 'Of objective "text-to-text" ([text to text](../text-to-text.md)).',
    "lora": "Small matrices that are trained in place of the model ([LoRA](../lora.md)).",
    "chat": 'Of objective "chat" ([chat](../chat.md#train)).',
    "answer": 'Of objective "answer" ([answer](../answer.md#train)).',
    "similar": 'Of objective "similar" ([encoders](../encoders.md#vectors-that-are-compared)).',
    "distil": 'Of objective "distil" ([encoders](../encoders.md#a-student-and-its-teacher)).',
}
# What the recipe says in a line above, or not at all: a table is read a row at a time.
ALONE = {
    "data.valid_target": "the other side of these pairs",
    "data.validation": "how many pairs are held out where no validation files are given, at most a "
    "tenth of all, a fifth of under 100",
    "data.label": 'the column of the label, by name or number; "": found by its name or by what is '
    "in it, and printed",
    "model.kv_heads": 'heads of keys and values; "": as many as heads',
    "model.head_size": 'd_k = d_v; "": d_model / heads',
    "model.ffn_bias": "the maps of the feed-forward network have a bias",
    "model.norm": '"layer" norm (paper) or "rms": divided by the root of the mean square',
    "model.rotary_factor": "stretch rotary positions by so many times",
    "train.plateau_factor": "plateau: the rate is multiplied by this when validation stands still",
    "train.plateau_patience": "plateau: after so many validations without a better loss",
    "train.label_smoothing": "ε: the share of probability that goes to all other words",
    "train.workers": "workers that share the threads; 0: a self-test before the first step "
    "chooses; kept for resuming",
}
INTRODUCTION = """\
A recipe is a TOML file ([recipes](../recipes.md)); a key that is left out has its default. On the
command line each can be set as `section.key=value`, for example `train.steps=500`; from Python as
`regard.train("demo", train={"steps": 500})`. `regard recipe demo` prints the same keys as a file to
start from. A key that does not exist is refused, and the nearest one is named.

`objective` stands before the sections and says what to train for; `"translate"` is the default.
"""


def pages() -> dict[str, str]:
    """Path below docs/ → what it should hold."""
    keys = commented_keys(COMMENTED.read_text(encoding="utf-8"))
    decode = {key[7:]: meaning(text) for key, text in keys.items() if key.startswith("decode.")}
    return {
        "reference/recipe.md": recipe_page(keys),
        "reference/python.md": python_page(decode),
        make_the_transformer.PAGE: make_the_transformer.page(),
    }


def recipe_page(meanings: Mapping[str, str]) -> str:
    """Every key of a recipe, section by section, in the order of the commented recipe."""
    lines = [
        *heading("Every key of a recipe"),
        INTRODUCTION,
        *table(
            ("objective", "learns", "a run of it offers"),
            [
                (f'`"{name}"`', row.learned.lower(), ", ".join(f"`{task}`" for task in row.offers))
                for name, row in OBJECTIVES.items()
            ],
        ),
    ]
    for name, section in all_sections().items():
        title = TITLES.get(name, f'Of objective "{name}".')
        lines += ["", f"## [{name}]", "", title, ""]
        lines += key_table(name, section, meanings)
        if name == "data":
            lines += [*more_table(), *tasks_table()]
        if name == "model":
            lines += preset_table()
    return "\n".join([*lines, ""])


def commented_keys(text: str) -> dict[str, str]:
    """`section.key` → the comment behind it; of a key that is commented out too."""
    meanings: dict[str, str] = {}
    section = ""
    for line in text.splitlines():
        if named := re.match(r"\[([\w-]+)\]", line):
            section = named[1] + "."
        elif key := re.match(
            r"(?:# )?(\w+) = (?:\[.*?\]|\"[^\"]*\"|[\w.e-]+)\s*(?:# (.*))?$", line
        ):
            meanings[section + key[1]] = key[2] or ""
    return meanings


def key_table(name: str, section: type[Any], meanings: Mapping[str, str]) -> list[str]:
    """The rows of one section; a key without a comment is an error of the recipe."""
    hints = typing.get_type_hints(section)
    fields = {field.name: field for field in dataclasses.fields(section)}
    fields.pop("vocabulary", None)  # of a Spec: follows from the tokenizer
    keys = [dotted.partition(".")[2] for dotted in meanings if dotted.startswith(f"{name}.")]
    off = ", ".join(sorted((set(keys) - {"preset"}) ^ set(fields)))
    assert not off, f"[{name}]: a key of recipes/{COMMENTED.name} and not of the code, or so: {off}"
    rows = []
    for key in keys:
        kind, default = "text", '"base"'  # of preset, which is no field of a Spec
        if key in fields:
            kind, default = kind_of(hints[key]), default_of(fields[key])
        dotted = f"{name}.{key}"
        said = ALONE.get(dotted) or meaning(meanings[dotted])
        assert said, f"{COMMENTED.name}: {dotted} has no comment"
        rows.append((f"`{key}`", f"{kind}; default `{default}`", said))
    return table(("key", "type and default", "meaning"), rows)


def meaning(comment: str) -> str:
    """A comment without what it says of defaults, which have a column, and of the demo itself."""
    said = re.sub(r" \((?:base|default)[: ][^()]*\)| \([^()]*: default\)| \(default\)", "", comment)
    said = re.sub(r"[,;] default(?=\))", "", said)
    return re.sub(r"[;:] here [^()]*(?:\([^()]*\)[^()]*)?(?=$|\))", "", said)


def kind_of(hint: Any) -> str:
    """A type as a person who writes TOML would say it."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return kind_of(next(part for part in inside if part is not type(None)))
    if origin is Literal:
        return ", ".join(f'`"{choice}"`' for choice in inside)
    if origin is tuple:
        return (
            "list of tables"
            if inside[0] in (More, TaskSection)
            else f"list of: {kind_of(inside[0])}"
        )
    return KINDS[hint]


def default_of(field: "dataclasses.Field[Any]") -> str:
    """The default as TOML spells it."""
    value = SETTLED.get(field.name, field.default)
    if value is None:
        return '""'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{part}"' for part in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value).replace("e-0", "e-")


def more_table() -> list[str]:
    said = {
        "source": "as in `[data]`",
        "target": "as in `[data]`",
        "weight": "how often an epoch shows each of its pairs",
        "tag": "a word before each of its sources",
        "set": "a data set by its name, in place of files",
    }
    title = "Each `[[data.more]]`, a further corpus ([mixtures](../train-more.md#several-corpora)):"
    return ["", title, "", *nested_table(More, said, "needed, or `set`")]


def tasks_table() -> list[str]:
    as_data = ("source", "target", "valid_source", "valid_target", "source_column", "target_column")
    said = dict.fromkeys(as_data, "as in `[data]`") | {
        "name": "results are printed under it",
        "make": "made of the phrasebook that `data.phrasebook` names, in place of files",
        "set": "a data set by its name, in place of files",
        "prefix": "what stands before each source",
        "weight": "how often an epoch shows each of its pairs",
        "metric": "how its answers are judged",
    }
    title = (
        "Each `[[data.tasks]]`, a task of objective `text-to-text` ([tasks](../text-to-text.md)):"
    )
    return ["", title, "", *nested_table(TaskSection, said, "needed")]


def nested_table(section: type[Any], said: Mapping[str, str], needed: str) -> list[str]:
    """The keys of a table in a section."""
    hints, rows = typing.get_type_hints(section), []
    for field in dataclasses.fields(section):
        is_needed = field.default is dataclasses.MISSING
        default = needed if is_needed else f"default `{default_of(field)}`"
        rows.append(
            (f"`{field.name}`", f"{kind_of(hints[field.name])}; {default}", said[field.name])
        )
    return table(("key", "type and default", "meaning"), rows)


def preset_table() -> list[str]:
    """What each preset is; rows of the paper's Table 3 by what they change."""
    shape = ("d_model", "encoder_layers", "decoder_layers", "heads", "ffn_size", "dropout")
    usual = {field.name: field.default for field in dataclasses.fields(Spec)}
    named = [name for name in PRESETS if not name.startswith("paper-")]
    rows = [(f"`{name}`", *(str((usual | PRESETS[name])[key]) for key in shape)) for name in named]
    paper = [
        (
            f"`{name}`",
            ", ".join(f"`{k} = {v}`" for k, v in changes.items()).replace("learned", '"learned"')
            or "as `base`; its label smoothing is `train.label_smoothing`",
        )
        for name, changes in PRESETS.items()
        if name.startswith("paper-")
    ]
    return [
        "",
        "The presets; every other field of them has its default.",
        "",
        *table(("preset", *shape), rows),
        "",
        "Rows of the paper's Table 3, as `base` but for:",
        "",
        *table(("preset", "changed"), paper),
    ]


def main() -> None:
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
