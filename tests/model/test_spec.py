"""Specs refuse what cannot be, and the parameter formula agrees with the modules."""

import pytest

from refusals import refused
from regard.errors import ConfigError
from regard.model.presets import PRESETS, preset
from regard.model.spec import Spec, parameter_count
from regard.model.transformer import Transformer


def modules_count(spec: Spec) -> int:
    return sum(p.numel() for p in Transformer(spec).parameters())


@pytest.mark.parametrize("name", [n for n in PRESETS if n not in ("big", "paper-C-d1024")])
def test_each_preset_has_the_parameters_of_the_formula(name: str) -> None:
    spec = preset(name, vocabulary=331)
    assert modules_count(spec) == parameter_count(spec)


@pytest.mark.parametrize(
    "changes",
    [
        {"tie": "none"},
        {"tie": "target"},
        {"norm_order": "pre"},
        {"positions": "learned", "max_length": 13},
        {"kv_heads": 2},
        {"head_size": 7},
        {"encoder_layers": 0},
        {"decoder_layers": 0, "norm_order": "pre"},
    ],
)
def test_each_variation_has_the_parameters_of_the_formula(changes: dict[str, object]) -> None:
    spec = preset("tiny", vocabulary=53, **changes)
    assert modules_count(spec) == parameter_count(spec)


def test_parameters_of_the_papers_rows() -> None:
    """Counted by the authors of our notes apart from this code, with a vocabulary of 37,000."""
    expected = {
        "base": 63.08,
        "paper-C-N2": 33.66,
        "paper-C-N4": 48.37,
        "paper-C-N8": 77.80,
        "paper-C-d256": 26.83,
        "paper-C-d1024": 163.89,
        "paper-C-ff1024": 50.49,
        "paper-C-ff4096": 88.27,
        "big": 214.25,
    }
    got = {name: parameter_count(preset(name, 37_000)) / 1e6 for name in expected}
    assert got == pytest.approx(expected, abs=0.005)


def test_heads_alone_do_not_change_the_size() -> None:
    rows = ["base", "paper-A-h1", "paper-A-h4", "paper-A-h16", "paper-A-h32"]
    assert len({parameter_count(preset(row, 1000)) for row in rows}) == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"heads": 10}, "10 heads do not divide d_model 512"),
        ({"heads": 8, "kv_heads": 3}, "3 do not divide 8 heads"),
        ({"encoder_layers": 0, "decoder_layers": 0}, "there is no model"),
        ({"dropout": 1.0}, "expected 0 ≤ rate < 1"),
        ({"d_model": 513, "heads": 1}, "must be even"),
        ({"vocabulary": 10**9}, "vocabulary: got 1000000000"),
    ],
)
def test_impossible_specs_are_refused(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Spec(**{"vocabulary": 10, **wrong})


def test_unknown_preset_names_the_nearest() -> None:
    with refused(ConfigError, advice='did you mean "small"'):
        preset("smal", 10)
