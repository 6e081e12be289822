"""The promises of the corpus: sizes, splits, slices, and a target that follows from its source."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict

import pytest

from regard.data.phrasebook import corpus
from regard.data.phrasebook.corpus import Entry, decided_right, phrasebook, sample, statistics
from regard.data.phrasebook.splits import plain
from regard.data.phrasebook.tables import PhrasebookError

BOOK = phrasebook()
BY_SPLIT = {part: [e for e in BOOK if e.split == part] for part in ("train", "dev", "test")}
TOKEN = re.compile(r"\w+|[^\w\s]")


def in_slice(name: str, split: str = "") -> list[Entry]:
    return [e for e in BOOK if name in e.slices and split in ("", e.split)]


def texts_of(split: str, side: str) -> list[str]:
    return [e.source if side == "source" else e.target for e in BY_SPLIT[split]]


def test_size_patterns_and_share() -> None:
    numbers = statistics()
    assert 20_000 <= numbers.pairs <= 29_000
    assert numbers.pairs == len(BOOK)
    assert numbers.patterns >= 135
    assert numbers.biggest_share <= 0.03
    assert numbers.max_words <= 60
    assert 7.5 <= numbers.mean_words <= 10.5
    assert sum(numbers.per_split.values()) == numbers.pairs


def test_lemmas_occur_often_in_train() -> None:
    numbers = statistics()
    assert numbers.lemmas >= 600
    assert all(count >= 8 for _, _, count in numbers.rarest), numbers.rarest


def test_source_is_distinct_and_only_set_phrases_have_one_word() -> None:
    assert len({e.source for e in BOOK}) == len(BOOK)
    for e in BOOK:
        if e.pattern != "everyday-fixed":
            assert len(e.source.split()) >= 2 and len(e.target.split()) >= 2, e


def test_split_sizes() -> None:
    assert 500 <= len(BY_SPLIT["dev"]) <= 750
    assert 1_000 <= len(BY_SPLIT["test"]) <= 1_450
    assert len({e.pattern for e in BY_SPLIT["test"]}) >= 200
    assert {e.pattern for e in BOOK} == {e.pattern for e in BY_SPLIT["train"]}


@pytest.mark.parametrize(
    ("name", "overall", "test"),
    [
        ("it", 2_500, 200),
        ("bank", 1_200, 150),
        ("order", 500, 60),
        ("idiom", 250, 40),
        ("everyday", 300, 40),
        ("long", 450, 40),
    ],
)
def test_slice_sizes(name: str, overall: int, test: int) -> None:
    assert len(in_slice(name)) >= overall
    assert len(in_slice(name, "test")) >= test


def test_long_is_long() -> None:
    assert len(in_slice("long")) <= 700
    for e in in_slice("long"):
        assert 31 <= len(e.source.split()) <= 60, e.source
        assert len(e.target.split()) <= 60


def test_splits_are_disjoint() -> None:
    for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
        for side in ("source", "target"):
            texts = [{plain(text) for text in texts_of(part, side)} for part in (one, other)]
            assert not texts[0] & texts[1]


def test_no_combination_in_two_splits() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for entry, draft in corpus._build("de", 1):
        homes[draft.key].add(entry.split)
    assert all(len(parts) == 1 for parts in homes.values())


def test_every_word_of_dev_and_test_is_known_from_train() -> None:
    for side in ("source", "target"):
        known = {word for text in texts_of("train", side) for word in text.split()}
        for part in ("dev", "test"):
            assert not {word for text in texts_of(part, side) for word in text.split()} - known


@pytest.mark.parametrize("name", ["it", "bank"])
@pytest.mark.parametrize("split", ["dev", "test"])
def test_each_frame_has_all_answers_equally_often(name: str, split: str) -> None:
    frames: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for e in in_slice(name, split):
        frames[e.pattern, e.frame][e.answer] += 1
    for key, answers in frames.items():
        assert len(answers) >= 2, key
        assert len(set(answers.values())) == 1, (key, answers)


def test_frames_are_not_shared_between_splits() -> None:
    for name in ("it", "bank"):
        train = {(e.pattern, e.frame) for e in in_slice(name, "train")}
        assert not train & {(e.pattern, e.frame) for e in in_slice(name, "test")}
        assert all("___" in e.frame for e in in_slice(name))


def test_it_has_many_patterns_and_nouns() -> None:
    entries = in_slice("it")
    assert len({e.pattern for e in entries}) >= 8
    nouns = {noun for e in entries for noun in re.findall(r"\b[Tt]he ([a-z ]+?)(?= |\.)", e.source)}
    assert len(nouns) >= 50
    assert len({e.pattern for e in in_slice("bank")}) >= 6


def replaced(entry: Entry, rival: str) -> str:
    """The reference with the last occurrence of the answer turned into a rival."""
    places = [m for m in TOKEN.finditer(entry.target) if m[0].lower() == entry.answer.lower()]
    last = places[-1]
    return entry.target[: last.start()] + rival + entry.target[last.end() :]


@pytest.mark.parametrize("name", ["it", "bank"])
def test_decided_right_on_reference_and_rivals(name: str) -> None:
    for e in in_slice(name):
        assert e.answer and e.rivals and e.answer not in e.rivals
        assert decided_right(e, e.target), e
        for rival in e.rivals:
            assert not decided_right(e, replaced(e, rival)), (e, rival)
        assert not decided_right(e, "")


def test_decided_right_looks_at_the_place() -> None:
    e = Entry(
        source="Anna sold the radio because she did not need it.",
        target="Anna verkaufte das Radio, weil sie es nicht brauchte.",
        pattern="it-object",
        split="test",
        slices=("it",),
        answer="es",
        rivals=("ihn", "sie"),
    )
    assert decided_right(e, "Anna verkaufte das Radio, weil sie es nicht brauchte.")
    assert decided_right(e, "Sie verkaufte das Gerät, weil sie es nicht mehr brauchte.")
    assert not decided_right(e, "Anna verkaufte das Radio, weil sie sie nicht brauchte.")
    assert not decided_right(e, "Anna verkaufte es, weil sie ihn nicht brauchte.")


def test_decided_right_needs_an_answer() -> None:
    with pytest.raises(PhrasebookError, match="no deciding word"):
        decided_right(BY_SPLIT["train"][0], "Hallo")


WANTED = {
    "How are you?": "Wie geht es dir?",
    "Thank you": "Danke",
    "Thank you.": "Danke.",
    "We are friends.": "Wir sind Freunde.",
    "I like eating ice cream.": "Ich esse gern Eis.",
    "Congratulations!": "Herzlichen Glückwunsch!",
    "I am good.": "Mir geht es gut.",
    "I am fine.": "Mir geht es gut.",
    "Hi, how are you?": "Hi, wie geht es dir?",
    "It is a piece of cake.": "Das ist ein Kinderspiel.",
    "The money bank grows.": "Die Bank wächst.",
    "The dog chased the cat.": "Der Hund jagte die Katze.",
    "The cat chased the dog.": "Die Katze jagte den Hund.",
    "Nithish saw the lion.": "Nithish sah den Löwen.",
    "The lion saw Nithish.": "Der Löwe sah Nithish.",
    "The dog didn't eat the soup because it was too hot.": (
        "Der Hund fraß die Suppe nicht, weil sie zu heiß war."
    ),
    "The animal didn't cross the street because it was too tired.": (
        "Das Tier überquerte die Straße nicht, weil es zu müde war."
    ),
    "The animal didn't cross the street because it was too wide.": (
        "Das Tier überquerte die Straße nicht, weil sie zu breit war."
    ),
}


@pytest.mark.parametrize(("source", "target"), WANTED.items())
def test_promised_sentences(source: str, target: str) -> None:
    found = [e.target for e in BOOK if e.source == source]
    assert found == [target]


def test_order_goes_both_ways() -> None:
    pairs = {e.source: e.split for e in in_slice("order")}
    turned = 0
    for source, split in pairs.items():
        match = re.fullmatch(r"The (\w+) (chased|bit) the (\w+)\.", source)
        if match:
            other = f"The {match[3]} {match[2]} the {match[1]}."
            assert pairs[other] == split
            turned += 1
    assert turned >= 80


def test_idioms_and_the_literal_cake() -> None:
    assert any("ate a piece of cake" in e.source and "Stück Kuchen" in e.target for e in BOOK)
    assert len({e.pattern for e in in_slice("idiom")}) >= 5


def test_english_articles_and_spacing() -> None:
    for e in BOOK:
        assert not re.search(r"\b[Aa] [aeio]", e.source), e.source
        assert not re.search(r"\b[Aa]n [^aeiouhAEIOU]", e.source), e.source
        for text in (e.source, e.target):
            assert "  " not in text and " ." not in text and " ," not in text
            assert not set("{}[]_\x01|") & set(text)
            assert text[0].isupper() or text[0].isdigit()


def test_german_contractions() -> None:
    for e in BOOK:
        assert not re.search(
            r"(?<!, )\b(in dem|an dem|zu dem|zu der|von dem|bei dem)\b", e.target
        ), e


def test_relative_clauses_are_not_contracted() -> None:
    assert any(", an dem " in e.target for e in BOOK)
    assert not any(
        re.search(r", (am|im|zum|vom|beim) \w+ [^,]*, (ist|sind) ", e.target) for e in BOOK
    )


@pytest.mark.end_to_end
def test_same_everywhere() -> None:
    program = (
        "import hashlib; from regard.data.phrasebook.corpus import phrasebook;"
        "print(hashlib.sha256(repr(phrasebook()).encode()).hexdigest())"
    )
    prints = set()
    for seed in ("0", "77"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        prints.add(done.stdout)
    assert len(prints) == 1


def test_sample_and_unknown_language() -> None:
    few = sample(per_pattern=3)
    assert all(1 <= len(entries) <= 3 for entries in few.values())
    with pytest.raises(PhrasebookError, match="no language 'xx'; there is de"):
        phrasebook("xx")
