"""The check of batch invariance finds an engine that breaks the promise."""

from collections.abc import Sequence

import pytest

from regard.decode.engine import Hypothesis, Layout, Pending, Row
from regard.decode.options import DecodingOptions
from regard.engines.batch_invariance import WAYS, check_batch

ROWS = [[n, n + 1, 2] for n in range(300)]


class Moody:
    """Answers with its source; what else depends on the neighbours is given."""

    def __init__(self, name: str, precision: str = "fp32", shift: float = 0.0, wrong: int = -1):
        self.name, self.layout = name, Layout(precision)
        self._shift, self._wrong = shift, wrong

    def submit(
        self, sources: Sequence[Row], search: DecodingOptions, prefixes: Sequence[Row] = ()
    ) -> Pending:
        alone = len(sources) == 1
        found = []
        for source in sources:
            log_p = -1.0 if alone else -1.0 - self._shift * (len(source) + 1)
            ids = tuple(source) if alone or source[0] > self._wrong else (*source[1:], source[0])
            found.append([Hypothesis(ids, log_p, log_p, True)])
        return lambda: found

    def score(self, sources: Sequence[Row], targets: Sequence[Row]) -> list[list[float]]:
        raise NotImplementedError

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("engine", "kept"),
    [
        (Moody("torch"), True),
        (Moody("torch", shift=9e-6), True),
        (Moody("torch", shift=1.1e-5), False),
        (Moody("torch", wrong=0), False),  # one sentence of 300
        (Moody("torch", "bf16", shift=0.1, wrong=0), True),
        (Moody("ctranslate2", wrong=0), True),
        (Moody("ctranslate2", wrong=1), False),  # two of 300 are more than 0.5 %
    ],
)
def test_the_promise_of_each_engine(engine: Moody, kept: bool) -> None:
    done: list[int] = []
    verdict = check_batch(engine, ROWS, DecodingOptions(), done.append)
    assert verdict.kept == kept
    assert sum(done) == len(WAYS) * len(ROWS)
    assert all(way.different == tuple(range(engine._wrong + 1)) for way in verdict.ways)
    assert all(way.largest == pytest.approx(engine._shift) for way in verdict.ways)


def test_batches_are_as_large_as_they_say() -> None:
    """An engine divides what it is given among its workers."""

    class Counting(Moody):
        def submit(
            self, sources: Sequence[Row], search: DecodingOptions, prefixes: Sequence[Row] = ()
        ) -> Pending:
            sizes.add(len(sources) // self.layout.workers if len(sources) > 1 else 1)
            return super().submit(sources, search, prefixes)

    sizes: set[int] = set()
    engine = Counting("torch")
    engine.layout = Layout(workers=2)
    check_batch(engine, ROWS[:256], DecodingOptions())
    assert sizes == {1, 8, 64, 128}
