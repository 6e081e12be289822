"""The loop: accumulation equals one large batch, clipping, and what a step reports."""

from collections.abc import Iterator, Sequence

import pytest
import torch

from regard.data.batch import Batch, make_batch
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.text.special import Special
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel, MeanLoss
from regard.training.loop import Step, training_steps
from regard.training.losses import translation_loss
from regard.training.optimizer import make_adam
from regard.training.watch import SkipReason

PAIRS = [([5, 6, 7], [8, 9]), ([5], [9, 8, 7, 6]), ([9, 9, 9, 9], [5]), ([6, 5], [4, 4, 4])]


def run(groups: list[list[Batch]], clip: float = 0.0) -> tuple[list[Step], dict[str, torch.Tensor]]:
    model = Transformer(preset("tiny", 12, dropout=0.0), seed=3).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    workers = DataParallel(
        model, lambda model, batch: translation_loss(model, batch, 0.1), Compute(), seed=1
    )
    steps = training_steps(
        model,
        optimizer,
        iter(groups),
        workers.gradients,
        lambda step: 0.1 * step,
        clip,
    )
    return list(steps), {n: p.detach().clone() for n, p in model.named_parameters()}


def batch(pairs: list[tuple[list[int], list[int]]]) -> Batch:
    return make_batch(pairs, Special())


def test_accumulated_gradients_equal_those_of_the_union() -> None:
    whole, one = run([[batch(PAIRS)]])
    parts, two = run([[batch(PAIRS[:1]), batch(PAIRS[1:3]), batch(PAIRS[3:])]])
    assert whole[0].loss == pytest.approx(parts[0].loss, rel=1e-12)
    assert whole[0].gradient_norm == pytest.approx(parts[0].gradient_norm, rel=1e-10)
    assert all(torch.allclose(one[name], two[name], atol=1e-12) for name in one)


def test_rates_numbers_and_tokens() -> None:
    steps, _ = run([[batch(PAIRS)], [batch(PAIRS[:2])]])
    assert [step.number for step in steps] == [1, 2]
    assert [step.learning_rate for step in steps] == [0.1, 0.2]
    # source 3+1+4+2 and an end each; target 2+4+1+3 and an end each
    assert steps[0].tokens == 10 + 4 + 10 + 4
    assert steps[0].padding == pytest.approx(1 - 28 / (4 * 5 + 4 * 5))


def test_clipping_bounds_the_step() -> None:
    _, start = run([])
    free, far = run([[batch(PAIRS)]])
    _, near = run([[batch(PAIRS)]], clip=0.5)
    moved = sum(float(((near[n] - start[n]) ** 2).sum()) for n in start) ** 0.5
    assert free[0].gradient_norm > 1
    assert moved == pytest.approx(0.1 * 0.5, rel=1e-4)
    assert any(not torch.equal(far[n], near[n]) for n in far)


def test_a_step_that_is_objected_to_changes_no_weight() -> None:
    """A loss that is no number, by default; or what the caller finds wrong."""
    model = Transformer(preset("tiny", 12, dropout=0.0), seed=3)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    workers = DataParallel(
        model, lambda model, batch: translation_loss(model, batch, 0.1), Compute(), seed=1
    )

    def broken(step: int, group: Sequence[Batch]) -> MeanLoss:
        means = workers.gradients(step, group)
        return MeanLoss(float("nan"), float("nan")) if step == 1 else means

    def judge(loss: float, norm: float) -> SkipReason | None:
        return SkipReason("too loud", is_spike=True) if norm > 0 else None

    group = [batch(PAIRS)]
    optimizer = make_adam(model)
    (first,) = training_steps(model, optimizer, iter([group]), broken, lambda step: 0.1, 1.0)
    assert first.skip_reason is not None and first.skip_reason.reason == "the loss is nan"
    (second,) = training_steps(
        model, optimizer, iter([group]), broken, lambda step: 0.1, 1.0, 2, judge
    )
    assert second.number == 2 and second.skip_reason is not None and second.group is group
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())
    (third,) = training_steps(model, optimizer, iter([group]), broken, lambda step: 0.1, 1.0, 3)
    assert third.skip_reason is None
    assert any(not torch.equal(weight, before[name]) for name, weight in model.named_parameters())


def test_a_small_model_learns_to_copy() -> None:
    """The whole chain learns something that it did not know: loss falls far below chance."""
    model = Transformer(preset("tiny", 14, encoder_layers=1, decoder_layers=1, dropout=0.0))
    optimizer = make_adam(model)
    workers = DataParallel(
        model, lambda model, batch: translation_loss(model, batch, 0.0), Compute(), seed=1
    )

    def groups() -> Iterator[list[Batch]]:
        for _ in range(150):
            rows = torch.randint(4, 14, (32, 5)).tolist()
            yield [batch([(row, row) for row in rows])]

    steps = training_steps(
        model,
        optimizer,
        groups(),
        workers.gradients,
        lambda step: 2e-3 * min(1, step / 30),
        1.0,
    )
    losses = [step.plain_loss for step in steps]
    assert losses[0] > 2.0
    assert sum(losses[-20:]) / 20 < 0.25  # a mean: single batches jump
