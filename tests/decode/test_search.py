"""Greedy and beam search against brute force, and against decoding without a cache."""

import itertools
import math
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from regard.decode.beam import beam_search
from regard.decode.greedy import greedy
from regard.decode.hypothesis import LENGTH_NORMS, Hypothesis, Search
from regard.errors import ConfigError
from regard.model.presets import preset
from regard.model.transformer import Transformer

BOS, EOS, V = 1, 2, 6


def make(seed: int = 0, sharpness: float = 3.0, vocabulary: int = V) -> Transformer:
    """A small random model whose distributions are not flat."""
    model = Transformer(preset("tiny", vocabulary, encoder_layers=1, decoder_layers=1, tie="none"))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
        model.output.weight.mul_(sharpness)
    return model.double().eval()


SOURCE = torch.tensor([[3, 4, 5, EOS], [4, EOS, 0, 0], [5, 5, EOS, 0]])
REAL = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]], dtype=torch.bool)


def log_p(model: Transformer, row: int, ids: tuple[int, ...]) -> float:
    """log p(ids, EOS | source) in one full pass without a cache."""
    length = int(REAL[row].sum())
    source, target = SOURCE[row : row + 1, :length], torch.tensor([[BOS, *ids]])
    with torch.no_grad():
        logp = torch.log_softmax(model(source, target), dim=-1)[0]
    return float(sum(logp[i, token] for i, token in enumerate((*ids, EOS))))


def brute_force(model: Transformer, row: int, search: Search, longest: int) -> list[Hypothesis]:
    """Every output of up to `longest` tokens before the end, best first."""
    tokens = [t for t in range(V) if t != EOS]
    found = []
    for length in range(longest + 1):
        for ids in itertools.product(tokens, repeat=length):
            value = log_p(model, row, ids)
            found.append(Hypothesis(ids, value, search.score(value, length + 1), True))
    return sorted(found, key=lambda h: -h.score)


@pytest.mark.parametrize("norm", ["paper", "power"])
@pytest.mark.parametrize("stop", ["exact", "first-k"])
def test_a_wide_beam_finds_what_brute_force_finds(norm: str, stop: str) -> None:
    model = make()
    longest = 3
    search = Search(
        beam=250, alpha=0.6, length_norm=norm, stop=stop, max_length=longest + 1, n_best=5
    )
    found = beam_search(model, SOURCE, REAL, BOS, EOS, search)
    for row in range(3):
        expected = brute_force(model, row, search, longest)[:5]
        assert [h.ids for h in found[row]] == [h.ids for h in expected]
        got = [h.score for h in found[row]]
        assert got == pytest.approx([h.score for h in expected], abs=1e-9)


def full_greedy(model: Transformer, row: int, limit: int) -> tuple[int, ...]:
    """Greedy decoding by full passes, one sentence, no cache, no padding."""
    length, ids = int(REAL[row].sum()), [BOS]
    for _ in range(limit):
        with torch.no_grad():
            logits = model(SOURCE[row : row + 1, :length], torch.tensor([ids]))[0, -1]
        if int(logits.argmax()) == EOS:
            break
        ids.append(int(logits.argmax()))
    return tuple(ids[1:])


@pytest.mark.parametrize("seed", range(6))
def test_greedy_equals_full_decoding(seed: int) -> None:
    model = make(seed, vocabulary=V)
    found = greedy(model, SOURCE, REAL, BOS, EOS, Search(beam=1, max_length=12))
    for row in range(3):
        best = found[row][0]
        assert best.ids == full_greedy(model, row, 12)
        if best.finished:
            assert best.log_probability == pytest.approx(log_p(model, row, best.ids), abs=1e-9)
        else:
            assert len(best.ids) == 12


@pytest.mark.parametrize("seed", range(6))
def test_a_beam_of_one_that_stops_first_is_greedy(seed: int) -> None:
    model = make(seed)
    search = Search(beam=1, stop="first-k", max_length=12)
    one = beam_search(model, SOURCE, REAL, BOS, EOS, search)
    two = greedy(model, SOURCE, REAL, BOS, EOS, search)
    assert [h[0].ids for h in one] == [h[0].ids for h in two]
    assert [h[0].score for h in one] == pytest.approx([h[0].score for h in two], abs=1e-9)


@pytest.mark.parametrize("beam", [2, 3, 5])
def test_one_sentence_alone_gives_what_the_batch_gives(beam: int) -> None:
    model = make(3)
    search = Search(beam=beam, n_best=2, max_length=10)
    together = beam_search(model, SOURCE, REAL, BOS, EOS, search)
    for row in range(3):
        length = int(REAL[row].sum())
        one = slice(row, row + 1)
        alone = beam_search(model, SOURCE[one, :length], REAL[one, :length], BOS, EOS, search)
        assert [h.ids for h in alone[0]] == [h.ids for h in together[row]]


def test_scores_are_those_of_the_ids() -> None:
    model = make(1)
    for hypotheses in beam_search(model, SOURCE, REAL, BOS, EOS, Search(beam=3, n_best=3)):
        order = [(h.finished, h.score) for h in hypotheses]  # cut-off outputs come last
        assert order == sorted(order, reverse=True)
    found = beam_search(model, SOURCE, REAL, BOS, EOS, Search(beam=3, n_best=3, max_length=9))
    for row, hypotheses in enumerate(found):
        for h in (h for h in hypotheses if h.finished):
            assert h.log_probability == pytest.approx(log_p(model, row, h.ids), abs=1e-9)


def test_cut_off_outputs_are_marked() -> None:
    never = V + 1  # an end token that no model can choose
    for find, beam in ((greedy, 1), (beam_search, 3)):
        best = find(make(2), SOURCE, REAL, BOS, never, Search(beam=beam, max_length=4))[0][0]
        assert not best.finished and len(best.ids) == 4


def test_length_norms_by_hand() -> None:
    assert LENGTH_NORMS["paper"](7, 0.6) == pytest.approx(2**0.6)
    assert LENGTH_NORMS["power"](9, 0.5) == pytest.approx(3)
    assert Search(length_norm="power", alpha=1).score(-6.0, 3) == -2
    assert Search().limit(10) == 60 and Search(max_length=5).limit(10) == 5
    assert math.isclose(Search(alpha=0).score(-6.0, 3), -6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"beam": 0}, "beam: got 0, expected 1 or more"),
        ({"beam": 2, "n_best": 3}, "3 are more than a beam of 2 can hold"),
        ({"max_length": 0}, "max_length: got 0"),
    ],
)
def test_impossible_searches_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(Search(), **wrong)


def test_unknown_choices_are_refused() -> None:
    """In a process of its own: here the type checker of the tests would answer first."""
    code = "from regard.decode.hypothesis import Search; Search(stop='never')"
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "stop: got 'never', expected one of exact, first-k" in got.stderr


def test_a_longer_output_is_preferred_as_alpha_grows() -> None:
    """log p -2 with 2 tokens against -2.6 with 4: the paper's norm turns at α ≈ 1.02."""
    short, long = (-2.0, 2), (-2.6, 4)
    assert Search(alpha=0.5).score(*short) > Search(alpha=0.5).score(*long)
    assert Search(alpha=1.5).score(*short) < Search(alpha=1.5).score(*long)
