"""One text or many: what is asked with one text is answered with one, a list with a list.

Every method of `Model` takes a text or any iterable of texts (a list, a generator, a column of a
table) and gives back the same shape.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from regard.api.rows import PandasFrame, PolarsFrame
from regard.errors import MisuseError

T = TypeVar("T")


def many(texts: str | Iterable[str], task: str) -> list[str]:
    """The texts as a list, or an error that names the first which is none."""
    if isinstance(texts, str):
        return [texts]
    if not isinstance(texts, Iterable) or isinstance(texts, bytes):
        raise MisuseError(task, got=type(texts), expected="a text or several, for example a list")
    if isinstance(texts, PandasFrame | PolarsFrame | Mapping):  # it would answer to their names
        problem = f"got a table ({type(texts).__name__})"
        advice = 'give one of its columns, for example frame["message"]'
        raise MisuseError(task, problem, expected="a text or several", advice=advice)
    listed = list(texts)
    for number, text in enumerate(listed, start=1):
        if not isinstance(text, str):
            got = type(text).__name__
            raise MisuseError(task, f"number {number} of the texts is {got}", expected="a text")
    return listed


def shaped(
    texts: str | Iterable[str], task: str, answer: Callable[[list[str]], Sequence[T]]
) -> T | list[T]:
    """The answer to a text, or the list of answers to several."""
    answers = answer(many(texts, task))
    return answers[0] if isinstance(texts, str) else list(answers)


def paired(
    first: str | Iterable[str], second: str | Iterable[str], task: str
) -> tuple[list[str], list[str]]:
    """Two sides of equal length; one text goes with each of several on the other side."""
    one, other = many(first, task), many(second, task)
    if isinstance(first, str) and not isinstance(second, str):
        one = one * len(other)
    elif isinstance(second, str) and not isinstance(first, str):
        other = other * len(one)
    if len(one) != len(other):
        problem = f"got {len(one):,} texts on one side and {len(other):,} on the other"
        raise MisuseError(task, problem, expected="as many of one as of the other")
    return one, other
