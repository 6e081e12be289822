"""The quizzes of 003 and 004: each key that a model can confirm, in the order of the pages.

003: A B C · C (order: test_order.py) · A · D 512 (test_heads.py) · A (test_masks.py) · B
(test_cross_attention.py) · B.   004: B · C · B (test_order.py) · B (test_the_cat_sat.py) · B.
"""

import torch
from torch import nn

from regard.checkpoint.published import FAMILIES
from regard.model.attention import attention_scores, explicit_attention
from regard.model.masks import Mask
from regard.model.presets import preset
from regard.model.spec import Spec
from regard.model.trace import Trace
from regard.model.transformer import Transformer

SOURCE, TARGET = torch.tensor([[4, 5, 6, 7]]), torch.tensor([[1, 8, 9]])


def test_a_neural_network_whose_encoder_gives_a_representation_and_decoder_tokens() -> None:
    """003, 1: A, B and C are true."""
    model = Transformer(preset("tiny", 21)).eval()
    assert isinstance(model, nn.Module) and any(p.requires_grad for p in model.parameters())
    with torch.no_grad():
        memory = model.encode(SOURCE)
        assert memory.shape == (1, 4, 128)  # a vector for each word, no words
        logits = model.output(model.decode(TARGET, memory))
        assert logits.shape == (1, 3, 21)  # a score for each token of the vocabulary
        elsewhere = model.output(model.decode(TARGET, memory.flip(1) + 1))
    assert not torch.allclose(logits, elsewhere, atol=1e-2)  # based on the representation


def test_stages_are_not_always_one_block() -> None:
    """003, 1: D is false; the paper has six of each."""
    model = Transformer(Spec(vocabulary=5, d_model=8, heads=2, ffn_size=8))
    assert model.encoder is not None and model.decoder is not None
    assert len(model.encoder.layers) == len(model.decoder.layers) == 6
    weights = [layer.attention.query.weight for layer in model.encoder.layers]
    assert not torch.equal(weights[0], weights[1])  # each block has its own weights


def test_attention_focuses_on_what_matches_the_query() -> None:
    """003, 3 and 004, 1: the key that is most like the query gets the most weight."""
    keys, trace = 3 * torch.eye(5)[None, None], Trace()
    explicit_attention(keys[:, :, [3]], keys, keys, Mask(), trace=trace)
    assert int(trace["weights"][0, 0, 0].argmax()) == 3


def test_bert_is_encoder_only() -> None:
    """003, 7: and GPT the reverse; all three kinds are one class."""
    encoder = Transformer(preset("tiny", 21, decoder_layers=0)).eval()
    decoder = Transformer(preset("tiny", 21, encoder_layers=0)).eval()
    assert encoder.encoder is not None and encoder.decoder is None
    assert decoder.decoder is not None and decoder.encoder is None
    with torch.no_grad():  # the encoder reads in both directions, the decoder from the left
        changed = SOURCE.clone()
        changed[0, 3] = 20
        assert not torch.allclose(encoder.encode(SOURCE)[:, 0], encoder.encode(changed)[:, 0])
        assert torch.equal(decoder.decode(SOURCE)[:, 0], decoder.decode(changed)[:, 0])


def test_a_query_is_made_of_embedding_and_position() -> None:
    """004, 2: the same word at another place has another query."""
    model, trace = Transformer(preset("tiny", 21)).eval(), Trace()
    with torch.no_grad():
        model.encode(torch.tensor([[4, 4]]), trace=trace)
    q = trace["encoder.0.self.q"]
    assert torch.equal(trace["source.embedding"][0, 0], trace["source.embedding"][0, 1])
    assert not torch.allclose(q[:, :, 0], q[:, :, 1], atol=1e-2)


def test_similarity_is_a_scaled_dot_product_not_a_cosine() -> None:
    """004, 4: twice as long a key scores twice as much, though its cosine is the same."""
    q, k = torch.randn(2, 1, 9)
    assert torch.allclose(attention_scores(q, 2 * k), 2 * attention_scores(q, k))


def test_the_output_is_a_weighted_combination_of_values() -> None:
    """004, 5: with all values equal to v, whatever the weights, the output is v."""
    q, k = torch.randn(2, 1, 1, 6, 4)
    v = torch.tensor([1.0, -2, 3, 0]).expand(1, 1, 6, 4)
    assert torch.allclose(explicit_attention(q, k, v, Mask()), v, atol=1e-6)


def test_the_first_document_lists_four_models_and_each_is_a_family() -> None:
    """000: five are announced, four follow."""
    listed = ["bert", "gpt2", "vit", "t5"]
    assert len(listed) == 4
    assert not [name for name in listed if name not in FAMILIES]
