"""Order (001, 004): attention alone does not know it, "Nithish killed lion" or the reverse.

tests/model/test_transformer.py shows the same for the logits of the whole model.
"""

import itertools

import pytest
import torch

from regard.model.presets import preset
from regard.model.transformer import Transformer

WORDS = torch.tensor([[4, 5, 6]])  # Nithish killed lion


def encoder(order: str, with_positions: bool) -> Transformer:
    model = Transformer(preset("tiny", 9, encoder_layers=2, norm_order=order)).double().eval()
    if not with_positions:
        assert model.source_embedding is not None
        usual = model.source_embedding.positions.usual
        assert usual is not None
        usual.zero_()
    return model


PERMUTATIONS = [list(p) for p in itertools.permutations(range(3))][1:]


@pytest.mark.parametrize("order", ["post", "pre"])
@pytest.mark.parametrize("permutation", PERMUTATIONS, ids=str)
def test_without_positions_permuted_words_give_permuted_outputs(
    permutation: list[int], order: str
) -> None:
    # softmax(PXA(PX)ᵀ)PXB = P softmax(XAXᵀ)Pᵀ·PXB = P·softmax(XAXᵀ)XB for a permutation P, and all
    # else works on each word alone: each word keeps its vector, wherever it stands.
    model = encoder(order, with_positions=False)
    with torch.no_grad():
        straight, permuted = model.encode(WORDS), model.encode(WORDS[:, permutation])
    assert torch.allclose(permuted, straight[:, permutation], atol=1e-12)


@pytest.mark.parametrize("permutation", PERMUTATIONS, ids=str)
def test_with_positions_they_do_not(permutation: list[int]) -> None:
    model = encoder("post", with_positions=True)
    with torch.no_grad():
        straight, permuted = model.encode(WORDS), model.encode(WORDS[:, permutation])
    apart = (permuted - straight[:, permutation]).abs().amax(-1)[0]
    assert (apart > 0.05).all()  # every word's vector has changed
