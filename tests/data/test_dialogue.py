"""The conversations of the package: as the grammar makes them, and nothing of test in training."""

import gzip
import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import make_dialogue
import pytest
from grammar.dialogue import FRAMES, kinds, split_of_words

from regard.datasets.find import folder_of_set
from regard.datasets.table import named
from regard.prepare.turns import read_dialogues
from regard.runs.sections import DataSection

SPLITS = ("train", "dev", "test")
TOLD = ("tell", "reply", "answer")  # the same in all of them


def rows(split: str) -> list[dict[str, Any]]:
    packed = (folder_of_set("dialogue") / f"{split}.jsonl.gz").read_bytes()
    return [json.loads(line) for line in gzip.decompress(packed).splitlines()]


def question_of(row: dict[str, Any]) -> str:
    return str(row["messages"][-2]["content"])


@pytest.mark.parametrize("split", SPLITS)
def test_the_grammar_makes_the_files_of_the_package(split: str) -> None:
    """If not: `make dialogue`, then these numbers into datasets/sets.toml."""
    content = make_dialogue.lines(split)
    packed = (folder_of_set("dialogue") / f"{split}.jsonl.gz").read_bytes()
    assert gzip.decompress(packed) == content
    file = next(file for file in named("dialogue").files if file.name == f"{split}.jsonl.gz")
    assert (file.bytes, file.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    count = named("dialogue").size.split()[0::2][SPLITS.index(split)]
    assert count == f"{len(rows(split)):,}"


def test_there_are_enough_of_each_kind() -> None:
    assert len(kinds()) >= 40
    counts = Counter(row["kind"] for row in rows("test"))
    assert set(counts) == {kind.name for kind in kinds()} and sum(counts.values()) >= 500
    assert min(counts.values()) >= 10
    needs = {kind.name for kind in kinds() if "tell" in kind.wordings}
    assert sum(counts[name] for name in needs) >= 100
    first = {question_of(row) for row in rows("train")}
    assert {"Hi, how are you?", "What is my name?"} <= first


def test_what_is_held_out_was_never_seen() -> None:
    """No filler of test fills anything in training, and no test question is said in train or dev.

    A word of a wording ("name") or of a longer filler ("water the flowers") is seen as such.
    """
    wordings = [*FRAMES, *(str(kind.wordings) for kind in kinds())]
    common = {word for text in wordings for word in words(text)}
    held = {word for word, split in split_of_words().items() if split == "test" and " " not in word}
    assert len(held) > 150
    trained = {w for row in rows("train") for m in row["messages"] for w in words(m["content"])}
    longer = {part for filler in split_of_words() if " " in filler for part in words(filler)}
    assert len(held - common - longer) > 150 and not (held - common - longer) & trained

    def worded(text: str) -> str:
        return " ".join(w if w in common else "_" for w in words(text))

    test = {worded(question_of(row)) for row in rows("test")}
    before = [m["content"] for row in (*rows("train"), *rows("dev")) for m in row["messages"]]
    assert len(test) >= len(kinds()) and not test & set(map(worded, before))


def test_a_test_wording_is_new_but_its_words_are_not() -> None:
    """Each kind has one that stands nowhere else, in words of the training wordings, of any kind.

    A model that learns from these files alone can know no others. Capitals do not count.
    """
    asked = {
        split: {unfilled(text) for kind in kinds() for text in kind.asks(split)} for split in SPLITS
    }
    told = {unfilled(t) for kind in kinds() for turn in TOLD for t in kind.wordings.get(turn, [])}
    assert all(len(kind.wordings["test"]) == 1 for kind in kinds())
    assert len(asked["test"]) == len(kinds())
    assert not asked["test"] & (asked["train"] | asked["dev"] | told)
    known = {word for text in asked["train"] | told for word in words(text.lower())}
    new = {word for text in asked["test"] for word in words(text.lower())} - known
    assert not new, f"no training wording has {sorted(new)}"


def test_most_words_to_repeat_are_coined() -> None:
    """Of the names that somebody is met by, hardly one comes twice: they are not to be learned."""
    names = [
        message["content"].removeprefix("Nice to meet you, ")
        for row in rows("train")
        for message in row["messages"]
        if message["content"].startswith("Nice to meet you, ")
    ]
    assert len(names) > 500 and len(set(names)) > 0.7 * len(names)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def unfilled(wording: str) -> str:
    """Whatever its slots are called."""
    return re.sub(r"\{.*?\}", "…", wording)


@pytest.mark.parametrize("split", SPLITS)
def test_a_question_has_one_answer(split: str) -> None:
    """Whoever hears the same gets the same answer; each file is read as training reads it."""
    answers: dict[str, set[str]] = {}
    for row in rows(split):
        said = [message["content"] for message in row["messages"]]
        for n in range(1, len(said), 2):
            answers.setdefault(json.dumps(said[:n]), set()).add(said[n])
    assert max(map(len, answers.values())) == 1
    path: Path = folder_of_set("dialogue") / f"{split}.jsonl.gz"
    assert sum(1 for _ in read_dialogues(DataSection(texts=path))) == len(rows(split))
