"""LoRA beside a hand-written pair of linear maps, and beside the model that it began with."""

import copy
from contextlib import closing

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from refusals import refused
from regard.data.batch import Batch, make_batch
from regard.errors import CheckpointError, ConfigError
from regard.model.kernels import plain_kernels
from regard.model.lora import Lora, LowRank, check_maps
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.text.special import Special
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.freeze import freeze
from regard.training.loop import training_steps
from regard.training.losses import TranslationLoss
from regard.training.optimizer import make_adam, optimizer_tensors

PAIRS = [([4, 5, 6, 7], [8, 9, 10]), ([11, 12], [13, 14, 15, 16]), ([5], [6, 7])]
MAPS = ["query", "value", "output", "inner", "outer", "key"]


def model(**changes: object) -> Transformer:
    small = dict(d_model=24, heads=2, ffn_size=40, encoder_layers=2, decoder_layers=1, dropout=0.0)
    return Transformer(preset("tiny", 30, **{**small, **changes}), seed=3).double()


def batch() -> Batch:
    return make_batch(PAIRS, Special())


def pairs_of(lora: Lora) -> dict[str, LowRank]:
    found = {key.replace("/", "."): pair for key, pair in lora.pairs.items()}
    assert all(isinstance(pair, LowRank) for pair in found.values())
    return found  # type: ignore[return-value]


class Pair(nn.Module):
    """x ↦ x Wᵀ + b + (α / r) · (x Aᵀ) Bᵀ, left to autograd: the other way to write LoRA."""

    def __init__(self, linear: nn.Module, pair: LowRank, scale: float) -> None:
        super().__init__()
        self.linear, self.scale = copy.deepcopy(linear), scale
        self.a, self.b = (nn.Parameter(p.detach().clone()) for p in (pair.a, pair.b))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        return y + self.scale * F.linear(F.linear(x, self.a), self.b)


def by_hand(of: Transformer, lora: Lora, scale: float) -> tuple[Transformer, dict[str, Pair]]:
    """The same model with each adapted map replaced by a pair."""
    other, pairs = copy.deepcopy(of), {}
    for name, pair in pairs_of(lora).items():
        parent, _, last = name.rpartition(".")
        module = other.get_submodule(parent)
        pairs[name] = Pair(module.get_submodule(last), pair, scale)
        setattr(module, last, pairs[name])
    return other, pairs


def plain_loss(of: Transformer) -> Tensor:
    """Mean over the target tokens, by torch's own cross-entropy."""
    one = batch()
    with plain_kernels(of):
        logits = of(one["source"], one["target_in"], one["source_real"])
    truth = one["target_out"][one["target_real"]]
    return F.cross_entropy(logits[one["target_real"]], truth, label_smoothing=0.1)


def logits(of: Transformer) -> Tensor:
    one = batch()
    with torch.no_grad():
        found: Tensor = of(one["source"], one["target_in"], one["source_real"])
    return found


@pytest.mark.parametrize("workers", [1, 2])
def test_gradients_and_weights_are_those_of_the_pair(workers: int) -> None:
    """Three steps of plain descent, all maps, fused projections; also with a second process."""
    mine = model()
    lora = Lora(mine, 3, 6.0, MAPS, seed=5)
    other, pairs = by_hand(mine, lora, scale=2.0)
    assert len(pairs) == 6 * 3 + 4  # three layers, and the decoder's cross-attention
    with closing(
        DataParallel(mine, TranslationLoss(0.1), Compute(workers=workers), 1, lora=lora)
    ) as workers:
        for _ in range(3):
            loss, expected = workers.gradients(1, [batch()]).smoothed, plain_loss(other)
            assert loss == pytest.approx(float(expected.detach()), rel=1e-9)
            expected.backward()
            for name, pair in pairs.items():
                ours = pairs_of(lora)[name]
                for got, wanted in ((ours.a, pair.a), (ours.b, pair.b)):
                    assert got.grad is not None and wanted.grad is not None
                    torch.testing.assert_close(got.grad, wanted.grad, rtol=1e-9, atol=1e-12)
                    got.data -= 0.5 * got.grad
                    wanted.data -= 0.5 * wanted.grad
                    wanted.grad = None
            lora.put()
            torch.testing.assert_close(logits(mine), logits(other), rtol=0, atol=1e-10)
    weights = dict(mine.named_parameters())
    for name, pair in pairs.items():
        start = dict(pair.linear.named_parameters())["weight"]
        merged = start + 2.0 * pair.b @ pair.a
        torch.testing.assert_close(weights[f"{name}.weight"], merged, rtol=0, atol=1e-12)
        assert not torch.allclose(merged, start, atol=1e-5)


