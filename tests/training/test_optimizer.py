"""Adam is the paper's, and its state survives a round trip by names."""

import pytest
import torch

from regard.errors import CheckpointError
from regard.training.optimizer import Adam, make_adam, optimizer_tensors, restore_optimizer


def stepped(model: torch.nn.Module, optimizer: Adam | torch.optim.Adam, steps: int) -> None:
    for number in range(steps):
        model.zero_grad()
        x = torch.arange(6.0).view(2, 3) + number
        (model(x) ** 2).sum().backward()
        optimizer.param_groups[0]["lr"] = 0.01
        optimizer.step()


def test_one_step_by_the_formula() -> None:
    """After one step from zero moments the update is lr · g / (|g| + ε): lr in size."""
    model = torch.nn.Linear(3, 1)
    before = model.weight.detach().clone()
    optimizer = make_adam(model)
    stepped(model, optimizer, 1)
    assert torch.allclose((model.weight - before).abs(), torch.full((1, 3), 0.01), atol=1e-6)


@pytest.mark.parametrize("width", [3, 517])
def test_torchs_class_moves_the_same_bits(width: int) -> None:
    """β1 0.9, β2 0.98, ε 1e-9; a weight without a gradient stays as it is."""
    models = [torch.nn.ModuleList([torch.nn.Linear(3, width), torch.nn.Linear(2, 2)]) for _ in "12"]
    models[1].load_state_dict(models[0].state_dict())
    settings = {"lr": 0.0, "betas": (0.9, 0.98), "eps": 1e-9, "fused": True}
    optimizers = (make_adam(models[0]), torch.optim.Adam(models[1].parameters(), **settings))
    for model, optimizer in zip(models, optimizers, strict=True):
        stepped(model[0], optimizer, 7)
    ours, theirs = (model.state_dict() for model in models)
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    states = [optimizer.state[next(iter(m.parameters()))] for m, optimizer in
              zip(models, optimizers, strict=True)]  # fmt: skip
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[1])
    assert len(optimizers[0].state) == len(optimizers[1].state) == 2


def test_state_survives_a_round_trip() -> None:
    torch.manual_seed(1)
    model, straight = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    straight.load_state_dict(model.state_dict())
    one, two = make_adam(model), make_adam(straight)
    stepped(straight, two, 5)
    stepped(model, one, 3)
    saved = {name: tensor.clone() for name, tensor in optimizer_tensors(one, model).items()}
    fresh = make_adam(model)
    restore_optimizer(fresh, model, saved)
    for number in (3, 4):
        model.zero_grad()
        (model(torch.arange(6.0).view(2, 3) + number) ** 2).sum().backward()
        fresh.param_groups[0]["lr"] = 0.01
        fresh.step()
    assert torch.equal(model.weight, straight.weight)


def test_foreign_state_is_refused() -> None:
    model = torch.nn.Linear(3, 2)
    with pytest.raises(CheckpointError, match="differ from this model"):
        restore_optimizer(make_adam(model), model, {"other.exp_avg": torch.zeros(1)})
