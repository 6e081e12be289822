"""Tasks made of the phrasebook: what is asked, and that no answer is given away."""

import pytest

from regard.data.phrasebook.corpus import phrasebook
from regard.prepare.phrase_tasks import MAKE, OTHER, both_sides, phrase_pairs
from regard.text.words import split_words


@pytest.mark.parametrize("make", MAKE)
def test_splits_have_nothing_in_common(make: str) -> None:
    train, dev, test = (
        {source for source, _ in phrase_pairs(make, "de", split)}
        for split in ("train", "dev", "test")
    )
    assert len(train) > 10_000 and len(dev) > 500 and len(test) > 1000
    assert not train & test and not train & dev and not dev & test


def test_translations_run_both_ways() -> None:
    there = set(phrase_pairs("translate", "de", "dev"))
    assert {(target, source) for source, target in there} == set(
        phrase_pairs("translate-back", "de", "dev")
    )


def test_a_tag_for_each_word() -> None:
    for source, target in phrase_pairs("tag", "de", "dev"):
        assert len(split_words(source)) == len(target.split())


def test_classes_are_kinds_of_patterns() -> None:
    pattern = {entry.source: entry.pattern for entry in phrasebook("de")}
    classes = dict(phrase_pairs("classify", "de", "train"))
    assert 20 < len(set(classes.values())) < 60
    assert all(c == OTHER or pattern[s].partition("-")[0] == c for s, c in classes.items())


def test_questions_are_about_the_sentence() -> None:
    pairs = list(phrase_pairs("ask", "de", "test"))
    kinds = {source.split('"')[2].split("?")[0].strip() for source, _ in pairs}
    assert kinds == {"stand for", "go with", "in German"}
    targets = {entry.source: entry.target for entry in phrasebook("de")}
    for source, answer in pairs:
        sentence = source.partition("? ")[2]
        where = targets[sentence] if "in German" in source else sentence
        assert answer in split_words(where)
    it = dict(pairs)['What does "it" stand for? ' + _sentence_with_it(pairs)]
    assert it != "it"


def _sentence_with_it(pairs: list[tuple[str, str]]) -> str:
    return next(s.partition("? ")[2] for s, _ in pairs if s.startswith('What does "it" stand'))


def test_both_sides_are_plain_texts() -> None:
    texts = [row.text for row in both_sides("de", "dev")]
    assert len(texts) == len(set(texts)) > 1300
    entry = next(entry for entry in phrasebook("de") if entry.split == "dev")
    assert {entry.source, entry.target} <= set(texts)
