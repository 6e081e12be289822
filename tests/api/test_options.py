"""The options that an editor completes are those that the searches know."""

import inspect
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from regard.answer.translate import Reading
from regard.api.evaluation import evaluate
from regard.api.model import Model
from regard.api.options import EvaluateOptions, SamplingOptions, SearchOptions, TranslateOptions
from regard.decode.options import DecodingOptions, Sampling


def hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def test_options_are_the_fields_of_what_they_stand_for() -> None:
    both = {**hints(DecodingOptions), **hints(Reading)}
    assert hints(TranslateOptions) == both
    assert hints(SamplingOptions) == hints(Sampling)
    assert set(hints(TranslateOptions)) - set(hints(SearchOptions)) == {"split", "language"}
    assert {f.name for f in fields(Sampling)} == set(hints(SamplingOptions))
    arguments = get_type_hints(evaluate)
    assert hints(EvaluateOptions) == {name: arguments[name] for name in hints(EvaluateOptions)}
    assert set(arguments) - set(hints(EvaluateOptions)) == {"model", "data", "return"}


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("translate", TranslateOptions),
        ("translations", TranslateOptions),
        ("generate", SearchOptions),
        ("complete", SamplingOptions),
        ("stream", SamplingOptions),
        ("evaluate", EvaluateOptions),
    ],
)
def test_a_notebook_sees_each_option_by_its_name(method: str, options: Any) -> None:
    names = set(inspect.signature(getattr(Model, method)).parameters)
    assert names >= set(hints(options))
    assert "options" not in names
