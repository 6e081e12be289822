"""Drawing tokens: repeatable, independent of neighbours, and as often as p says."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import TopKLogitsWarper, TopPLogitsWarper

from decode.plain import unchecked
from decode.searching import END, START, make, search_with, sentences
from regard.decode.engine import Layout
from regard.decode.options import TINIEST, DecodingOptions, Sampling
from regard.decode.sample import drawn, narrowed, numbers

DRAW = DecodingOptions(beam=1, temperature=1.0, seed=7, max_length=8)


def log_p(rows: int = 6, size: int = 128) -> Tensor:
    logits = 2 * torch.randn(rows, size, generator=torch.Generator().manual_seed(3))
    return logits.double().log_softmax(dim=-1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("k", [1, 5, 40, 500])
def test_top_k_keeps_what_transformers_keeps(k: int, temperature: float) -> None:
    given = log_p()
    expected = TopKLogitsWarper(min(k, 128))(None, given / temperature)
    found = narrowed(given, DecodingOptions(beam=1, temperature=temperature, top_k=k))
    assert torch.allclose(found.exp(), expected.softmax(dim=-1), atol=1e-12)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("p", [0.01, 0.3, 0.9, 0.999])
def test_top_p_keeps_what_transformers_keeps(p: float, temperature: float) -> None:
    given = log_p()
    expected = TopPLogitsWarper(p)(None, given / temperature)
    found = narrowed(given, Sampling(temperature=temperature, top_p=p))
    assert torch.allclose(found.exp(), expected.softmax(dim=-1), atol=1e-12)
    both = narrowed(given, Sampling(temperature=temperature, top_k=5, top_p=p))
    expected = TopPLogitsWarper(p)(None, TopKLogitsWarper(5)(None, given / temperature))
    assert torch.allclose(both.exp(), expected.softmax(dim=-1), atol=1e-12)


def test_a_number_between_0_and_1_says_which_token() -> None:
    """p = 0.2, 0, 0.5, 0.3, 0: the sums are 0.2, 0.2, 0.7, 1, 1."""
    p = torch.tensor([[0.2, 0.0, 0.5, 0.3, 0.0]], dtype=torch.float64)
    points = torch.tensor([0.0, 0.19, 0.21, 0.69, 0.71, 0.999, 1 - 2**-53], dtype=torch.float64)
    values, tokens = drawn(p.log().repeat(7, 1), DRAW, points)
    assert tokens.tolist() == [0, 0, 2, 2, 3, 3, 3]
    assert values.exp().tolist() == pytest.approx([0.2, 0.2, 0.5, 0.5, 0.3, 0.3, 0.3])


def test_the_value_is_that_of_the_model_not_of_the_narrowed_choice() -> None:
    p = torch.tensor([[0.2, 0.5, 0.3]], dtype=torch.float64)
    search = DecodingOptions(beam=1, temperature=0.3, top_k=1)
    values, tokens = drawn(p.log(), search, torch.tensor([0.99], dtype=torch.float64))
    assert tokens.tolist() == [1] and values.exp().tolist() == pytest.approx([0.5])


def test_the_numbers_of_a_draw() -> None:
    first = numbers([5, 6, 2], 0, 10, seed=1)
    assert first == numbers([5, 6, 2], 0, 10, seed=1) == numbers([5, 6, 2], 0, 20, seed=1)[:10]
    others = [numbers([5, 6, 2], 0, 10, 2), numbers([5, 6, 2], 1, 10, 1), numbers([5, 2], 0, 10, 1)]
    others += [numbers([5, 6, 2], 0, 10, None), numbers([5, 6, 2], 0, 10, None)]
    assert len({tuple(row) for row in [first, *others]}) == 6
    assert all(0 <= x < 1 for row in others for x in row)


def test_a_seed_repeats_and_another_differs() -> None:
    model = make("pre")
    rows = sentences(12, 64)
    anyhow = DecodingOptions(beam=1, temperature=1.0, max_length=8)
    with unchecked():
        one, again = (search_with(model, rows, DRAW) for _ in range(2))
        other = search_with(model, rows, replace(DRAW, seed=8))
        free = [search_with(model, rows, anyhow) for _ in range(2)]
    assert one == again
    assert one != other and free[0] != free[1] and one != free[0]


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_neighbours_order_and_number_of_draws_do_not_matter(batch: int) -> None:
    model = make("pre")
    rows = sentences(9, 64)
    with unchecked():
        plain = search_with(model, rows, DRAW)
    order = list(range(len(rows)))
    random.Random(batch).shuffle(order)
    layout = Layout(workers=2, batch=batch)
    with unchecked():
        found = search_with(model, [rows[i] for i in order], DRAW, layout=layout)
    assert [h[0].ids for h in found] == [plain[i][0].ids for i in order]
    search = DecodingOptions(beam=1, temperature=1.0, seed=7, max_length=8, n_best=3)
    with unchecked():
        many = search_with(model, rows, search, layout=layout)
    for one, several in zip(plain, many, strict=True):
        assert one[0].ids in [h.ids for h in several]


def test_several_draws_are_distinct_and_sorted() -> None:
    model = make("pre")
    search = DecodingOptions(beam=1, temperature=1.0, seed=1, max_length=3, n_best=20)
    found = search_with(model, sentences(6, 64), search)
    assert any(len(hypotheses) < 20 for hypotheses in found)  # some outputs were drawn twice
    for hypotheses in found:
        ids = [h.ids for h in hypotheses]
        order = [(h.finished, h.score) for h in hypotheses]
        assert len(set(ids)) == len(ids) > 1 and order == sorted(order, reverse=True)


@pytest.mark.parametrize("narrow", [{}, {"temperature": 2.0}, {"top_k": 4}, {"top_p": 0.8}])
def test_tokens_are_drawn_as_often_as_p_says(narrow: dict[str, float]) -> None:
    """χ² of the first token over 3,000 seeds; its 99.9 % point by Wilson and Hilferty."""
    model, source, count = make("pre"), [5, 9, 30, END], 3000
    with torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([[START]]))[0, -1:]
    settings = {"beam": 1, "temperature": 1.0, "seed": 0, "max_length": 1, **narrow}
    p = narrowed(logits.log_softmax(dim=-1), DecodingOptions(**settings)).exp()[0].numpy()
    points = [numbers(source, 0, 1, seed)[0] for seed in range(count)]
    uniform = torch.tensor(points, dtype=torch.float64)
    _, tokens = drawn(
        logits.log_softmax(dim=-1).expand(count, -1), DecodingOptions(**settings), uniform
    )
    seen = np.bincount(tokens.numpy(), minlength=len(p))
    assert seen[p == 0].sum() == 0
    often = p * count >= 5
    seen = np.append(seen[often], seen[~often].sum())
    wanted = np.append(p[often], p[~often].sum()) * count
    seen, wanted = seen[wanted > 0], wanted[wanted > 0]
    freedom = len(seen) - 1
    assert freedom >= 2
    limit = freedom * (1 - 2 / (9 * freedom) + 3.09 * (2 / (9 * freedom)) ** 0.5) ** 3
    assert ((seen - wanted) ** 2 / wanted).sum() < limit
    found = [
        search_with(model, [source], DecodingOptions(**{**settings, "seed": s}))[0][0]
        for s in (0, 1)
    ]
    firsts = [END if h.finished else h.ids[0] for h in found]
    assert firsts == tokens[:2].tolist()  # the engine draws with these numbers


def test_the_least_temperature_draws_the_likeliest_and_never_nan() -> None:
    """Divided by less, all scores would be infinite, and their softmax no number."""
    log_p = torch.tensor([[0.1, 3.0, -20.0, 2.999]]).log_softmax(dim=-1)
    chances = narrowed(log_p, DecodingOptions(beam=1, temperature=TINIEST)).exp()
    assert chances.tolist() == [[0.0, 1.0, 0.0, 0.0]]
