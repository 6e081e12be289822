"""A model of the phrasebook says which words of a text it was never trained on."""

from pathlib import Path

from regard.bundle.words_seen import WordsSeen, write_words


def test_words_are_kept_and_found_again_whatever_their_capitals(tmp_path: Path) -> None:
    write_words(tmp_path, ["The cat sat.", "I don't like ice-cream!"])
    seen = WordsSeen.of_run(tmp_path)
    assert seen is not None
    assert seen.new_in("the CAT sat, didn't it?") == ["didn't", "it"]
    assert seen.new_in("I don't like ice-cream.") == []


def test_a_run_without_the_list_says_nothing(tmp_path: Path) -> None:
    assert WordsSeen.of_run(tmp_path) is None


def test_what_was_noted_becomes_a_sentence_with_its_share() -> None:
    seen = WordsSeen(["the", "cat"])
    seen.note("The cat.")
    assert seen.sentence() == ""
    seen.note("The quantum dog, the quantum cat …")
    assert seen.sentence().startswith("3 of 8 words (38%) were never in the training text")
    assert "quantum, dog." in seen.sentence()
    seen.note("a b c d e f")
    assert "quantum, dog, a, b, c, …." in seen.sentence()
