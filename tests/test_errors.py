"""Errors carry their exit code and the parts of their sentence; typos get the nearest name."""

import copy
import pickle
from pathlib import Path

import pytest

from refusals import refused
from regard import errors
from regard.draw.figure.png import MissingMatplotlib
from regard.errors import ConfigError, DataError, MisuseError, RegardError

RANK = ConfigError("lora.rank", got=24, expected="less than 24", advice="take 8")


def test_misuse_exits_with_2_and_failure_with_1() -> None:
    assert errors.MisuseError("x").exit_code == 2
    assert errors.ConfigError("x").exit_code == 2
    assert errors.DataError("x").exit_code == 1
    assert errors.CheckpointError("x").exit_code == 1
    assert errors.TrainingError("x").exit_code == 1
    assert errors.DamageError("x").exit_code == 1
    assert errors.DivergedError("x").exit_code == 3


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (RANK, "lora.rank: got 24, expected less than 24; take 8"),
        (ConfigError("k", got="a\nb"), "k: got 'a\\nb'"),
        (ConfigError("k", got=None, expected="a text"), "k: got None, expected a text"),
        (MisuseError("task", got=type([]), expected="a text"), "task: got list, expected a text"),
        (MisuseError("head", "this model has 1 to 4", got=5), "head: got 5, this model has 1 to 4"),
        (MisuseError("k", "of 4", got=5, expected="4"), "k: got 5, of 4; expected 4"),
        (MisuseError("mode", got="x", advice="; known: y"), "mode: got 'x'; known: y"),
        (DataError(Path("a.de"), "is UTF-16", expected="UTF-8"), "a.de: is UTF-16, expected UTF-8"),
        (
            DataError("a.de", "3, b goes on", expected="one end"),
            "a.de: 3, b goes on; expected one end",
        ),
        (DataError("a.de", expected="a table"), "a.de: expected a table"),
        (DataError("a sentence: of its own"), "a sentence: of its own"),
        (DataError("a sentence", advice="do this"), "a sentence; do this"),
    ],
)
def test_the_sentence_is_made_of_the_parts(error: RegardError, sentence: str) -> None:
    assert str(error) == sentence


def test_the_parts_are_fields() -> None:
    parts = {"subject": "lora.rank", "got": 24, "expected": "less than 24", "advice": "take 8"}
    assert vars(RANK) == {**parts, "problem": ""}
    nothing = {"subject": "", "got": None, "expected": "", "advice": ""}
    assert vars(DataError("a: sentence")) == {**nothing, "problem": "a: sentence"}
    assert vars(DataError()) == {**nothing, "problem": ""} and not str(DataError())
    assert DataError(Path("a.de"), "is empty").subject == "a.de"
    assert MisuseError("mode", advice='; did you mean "y"?').advice == 'did you mean "y"?'


@pytest.mark.parametrize(
    ("value", "field", "words"),
    [
        (0.5, 0.5, "0.5"),
        (True, True, "True"),
        ("x" * 100, "x" * 100, f"'{'x' * 78}…"),
        ([1, 2], "[1, 2]", "[1, 2]"),
        (float("nan"), "nan", "nan"),
        (2**300, *["a whole number of 301 bits"] * 2),
        (dict, "dict", "dict"),
    ],
)
def test_what_was_got_is_plain_and_short(value: object, field: object, words: str) -> None:
    """So that it can be sent to another process, written as JSON and shown in a terminal."""
    error = ConfigError("key", got=value)
    assert error.got == field and str(error) == f"key: got {words}"


@pytest.mark.parametrize("kind", [ConfigError, errors.DamageError, MissingMatplotlib])
def test_an_error_is_copied_with_its_parts(kind: type[RegardError]) -> None:
    error = kind("a.de", "is empty", got=3, expected="text", advice="write some")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert (str(again), vars(again)) == (str(error), vars(error))


def test_an_error_within_a_file_names_it_first() -> None:
    error = RANK.within("r.toml")
    assert str(error) == f"r.toml: {RANK}" and type(error) is ConfigError
    assert vars(error) == {**vars(RANK), "subject": "r.toml: lora.rank"}
    assert RANK.subject == "lora.rank"
    plain = ConfigError("E and P differ").within("sheet.toml")
    assert (plain.subject, plain.problem) == ("sheet.toml", "E and P differ")


def test_nearest_name_or_all_of_them() -> None:
    assert errors.nearest("dropuot", ["dropout", "heads"]) == '; did you mean "dropout"?'
    assert errors.nearest("zzz", ["dropout", "heads"]) == "; known: dropout, heads"


@pytest.mark.parametrize(
    "wrong",
    [
        {"got": 24.0},
        {"subject": "rank.x"},
        {"expected": "more"},
        {"advice": "8."},
        {"problem": "?"},
    ],
)
def test_the_helper_of_the_tests_can_fail(wrong: dict[str, object]) -> None:
    with refused(ConfigError, subject="rank", got=24, expected="less", advice="8", problem=""):
        raise RANK
    with pytest.raises(AssertionError), refused(ConfigError, **wrong):
        raise RANK
