"""The torch engine against the plain search: every kind of model, layout and option."""

import random
import threading
from collections.abc import Iterator
from functools import lru_cache

import pytest

import decode.plain as plain
from decode.searching import END, FRAME, KINDS, make, search_with, sentences
from refusals import refused
from regard.decode.engine import Engine, Hypothesis, Layout
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import NO_RULES, DecodingOptions, Rules
from regard.decode.slots import PLACES
from regard.errors import MisuseError
from regard.model.transformer import Transformer

Found = list[list[Hypothesis]]
SEARCHES = {
    1: DecodingOptions(beam=1, max_length=8),
    3: DecodingOptions(beam=3, n_best=3, max_length=8),
    4: DecodingOptions(beam=4, n_best=2, max_length=8, stop="exact", length_norm="paper"),
}
LAYOUTS = [Layout(workers=w, batch=b) for w in (1, 2) for b in (1, 3, 7, 64)]


@pytest.fixture(autouse=True)
def _shapes_are_checked_in_the_first_test(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.function is test_it_finds_what_the_plain_search_finds:
        yield
    else:
        with plain.unchecked():
            yield


@lru_cache
def case(kind: str) -> tuple[Transformer, list[list[int]], list[plain.Source]]:
    """A model of this kind, its sentences, and the passes that the plain search has made."""
    model = make(kind)
    rows = sentences(6, model.spec.vocabulary)
    return model, rows, [plain.Source(model, tuple(row)) for row in rows]


@lru_cache
def expected(kind: str, beam: int) -> Found:
    return [plain.search(source, SEARCHES[beam]) for source in case(kind)[2]]


def assert_same(found: Found, wanted: Found) -> None:
    for hypotheses, others in zip(found, wanted, strict=True):
        for h, w in zip(hypotheses, others, strict=True):
            assert h.ids == w.ids and h.finished == w.finished
            assert h.log_probability == pytest.approx(w.log_probability, abs=1e-9)
            assert h.score == pytest.approx(w.score, abs=1e-9)


@pytest.mark.parametrize("beam", SEARCHES)
@pytest.mark.parametrize("kind", KINDS)
def test_it_finds_what_the_plain_search_finds(kind: str, beam: int) -> None:
    model, rows, _ = case(kind)
    assert_same(search_with(model, rows, SEARCHES[beam]), expected(kind, beam))


@pytest.mark.parametrize("kind", KINDS)
def test_in_every_layout_and_order(kind: str) -> None:
    """Small batches: sentences enter one by one, beside others that are half done."""
    model, rows, _ = case(kind)
    first = list(KINDS).index(kind)
    for number in range(first, first + 9, 3):  # three of the eight for each kind
        layout, beam = LAYOUTS[number % 8], list(SEARCHES)[number // 3 % 3]
        order = random.Random(number).choices(range(len(rows)), k=15)
        full = Layout(workers=layout.workers, batch=layout.batch * beam)  # it counts rows
        found = search_with(model, [rows[i] for i in order], SEARCHES[beam], layout=full)
        assert_same(found, [expected(kind, beam)[i] for i in order])


OPTIONS = {
    "least": DecodingOptions(beam=3, min_length=5, max_length=9),
    "least, greedy": DecodingOptions(beam=1, min_length=5, max_length=9),
    "no pair twice": DecodingOptions(beam=3, no_repeat_ngram=2, max_length=7, n_best=2),
    "no token twice": DecodingOptions(beam=1, no_repeat_ngram=1, max_length=7),
    "penalty": DecodingOptions(beam=1, repetition_penalty=1.7, max_length=7),
    "reward": DecodingOptions(beam=2, repetition_penalty=0.8, max_length=7),
    "coverage": DecodingOptions(beam=4, coverage=0.3, n_best=4, max_length=8),
    "coverage, exact": DecodingOptions(beam=3, coverage=0.3, n_best=2, max_length=8, stop="exact"),
    "coverage, greedy": DecodingOptions(beam=1, coverage=0.5, max_length=8),
    "likely": DecodingOptions(beam=3, stop="likely", n_best=3, max_length=7, alpha=1.0),
    "exact": DecodingOptions(beam=3, stop="exact", n_best=2, max_length=7, alpha=1.2),
    "no norm": DecodingOptions(beam=3, stop="exact", alpha=0, max_length=7),
    "by score": DecodingOptions(beam=3, convention="transformers", n_best=3, max_length=4),
    "by score, exact": DecodingOptions(
        beam=4, convention="transformers", n_best=2, max_length=5, alpha=2.0, stop="exact"
    ),
    "on log p": DecodingOptions(
        beam=3,
        convention="transformers",
        min_length=3,
        no_repeat_ngram=2,
        repetition_penalty=1.4,
        max_length=7,
        n_best=3,
    ),
    "start counts, greedy": DecodingOptions(
        beam=1, convention="transformers", repetition_penalty=1.7, no_repeat_ngram=1, max_length=7
    ),
    "all": DecodingOptions(
        beam=3,
        min_length=3,
        no_repeat_ngram=2,
        repetition_penalty=1.2,
        coverage=0.2,
        max_length=8,
        n_best=3,
    ),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options(option: str) -> None:
    for kind, batch in (("pre", 64), ("t5", 6)):
        model, rows, sources = case(kind)
        rows, sources = rows[:4], sources[:4]
        wanted = [plain.search(source, OPTIONS[option]) for source in sources]
        assert_same(search_with(model, rows, OPTIONS[option], layout=Layout(batch=batch)), wanted)


RULES = {
    "never": Rules(never=(0, 1, 7, 12, END + 3)),
    "first": Rules(first=9),
    "must end": Rules(must_end=True),
    "shared out": Rules(never=(0, 1, 7, 12, END + 3), shares_out=True),
    "three ends": Rules(also_ends=(5, 30)),
    "all": Rules(never=(0, 1, 5), first=11, must_end=True, also_ends=(40,)),
}


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("rule", RULES)
def test_rules(rule: str, beam: int) -> None:
    search = DecodingOptions(beam=beam, n_best=beam, max_length=6)
    for kind, batch in (("pre", 64), ("post", 6)):  # 64 tokens, and 71: not a whole block
        model, rows, sources = case(kind)
        wanted = [plain.search(source, search, RULES[rule]) for source in sources]
        found = search_with(model, rows, search, RULES[rule], Layout(batch=batch))
        assert_same(found, wanted)
        if RULES[rule].must_end:
            assert all(h.finished for hs in found for h in hs)


@pytest.mark.parametrize("beam", [1, 3])
def test_prefixes(beam: int) -> None:
    """Of mixed lengths, and one that options and rules would not have let through."""
    search = DecodingOptions(beam=beam, n_best=beam, max_length=7, no_repeat_ngram=1)
    rules = Rules(never=(8,), first=20)
    prefixes = [(5, 6), (), (7,), (8, 8, 8), (9, 4, 5, 6), ()]
    for kind, batch in (("post", 64), ("t5", 6)):
        model, rows, sources = case(kind)
        wanted = [
            plain.search(source, search, rules, prefix)
            for source, prefix in zip(sources, prefixes, strict=True)
        ]
        found = search_with(model, rows, search, rules, Layout(batch=batch), prefixes)
        assert_same(found, wanted)
        for hypotheses, prefix in zip(found, prefixes, strict=True):
            assert all(h.ids[: len(prefix)] == prefix for h in hypotheses)


@pytest.mark.parametrize("beam", [1, 2])
def test_when_every_token_is_used_up_only_the_end_is_left(beam: int) -> None:
    model = make("post", vocabulary=8)
    search = DecodingOptions(beam=beam, no_repeat_ngram=1, min_length=20, max_length=30)
    rows = sentences(2, 8)
    wanted = [plain.search(plain.Source(model, tuple(row)), search) for row in rows]
    found = search_with(model, rows, search)
    assert_same(found, wanted)
    assert all(sorted(h.ids) == [0, 1, 3, 4, 5, 6, 7] for hs in found for h in hs)


@pytest.mark.parametrize(("kind", "beam"), [("rotary", 1), ("t5", 2)])
def test_outputs_longer_than_the_cache(kind: str, beam: int) -> None:
    """The third begins when the others are done: it must not see what they left."""
    model = make(kind, decoder_layers=1, encoder_layers=1)
    rows = [[5, 9, 7, END], [30, END], [11, 12, END]]
    search, rules = DecodingOptions(beam=beam, max_length=PLACES + 3), Rules(never=(END,))
    found = search_with(model, rows, search, rules, Layout(batch=2 * beam))
    assert [len(h[0].ids) for h in found] == [PLACES + 3] * 3
    wanted = [plain.search(plain.Source(model, tuple(row)), search, rules) for row in rows]
    assert_same(found, wanted)


def test_a_queue_much_longer_than_the_batch() -> None:
    model, rows, _ = case("pre")
    order = random.Random(0).choices(range(len(rows)), k=80)
    found = search_with(model, [rows[i] for i in order], SEARCHES[1], layout=Layout(batch=3))
    assert_same(found, [expected("pre", 1)[i] for i in order])


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("kind", ["post", "rotary", "grouped"])
def test_batch_invariance_in_single_precision(kind: str, beam: int) -> None:
    """Alone, by 8, all at once, in any order: same tokens, same score per token to 1e-5."""
    model = make(kind).float()
    rows, search = sentences(40, model.spec.vocabulary), DecodingOptions(beam=beam, max_length=10)
    alone = search_with(model, rows, search, layout=Layout(batch=1))
    order = list(range(40))
    for batch in (8, 64):
        random.Random(batch).shuffle(order)
        layout = Layout(batch=batch * beam, workers=2)
        found = search_with(model, [rows[i] for i in order], search, layout=layout)
        for i, (hypothesis,) in zip(order, found, strict=True):
            reference = alone[i][0]
            assert hypothesis.ids == reference.ids
            tokens = len(reference.ids) + 1
            difference = hypothesis.log_probability - reference.log_probability
            assert abs(difference) / tokens < 1e-5


@pytest.mark.needs("bf16")
@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_mostly_agrees(kind: str) -> None:
    """On the first token: where one differs, all that follow may. Random models are often torn."""
    model = make(kind).float()
    rows = sentences(40, model.spec.vocabulary)
    search = DecodingOptions(beam=1, max_length=1)
    full = search_with(model, rows, search)
    half = search_with(model, rows, search, layout=Layout("bf16"))
    same = sum(a[0].ids == b[0].ids for a, b in zip(full, half, strict=True))
    assert same >= 34
    both = [(a[0], b[0]) for a, b in zip(full, half, strict=True) if a[0].ids == b[0].ids]
    assert any(a.log_probability != b.log_probability for a, b in both)  # it is another precision


def test_it_is_an_engine_that_refuses_unknown_precisions() -> None:
    engine = TorchEngine(make(), FRAME)
    assert isinstance(engine, Engine)
    engine.close()
    with refused(
        MisuseError, subject="precision", got="int8", advice="the torch engine offers fp32"
    ):
        TorchEngine(make(), FRAME, layout=Layout("int8"))


@pytest.mark.parametrize("beam", [1, 3])
def test_an_error_in_a_worker_reaches_the_caller(beam: int) -> None:
    engine = TorchEngine(make(), FRAME, layout=Layout(workers=2, batch=4))
    search, good = DecodingOptions(beam=beam, max_length=4), [[3, 4, END]] * 20
    pending = engine.submit([*good, [10_000, END]], search)
    with pytest.raises(IndexError):
        pending()
    assert len(engine.submit(good, search)()) == 20  # the next job does not suffer
    engine.close()


def test_close_ends_the_threads() -> None:
    before = set(threading.enumerate())
    engine = TorchEngine(make(), FRAME, layout=Layout(workers=2, batch=1))
    engine.submit(sentences(8, 71), DecodingOptions(max_length=3))()
    assert len(set(threading.enumerate()) - before) == 2
    engine.close()
    assert set(threading.enumerate()) <= before


def test_a_job_of_no_sentences() -> None:
    for search in (
        DecodingOptions(),
        DecodingOptions(beam=1),
        DecodingOptions(beam=1, temperature=1.0, n_best=3),
    ):
        assert search_with(make(), [], search) == []


def test_jobs_wait_for_each_other_in_order() -> None:
    model, rows, _ = case("pre")
    engine = TorchEngine(model, FRAME, NO_RULES, Layout(workers=2, batch=3))
    first, second = (engine.submit(rows, SEARCHES[beam]) for beam in (3, 1))
    assert_same(second(), expected("pre", 1))
    assert_same(first(), expected("pre", 3))
    engine.close()


@pytest.mark.parametrize("beam", [1, 3])
def test_one_token_is_the_least(beam: int) -> None:
    model, rows, sources = case("pre")
    search = DecodingOptions(beam=beam, max_length=1)
    found = search_with(model, rows, search)
    assert_same(found, [plain.search(source, search) for source in sources])
    assert all(len(h[0].ids) + h[0].finished == 1 for h in found)


@pytest.mark.parametrize("beam", [1, 2])
def test_a_table_of_positions_limits_the_output(beam: int) -> None:
    model = make("grouped")  # 40 positions
    found = search_with(
        model, [[5, END], [6] * 39 + [END]], DecodingOptions(beam=beam), Rules((END,))
    )
    assert [len(h[0].ids) for h in found] == [40, 40]
