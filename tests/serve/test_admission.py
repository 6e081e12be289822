"""The door of a model: what it takes on, what it refuses, and what it learns meanwhile."""

import pytest

from regard.serve.admission import Admission
from regard.serve.options import ServeLimits
from regard.serve.refusal import HttpRefusal


def test_requests_and_tokens_are_bounded() -> None:
    door = Admission(ServeLimits(requests=2, tokens=100))
    assert door.size(["a" * 40]) == 11
    door.enter(60)
    with pytest.raises(HttpRefusal) as refused:  # too many tokens beside the others
        door.enter(50)
    assert refused.value.status == 429 and refused.value.headers["retry-after"] == "1"
    door.enter(40)
    with pytest.raises(HttpRefusal) as refused:
        door.enter(0)
    assert refused.value.status == 429
    door.leave(60)
    door.enter(1)
    with pytest.raises(HttpRefusal) as refused:  # too much whoever else is there
        door.enter(101)
    assert refused.value.status == 413


def test_what_cannot_be_done_in_time_is_not_taken_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("regard.serve.admission.time.monotonic", lambda: now[0])
    door = Admission(ServeLimits(tokens=10_000, deadline=10))
    door.enter(100)
    now[0] = 1.0
    door.learn(100, ["a" * 400], 100, full=True)  # a hundred tokens a second
    door.enter(600)
    assert door.wait() == 4
    with pytest.raises(HttpRefusal) as refused:  # eight seconds is what may be spent
        door.enter(200)
    assert refused.value.headers["retry-after"] == "4"
    door.leave(600)
    door.leave(100)
    door.enter(2000)  # who is alone is always tried
    assert door.requests == 1


def test_the_bytes_of_a_token_are_learned() -> None:
    door = Admission(ServeLimits())
    before = door.size(["x" * 1000])
    for _ in range(50):
        door.learn(10, ["x" * 1000], 1000, full=False)
    assert door.size(["x" * 1000]) > 3 * before


def test_while_nothing_waits_the_rate_is_only_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """One client after the other is slow; many at once may be a hundred times as fast."""
    now = [0.0]
    monkeypatch.setattr("regard.serve.admission.time.monotonic", lambda: now[0])
    door = Admission(ServeLimits(tokens=100_000, deadline=10))
    for _ in range(20):
        door.enter(10)
        now[0] += 1.0
        door.learn(10, ["a" * 40], 10, full=False)
        door.leave(10)
    for _ in range(100):  # at ten tokens a second the last of these would wait for 100 s
        door.enter(10)
    now[0] += 1.0
    door.learn(1000, ["a" * 40], 10, full=True)
    assert door.wait() == 1
    now[0] += 1.0
    door.learn(10, ["a" * 40], 10, full=False)  # and is not forgotten when it is calm again
    assert door.wait() == 1


def test_many_short_texts_are_many_tokens() -> None:
    door = Admission(ServeLimits())
    assert door.size(["a"] * 1000) >= 1000 and door.size([]) >= 1
