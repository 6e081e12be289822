"""Cross-attention (001, 003): queries from the output, keys and values from the encoder's end."""

import pytest
import torch

from regard.model.presets import preset
from regard.model.trace import Trace
from regard.model.transformer import Transformer

SOURCE = torch.tensor([[4, 5, 6, 7, 2]])  # I like eating ice-cream </s>
TARGET = torch.tensor([[1, 8, 9]])  # <s> and two words


def make(order: str) -> Transformer:
    return Transformer(preset("tiny", 21, norm_order=order, decoder_layers=3)).double().eval()


@pytest.mark.parametrize("order", ["post", "pre"])
@pytest.mark.parametrize("length", [1, 3, 6])
def test_one_row_for_each_target_position(length: int, order: str) -> None:
    """Rows are target positions, columns source words, and so many outputs as target positions."""
    target = torch.arange(8, 8 + length)[None]
    trace = Trace()
    with torch.no_grad():
        make(order)(SOURCE, target, trace=trace)
    for layer in range(3):
        weights = trace[f"decoder.{layer}.cross.weights"]
        assert weights.shape == (1, 4, length, 5)
        assert torch.allclose(weights.sum(-1), torch.ones(1, 4, length, dtype=torch.float64))
        assert trace[f"decoder.{layer}.cross.output"].shape == (1, length, 128)


@pytest.mark.parametrize("order", ["post", "pre"])
@pytest.mark.parametrize("place", range(5))
def test_every_source_word_moves_the_first_prediction(place: int, order: str) -> None:
    """003 says that <SOS> looks at the word "I" only; in fact at the whole sentence."""
    model, other = make(order), SOURCE.clone()
    other[0, place] = 15
    trace = Trace()
    with torch.no_grad():
        first = model(SOURCE, TARGET[:, :1], trace=trace)
        moved = model(other, TARGET[:, :1])
    assert (trace["decoder.0.cross.weights"][0, :, 0] > 0).all()  # <s> looks at every word
    assert float((first - moved).abs().max()) > 1e-2


@pytest.mark.parametrize("order", ["post", "pre"])
def test_keys_and_values_of_every_decoder_layer_come_from_the_final_encoder_output(
    order: str,
) -> None:
    """K = memory W_K + b, V = memory W_V + b with each layer's own matrices, split into 4 heads."""
    model, trace = make(order), Trace()
    with torch.no_grad():
        model(SOURCE, TARGET, trace=trace)
        assert model.encoder is not None and model.decoder is not None
        memory = trace["encoder.3.ffn.norm"]  # what the last of the four layers gives …
        if order == "pre":
            memory = model.encoder.norm(memory)  # … and the stack's last norm, where there is one
        assert torch.allclose(memory, model.encode(SOURCE), atol=1e-12)
        for number, layer in enumerate(model.decoder.layers):
            for name, linear in (("k", layer.cross.key), ("v", layer.cross.value)):
                by_hand = memory @ linear.weight.T + linear.bias
                for head in range(4):
                    got = trace[f"decoder.{number}.cross.{name}"][:, head]
                    assert torch.allclose(got, by_hand[..., 32 * head : 32 * head + 32], atol=1e-12)


@pytest.mark.parametrize("order", ["post", "pre"])
def test_queries_come_from_the_decoder_and_keys_and_values_do_not(order: str) -> None:
    """The quiz of 003: another target moves Q of cross-attention, and neither K nor V."""
    model, one, two = make(order), Trace(), Trace()
    with torch.no_grad():
        model(SOURCE, TARGET, trace=one)
        model(SOURCE, TARGET + 5, trace=two)
    for layer in range(3):
        part = f"decoder.{layer}.cross"
        assert torch.equal(one[f"{part}.k"], two[f"{part}.k"])
        assert torch.equal(one[f"{part}.v"], two[f"{part}.v"])
        assert not torch.allclose(one[f"{part}.q"], two[f"{part}.q"], atol=1e-2)


@pytest.mark.parametrize("order", ["post", "pre"])
def test_self_attention_takes_all_three_from_the_layers_input(order: str) -> None:
    """Step 1 of 004: embedding + position goes three ways, to W_Q, W_K and W_V."""
    model, trace = make(order), Trace()
    with torch.no_grad():
        model.encode(SOURCE, trace=trace)
        assert model.encoder is not None
        layer, x = model.encoder.layers[0], trace["source.sum"]
        if order == "pre":
            x = layer.attention_norm.norm(x)
        parts = {"q": layer.attention.query, "k": layer.attention.key, "v": layer.attention.value}
        for name, linear in parts.items():
            by_hand = x @ linear.weight.T + linear.bias
            got = trace[f"encoder.0.self.{name}"].transpose(1, 2).flatten(2)
            assert torch.allclose(got, by_hand, atol=1e-12)
