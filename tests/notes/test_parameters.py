"""Sizes of the paper's base model (001, 002, 003): counted in the modules and by the formula."""

from torch import nn

from regard.model.attention import MultiHeadAttention
from regard.model.feed_forward import FeedForward
from regard.model.output import Output
from regard.model.spec import Spec, parameter_count


def count(module: nn.Module, biases: bool = True) -> int:
    return sum(p.numel() for name, p in module.named_parameters() if biases or "bias" not in name)


def test_the_feed_forward_network() -> None:
    # W_1 512·2048 = 1,048,576 and b_1 2,048;  W_2 2048·512 = 1,048,576 and b_2 512:  2,099,712
    assert count(FeedForward(Spec(vocabulary=3))) == 2_099_712


def test_multi_head_attention_without_biases() -> None:
    # W_Q, W_K, W_V: each 8 heads of 512·64, together 512·512 = 262,144; W_O 512·512: 4·262,144
    assert count(MultiHeadAttention(Spec(vocabulary=3)), biases=False) == 1_048_576


def test_an_output_layer_of_ten_thousand_words() -> None:
    # One neuron a word, each with 512 weights: 10,000·512
    assert count(Output(Spec(vocabulary=10_000))) == 5_120_000


def test_the_formula_agrees() -> None:
    # One encoder layer: attention and its 4·512 biases, FFN, two norms of γ and β, one word of 512.
    one = parameter_count(Spec(vocabulary=1, encoder_layers=1, decoder_layers=0))
    assert one == (1_048_576 + 2_048) + 2_099_712 + 2 * 1_024 + 512
    ten_thousand = parameter_count(Spec(vocabulary=10_000)) - parameter_count(Spec(vocabulary=1))
    assert ten_thousand == 5_120_000 - 512


def test_the_defaults_are_the_papers() -> None:
    """002's list: N 6, d_model 512, h 8, so d_k = d_v = 512/8 = 64, d_ff 2048, dropout 0.1."""
    spec = Spec(vocabulary=3)
    assert (spec.encoder_layers, spec.decoder_layers, spec.heads) == (6, 6, 8)
    assert (spec.d_model, spec.k, spec.ffn_size, spec.dropout) == (512, 64, 2048, 0.1)
