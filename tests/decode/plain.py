"""The reference search for many tests: without checks of shapes, and no pass is made twice.

Slow on purpose. What the engines do with prepared weights, slots and tensors must come to this.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jaxtyping

from decode.searching import FRAME
from regard.decode.engine import Hypothesis
from regard.decode.options import NO_RULES, DecodingOptions, Rules
from regard.decode.reference import IdTuple, ReferenceSearch, SourceSentence
from regard.model.transformer import Transformer


@contextmanager
def unchecked() -> Iterator[None]:
    """Without the checks of shapes, which take longer than a small model; others make them.

    Functions within functions are made anew at every call: they get no checks that are not used.
    """
    before, with_checks = jaxtyping.config.jaxtyping_disable, jaxtyping.jaxtyped

    def without(typechecker: Any) -> Callable[[Any], Any]:
        checked = with_checks(typechecker=typechecker)
        return lambda made: made if "<locals>" in made.__qualname__ else checked(made)

    jaxtyping.config.update("jaxtyping_disable", True)
    jaxtyping.jaxtyped = without
    try:
        yield
    finally:
        jaxtyping.jaxtyped = with_checks
        jaxtyping.config.update("jaxtyping_disable", before)


class Source(SourceSentence):
    """A source of the tests' frame; a pass that was made once is remembered."""

    def __init__(self, model: Transformer, ids: IdTuple) -> None:
        super().__init__(model, ids, FRAME)

    logits = cache(SourceSentence.logits)
    attended = cache(SourceSentence.attended)


def search(
    source: Source, options: DecodingOptions, rules: Rules = NO_RULES, prefix: IdTuple = ()
) -> list[Hypothesis]:
    with unchecked():
        return ReferenceSearch(source, options, rules, prefix).run()
