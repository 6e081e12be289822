"""Greedy and beam search against brute force, against each other, and what a search refuses."""

import itertools
import math
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import decode.plain as plain
from decode.plain import unchecked
from decode.searching import END as EOS
from decode.searching import START as BOS
from decode.searching import make, search_rows, search_with, sentences
from regard.decode.engine import Hypothesis, Layout
from regard.decode.options import LENGTH_NORMS, DecodingOptions
from regard.errors import ConfigError
from regard.model.transformer import Transformer

V = 6
SOURCE = torch.tensor([[3, 4, 5, EOS], [4, EOS, 0, 0], [5, 5, EOS, 0]])
REAL = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]], dtype=torch.bool)


def tiny(seed: int = 0) -> Transformer:
    return make("post", seed, vocabulary=V, decoder_layers=1)


def log_ps(model: Transformer, row: int, outputs: list[tuple[int, ...]]) -> list[float]:
    """log p(ids, EOS | source) of outputs of one length, in one full pass without a cache."""
    length = int(REAL[row].sum())
    source = SOURCE[row : row + 1, :length].expand(len(outputs), -1)
    target = torch.tensor([[BOS, *ids] for ids in outputs])
    with torch.no_grad(), unchecked():
        logp = torch.log_softmax(model(source, target), dim=-1)
    tokens = torch.tensor([[*ids, EOS] for ids in outputs])
    return logp.gather(2, tokens[:, :, None]).sum(dim=(1, 2)).tolist()


def log_p(model: Transformer, row: int, ids: tuple[int, ...]) -> float:
    return log_ps(model, row, [ids])[0]


def brute_force(
    model: Transformer, row: int, search: DecodingOptions, longest: int
) -> list[Hypothesis]:
    """Every output of up to `longest` tokens before the end, best first."""
    tokens = [t for t in range(V) if t != EOS]
    found = []
    for length in range(longest + 1):
        outputs = list(itertools.product(tokens, repeat=length))
        for ids, value in zip(outputs, log_ps(model, row, outputs), strict=True):
            found.append(Hypothesis(ids, value, search.score(value, length + 1), True))
    return sorted(found, key=lambda h: -h.score)


