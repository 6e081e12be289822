"""`refused`: an error by its fields, not by its sentence (src/regard/errors.py)."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from regard.errors import RegardError


@contextmanager
def refused(
    kind: type[RegardError], **fields: object
) -> Iterator[pytest.ExceptionInfo[RegardError]]:
    """The error has what is named: `got` itself, the subject at its end, of other fields a part.

    with refused(ConfigError, subject="lora.rank", got=24, expected="less than 24"):
    """
    with pytest.raises(kind) as caught:
        yield caught
    for name, value in fields.items():
        said = vars(caught.value)[name]
        if name == "got":
            assert (said, type(said)) == (value, type(value)), caught.value
        elif name == "subject":
            assert said.endswith(str(value)), caught.value
        else:
            assert str(value) in said, caught.value