def test_it_begins_as_the_model_and_moves_nothing_else() -> None:
    mine, began = model().float(), model().float()
    lora = Lora(mine, 2, 16.0, ["query", "value"])
    lora.put()
    loaded = dict(began.named_parameters())
    for name, weight in mine.named_parameters():
        assert weight.detach().numpy().tobytes() == loaded[name].detach().numpy().tobytes()
    adam = make_adam(lora, after=lora.put)
    with closing(DataParallel(mine, TranslationLoss(0.1), Compute(), 1, lora=lora)) as workers:
        groups = iter([[batch()]] * 4)
        list(training_steps(lora, adam, groups, workers.gradients, lambda step: 0.01, 1.0))
    moved = {n for n, w in mine.named_parameters() if not torch.equal(w, loaded[n])}
    maps = {f"{name}.weight" for name in pairs_of(lora)}
    assert moved == maps and all(name.split(".")[-2] in ("query", "value") for name in maps)
    for name, pair in pairs_of(lora).items():
        assert torch.equal(pair.start, loaded[f"{name}.weight"])
    state = optimizer_tensors(adam, lora)
    held = sum(t.numel() for n, t in state.items() if n.endswith(("exp_avg", "exp_avg_sq")))
    assert held == 2 * sum(2 * (w.shape[0] + w.shape[1]) for n, w in loaded.items() if n in maps)
    assert all(weight.grad is None for weight in mine.parameters())  # nothing is kept of G


def test_what_is_new_is_trained_whole_and_what_is_frozen_stays() -> None:
    mine = model(tie="none")
    freeze(mine, ["encoder.layers.0"])
    new = {"output.weight", "encoder.layers.1.attention.query.weight"}
    lora = Lora(mine, 2, 1.0, ["query"], new)
    assert set(pairs_of(lora)) == {
        "decoder.layers.0.attention.query", "decoder.layers.0.cross.query",
    }  # fmt: skip
    assert {key.replace("/", ".") for key in lora.whole} == new
    count = sum(w.numel() for w in mine.parameters())
    pairs, whole = 2 * 2 * (24 + 24), 30 * 24 + 24 * 24
    assert lora.sentence().startswith(f"{pairs + whole:,} of {count:,} parameters are trained (")
    assert lora.sentence().endswith(f"{pairs} of A and B beside 2 maps, {whole:,} of what is new")


def test_a_head_is_trained() -> None:
    changes = dict(decoder_layers=0, head="classes", classes=3, pool="tanh")
    lora = Lora(model(**changes), 2, 1.0, ["value"])
    assert set(lora.whole) == {"classifier/map/weight", "classifier/map/bias"}


def test_state_goes_round_by_names() -> None:
    one = Lora(model(), 2, 1.0, ["key"], seed=1)
    with torch.no_grad():
        for parameter in one.parameters():
            parameter += 1
    two = Lora(model(), 2, 1.0, ["key"], seed=2)
    rest = two.restore({**one.tensors(), "x.exp_avg": torch.zeros(1)})
    assert list(rest) == ["x.exp_avg"]
    for name, pair in pairs_of(two).items():
        assert torch.equal(pair(), pairs_of(one)[name]())
    with pytest.raises(CheckpointError, match="holds 4 maps, by this recipe's .* there are 8, or"):
        Lora(model(), 2, 1.0, ["key", "value"]).restore(one.tensors())
    with pytest.raises(CheckpointError, match="or of another rank"):
        Lora(model(), 3, 1.0, ["key"]).restore(one.tensors())


def test_what_cannot_be_adapted_is_refused() -> None:
    spec = model().spec
    with pytest.raises(ConfigError, match="no map 'gate'; known: inner"):
        check_maps(spec, 2, ["inner", "gate"])
    check_maps(preset("tiny", 30, gated=True), 2, ["gate"])
    with refused(ConfigError, subject="lora.rank", got=24, expected="less than 24, the smaller"):
        check_maps(spec, 24, ["query"])
    frozen = model()
    freeze(frozen, ["encoder", "decoder"])
    with refused(ConfigError, subject="lora.maps", problem="all of them are frozen"):
        Lora(frozen, 2, 1.0, ["query"])