@pytest.mark.parametrize("norm", ["paper", "power"])
@pytest.mark.parametrize("stop", ["exact", "first-k", "likely"])
def test_a_wide_beam_finds_what_brute_force_finds(norm: str, stop: str) -> None:
    model, longest = tiny(), 3
    search = DecodingOptions(
        beam=250, alpha=0.6, length_norm=norm, stop=stop, max_length=longest + 1, n_best=5
    )
    row = {"exact": 0, "first-k": 1, "likely": 2}[stop]
    one = slice(row, row + 1)
    with unchecked():
        (found,) = search_rows(model, SOURCE[one], REAL[one], BOS, EOS, search)
    source = plain.Source(model, tuple(SOURCE[row][REAL[row]].tolist()))
    expected = brute_force(model, row, search, longest)[:5]
    for got in (found, plain.search(source, search)):
        assert [h.ids for h in got] == [h.ids for h in expected]
        scores = [h.score for h in got]
        assert scores == pytest.approx([h.score for h in expected], abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_beam_of_one_is_greedy(seed: int) -> None:
    """A coverage penalty so small that it changes no score makes a beam search of it."""
    model, rows = make("pre", seed), sentences(12, 64)
    found = search_with(model, rows, DecodingOptions(beam=1, max_length=12))
    beams = search_with(model, rows, DecodingOptions(beam=1, max_length=12, coverage=1e-300))
    for one, two in zip(found, beams, strict=True):
        assert one[0].ids == two[0].ids and one[0].finished == two[0].finished
        assert one[0].score == pytest.approx(two[0].score, abs=1e-9)


@pytest.mark.parametrize("beam", [1, 2, 3, 5])
def test_one_sentence_alone_gives_what_the_batch_gives(beam: int) -> None:
    model = tiny(3)
    search = DecodingOptions(beam=beam, n_best=min(2, beam), max_length=10)
    together = search_rows(model, SOURCE, REAL, BOS, EOS, search)
    for row in range(3):
        length = int(REAL[row].sum())
        one = slice(row, row + 1)
        alone = search_rows(model, SOURCE[one, :length], REAL[one, :length], BOS, EOS, search)
        assert [h.ids for h in alone[0]] == [h.ids for h in together[row]]


def test_scores_are_those_of_the_ids() -> None:
    model = tiny(3)
    found = search_rows(
        model, SOURCE, REAL, BOS, EOS, DecodingOptions(beam=3, n_best=3, max_length=9)
    )
    assert any(h.finished for hypotheses in found for h in hypotheses)
    for row, hypotheses in enumerate(found):
        for h in (h for h in hypotheses if h.finished):
            assert h.log_probability == pytest.approx(log_p(model, row, h.ids), abs=1e-9)


@pytest.mark.parametrize("beam", [1, 3])
def test_cut_off_outputs_are_marked(beam: int) -> None:
    never = V + 1  # an end token that no model can choose
    found = search_rows(tiny(2), SOURCE, REAL, BOS, never, DecodingOptions(beam=beam, max_length=4))
    assert not found[0][0].finished and len(found[0][0].ids) == 4


@settings(max_examples=15)
@given(
    seed=st.integers(0, 50),
    beam=st.integers(1, 5),
    limit=st.integers(1, 9),
    least=st.integers(0, 8),
    stop=st.sampled_from(["exact", "first-k", "likely"]),
    batch=st.integers(1, 12),
)
def test_whatever_is_asked_lists_are_sorted_and_distinct_and_limits_hold(
    seed: int, beam: int, limit: int, least: int, stop: str, batch: int
) -> None:
    model = make("pre", seed % 3)
    least = min(least, limit - 1)
    search = DecodingOptions(beam=beam, n_best=beam, max_length=limit, min_length=least, stop=stop)
    rows = sentences(5, 64, seed=seed)
    with unchecked():
        found = search_with(model, rows, search, layout=Layout(batch=batch))
    for hypotheses in found:
        assert 1 <= len(hypotheses) <= beam
        order = [(h.finished, h.score) for h in hypotheses]
        assert order == sorted(order, reverse=True)
        assert len({(h.ids, h.finished) for h in hypotheses}) == len(hypotheses)
        for h in hypotheses:
            assert least <= len(h.ids) <= limit and len(h.ids) + h.finished <= limit
            assert h.finished or len(h.ids) == limit
            assert EOS not in h.ids and h.log_probability <= 1e-12
            assert h.score == search.score(h.log_probability, len(h.ids) + h.finished)


@pytest.mark.parametrize("kind", ["post", "pre", "t5"])
def test_a_beam_scores_no_worse_than_greedy_on_the_mean(kind: str) -> None:
    model = make(kind)
    rows = sentences(40, model.spec.vocabulary)
    means = []
    for beam in (1, 4):
        with unchecked():
            found = search_with(
                model, rows, DecodingOptions(beam=beam, max_length=12, stop="exact")
            )
        means.append(sum(h[0].score for h in found) / len(rows))
    assert means[0] < means[1]


def test_length_norms_by_hand() -> None:
    assert LENGTH_NORMS["paper"](7, 0.6) == pytest.approx(2**0.6)
    assert LENGTH_NORMS["power"](9, 0.5) == pytest.approx(3)
    assert DecodingOptions(length_norm="power", alpha=1).score(-6.0, 3) == -2
    assert math.isclose(DecodingOptions(alpha=0).score(-6.0, 3), -6)


def test_limits_by_hand() -> None:
    assert DecodingOptions().limit(10) == 60 and DecodingOptions(max_length=5).limit(10) == 5
    assert (
        DecodingOptions().limit(10, 40) == 40 and DecodingOptions(max_length=5).limit(10, 40) == 5
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"beam": 0}, "beam: got 0, expected 1 or more"),
        ({"n_best": 0}, "n_best: got 0, expected 1 or more"),
        ({"beam": 2, "n_best": 3}, "3 are more than a beam of 2 can hold"),
        ({"max_length": 0}, "max_length: got 0"),
        ({"min_length": -1}, "min_length: got -1, expected 0 or more"),
        ({"min_length": 5, "max_length": 5}, "min_length: got 5, expected less than max_length 5"),
        ({"coverage": -0.1}, "coverage: got -0.1, expected 0 or more"),
        ({"coverage": math.nan}, "coverage: got nan"),
        ({"no_repeat_ngram": -2}, "no_repeat_ngram: got -2, expected 0 or more"),
        ({"repetition_penalty": 0.0}, "repetition_penalty: got 0.0, expected more than 0"),
        ({"repetition_penalty": math.nan}, "repetition_penalty: got nan"),
        ({"alpha": math.nan}, "alpha: got nan, expected a number from -10 to 10"),
        ({"alpha": 11.0}, "alpha: got 11.0"),
        ({"temperature": -1.0}, "temperature: got -1.0, expected 0 to 100"),
        ({"temperature": 5e-324, "beam": 1}, "temperature: got 5e-324, expected 0 to 100"),
        ({"repetition_penalty": 5e-324}, "repetition_penalty: got 5e-324, expected more than 0"),
        ({"temperature": math.nan}, "temperature: got nan"),
        ({"temperature": 1.0}, "beam: got 4; a draw has none, give beam 1"),
        ({"temperature": 1.0, "beam": 1, "coverage": 0.1}, "coverage: got 0.1; a draw compares"),
        ({"temperature": 1.0, "beam": 1, "top_k": 0}, "top_k: got 0, expected 1 or more"),
        ({"temperature": 1.0, "beam": 1, "top_p": 0.0}, "top_p: got 0.0, expected more than 0"),
        ({"temperature": 1.0, "beam": 1, "top_p": 1.1}, "top_p: got 1.1"),
        ({"temperature": 1.0, "beam": 1, "seed": -1}, "seed: got -1, expected 0 to"),
        ({"top_k": 3, "seed": 1}, "top_k, seed: at temperature 0 nothing is drawn"),
        ({"top_p": 0.5}, "top_p: at temperature 0 nothing is drawn"),
    ],
)
def test_impossible_searches_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(DecodingOptions(), **wrong)


