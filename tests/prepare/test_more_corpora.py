"""Several corpora in one training: weights, tags, nothing of validation leaks, exact resume."""

import json
from pathlib import Path

import pytest

import toy
from halting import ask, digest, go, go_with_halts
from regard.errors import ConfigError, DataError
from regard.prepare.pairs import load_prepared
from regard.runs.folder import RunFolder
from regard.runs.recipe import make_recipe

pytestmark = pytest.mark.end_to_end


def write_more(folder: Path, rows: list[tuple[str, str]]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "web.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in rows), encoding="utf-8")
    return path


def test_parts_stand_in_a_row_with_their_weights_and_tags(tmp_path: Path) -> None:
    rows = [(f"cat {word}", f"Katze {n}") for n, word in enumerate(("alpha", "beta", "gamma") * 7)]
    more = write_more(tmp_path, rows)
    keys = (f'data.more=[{{source="{more}", weight=0.5, tag="WEB"}}]', "data.weight=2")
    lines = go(ask(tmp_path, *keys, steps=2))
    data = load_prepared(RunFolder(tmp_path / "run"))
    own, web = data.corpora
    assert (own.name, own.weight, web.name, web.weight, web.pairs) == (
        "data",
        2.0,
        "web.tsv",
        0.5,
        21,
    )
    assert own.pairs + web.pairs == len(data.train)
    texts = [data.tokenizer.decode(data.train["source"][own.pairs + i]) for i in range(21)]
    assert texts == [f"WEB {source}" for source, _ in rows]
    assert "  web.tsv: 21 lines read, 21 kept, 0 left out." in lines
    assert any("web.tsv: 10 of an epoch's examples (21 pairs, weight 0.5)" in x for x in lines)
    assert any(f"data: {2 * own.pairs} of an epoch's examples" in line for line in lines)
    recipe = json.loads((tmp_path / "run/recipe.json").read_text())
    assert recipe["data"]["more"][0]["tag"] == "WEB"


def test_what_validation_asks_for_is_left_out_by_source_and_by_target(tmp_path: Path) -> None:
    """The further corpus is the same toy corpus: every held-out pair is in it, twice disguised."""
    made = toy.pairs(200)
    rows = [(s.upper(), f"{t} !") for s, t in made] + [(f"{s} ?", t) for s, t in made]
    lines = go(ask(tmp_path, f'data.more=[{{source="{write_more(tmp_path, rows)}"}}]', steps=2))
    data = load_prepared(RunFolder(tmp_path / "run"))
    sources = {source for source, _ in data.valid_texts}
    targets = {target for _, target in data.valid_texts}
    expected = [(s, t) for s, t in rows if s.lower() not in sources and t not in targets]
    assert data.corpora[1].pairs == len(expected) < len(rows)
    assert any(f"{len(rows) - len(expected)} left out: too long, or among" in x for x in lines)


def test_resume_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = write_more(tmp_path, toy.pairs(90, seed=5))
    keys = (f'data.more=[{{source="{more}", weight=0.3}}]', "data.weight=0.5")
    go(ask(tmp_path / "straight", *keys))
    go_with_halts(ask(tmp_path / "halted", *keys), [5, 17, 18], monkeypatch)
    assert digest(tmp_path / "halted/run") == digest(tmp_path / "straight/run")


def test_wrong_further_corpora_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"wbe\.tsv: there is no such file; did you mean web\.tsv"):
        write_more(tmp_path, toy.pairs(5))
        go(ask(tmp_path, f'data.more=[{{source="{tmp_path}/wbe.tsv"}}]'))
    for more, message in (
        ([{"source": "a.tsv", "wieght": 2}], r"more\[0\]: unknown key 'wieght'; did you mean"),
        ([{"source": "a.tsv", "weight": 0}], "weight: got 0.0, expected a number above 0"),
        ([{}], r"more\[0\]: missing key source"),
        ("a.tsv", "more: got .a.tsv., expected a list"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_recipe({"data": {"phrasebook": "de", "more": more}}, "r.toml")
