"""Where dropout is (002 says attention and FFN; the paper: each sub-layer's output, and the sum of
embedding and position). tests/model/test_add_and_norm.py shows it on the sub-layer."""

import pytest
import torch

from regard.model.attention import MultiHeadAttention
from regard.model.embedding import Embedding
from regard.model.feed_forward import FeedForward
from regard.model.masks import Mask
from regard.model.spec import Spec

SPEC = Spec(vocabulary=7, d_model=64, heads=4, ffn_size=128, dropout=0.1)


def test_on_the_sum_of_embedding_and_position() -> None:
    # 100·64 numbers, each dropped with .1: 640 ± √(6400·.1·.9) = 24; five deviations are allowed.
    embedding = Embedding(SPEC).train()
    with torch.no_grad():
        embedding.weight.fill_(1.0)
        dropped = embedding(torch.zeros(1, 100, dtype=torch.long))
        kept = embedding.eval()(torch.zeros(1, 100, dtype=torch.long))
    gone = dropped == 0
    assert int(gone.sum()) == pytest.approx(640, abs=120)
    # position included: what is kept is the whole sum, scaled by 1/(1 - .1)
    assert torch.allclose(dropped[~gone], kept[~gone] / 0.9, rtol=1e-4)


def test_not_on_attention_weights_nor_in_the_ffn_by_default() -> None:
    x = torch.randn(1, 5, 64)
    attention, ffn = MultiHeadAttention(SPEC).train(), FeedForward(SPEC).train()
    assert torch.equal(attention(x, Mask()), attention(x, Mask()))
    assert torch.equal(ffn(x), ffn(x))
