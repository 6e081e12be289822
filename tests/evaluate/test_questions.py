"""Exact match and F1 of answers, beside torchmetrics' SQuAD scorer."""

import random

import pytest
from torchmetrics.functional.text import squad

from regard.evaluate.questions import exact_match, f1_of, normalised, score_answers

WORDS = [
    "The",
    "a",
    "an",
    "Denver",
    "Broncos,",
    "New-York",
    "1833",
    "it's",
    "won!",
    "U.S.",
    "and",
    "théâtre",
    "“quoted”",
]


def test_the_scores_are_those_of_torchmetrics() -> None:
    chance = random.Random(3)

    def phrase() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 4)))

    right = [[phrase() for _ in range(chance.randint(1, 3))] for _ in range(300)]
    answers = [chance.choice([phrase(), each[0], f"the {each[-1]}.", ""]) for each in right]
    theirs = squad(
        [{"prediction_text": text, "id": str(n)} for n, text in enumerate(answers)],
        [
            {"answers": {"answer_start": [0] * len(each), "text": each}, "id": str(n)}
            for n, each in enumerate(right)
        ],
    )
    scores = score_answers(answers, right)
    assert scores.exact == pytest.approx(float(theirs["exact_match"]), abs=1e-4)
    assert scores.f1 == pytest.approx(float(theirs["f1"]), abs=1e-4) and 20 < scores.f1 < 90


def test_questions_without_an_answer() -> None:
    """By hand: of two with an answer one half is found, of two without one is refused."""
    right: list[list[str]] = [["red mat"], ["cat"], [], []]
    scores = score_answers(["the mat", "", "dog", ""], right)
    assert scores.questions == 4 and (scores.answered, scores.without) == (2, 2)
    assert scores.f1 == pytest.approx(100 * (2 / 3 + 0 + 0 + 1) / 4)
    assert scores.exact == 25 and scores.without_right == 50
    assert scores.answered_f1 == pytest.approx(100 / 3) and scores.answered_exact == 0


def test_what_makes_no_difference() -> None:
    assert normalised("The  Denver, Broncos!") == "denver broncos"
    assert exact_match("an U.S. team", ["US team"]) == 1
    assert f1_of("a b b", ["b b c"]) == pytest.approx(4 / 5)  # "a" is an article
