"""Recipes: every key is in that of the demo with its default, and typos are named."""

import re
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest

from refusals import refused
from regard.config import override, read_toml
from regard.datasets.find import with_sets
from regard.datasets.table import named
from regard.errors import ConfigError
from regard.recipes.named import recipe_file, recipe_names, recipe_text
from regard.runs.recipe import all_sections, make_recipe
from regard.runs.sections import STEPS, VALIDATE_EVERY, WARMUP

SECTIONS = all_sections()


def commented_keys(text: str) -> dict[str, dict[str, str]]:
    """section → key → comment, of keys that are set and of those that are commented out."""
    comments: dict[str, dict[str, str]] = {}
    section = ""
    for line in text.splitlines():
        if header := re.fullmatch(r"\[([\w-]+)\](?:\s+#.*)?", line):
            section = header[1]
        elif row := re.fullmatch(r"(?:# )?(\w+) = \S.*?(?:\s+# (.*))?", line):
            comments.setdefault(section, {})[row[1]] = row[2] or ""
    return comments


def test_the_demo_recipe_lists_every_key() -> None:
    comments = commented_keys(recipe_text("demo"))
    for section, cls in SECTIONS.items():
        expected = {f.name for f in fields(cls)} - {"vocabulary"}
        assert set(comments[section]) - {"preset"} == expected, section


# With the least number of defaults stated in each.
RECIPES = {
    "demo": 20,
    "demo-hi": 5,
    "multi30k-tiny": 0,
    "multi30k-quick": 0,
    "sst2": 0,
    "sst2-scratch": 3,
    "phrasebook-fill": 4,
    "phrasebook-tag": 1,
    "phrasebook-tasks": 0,
    "stsb": 2,
    "sst2-distil": 4,
    "shakespeare": 0,
    "shakespeare-more": 0,
    "wikitext2": 0,
    "dialogue": 0,
    "answer": 0,
    "phrasebook-answer": 1,
    "scitldr": 0,
    "sst2-few": 0,
    "sst2-few-head": 0,
    "digits": 0,
    "fashion-mnist": 0,
    "phrasebook-parse": 1,
    "treebank": 0,
    "wsj-parse": 0,
    "tatoeba-en-de": 0,
    "fashion-caption": 0,
    "scenes-caption": 0,
    "scenes-caption-de": 0,
    "scenes-draw": 2,
}


# What keys of [train] mean that are not given, where there are no minutes either.
UNSAID = {"train": {"steps": STEPS, "warmup": WARMUP, "validate_every": VALIDATE_EVERY}}


@pytest.mark.parametrize(("name", "least"), RECIPES.items())
def test_stated_defaults_are_the_defaults(name: str, least: int) -> None:
    comments = commented_keys(recipe_text(name))
    checked = 0
    for section, cls in SECTIONS.items():
        defaults = {f.name: f.default for f in fields(cls)} | UNSAID.get(section, {})
        for key, comment in comments.get(section, {}).items():
            if stated := re.search(r"\(default ([\d.e-]+)\)", comment):
                assert float(stated[1]) == defaults[key], (section, key)
                checked += 1
    assert checked >= least


