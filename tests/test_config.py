"""TOML to dataclass: types, unknown keys, overrides, and messages that help."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from refusals import refused
from regard.config import build, override, read_toml, to_tables
from regard.errors import ConfigError


@dataclass(frozen=True)
class Inner:
    rate: float = 0.5
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class Outer:
    size: int
    path: Path | None = None
    names: tuple[str, ...] = ()
    flag: bool = False
    inner: Inner = field(default_factory=Inner)


def test_build_converts_and_nests() -> None:
    values = {"size": 3, "path": "x/y", "names": ["p", "q"], "inner": {"rate": 1, "kind": "b"}}
    got = build(Outer, values, "file.toml")
    assert got == Outer(3, Path("x/y"), ("p", "q"), False, Inner(1.0, "b"))
    assert build(Outer, to_tables(got), "again") == got


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sizee": 3}, "file: unknown key 'sizee'; did you mean \"size\"?"),
        ({}, "file: missing key size"),
        ({"size": "3"}, "file: size: got '3', expected a whole number"),
        ({"size": True}, "file: size: got True, expected a whole number"),
        ({"size": 1, "flag": 1}, "file: flag: got 1, expected true or false"),
        (
            {"size": 1, "inner": {"kind": "c"}},
            "file: inner: kind: got 'c', expected one of 'a', 'b'",
        ),
        ({"size": 1, "inner": 5}, "file: inner: got 5, expected a section"),
        ({"size": 1, "names": "p"}, "file: names: got 'p', expected a list"),
    ],
)
def test_wrong_values_are_named(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(Outer, values, "file")
    assert str(caught.value) == message


def test_override_reads_toml_values_or_plain_text() -> None:
    tables = {"a": {"x": 1}, "b": 2}
    assert override(tables, ["a.x=2", "a.y=hello", "c.z=[1, 2]", "b=true"]) == {
        "a": {"x": 2, "y": "hello"},
        "b": True,
        "c": {"z": [1, 2]},
    }
    assert tables == {"a": {"x": 1}, "b": 2}


@pytest.mark.parametrize("wrong", ["noequals", "=3", "b.x=1"])
def test_a_wrong_override_is_an_error(wrong: str) -> None:
    with pytest.raises(ConfigError, match="override"):
        override({"b": 2}, [wrong])


def test_a_missing_recipe_names_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "demo.toml").write_text("")
    with refused(ConfigError, advice='did you mean "demo.toml"'):
        read_toml(tmp_path / "dmeo.toml")


def test_broken_toml_says_where(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("[train\n")
    with refused(ConfigError, problem="line 1"):
        read_toml(tmp_path / "x.toml")


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "sheet.toml").write_bytes(b"\xef\xbb\xbfkey = 1\n")
    assert read_toml(tmp_path / "sheet.toml") == {"key": 1}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5000 * "9", "a whole number of more digits than are read"),
        (100_000 * "[", "nested too deep"),
    ],
)
def test_what_the_parser_cannot_read_is_named(tmp_path: Path, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"override 'a.x=.*{message}"):
        override({}, [f"a.x={value}"])
    (tmp_path / "x.toml").write_text(f"x = {value}\n")
    with pytest.raises(ConfigError, match=f"x.toml: not valid TOML: {message}"):
        read_toml(tmp_path / "x.toml")


def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    with (tmp_path / "x.toml").open("wb") as file:
        file.truncate(1 << 25)
    with refused(ConfigError, subject="x.toml", problem="got over", expected="a TOML text file"):
        read_toml(tmp_path / "x.toml")


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system(tmp_path: Path, ends: str) -> None:
    (tmp_path / "x.toml").write_bytes(f"a = 1{ends}b = 2{ends}".encode())
    assert read_toml(tmp_path / "x.toml") == {"a": 1, "b": 2}
