"""Frozen weights: found by the beginnings of their names; no gradient, no moments, no change."""

from contextlib import closing

import pytest
import torch

from regard.data.batch import make_batch
from regard.errors import ConfigError
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.text.special import Special
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.freeze import check_names, freeze, frozen_share
from regard.training.loop import training_steps
from regard.training.losses import TranslationLoss
from regard.training.optimizer import make_adam, optimizer_tensors, restore_optimizer

SPEC = preset(
    "tiny", 40, d_model=16, heads=2, ffn_size=24, encoder_layers=2, decoder_layers=2, dropout=0.1
)


def frozen(*beginnings: str, tie: str = "all") -> set[str]:
    model = Transformer(preset("tiny", 40, d_model=16, heads=2, tie=tie))
    freeze(model, beginnings)
    return {name for name, weight in model.named_parameters() if not weight.requires_grad}


def test_names_are_matched_at_dots() -> None:
    names = {name for name, _ in Transformer(SPEC).named_parameters()}
    model = Transformer(SPEC)
    freeze(model, ["encoder", "decoder.layers.1"])
    got = {name for name, weight in model.named_parameters() if not weight.requires_grad}
    assert got == {n for n in names if n.startswith(("encoder.", "decoder.layers.1."))} and got


def test_a_tied_matrix_is_frozen_under_each_of_its_names() -> None:
    assert frozen("target_embedding") == frozen("output") == frozen("source_embedding")
    assert frozen("source_embedding", tie="none") == {"source_embedding.weight"}


@pytest.mark.parametrize(
    ("beginning", "hint"),
    [
        ("encodr", 'did you mean "encoder"'),
        ("encoder.layer", 'did you mean "encoder.layers"'),
        ("enc", "no weight's name begins with 'enc'"),
        ("xyz", "known: source_embedding, target_embedding, encoder, decoder"),
    ],
)
def test_a_typo_is_named_without_making_a_model(beginning: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=hint):
        check_names(SPEC, [beginning])


def test_something_must_be_left() -> None:
    with pytest.raises(ConfigError, match="every weight is frozen"):
        check_names(SPEC, ["encoder", "decoder", "source_embedding", "output"])


HALF = pytest.param(Compute("bf16"), marks=pytest.mark.needs("bf16"))


@pytest.mark.parametrize(
    "compute", [Compute(), Compute(workers=2), HALF, Compute(kernels="plain")], ids=str
)
def test_frozen_weights_do_not_change_by_a_bit(compute: Compute) -> None:
    model = Transformer(SPEC, seed=3)
    freeze(model, ["encoder", "source_embedding"])
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    optimizer = make_adam(model)
    batch = make_batch([([5, 6, 7], [8, 9]), ([9, 9], [7, 6, 5, 4])], Special())
    with closing(DataParallel(model, TranslationLoss(0.1), compute, seed=1)) as workers:
        groups = iter([[batch]] * 3)
        list(training_steps(model, optimizer, groups, workers.gradients, lambda step: 0.01, 1.0))
    still = {n for n, w in model.named_parameters() if torch.equal(w, before[n])}
    expected = {n for n in before if n.startswith(("encoder.", "source_embedding."))}
    expected |= {n for n in before if n.startswith("target_embedding.")}  # the same matrix
    assert still == expected
    state = optimizer_tensors(optimizer, model)
    assert {name.rsplit(".", 1)[0] for name in state} == set(before) - expected
    restore_optimizer(make_adam(model), model, state)  # and nothing is missed on resume


def test_what_is_frozen_is_told() -> None:
    model = torch.nn.Linear(1000, 1000)
    model.weight.requires_grad_(False)
    assert frozen_share(model) == "1.00 of 1.00 million parameters stay as they are"
