"""Each word of the phrasebook has a class, and those that agree are known; checked by hand."""

import pytest
from grammar.word_classes import CLASSES

from regard.data.phrasebook.corpus import Word, forms_of, phrasebook, words_of_sentences
from regard.text.words import split_words

# Words with classes; a star: its form follows from another word.
BY_HAND = """
The/determiner animal/noun didn't/auxiliary cross/verb the/determiner street/noun because/conjunction it/pronoun was/auxiliary* too/adverb tired/adjective ./punctuation
A/determiner* Lannister/name always/adverb pays/verb his/determiner debts/noun ./punctuation
I/pronoun like/verb eating/verb ice/noun cream/noun ./punctuation
An/determiner* apple/noun a/determiner* day/noun keeps/verb the/determiner doctor/noun away/adverb ./punctuation
Apple/name makes/verb great/adjective phones/noun ./punctuation
Felix/name has/auxiliary* gotten/verb bored/adjective ./punctuation
How/adverb old/adjective is/auxiliary* her/determiner sister/noun ?/punctuation
Which/determiner suit/noun do/auxiliary* you/pronoun like/verb best/adverb ?/punctuation
Before/conjunction Simon/name drinks/verb* coffee/noun ,/punctuation he/pronoun takes/verb* out/particle the/determiner trash/noun ./punctuation
Before/preposition the/determiner lesson/noun Simon/name is/auxiliary* busy/adjective ./punctuation
The/determiner police/noun officer/noun has/auxiliary* slept/verb like/preposition a/determiner* log/noun ./punctuation
When/adverb do/auxiliary* you/pronoun travel/verb to/preposition Italy/name ?/punctuation
My/determiner mother/noun wants/verb* to/particle buy/verb a/determiner* desk/noun ./punctuation
I/pronoun know/verb* that/conjunction she/pronoun goes/verb* swimming/verb every/determiner week/noun ./punctuation
Julia/name ,/punctuation that/pronoun is/auxiliary* a/determiner* bad/adjective idea/noun ./punctuation
This/determiner* bridge/noun was/auxiliary* built/verb last/adjective year/noun ./punctuation
"""  # noqa: E501


@pytest.mark.parametrize("line", BY_HAND.strip().splitlines())
def test_classes_are_those_that_a_person_gives(line: str) -> None:
    expected = [tuple(cell.rpartition("/")[::2]) for cell in line.split()]
    known = {" ".join(split_words(text)): words for text, words in words_of_sentences().items()}
    found = known[" ".join(word for word, _ in expected)]
    assert [(w.text, w.kind + "*" * bool(w.agrees)) for w in found] == expected


@pytest.mark.parametrize("language", ["de", "hi"])
def test_every_word_of_every_sentence_has_a_class(language: str) -> None:
    known = words_of_sentences(language)
    assert set(known) == {entry.source for entry in phrasebook(language)}
    for text, words in known.items():
        assert "".join(word.text for word in words) == text.replace(" ", "")
        assert {word.kind for word in words} <= set(CLASSES)
    kinds = {word.kind for words in known.values() for word in words}
    assert kinds == set(CLASSES)


def test_ambiguous_words_are_told_apart() -> None:
    kinds: dict[str, set[str]] = {}
    for words in words_of_sentences().values():
        for word in words:
            kinds.setdefault(word.text.lower(), set()).add(word.kind)
    assert kinds["that"] == {"pronoun", "conjunction"}
    assert kinds["to"] == {"particle", "preposition"}
    assert kinds["her"] == {"determiner", "pronoun"}
    assert kinds["water"] == kinds["cook"] == {"noun", "verb"}
    assert kinds["apple"] == {"noun", "name"}
    assert kinds["the"] == {"determiner"} and kinds["dog"] == {"noun"}


def test_forms_that_agree() -> None:
    agreeing, rivals = forms_of(Word("has", "auxiliary", "singular"))
    assert {"has", "is", "was", "does", "sees"} <= agreeing
    assert not {"have", "are", "were", "am", "see", "can"} & agreeing
    assert {"have", "am", "were", "see"} <= rivals and not {"saw", "can", "must"} & rivals
    assert "am" in forms_of(Word("have", "auxiliary", "I"))[0]
    assert forms_of(Word("These", "determiner", "number")) == ({"these"}, {"this", "these"})
    assert forms_of(Word("an", "determiner", "sound")) == ({"an"}, {"a", "an"})
    assert forms_of(Word("his", "determiner", "person"))[1] >= {"my", "his", "her", "their"}


def test_agreement_is_that_of_english() -> None:
    """`is` never agrees with I or a plural, and so on: no word stands where it does not belong."""
    for words in words_of_sentences().values():
        for word in words:
            if word.agrees:
                agreeing, rivals = forms_of(word)
                assert word.text.lower() in agreeing <= rivals, word
