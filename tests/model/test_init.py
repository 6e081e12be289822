"""How weights start: Xavier's bounds, embeddings of size 1 after scaling."""

import math

import pytest
import torch

from regard.model.presets import preset
from regard.model.transformer import Transformer


def test_xavier_bounds_and_zero_biases() -> None:
    model = Transformer(preset("tiny", 900))
    assert model.encoder is not None
    inner = model.encoder.layers[0].feed_forward.inner
    bound = math.sqrt(6 / (128 + 256))
    assert float(inner.weight.detach().abs().max()) <= bound
    assert float(inner.weight.detach().std()) == pytest.approx(bound / math.sqrt(3), rel=0.02)
    assert not inner.bias.any()


def test_scaled_embeddings_have_size_one() -> None:
    model = Transformer(preset("tiny", 900))
    assert float((model.output.weight.detach() * math.sqrt(128)).std()) == pytest.approx(
        1, rel=0.02
    )


def test_every_weight_is_filled() -> None:
    spec = preset("tiny", 50, positions="learned", max_length=9, tie="none", norm_order="pre")
    model = Transformer(spec)
    assert all(torch.isfinite(p).all() for p in model.parameters())
    assert all(float(p.detach().abs().max()) < 5 for p in model.parameters())


def test_query_key_and_value_start_as_in_torchs_attention() -> None:
    """torch joins the three into one matrix of 3·D rows before it applies Xavier's bound."""
    torch.manual_seed(1)
    theirs = torch.nn.MultiheadAttention(128, 4).in_proj_weight.detach()
    model = Transformer(preset("tiny", 900))
    assert model.encoder is not None
    attention = model.encoder.layers[0].attention
    for mine in (attention.query, attention.key, attention.value):
        assert float(mine.weight.detach().std()) == pytest.approx(float(theirs.std()), rel=0.02)
    output = attention.output.weight.detach()
    assert float(output.std()) == pytest.approx(math.sqrt(2) * float(theirs.std()), rel=0.02)
