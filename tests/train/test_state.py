"""The random state that a checkpoint keeps brings back the same draws."""

import torch

from regard.train.state import random_state, restore_random_state


def test_the_same_draws_again() -> None:
    state = random_state()
    first = torch.rand(5)
    restore_random_state(state)
    assert torch.equal(torch.rand(5), first)
