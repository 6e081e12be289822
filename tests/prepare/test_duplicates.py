"""A corpus whose lines are all the same is called that, before anything is learned from it."""

from pathlib import Path

import pytest

import toy
from regard.data.suspicion import Different
from regard.errors import DataError
from regard.fit.train import Request, train

PAIR = "the cat sat\tdie Katze saß\n"
# Written otherwise, it is the same sentence to whoever holds some out.
OTHERWISE = "The  cat sat \tdie Katze saß\n"


def said(request: Request) -> str:
    with pytest.raises(DataError) as caught:
        train(request, lambda line: None)
    assert request.folder is not None and not list(request.folder.glob("**/*.json*"))
    return str(caught.value)


def pairs(folder: Path, lines: str, *changes: str) -> Request:
    file = folder / "pairs.tsv"
    file.write_text(lines, encoding="utf-8")
    changes = (*toy.SMALL, "train.steps=1", *changes)
    return Request(source=file, assignments=changes, folder=folder / "run")


@pytest.mark.parametrize("lines", [PAIR * 1000, (PAIR + OTHERWISE) * 50])
def test_the_same_pair_on_every_line(tmp_path: Path, lines: str) -> None:
    count = lines.count("\n")
    message = said(pairs(tmp_path, lines))
    assert message.startswith(f"corpus: {count:,} pairs, duplicates all of them: 'the cat sat → ")
    assert "data.valid_source" in message


def test_the_same_pair_in_two_files(tmp_path: Path) -> None:
    for name, text in (("a.en", "the cat sat\n"), ("a.de", "die Katze saß\n")):
        (tmp_path / name).write_text(text * 1000, encoding="utf-8")
    request = Request(
        source=tmp_path / "a.en",
        target=tmp_path / "a.de",
        assignments=(*toy.SMALL, "train.steps=1"),
        folder=tmp_path / "run",
    )
    assert said(request).startswith("corpus: 1,000 pairs, duplicates all of them: 'the cat sat → ")


def test_the_same_source_with_many_targets(tmp_path: Path) -> None:
    lines = "".join(f"the cat sat\tdie Katze {n}\n" for n in range(100))
    message = said(pairs(tmp_path, lines))
    assert message.startswith(
        "corpus: 100 source sentences, duplicates all of them: 'the cat sat' again and again"
    )


def test_few_different_pairs_are_counted_where_chance_holds_none_out(tmp_path: Path) -> None:
    lines = "".join(f"the cat {n}\tdie Katze {n}\n" for n in range(3)) * 40
    message = said(pairs(tmp_path, lines, "train.seed=1"))
    assert message.startswith(
        "corpus: 120 pairs, but only 3 different source sentences, and chance"
    )


def test_too_long_pairs_are_another_matter(tmp_path: Path) -> None:
    lines = "".join(f"{s} {n}\t{t} {n}\n" for n, (s, t) in enumerate(toy.pairs(200)))
    message = said(pairs(tmp_path, lines, "data.max_tokens=1"))
    assert "pair is left: all have more tokens than data.max_tokens (1); raise it" in message


def test_with_pairs_to_validate_on_it_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "valid.tsv").write_text("a dog\tein Hund\n", encoding="utf-8")
    request = pairs(tmp_path, PAIR * 100, f"data.valid_source={tmp_path / 'valid.tsv'}")
    lines: list[str] = []
    train(request, lines.append)
    assert any("99 of 100 pairs are repetitions of an earlier one" in line for line in lines)


@pytest.mark.parametrize("objective", ["classify", "fill", "similar"])
def test_the_same_text_on_every_row(tmp_path: Path, objective: str) -> None:
    rows = {
        "classify": "text,label\n" + "a film,good\na film,bad\n" * 50,
        "fill": "text\n" + "a film\n" * 100,
        "similar": "text,other,score\n" + "a film,a movie,4\n" * 100,
    }[objective]
    recipe = tmp_path / "r.toml"
    pair = 'pair = "other"\nlabel = "score"\n' if objective == "similar" else ""
    file = tmp_path / "rows.csv"
    file.write_text(rows)
    recipe.write_text(f"objective = '{objective}'\n[data]\ntexts = '{file}'\n{pair}")
    message = said(Request(recipe=recipe, folder=tmp_path / "run"))
    assert "100 " in message and "duplicates all of them: 'a film" in message
    assert "data.valid_texts" in message


def test_counting_ends_where_it_says_enough() -> None:
    many = Different(5)
    for number in range(1000):
        many.see(f"text {number}")
    assert len(many) == 5 and many.first == "text 0"
