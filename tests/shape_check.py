"""The checker of annotations while tests run: beartype, with int accepted where float is asked."""

from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype

_check = beartype(conf=BeartypeConf(is_pep484_tower=True))
_local: dict[tuple[str, str, str], Any] = {}


def check(function: Callable[..., Any]) -> Any:
    """What raises where the arguments are not as annotated.

    A function within a function is made anew at every call of the outer one. What is checked stays
    the same (jaxtyping hands over a stand-in that has the annotations and nothing else), and making
    a check takes longer than a layer of a small model: it is made once.
    """
    if "<locals>" not in function.__qualname__:
        return _check(function)
    key = (function.__module__, function.__qualname__, repr(function.__annotations__))
    if key not in _local:
        _local[key] = _check(function)
    return _local[key]
