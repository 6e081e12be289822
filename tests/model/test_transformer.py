"""The whole model: masks, ties, variants, against torch's own Transformer, and trace = plain."""

import pytest
import torch

from regard.model.presets import preset
from regard.model.spec import Spec
from regard.model.trace import Trace
from regard.model.transformer import Transformer

V = 31
SOURCE = torch.randint(4, V, (3, 7), generator=torch.Generator().manual_seed(1))
TARGET = torch.randint(4, V, (3, 5), generator=torch.Generator().manual_seed(2))


def make(dtype: torch.dtype = torch.float32, **changes: object) -> Transformer:
    return Transformer(preset("tiny", V, **changes)).to(dtype).eval()


VARIANTS = [
    {},
    {"norm_order": "pre"},
    {"positions": "learned", "max_length": 40},
    {"activation": "gelu"},
    {"kv_heads": 2},
    {"head_size": 24},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_the_future_moves_the_past_by_exactly_nothing(changes: dict[str, object]) -> None:
    model = make(**changes)
    other = TARGET.clone()
    other[:, 3:] = (other[:, 3:] + 5) % V
    with torch.no_grad():
        before, after = model(SOURCE, TARGET), model(SOURCE, other)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.equal(before[:, 3:], after[:, 3:])


@pytest.mark.parametrize(("dtype", "limit"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_padding_moves_real_outputs_by_nothing_worth_naming(
    changes: dict[str, object], dtype: torch.dtype, limit: float
) -> None:
    model = make(dtype, **changes)
    padded_source = torch.cat([SOURCE, torch.randint(0, V, (3, 6))], dim=1)
    padded_target = torch.cat([TARGET, torch.randint(0, V, (3, 4))], dim=1)
    real = torch.arange(13)[None].expand(3, -1) < 7
    with torch.no_grad():
        plain, padded = model(SOURCE, TARGET), model(padded_source, padded_target, real)
    assert float((plain - padded[:, :5]).abs().max()) <= limit


def test_a_padding_mask_is_needed() -> None:
    """The test above could not fail if padding had no effect anyway."""
    model = make()
    padded = torch.cat([SOURCE, torch.randint(0, V, (3, 6))], dim=1)
    with torch.no_grad():
        assert float((model(SOURCE, TARGET) - model(padded, TARGET)).abs().max()) > 1e-2


def test_order_matters_and_without_positions_it_would_not() -> None:
    model = make(torch.float64)
    swapped = SOURCE[:, [1, 0, 2, 3, 4, 5, 6]]
    with torch.no_grad():
        assert not torch.allclose(model(SOURCE, TARGET), model(swapped, TARGET))
        assert model.source_embedding is not None
        model.source_embedding.positions.usual.zero_()
        assert torch.allclose(model(SOURCE, TARGET), model(swapped, TARGET), atol=1e-12)


def test_embedding_is_scaled_by_the_root_of_d_model() -> None:
    model, trace = make(), Trace()
    with torch.no_grad():
        model(SOURCE, TARGET, trace=trace)
    rows = model.output.weight[SOURCE]
    assert torch.allclose(trace["source.embedding"], rows * 128**0.5)
    assert torch.allclose(
        trace["source.sum"], trace["source.embedding"] + trace["source.position"], atol=1e-6
    )


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_traced_pass_equals_plain_pass(changes: dict[str, object]) -> None:
    model, trace = make(torch.float64, **changes), Trace()
    with torch.no_grad():
        plain, traced = model(SOURCE, TARGET), model(SOURCE, TARGET, trace=trace)
    assert torch.allclose(plain, traced, atol=1e-12)
    assert torch.equal(trace["logits"], traced)
    for name in ("encoder.3.self", "decoder.0.self", "decoder.3.cross"):
        sums = trace[f"{name}.weights"].sum(-1)
        assert torch.allclose(sums, torch.ones_like(sums))
    assert trace["decoder.2.cross.weights"].shape == (3, 4, 5, 7)


@pytest.mark.parametrize(("tie", "distinct"), [("all", 1), ("target", 2), ("none", 3)])
def test_ties(tie: str, distinct: int) -> None:
    model = make(tie=tie)
    assert model.source_embedding is not None and model.target_embedding is not None
    shared = {
        w.data_ptr()
        for w in (model.source_embedding.weight, model.target_embedding.weight, model.output.weight)
    }
    assert len(shared) == distinct


def copy_stack(ours: torch.nn.Module, theirs: torch.nn.Module, cross: bool) -> None:
    for mine, other in zip(ours.layers, theirs.layers, strict=True):
        pairs = [(mine.attention, other.self_attn)]
        norms = [mine.attention_norm, mine.feed_forward_norm]
        if cross:
            pairs.append((mine.cross, other.multihead_attn))
            norms.insert(1, mine.cross_norm)
        for attention, target in pairs:
            parts = (attention.query, attention.key, attention.value)
            target.in_proj_weight.copy_(torch.cat([p.weight for p in parts]))
            target.in_proj_bias.copy_(torch.cat([p.bias for p in parts]))
            target.out_proj.load_state_dict(attention.output.state_dict())
        other.linear1.load_state_dict(mine.feed_forward.inner.state_dict())
        other.linear2.load_state_dict(mine.feed_forward.outer.state_dict())
        for number, norm in enumerate(norms, start=1):
            vars(other)["_modules"][f"norm{number}"].load_state_dict(norm.norm.state_dict())


@pytest.mark.parametrize("order", ["post", "pre"])
def test_equals_torch_nn_transformer_on_the_same_weights(order: str) -> None:
    """Written by others: same stacks, same masks, same output to the last digits."""
    spec = Spec(V, d_model=24, encoder_layers=2, decoder_layers=3, heads=3, ffn_size=17)
    spec = Spec(**{**vars(spec), "norm_order": order})
    ours = Transformer(spec).double().eval()
    theirs = torch.nn.Transformer(
        24, 3, 2, 3, 17, norm_first=order == "pre", batch_first=True, dtype=torch.float64
    ).eval()
    with torch.no_grad():
        for parameter in ours.parameters():  # biases and norms too must differ from their start
            parameter.add_(0.1 * torch.randn_like(parameter))
        assert ours.encoder is not None and ours.decoder is not None
        copy_stack(ours.encoder, theirs.encoder, cross=False)
        copy_stack(ours.decoder, theirs.decoder, cross=True)
        if order == "pre":
            theirs.encoder.norm.load_state_dict(ours.encoder.norm.state_dict())
            theirs.decoder.norm.load_state_dict(ours.decoder.norm.state_dict())
        else:
            theirs.encoder.norm = theirs.decoder.norm = None
        real = torch.arange(7)[None] < torch.tensor([[7], [4], [1]])
        memory = ours.encode(SOURCE, real)
        assert ours.source_embedding is not None and ours.target_embedding is not None
        x = ours.source_embedding(SOURCE)
        expected = theirs.encoder(x, src_key_padding_mask=~real)
        assert torch.allclose(memory[real], expected[real], atol=1e-12)
        hidden = theirs.decoder(
            ours.target_embedding(TARGET),
            memory,
            tgt_mask=torch.ones(5, 5, dtype=torch.bool).triu(1),
            memory_key_padding_mask=~real,
        )
        assert torch.allclose(ours.decode(TARGET, memory, real), hidden, atol=1e-12)


def test_encoder_only_and_decoder_only() -> None:
    encoder = make(decoder_layers=0)
    assert encoder.decoder is None and encoder.encode(SOURCE).shape == (3, 7, 128)
    decoder = make(encoder_layers=0)
    assert decoder.encoder is None and decoder.decode(TARGET).shape == (3, 5, 128)
    assert decoder.decoder is not None and decoder.decoder.layers[0].cross is None


def test_the_same_seed_gives_the_same_weights() -> None:
    spec = preset("tiny", V)
    one, two, other = (dict(Transformer(spec, seed=s).named_parameters()) for s in (5, 5, 6))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["source_embedding.weight"], other["source_embedding.weight"])