def test_possible_searches_are_not() -> None:
    replace(DecodingOptions(), min_length=4, max_length=5, coverage=0.2, no_repeat_ngram=3)
    replace(DecodingOptions(), beam=1, temperature=0.8, top_k=5, top_p=1.0, seed=0, n_best=9)
    assert not DecodingOptions().draws and DecodingOptions(beam=1, temperature=0.1).draws


def test_unknown_choices_are_refused() -> None:
    """In a process of its own: here the type checker of the tests would answer first."""
    code = "from regard.decode.options import DecodingOptions; DecodingOptions(stop='never')"
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "stop: got 'never', expected one of exact, first-k, likely" in got.stderr


def test_a_longer_output_is_preferred_as_alpha_grows() -> None:
    """log p -2 with 2 tokens against -2.6 with 4: n^α turns at α = ln 1.3 / ln 2 ≈ 0.38."""
    short, long = (-2.0, 2), (-2.6, 4)
    assert DecodingOptions(alpha=0.37).score(*short) > DecodingOptions(alpha=0.37).score(*long)
    assert DecodingOptions(alpha=0.39).score(*short) < DecodingOptions(alpha=0.39).score(*long)
    paper = DecodingOptions(alpha=0.6, length_norm="paper")
    assert paper.score(*short) > paper.score(*long)  # (9 / 7)^α reaches 1.3 at α ≈ 1.04
    assert replace(paper, alpha=1.05).score(*short) < replace(paper, alpha=1.05).score(*long)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("beam='4'", "beam: got '4', expected a whole number"),
        ("beam=2.5", "beam: got 2.5, expected a whole number"),
        ("beam=None", "beam: got None, expected a whole number"),
        ("n_best=True", "n_best: got True, expected a whole number"),
        ("max_length=3.5", "max_length: got 3.5, expected a whole number"),
        ("seed=1.5, beam=1, temperature=1", "seed: got 1.5, expected a whole number"),
        ("temperature='1'", "temperature: got '1', expected a number"),
        ("length_norm=[]", "length_norm: got [], expected one of paper, power"),
    ],
)
def test_wrong_types_are_named(wrong: str, message: str) -> None:
    code = f"from regard.decode.options import DecodingOptions; DecodingOptions({wrong})"
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"ConfigError: {message}" in got.stderr
