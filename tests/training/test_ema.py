"""The moving average is that of torch.optim.swa_utils; its state survives a round trip."""

import copy

import pytest
import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from regard.errors import CheckpointError
from regard.training.ema import MovingAverage


def walk(model: torch.nn.Module) -> None:
    """Weights somewhere else: what a step does to them."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight))


def averaged(ours: MovingAverage) -> dict[str, torch.Tensor]:
    return {name.removesuffix(".ema"): tensor for name, tensor in ours.tensors().items()}


def test_a_low_decay_is_torchs_average() -> None:
    """0.1 is below the bound of every step, 2/11 at the second: the plain recursion is left."""
    model = torch.nn.Linear(3, 2)
    ours = MovingAverage(model, 0.1)
    theirs = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.1))
    for step in range(1, 30):
        walk(model)
        ours.update(step)
        theirs.update_parameters(model)
    for name, weight in theirs.module.named_parameters():
        assert torch.equal(averaged(ours)[name], weight), name


def test_the_bound_of_the_first_steps() -> None:
    """The same recursion with the decay of each step written out: min(0.9, (1 + n) / (10 + n))."""
    model = torch.nn.Linear(3, 2)
    ours = MovingAverage(model, 0.9)

    def average(mean: torch.Tensor, weight: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
        keep = min(0.9, (1 + int(updates)) / (10 + int(updates)))
        return keep * mean + (1 - keep) * weight

    theirs = AveragedModel(model, avg_fn=average)
    for step in range(1, 120):  # the bound passes 0.9 at step 81
        walk(model)
        ours.update(step)
        theirs.update_parameters(model)
    for name, weight in theirs.module.named_parameters():
        assert torch.allclose(averaged(ours)[name], weight, atol=1e-5), name


def test_a_round_trip_goes_on_with_the_same_bits() -> None:
    model = torch.nn.Linear(3, 2)
    straight = MovingAverage(model, 0.99)
    for step in (1, 2, 3):
        walk(model)
        straight.update(step)
    saved = {name: tensor.clone() for name, tensor in straight.tensors().items()}
    again = MovingAverage(model, 0.99)
    assert again.restore({**saved, "weight.exp_avg": torch.ones(1)}).keys() == {"weight.exp_avg"}
    walk(model)
    straight.update(4)
    again.update(4)
    assert all(torch.equal(a, averaged(again)[name]) for name, a in averaged(straight).items())


def test_off_and_frozen_weights() -> None:
    model = torch.nn.Linear(3, 2)
    off = MovingAverage(model, 0.0)
    off.update(1)
    assert off.tensors() == {} and off.candidate(dict(model.named_parameters())) == {}
    model.bias.requires_grad_(False)
    on = MovingAverage(model, 0.5)
    on.update(1)
    assert on.tensors().keys() == {"weight.ema"}
    (candidate,) = on.candidate(dict(model.named_parameters())).values()
    assert torch.equal(candidate["bias"], model.bias)
    before = copy.deepcopy(candidate)
    walk(model)
    on.update(2)
    assert torch.equal(candidate["weight"], before["weight"])  # a copy, not the average itself


def test_a_checkpoint_without_averages_is_refused() -> None:
    with pytest.raises(CheckpointError, match="holds 0 weights, with train.ema 0.5 there are 2"):
        MovingAverage(torch.nn.Linear(3, 2), 0.5).restore({})
