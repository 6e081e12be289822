"""Errors carry their exit code, and typos get the nearest name."""

from regard import errors


def test_misuse_exits_with_2_and_failure_with_1() -> None:
    assert errors.MisuseError("x").exit_code == 2
    assert errors.ConfigError("x").exit_code == 2
    assert errors.DataError("x").exit_code == 1
    assert errors.CheckpointError("x").exit_code == 1
    assert errors.TrainingError("x").exit_code == 1
    assert errors.DamageError("x").exit_code == 1
    assert errors.DivergedError("x").exit_code == 3


def test_nearest_name_or_all_of_them() -> None:
    assert errors.nearest("dropuot", ["dropout", "heads"]) == '; did you mean "dropout"?'
    assert errors.nearest("zzz", ["dropout", "heads"]) == "; known: dropout, heads"
