"""Recipes by name: what is found, what is said of it, and what is said of a name that is none."""

import subprocess
import sys
from pathlib import Path

import pytest

from regard.config import read_toml
from regard.datasets.table import named
from regard.errors import ConfigError, MisuseError
from regard.recipes.named import card_of, recipe_file, recipe_names, recipe_text


def test_a_name_is_a_file_of_the_package() -> None:
    assert recipe_names()[0] == "demo" and "demo-hi" in recipe_names()
    for name in recipe_names():
        assert recipe_file(Path(name)).is_file()
        assert recipe_text(name).startswith("# ")


@pytest.mark.parametrize("name", recipe_names())
def test_a_card_says_what_where_from_and_how_long(name: str) -> None:
    card = card_of(name)
    assert card.name == name and len(card.what) > 20 and not card.what.startswith("#")
    assert named(card.data).kind in ("pairs", "texts", "images")
    assert "minute" in card.takes


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_names_no_path(name: str) -> None:
    text = recipe_text(name)
    assert "../" not in text and "recipes/" not in text
    assert f"regard train {name}" in text
    data = read_toml(recipe_file(Path(name)))["data"]
    if "set" in data and data["set"]:
        assert f"regard data {data['set']}" in text


def test_a_path_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("")
    (tmp_path / "demo").mkdir()  # a folder of that name does not hide the recipe
    assert recipe_file(Path("mine.toml")) == Path("mine.toml")
    assert recipe_file(Path("demo")).parent.name == "recipes"


def test_a_file_beside_it_is_meant_first(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("")
    with pytest.raises(ConfigError, match='did you mean "mine.toml"'):
        read_toml(recipe_file(tmp_path / "mien.toml"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("dmeo", r'dmeo: no such recipe; did you mean "demo"\? There are: demo, .*demo-hi, .*stsb'),
        ("zzz", "zzz: no such recipe; known: demo, .*demo-hi"),
        ("recipes/demo.toml", 'did you mean "demo", which is part of regard'),
        ("multi30k-tinny.toml", 'did you mean "multi30k-tiny"'),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(
    given: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MisuseError, match=message):
        recipe_file(Path(given))


def test_looking_a_recipe_or_a_set_up_needs_no_torch() -> None:
    code = (
        "import sys\nfrom regard.cli.main import group\n"
        "for words in (['recipe'], ['recipe', 'demo'], ['data', '--json']):\n"
        "    try: group(words)\n    except SystemExit: pass\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules, 'heavy'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