@pytest.mark.parametrize("name", RECIPES)
def test_each_recipe_loads(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its set is not here: empty files stand for it."""
    monkeypatch.setenv("REGARD_DATA", str(tmp_path))
    tables = read_toml(recipe_file(Path(name)))
    if tables["data"].get("set"):
        dataset = named(tables["data"]["set"])
        (tmp_path / dataset.folder).mkdir()
        for file in dataset.files:
            (tmp_path / dataset.folder / file.name).touch()
    recipe = make_recipe(with_sets(tables, name), name)
    words = 0 if recipe.objective == "see" else 3000
    assert recipe.spec(words).vocabulary == words


def test_every_recipe_is_tested() -> None:
    assert set(recipe_names()) == set(RECIPES)


BASE = {"data": {"phrasebook": "de"}}


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {**BASE, "train": {"stepz": 5}},
            r"\[train\]: unknown key 'stepz'; did you mean \"steps\"",
        ),
        ({**BASE, "model": {"dropuot": 0.1}}, r"\[model\]: .*'dropuot'; did you mean \"dropout\""),
        ({**BASE, "model": {"preset": "tinny"}}, 'did you mean "tiny"'),
        ({**BASE, "model": {"vocabulary": 9}}, "follows from tokenizer.size"),
        ({**BASE, "model": {"heads": 3}}, "3 heads do not divide d_model 512"),
        ({**BASE, "steps": 5}, 'did you mean "train.steps"'),
        ({**BASE, "trian": {}}, 'did you mean "train"'),
        ({**BASE, "train": {"seed": -1}}, "seed: got -1, expected 0 or more"),
        ({**BASE, "train": {"threads": -1}}, "threads: got -1"),
        ({**BASE, "model": {"decoder_layers": 0}}, "needs an encoder and a decoder"),
        ({**BASE, "model": {"kv_heads": -1}}, "kv_heads: got -1"),
        ({**BASE, "model": {"preset": [1]}}, "preset: unknown name"),
        ({**BASE, "model": {"positions": "learned", "max_length": 40}}, "cannot hold"),
        ({**BASE, "decode": {"alpha": float("nan")}}, "alpha: got nan"),
        ({**BASE, "train": {"steps": 0}}, "steps: got 0, expected 1 or more"),
        ({**BASE, "train": {"label_smoothing": 1.5}}, "expected 0 ≤ ε < 1"),
        ({**BASE, "decode": {"stop": "never"}}, "expected one of 'exact', 'first-k'"),
        ({}, "either phrasebook or source"),
        ({"data": {"phrasebook": "de", "source": "x"}}, "not both"),
    ],
)
def test_wrong_recipes_are_named(tables: dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_recipe(tables, "r.toml")


def test_what_is_not_given_is_told_from_a_default() -> None:
    """100,000 steps that somebody asked for are a limit beside the minutes; unsaid, none is."""
    unsaid = make_recipe({**BASE, "train": {"minutes": 5}}, "r").train
    stated = make_recipe({**BASE, "train": {"minutes": 5, "steps": STEPS}}, "r").train
    assert (unsaid.steps, unsaid.last_step) == (None, None)
    assert (stated.steps, stated.last_step) == (STEPS, STEPS)
    neither = make_recipe(BASE, "r").train
    assert (neither.last_step, neither.warmup, neither.validate_every) == (
        STEPS,
        WARMUP,
        VALIDATE_EVERY,
    )


def test_a_recipe_of_an_earlier_version_ends_where_it_did() -> None:
    """It has every key: 100,000 steps, whoever asked for them, and the minutes; the first ends."""
    old = {"steps": 100_000, "minutes": 15.0, "warmup": 500, "validate_every": 400}
    train = make_recipe({**BASE, "train": old}, "recipe.json").train
    assert (train.last_step, train.minutes) == (100_000, 15.0)
    assert (train.warmup, train.validate_every, train.schedule) == (500, 400, "noam")


def test_a_cosine_without_a_warmup_rises_for_a_tenth_of_its_steps() -> None:
    tables = {**BASE, "train": {"schedule": "cosine", "steps": 300}}
    assert make_recipe(tables, "r").train.warmup == 30


# As somebody types them after `train.steps=`: no key has a use for any of these.
EXTREMES = (
    "-1",
    "18446744073709551616",  # 2^64
    "1" + 4000 * "0",
    5000 * "9",
    "0x" + 5000 * "f",
    "1e308",
    "-1e308",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "true",
    "2024-01-01",
    '""',
    '"\\u0000"',
    '"' + 20_000 * "x" + '"',
    20_000 * "y",
    "[]",
    "[1, [2, [3]]]",
    20_000 * "[",
    900 * "[" + 900 * "]",
    "{}",
    "{a = 1}",
    20_000 * "{a = ",
    "\n[train]\nsteps = 3",
    "",
)


@pytest.mark.parametrize("section", SECTIONS)
def test_no_value_of_any_key_ends_in_anything_but_a_named_error(
    section: str, tmp_path: Path
) -> None:
    """Or it is accepted. For one key of each section also from a file, where the value is TOML."""
    refused = 0
    for field in fields(SECTIONS[section]):
        for value in EXTREMES:
            try:
                make_recipe(override(BASE, [f"{section}.{field.name}={value}"]), "r.toml")
            except ConfigError as error:
                refused += 1
                assert len(str(error)) < 2000
    assert refused > len(EXTREMES) // 2
    for value in EXTREMES:
        head = f"[{section}]" if section == "data" else f'[data]\nphrasebook = "de"\n[{section}]'
        (tmp_path / "extreme.toml").write_text(f"{head}\n{field.name} = {value}\n")
        with suppress(ConfigError):
            make_recipe(read_toml(tmp_path / "extreme.toml"), "r.toml")


NUMBERS = [
    f"{section}.{f.name}"
    for section, cls in SECTIONS.items()
    for f in fields(cls)
    if f.type in (int, float, int | None, float | None)
]


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("value", ["1" + 70 * "0", "-1" + 70 * "0", "nan"])
def test_every_number_has_bounds(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=key.partition(".")[2]):
        make_recipe(override(BASE, [f"{key}={value}"]), "r.toml")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("train.seed", 2**63, "seed: got 9223372036854775808, expected at most 9,223,372,036,854"),
        ("train.seed", 2**9000, "seed: got a whole number of 9,001 bits, expected at most"),
        ("train.workers", 100_000, "workers: got 100000, expected at most 256"),
        ("train.loaders", 100_000, "loaders: got 100000, expected at most 256"),
        ("train.threads", 100_000, "threads: got 100000, expected at most 1,024"),
        ("data.weight", 1e9, "weight: got 1000000000.0, expected at most 1,000"),
        ("data.weight", float("inf"), "weight: got inf, expected at most 1,000"),
        ("data.max_ratio", float("nan"), "max_ratio: got nan, expected 1 or more"),
        ("train.minutes", float("inf"), "minutes: got inf, expected at most 10,000,000"),
        ("decode.beam", 10**9, "beam: got 1000000000, expected at most 10,000"),
        ("tokenizer.size", 0, "size: got 0, expected 1 or more"),
        ("similar.high", float("inf"), "high: got inf, expected at most"),
    ],
)
def test_a_number_out_of_bounds_says_what_got_and_expected(
    key: str, value: float, message: str
) -> None:
    section, _, name = key.partition(".")
    with pytest.raises(ConfigError, match=re.escape(message)):
        make_recipe({**BASE, section: {**BASE.get(section, {}), name: value}}, "r.toml")


def test_further_corpora_have_bounds_too() -> None:
    more = {"phrasebook": "de", "more": [{"source": "x.tsv", "weight": 10**6}]}
    with refused(ConfigError, subject="more[0]: weight", got=1000000.0, expected="at most"):
        make_recipe({"data": more}, "r.toml")
