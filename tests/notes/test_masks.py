"""Masks (001, 002, 003): hidden words are dropped, the rest is renormalised; at inference too."""

import pytest
import torch
from torch import Tensor

from regard.model.attention import attention_weights
from regard.model.masks import Mask
from regard.model.presets import preset
from regard.model.trace import Trace
from regard.model.transformer import Transformer

CPU = torch.device("cpu")
DECODER = torch.tensor([[0.8, 0.1, 0.1], [0.15, 0.75, 0.1], [0.1, 0.2, 0.7]])


def masked(scores: Tensor, mask: Mask) -> Tensor:
    allowed = mask.allowed(scores.shape[0], scores.shape[1], CPU)
    assert allowed is not None
    return attention_weights(scores, allowed[0, 0])


def test_the_decoder_weights_of_the_notes_with_the_look_ahead_mask() -> None:
    # softmax(log w) = w where w sums to 1: the logarithms are scores that give the notes' weights.
    # Row 1 keeps the first word only: .8/.8 = 1.
    # Row 2 keeps two: .15/(.15 + .75) = 1/6 = .1667, .75/.9 = 5/6 = .8333.
    # Row 3 keeps all: .1, .2, .7.
    scores = DECODER.log()
    assert torch.allclose(attention_weights(scores, None), DECODER, atol=1e-6)
    got = masked(scores, Mask(causal=True))
    expected = torch.tensor([[1, 0, 0], [1 / 6, 5 / 6, 0], [0.1, 0.2, 0.7]])
    assert torch.allclose(got, expected, atol=1e-6)
    assert got.triu(1).count_nonzero() == 0  # exactly nothing, not almost


@pytest.mark.parametrize("seed", range(5))
def test_masked_is_dropped_and_renormalised(seed: int) -> None:
    # w_j = e^{s_j}/Σ e^{s_k}: without some keys, the others are divided by the sum of what is left.
    generator = torch.Generator().manual_seed(seed)
    scores = 3 * torch.randn(4, 7, generator=generator, dtype=torch.float64)
    real = torch.tensor([[True, False, True, True, False, True, False]])
    got = masked(scores, Mask(real=real))
    kept = real[0]
    alone = attention_weights(scores[:, kept], None)  # as if the other keys were not there
    assert torch.allclose(got[:, kept], alone, atol=1e-12)
    before = attention_weights(scores, None) * kept
    assert torch.allclose(got, before / before.sum(-1, keepdim=True), atol=1e-12)
    assert not got[:, ~kept].any()


def model() -> Transformer:
    return Transformer(preset("tiny", 31, encoder_layers=2, decoder_layers=2, dropout=0.0)).double()


SOURCE = torch.tensor([[5, 6, 7, 8]])
TARGET = torch.tensor([[1, 9, 10, 11, 12]])


@pytest.mark.parametrize("training", [True, False])
def test_no_word_sees_a_later_one_in_training_or_at_inference(training: bool) -> None:
    """000 speaks of masks as a matter of training; the model hides the future in both."""
    transformer = model().train(training)
    trace = Trace()
    with torch.no_grad():
        before = transformer(SOURCE, TARGET, trace=trace)
        for i in range(1, 5):
            other = TARGET.clone()
            other[0, i] = 20
            after = transformer(SOURCE, other)
            assert torch.allclose(before[:, :i], after[:, :i], atol=1e-12)
            assert not torch.allclose(before[:, i:], after[:, i:], atol=1e-3)
    for layer in range(2):
        assert not trace[f"decoder.{layer}.self.weights"].triu(1).any()
        assert (trace[f"encoder.{layer}.self.weights"] > 0).all()  # the encoder looks everywhere


def test_the_padding_mask_is_used_at_inference() -> None:
    """A short sentence in a batch with a long one gets the memory and the logits it has alone."""
    transformer = model().eval()
    batch = torch.tensor([[5, 6, 7, 8], [5, 6, 0, 0]])
    real = torch.tensor([[True, True, True, True], [True, True, False, False]])
    target = TARGET.expand(2, -1)
    with torch.no_grad():
        alone = transformer(SOURCE[:, :2], TARGET)
        assert torch.allclose(transformer(batch, target, real)[1:], alone, atol=1e-12)
        assert not torch.allclose(transformer(batch, target)[1:], alone, atol=1e-3)


def test_one_word_at_a_time_equals_all_at_once() -> None:
    """Why the mask makes parallel training honest: each step of decoding gives the same logits."""
    transformer = model().eval()
    with torch.no_grad():
        at_once = transformer(SOURCE, TARGET)
        memory = transformer.encode(SOURCE)
        for length in range(1, 6):
            prefix = transformer.output(transformer.decode(TARGET[:, :length], memory))
            assert torch.allclose(prefix[:, -1], at_once[:, length - 1], atol=1e-12)
