"""Scores of answers: by hand, and beside scikit-learn where it has the same."""

import pytest

from regard.prepare.task_metrics import TaskScore, accuracy, bleu, exact, f1, judged

TRUTH = ["noun verb", "name verb noun", "verb"]
GIVEN = ["noun  noun", "name verb", "verb verb"]


def test_exact_counts_whole_answers() -> None:
    assert exact(["a  b", "a c", "a"], ["a b", "a b", "a"]) == pytest.approx(200 / 3)


def test_accuracy_counts_words_at_their_places() -> None:
    """noun; name, verb; verb: four of six, and what is too much or missing is not right."""
    assert accuracy(GIVEN, TRUTH) == pytest.approx(400 / 6)


def test_accuracy_of_labels_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    truth, given = ["it", "bank", "it", "apple", "it"], ["it", "it", "it", "apple", "bank"]
    assert accuracy(given, truth) == pytest.approx(100 * metrics.accuracy_score(truth, given))
    assert exact(given, truth) == accuracy(given, truth)


@pytest.mark.parametrize(
    ("given", "right", "expected"),
    [
        ("the dog", "Dog.", 1.0),  # articles, capitals and signs do not count
        ("big dog", "dog", 2 / 3),  # one of two, one of one
        ("a cat", "dog", 0.0),
        ("dog dog", "dog", 2 / 3),  # a word is shared once only
        ("", "dog", 0.0),
        ("the", "a", 1.0),  # nothing is left of either
    ],
)
def test_f1_of_words(given: str, right: str, expected: float) -> None:
    assert f1([given], [right]) == pytest.approx(100 * expected)
    assert f1([given, "x"], [right, "x"]) == pytest.approx(50 * (1 + expected))


def test_f1_of_two_sets_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    words = ["red", "dog", "cat", "runs", "home"]
    right, given = {"red", "dog", "runs"}, {"dog", "runs", "home", "cat"}
    truth, answer = ([word in side for word in words] for side in (right, given))
    theirs = metrics.f1_score(truth, answer)
    assert f1([" ".join(given)], [" ".join(right)]) == pytest.approx(100 * theirs)


def test_a_task_is_judged_by_its_own() -> None:
    texts = ["Der Hund schläft heute sehr gut."]
    assert judged("x", "bleu", texts, texts) == TaskScore("x", "bleu", pytest.approx(100.0), 1)
    assert bleu(["Der Hund schläft heute."], texts) < 60
    assert judged("y", "accuracy", GIVEN, TRUTH).examples == 3
