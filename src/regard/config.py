"""TOML or JSON in, a frozen and validated dataclass out.

A dataclass is the only place where a key, its type and its default are written. `build` refuses
unknown keys by naming the nearest known one, checks every type, and lets the dataclass's own
`__post_init__` check the meaning. `override` applies `section.key=value` from the command line.
"""

import dataclasses
import tomllib
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from regard.errors import ConfigError, nearest, shown

MAX_TOML = 1 << 24  # bytes
T = TypeVar("T")


def read_toml(path: Path, number: Callable[[str], Any] = float) -> dict[str, Any]:
    """The tables of a TOML file; a missing or malformed file is an error that says where.

    `number` reads what is written with a decimal point; `Decimal` keeps it as it was written.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TOML + 1)
        if len(data) > MAX_TOML:
            raise ConfigError(path, f"got over {MAX_TOML:,} bytes", expected="a TOML text file")
        text = data.decode("utf-8-sig")  # some editors begin a file with a mark
    except FileNotFoundError:
        beside = sorted(p.name for p in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        hint = nearest(path.name, beside) if beside else "; there is no .toml file in that folder"
        raise ConfigError(path, "no such recipe", advice=hint) from None
    except IsADirectoryError:
        raise ConfigError(path, "a folder", expected="a .toml file") from None
    except (UnicodeDecodeError, PermissionError) as error:
        raise ConfigError(path, f"got {error}", expected="a TOML text file") from None
    try:
        return _toml(text.replace("\r\n", "\n").replace("\r", "\n"), number)
    except ValueError as error:
        raise ConfigError(path, f"not valid TOML: {error}") from None


def _toml(text: str, number: Callable[[str], Any] = float) -> dict[str, Any]:
    """The tables of a TOML text, or a ValueError: TOMLDecodeError where it is no TOML."""
    try:
        return tomllib.loads(text, parse_float=number)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except ValueError as error:
        if "sys.set_int_max_str_digits" in str(error):  # Python's advice is for programmers
            raise ValueError("a whole number of more digits than are read") from None
        raise


def override(tables: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """`tables` with each `section.key=value` applied; a value is TOML, or else a plain string."""
    result: dict[str, Any] = {
        k: dict(v) if isinstance(v, Mapping) else v for k, v in tables.items()
    }
    for assignment in assignments:
        dotted, equals, text = assignment.partition("=")
        if not equals or not dotted.strip():
            raise ConfigError(
                f"override {shown(assignment)}: expected key=value, for example train.steps=2000"
            )
        *sections, key = dotted.strip().split(".")
        place = result
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise ConfigError(
                    f"override {shown(assignment)}: {shown(section)} is a value, not a section"
                )
        try:
            place[key] = _toml_value(text.strip())
        except ValueError as error:
            raise ConfigError(f"override {shown(assignment)}: not valid TOML: {error}") from None
    return result


def _toml_value(text: str) -> Any:
    try:
        return _toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def build(cls: type[T], values: Mapping[str, Any], where: str) -> T:
    """`cls(**values)`, checked: unknown keys, types, nested dataclasses; `where` names the file."""
    if not isinstance(values, Mapping):
        raise ConfigError(where, got=values, expected="a section")
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}  # type: ignore[arg-type]
    for key in values:
        if key not in fields:
            raise ConfigError(where, f"unknown key {shown(key)}", advice=nearest(key, fields))
    kwargs = {key: _convert(hints[key], v, f"{where}: {key}") for key, v in values.items()}
    missing = [
        name
        for name, f in fields.items()
        if name not in kwargs
        and f.default is dataclasses.MISSING
        and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ConfigError(where, f"missing key{'s' * (len(missing) > 1)} {', '.join(missing)}")
    try:
        return cls(**kwargs)
    except ConfigError as error:
        raise error.within(where) from None


def _convert(hint: Any, value: Any, where: str) -> Any:
    """`value` as the annotation `hint` wants it, or a ConfigError."""
    origin = get_origin(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return build(hint, value, where)
    if origin is Literal:
        choices = get_args(hint)
        if value not in choices:
            listed = ", ".join(repr(c) for c in choices)
            raise ConfigError(where, got=value, expected=f"one of {listed}")
        return value
    if origin in (types.UnionType, typing.Union):
        # The only unions are "this, or nothing"; TOML has no null, so "" stands for nothing.
        something, _ = sorted(get_args(hint), key=lambda option: option is type(None))
        return None if value is None or value == "" else _convert(something, value, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(where, got=value, expected="a list")
        item = get_args(hint)[0]
        return tuple(_convert(item, v, f"{where}[{i}]") for i, v in enumerate(value))
    return _scalar(hint, value, where)


def _scalar(hint: Any, value: Any, where: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        if value.bit_length() > 1023:
            raise ConfigError(where, "more than a number may have", got=value)
        return float(value)
    if hint is Path and isinstance(value, str):
        if "\0" in value:
            raise ConfigError(where, got=value, expected="a path", advice="none holds a NUL")
        return Path(value)
    if isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    kind = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    raise ConfigError(where, got=value, expected=kind.get(hint, f"{hint}"))


def to_tables(value: Any) -> dict[str, Any]:
    """A dataclass as plain JSON-able tables, the inverse of `build`."""
    return {k: _plain(v) for k, v in dataclasses.asdict(value).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value
