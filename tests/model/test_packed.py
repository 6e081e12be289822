"""Texts laid end to end give the vectors that each gives by itself on the plain path."""

import pytest
import torch

from regard.model.fast.int16 import is_offered
from regard.model.fast.packed import PackedEncoder, can_pack, precisions
from regard.model.spec import Spec
from regard.model.transformer import Transformer

SHAPE = {"vocabulary": 31, "d_model": 20, "encoder_layers": 3, "heads": 5, "ffn_size": 37}
SPECS = {
    "the paper's": {},
    "bert": {
        "positions": "learned",
        "max_length": 11,
        "segments": 2,
        "embedding_norm": True,
        "embedding_scale": False,
        "activation": "gelu",
    },
    "distilbert": {
        "positions": "learned",
        "max_length": 11,
        "embedding_norm": True,
        "activation": "gelu",
    },
    "norm first": {"norm_order": "pre", "head_size": 7, "positions": "halves"},
    "few biases": {"qkv_bias": False, "ffn_bias": False},
    "biases of q, k and v": {"o_bias": False, "ffn_bias": False},
    "no biases": {"attention_bias": False, "norm": "rms", "gated": True, "score_scale": False},
}
WIDE = {"vocabulary": 31, "d_model": 32, "encoder_layers": 3, "heads": 2, "ffn_size": 48}
LENGTHS = [11, 7, 7, 7, 2, 1, 1]


def model_of(name: str, shape: dict[str, int] = SHAPE) -> Transformer:
    spec = Spec(**shape, decoder_layers=0, head="none", **SPECS[name])  # type: ignore[arg-type]
    model = Transformer(spec).eval()
    with torch.no_grad():
        for weight in model.parameters():  # biases start at 0, norms at 1: they would hide a slip
            weight.add_(torch.randn_like(weight) * 0.3)
    return model


@pytest.mark.parametrize("name", SPECS)
def test_each_text_as_alone_on_the_plain_path(name: str) -> None:
    model = model_of(name)
    rows = [torch.randint(0, 31, (length,)) for length in LENGTHS]
    packed = PackedEncoder(model)(torch.cat(rows), LENGTHS)
    with torch.no_grad():
        alone = torch.cat([model.encode(row[None])[0] for row in rows])
    assert packed.shape == alone.shape
    assert (packed - alone).abs().max() < 2e-5 * alone.abs().max()


def test_neighbours_do_not_see_each_other() -> None:
    model = model_of("bert")
    encoder, text = PackedEncoder(model), torch.randint(0, 31, (7,))
    among = encoder(torch.cat((text, torch.randint(0, 31, (4,)), text)), [7, 4, 7])
    assert (among[:7] - among[-7:]).abs().max() < 1e-6


@pytest.mark.needs("bf16")
def test_bf16_is_close_and_other() -> None:
    model = model_of("bert")
    ids = torch.randint(0, 31, (sum(LENGTHS),))
    exact = PackedEncoder(model)(ids, LENGTHS)
    coarse = PackedEncoder(model, "bf16")(ids, LENGTHS)
    assert coarse.dtype == torch.float32
    off = (coarse - exact).norm(dim=-1) / exact.norm(dim=-1)
    assert off.mean() > 1e-5 and off.max() < 0.05  # bf16 keeps 8 bits: 0.4 % in each product


@pytest.mark.skipif(not is_offered(), reason="int16 needs AVX2 without AVX-512, and llvmlite")
@pytest.mark.parametrize("name", ["the paper's", "bert", "distilbert"])
def test_integers_are_close_and_other(name: str) -> None:
    model = model_of(name, WIDE)
    ids = torch.randint(0, 31, (sum(LENGTHS),))
    exact = PackedEncoder(model)(ids, LENGTHS)
    whole = PackedEncoder(model, "int16")(ids, LENGTHS)
    off = (whole - exact).norm(dim=-1) / exact.norm(dim=-1)
    assert off.mean() > 1e-7 and off.max() < 2e-3


def test_precisions_depend_on_sizes() -> None:
    assert precisions(Spec(**SHAPE, decoder_layers=0)) == ("fp32", "bf16")  # type: ignore[arg-type]
    assert ("int16" in precisions(Spec(**WIDE, decoder_layers=0))) == is_offered()  # type: ignore[arg-type]


def test_positions_that_attention_is_told_are_not_for_this_path() -> None:
    for positions in ("rotary", "relative"):
        assert not can_pack(Spec(**SHAPE, decoder_layers=0, positions=positions))  # type: ignore[arg-type]
    assert not can_pack(Spec(**SHAPE | {"encoder_layers": 0}, decoder_layers=2))  # type: ignore[arg-type]
    assert not can_pack(Spec(**SHAPE | {"heads": 4}, kv_heads=2, decoder_layers=0))  # type: ignore[arg-type]
