"""Who may attend to whom."""

import torch

from regard.model.masks import Mask, look_ahead

CPU = torch.device("cpu")


def test_look_ahead_is_a_lower_triangle() -> None:
    assert look_ahead(3, 3, CPU).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_with_a_cache_queries_are_the_newest_positions() -> None:
    assert look_ahead(2, 4, CPU).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]


def test_padding_and_future_are_both_hidden() -> None:
    allowed = Mask(torch.tensor([[True, True, False]]), causal=True).allowed(3, 3, CPU)
    assert allowed is not None and allowed.shape == (1, 1, 3, 3)
    assert allowed[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]


def test_nothing_to_hide_is_none() -> None:
    assert Mask().allowed(3, 3, CPU) is None
    assert Mask(causal=True).allowed(1, 5, CPU) is None
