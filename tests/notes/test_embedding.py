"""From one-hot vectors to embeddings (000, 001): a product with a matrix is a look-up.

Also: an embedding is static, a word has one vector in all sentences; the encoder's output is not.
"""

import math

import pytest
import torch
from torch.nn import functional as F

from regard.model.embedding import Embedding
from regard.model.presets import preset
from regard.model.spec import Spec
from regard.model.trace import Trace
from regard.model.transformer import Transformer

SPEC = Spec(vocabulary=11, d_model=6, heads=2, dropout=0.0)


def vectors(embedding: Embedding, ids: torch.Tensor) -> torch.Tensor:
    trace = Trace()
    embedding(ids, trace=trace)
    return trace["embedding"]


def test_one_hot_times_e_is_the_row_of_e() -> None:
    # A row with a single 1 in place i picks row i of E: Σ_j [j = i]·E_j = E_i.
    embedding = Embedding(SPEC)
    torch.nn.init.normal_(embedding.weight)
    ids = torch.tensor([[4, 0, 10, 4]])
    one_hot = F.one_hot(ids, 11).float()
    with torch.no_grad():
        product = one_hot @ embedding.weight * math.sqrt(6)
        assert torch.equal(vectors(embedding, ids), product)


def test_mat_cat_rat_as_one_hot_vectors() -> None:
    # One-hot encoding is the embedding with E = I: mat (1,0,0), cat (0,1,0), rat (0,0,1), × √d.
    embedding = Embedding(Spec(vocabulary=4, d_model=4, heads=1))
    with torch.no_grad():
        embedding.weight.copy_(torch.eye(4))
    got = vectors(embedding, torch.tensor([[0, 1, 2]]))[0] / 2
    assert got.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]


def test_position_is_added_not_appended() -> None:
    # d_model stays 6; at position 0 the vector (0, 1, 0, 1, 0, 1) is added to √6 · E[id].
    embedding = Embedding(SPEC).eval()
    torch.nn.init.normal_(embedding.weight)
    with torch.no_grad():
        got = embedding(torch.tensor([[7]]))[0, 0]
        expected = math.sqrt(6) * embedding.weight[7] + torch.tensor([0.0, 1, 0, 1, 0, 1])
    assert got.shape == (6,) and torch.allclose(got, expected, atol=1e-6)


def test_bank_is_static_in_the_embedding_and_contextual_in_the_memory() -> None:
    """ "money bank grows" and "river bank flows": bank is the second word of both."""
    money, bank, grows, river, flows = range(4, 9)
    sentences = torch.tensor([[money, bank, grows], [river, bank, flows]])
    model, trace = Transformer(preset("tiny", 11)).eval(), Trace()
    with torch.no_grad():
        memory = model.encode(sentences, trace=trace)
    static = trace["source.embedding"][:, 1]
    assert torch.equal(static[0], static[1])
    assert not torch.allclose(memory[0, 1], memory[1, 1], atol=0.05)


@pytest.mark.parametrize("length", [1, 7])
def test_each_token_has_one_vector_of_d_model(length: int) -> None:
    """X is L × d_model (002)."""
    assert Embedding(SPEC)(torch.zeros(1, length, dtype=torch.long)).shape == (1, length, 6)
