"""The attention filter of 004 for "Hi, How are you?": a table of scores, ÷ √6, softmax by row.

The page divides by √6 and calls 6 the size of the key; it is the number of tokens. d_k is the size
of a head, and only by accident the number of words.
"""

import math

import pytest
import torch

from regard.model.attention import MultiHeadAttention, attention_scores, attention_weights
from regard.model.masks import Mask
from regard.model.spec import Spec
from regard.model.trace import Trace

FILTER = {
    "?": [39.0, 30, 73, 64, 12, 74],
    "you": [28.0, 27, 54, 41, 92, 12],
    "are": [52.0, 68, 12, 13, 40, 27],
    "How": [33.0, 25, 91, 36, 55, 45],
    ",": [20.0, 11, 15, 21, 29, 24],
    "Hi": [89.0, 12, 32, 45, 73, 34],
}

# √6 = 2.4495. Take the scores from the largest (softmax does not change), divide, exp, normalise:
# ?   74 - (39, 30, 73, 64, 12, 74) = (35, 44, 1, 10, 62, 0)
#     ÷ 2.4495 = (14.29, 17.96, .4082, 4.0825, 25.31, 0);  exp of minus that: .0000, .0000, .6648,
#     .0169, .0000, 1; sum 1.6817;  .6648/1.6817 = .3953, .0169/1.6817 = .0100, 1/1.6817 = .5946
# ,   29 - (20, 11, 15, 21, 29, 24) = (9, 18, 14, 8, 0, 5)
#     ÷ 2.4495 = (3.6742, 7.3485, 5.7155, 3.2660, 0, 2.0412);  exp: .02537, .00064, .00330, .03816,
#     1, .12987; sum 1.19734;  .0212, .0005, .0028, .0319, .8352, .1085
# Hi  89 - 73 = 16, ÷ 2.4495 = 6.532, exp .001456; 89 - 45 = 44 gives 1.6e-8, the rest less;
#     sum 1.001456;  1/1.001456 = .9985, .001456/1.001456 = .0015
ROWS = {
    "?": [0, 0, 0.3953, 0.0100, 0, 0.5946],
    ",": [0.0212, 0.0005, 0.0028, 0.0319, 0.8352, 0.1085],
    "Hi": [0.9985, 0, 0, 0, 0.0015, 0],
}


@pytest.mark.parametrize("word", ROWS)
def test_a_row_of_the_filter(word: str) -> None:
    """Queries that are rows of the filter, keys that are unit vectors: these are the products."""
    queries, keys = torch.tensor(list(FILTER.values())), torch.eye(6)
    weights = attention_weights(attention_scores(queries, keys), None)
    got = weights[list(FILTER).index(word)].tolist()
    assert got == pytest.approx(ROWS[word], abs=6e-5)


def test_the_divisor_is_the_head_size_whatever_the_number_of_words() -> None:
    # The same products from heads of 64: ÷ 8. "Hi" then keeps 1/(1 + e^-2 + e^-5.5 + e^-6.875 +
    # e^-7.125 + e^-9.625) = 1/(1 + .13534 + .00409 + .00103 + .00080 + .00007) = .8762
    queries, keys = torch.zeros(6, 64), torch.zeros(6, 64)
    queries[:, :6], keys[:, :6] = torch.tensor(list(FILTER.values())), torch.eye(6)
    scores = attention_scores(queries, keys)
    assert torch.allclose(scores * 8, torch.tensor(list(FILTER.values())))
    assert float(attention_weights(scores, None)[5, 0]) == pytest.approx(0.8762, abs=5e-5)


@pytest.mark.parametrize(("heads", "words"), [(8, 6), (8, 64), (1, 6), (16, 3)])
def test_d_k_is_the_size_of_a_head(heads: int, words: int) -> None:
    """d_model 512 and 8 heads: √64 = 8, not √512 = 22.6 (000, 001, 003) nor √6 = 2.4 (004)."""
    attention, trace = MultiHeadAttention(Spec(vocabulary=3, heads=heads)), Trace()
    with torch.no_grad():
        attention(torch.randn(1, words, 512), Mask(), trace=trace)
    product = trace["q"][0, -1, 0] @ trace["k"][0, -1, -1]
    divisor = product / trace["scores"][0, -1, 0, -1]
    assert float(divisor) == pytest.approx(math.sqrt(512 / heads), rel=1e-3)
