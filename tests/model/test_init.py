"""How weights start: Xavier's bounds, embeddings of size 1 after scaling."""

import math

import pytest
import torch

from regard.model.presets import PRESETS, preset
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


SEES = [name for name in PRESETS if name.startswith("vit-")]  # pictures, no tokens
SMALL = [n for n, sizes in PRESETS.items() if sizes.get("d_model", 512) < 512 and n not in SEES]


@pytest.mark.parametrize("name", SMALL)
def test_every_preset_begins_in_doubt(name: str) -> None:
    """Before the first step nothing is known: -log p is about ln V for any token, by any preset."""
    spec = preset(name, 900, max_length=32, dropout=0.0)
    model = Transformer(spec).eval()
    chance = torch.Generator().manual_seed(1)
    ids = torch.randint(900, (4, 32), generator=chance)
    both = spec.encoder_layers > 0 and spec.decoder_layers > 0
    with torch.no_grad():
        states = model.decode(ids, model.encode(ids)) if both else model.decode(ids)
        loss = torch.nn.functional.cross_entropy(
            model.token_logits(states)[:, :-1].flatten(0, 1), ids[:, 1:].flatten()
        )
    assert math.log(900) - 0.5 < float(loss) < math.log(900) + 2


@pytest.mark.parametrize("name", SEES)
def test_every_preset_of_pictures_begins_in_doubt(name: str) -> None:
    """-log p is about ln C for any class."""
    sizes = dict(image_size=16, patch_size=4, head="classes", classes=10, dropout=0.0)
    model = Transformer(preset(name, 0, **sizes)).eval()
    pixels = torch.randn(64, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        loss = -model.answer(model.see(pixels)).log_softmax(dim=-1).mean()
    assert math.log(10) - 0.1 < float(loss) < math.log(10) + 2


def test_where_words_are_small_sub_layers_add_little() -> None:
    """Of a decoder whose embedding is its output: Xavier's bound divided by the root of 2 N."""
    model = Transformer(preset("gpt-tiny", 900))
    assert model.decoder is not None and model.target_embedding is not None
    assert float(model.target_embedding.weight.detach().std()) == pytest.approx(128**-0.5, rel=0.02)
    layer = model.decoder.layers[0]
    for last, added in ((layer.attention.output, 128), (layer.feed_forward.outer, 512)):
        bound = math.sqrt(6 / (128 + added)) / math.sqrt(2 * 4)
        assert float(last.weight.detach().std()) == pytest.approx(bound / math.sqrt(3), rel=0.02)
    apart = Transformer(preset("gpt-tiny", 900, tie="none"))
    assert apart.target_embedding is not None
    assert float(apart.target_embedding.weight.detach().std()) == pytest.approx(1, rel=0.02)
