"""T5 1.0 and 1.1 against the `transformers` library: logits, every layer, generation, both ways."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers.models.t5.modeling_t5 import T5Attention

import parity.twins as twins
from decode.searching import search_rows
from regard.checkpoint.families.t5 import T5
from regard.checkpoint.published import load_published, save_published
from regard.decode.options import DecodingOptions
from regard.errors import CheckpointError, ConfigError
from regard.model.relative import buckets
from regard.model.spec import parameter_count
from regard.model.trace import Trace
from regard.model.transformer import Transformer

# d_kv is free of d_model / num_heads, the stacks are of different depth, and the texts below are
# longer than the farthest distance of the first two shapes.
SHAPES: dict[str, dict[str, Any]] = {
    "one": dict(
        d_model=23,
        d_kv=5,
        d_ff=37,
        num_heads=3,
        num_layers=2,
        num_decoder_layers=3,
        relative_attention_num_buckets=7,
        relative_attention_max_distance=11,
    ),
    "two": dict(
        d_model=19,
        d_kv=11,
        d_ff=31,
        num_heads=2,
        num_layers=3,
        num_decoder_layers=2,
        relative_attention_num_buckets=10,
        relative_attention_max_distance=17,
        layer_norm_epsilon=1e-3,
    ),
    "three": dict(d_model=29, d_kv=3, d_ff=13, num_heads=5, num_layers=2, num_decoder_layers=5),
}
# release → its config; 1.1 says "not tied" and means "not scaled"
RELEASES: dict[str, dict[str, Any]] = {
    "1.0": dict(feed_forward_proj="relu"),
    "1.1": dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False),
}
VOCABULARY = 101
SOURCE, TARGET = (23, 13, 1), (19, 2, 7)

STACKS = ("encoder", "decoder")

each_release = pytest.mark.parametrize("release", RELEASES)
each_shape = pytest.mark.parametrize("shape", SHAPES)
each_head = pytest.mark.parametrize("tied", [True, False])


def twin(release: str, shape: str, tied: bool) -> transformers.T5ForConditionalGeneration:
    """A twin whose head is its own where it is not tied: the library would tie it silently."""
    config = transformers.T5Config(
        vocab_size=VOCABULARY, decoder_start_token_id=0, **SHAPES[shape], **RELEASES[release]
    )
    model = transformers.T5ForConditionalGeneration(config)
    if not tied:
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.shared.weight))
    assert tied == (model.lm_head.weight is model.shared.weight)
    return model


def both(folder: Path, release: str, shape: str, tied: bool) -> tuple[Any, Transformer]:
    """The twin and what we load of it; whether the file has a head is what `tied` says."""
    theirs = twin(release, shape, tied)
    twins.save_twin(theirs, folder)
    assert ("lm_head.weight" in load_file(folder / "model.safetensors")) is not tied
    return theirs, load_published(folder)


def texts() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Source and target, each padded on the right, with their masks."""
    source, source_real = twins.ids_and_mask(VOCABULARY, SOURCE)
    target, target_real = twins.ids_and_mask(VOCABULARY, TARGET)
    target = target.roll(1, dims=0).roll(1, dims=1)  # not what the source says
    target[:, 0] = 0  # a decoder starts from pad
    return source, source_real, target, target_real


def change(folder: Path, remove: str = "", **keys: Any) -> None:
    """Rewrite keys of the folder's config."""
    path = folder / "config.json"
    values = json.loads(path.read_text()) | keys
    values.pop(remove, None)
    path.write_text(json.dumps(values))


@each_release
@each_shape
@each_head
@torch.no_grad()
def test_logits_and_layers(release: str, shape: str, tied: bool, tmp_path: Path) -> None:
    theirs, ours = both(tmp_path, release, shape, tied)
    source, source_real, target, target_real = texts()
    expected = theirs(
        source,
        attention_mask=source_real,
        decoder_input_ids=target,
        decoder_attention_mask=target_real,
        output_hidden_states=True,
    )
    trace = Trace()
    memory = ours.encode(source, source_real, trace)
    hidden = ours.decode(target, memory, source_real, trace=trace, real=target_real)
    assert twins.closest(ours.token_logits(hidden), expected.logits, target_real) < 1e-5
    for stack, states, real in (
        ("encoder", expected.encoder_hidden_states, source_real),
        ("decoder", expected.decoder_hidden_states, target_real),
    ):
        *layers, last = states[1:]
        for n, state in enumerate(layers):
            assert twins.closest(trace[f"{stack}.{n}.ffn.norm"], state, real) < 1e-5
        assert twins.closest(trace[f"{stack}.output"], last, real) < 1e-5
    assert parameter_count(ours.spec) == sum(p.numel() for p in theirs.parameters())
    assert len(expected.encoder_hidden_states) == ours.spec.encoder_layers + 1
    assert len(expected.decoder_hidden_states) == ours.spec.decoder_layers + 1


@each_release
@each_shape
@torch.no_grad()
def test_explicit_path_is_fused_path(release: str, shape: str, tmp_path: Path) -> None:
    _, ours = both(tmp_path, release, shape, tied=True)
    source, source_real, target, target_real = texts()
    explicit = ours(source, target, source_real, Trace())
    fused = ours(source, target, source_real)
    assert twins.closest(explicit, fused, target_real) < 1e-5


@each_release
@each_shape
@torch.no_grad()
def test_cached_decoding_is_full_decoding(release: str, shape: str, tmp_path: Path) -> None:
    _, ours = both(tmp_path, release, shape, tied=True)
    source, source_real, target, target_real = texts()
    memory = ours.encode(source, source_real)
    full = ours.decode(target, memory, source_real)
    cache = ours.new_cache()
    pieces = [  # one by one, then several at once
        ours.decode(piece, memory, source_real, cache)
        for piece in (target[:, :1], target[:, 1:2], target[:, 2:9], target[:, 9:])
    ]
    assert twins.closest(torch.cat(pieces, dim=1), full, target_real) < 1e-5


@each_release
@each_shape
def test_greedy_generation(release: str, shape: str, tmp_path: Path) -> None:
    theirs = twin(release, shape, tied=release == "1.0")  # as they were published
    source, real, _, _ = texts()
    # Their cache has room for as many layers as the encoder has: without it.
    settings = dict(max_new_tokens=20, do_sample=False, num_beams=1, use_cache=False)
    said = lively(theirs, lambda: theirs.generate(source, attention_mask=real.long(), **settings))
    theirs.save_pretrained(tmp_path)
    ours = load_published(tmp_path)
    for eos in (VOCABULARY - 1, int(said[0, 8])):  # one may never come, the other does
        expected = theirs.generate(
            source, attention_mask=real.long(), eos_token_id=eos, pad_token_id=0, **settings
        )
        search = DecodingOptions(beam=1, max_length=20)
        found = search_rows(ours, source, real, start=0, end=eos, search=search)
        for row, (hypothesis,) in zip(expected[:, 1:].tolist(), found, strict=True):
            assert list(hypothesis.ids) == (row[: row.index(eos)] if eos in row else row)
    assert found[0][0].finished


@torch.no_grad()
def lively(model: torch.nn.Module, generate: Callable[[], Tensor]) -> Tensor:
    """Draw the twin until it says five different words to each text, and not the same to all.

    Most drawings say one word for ever. Strong layers after a weak embedding help: else a token's
    own row answers it.
    """
    for seed in range(40):
        twins.redraw(model, seed)
        for name, parameter in model.eval().named_parameters():
            if "relative" in name:
                parameter *= 3
            elif name == "shared.weight" or "EncDec" in name:
                parameter *= 0.3
            elif name != "lm_head.weight":
                parameter *= 2
        said = generate()
        rows = [row[1:] for row in said.tolist()]
        if min(len(set(row)) for row in rows) >= 5 and rows[0] != rows[1] != rows[2]:
            return said
    raise AssertionError("no drawing says anything")


@pytest.mark.parametrize("scaled", [True, False])
@each_release
@each_head
@each_shape
@torch.no_grad()
def test_there_and_back(release: str, shape: str, tied: bool, scaled: bool, tmp_path: Path) -> None:
    theirs = twin(release, shape, tied)
    theirs.config.scale_decoder_outputs = scaled
    ours = load_published(twins.save_twin(theirs, tmp_path / "a"))
    assert ours.spec.output_scale is scaled
    save_published(ours, T5, tmp_path / "b")
    again = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path / "b").eval()
    theirs_again = dict(again.named_parameters(remove_duplicate=False))
    for name, parameter in theirs.named_parameters(remove_duplicate=False):
        assert torch.equal(parameter, theirs_again[name]), name
    once_more = load_published(tmp_path / "b")
    assert once_more.spec == ours.spec
    for name, parameter in ours.named_parameters():
        assert torch.equal(parameter, dict(once_more.named_parameters())[name]), name
    source, source_real, target, target_real = texts()
    expected = again(source, attention_mask=source_real, decoder_input_ids=target).logits
    assert twins.closest(ours(source, target, source_real), expected, target_real) < 1e-5


@pytest.mark.parametrize(("said", "scaled"), [(True, True), (False, False), (None, True)])
@torch.no_grad()
def test_older_files_say_scaling_by_the_key_of_tying(
    said: bool | None, scaled: bool, tmp_path: Path
) -> None:
    twins.save_twin(twin("1.0", "one", tied=False), tmp_path)
    change(tmp_path, remove="scale_decoder_outputs", tie_word_embeddings=said)
    theirs = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path).eval()
    ours = load_published(tmp_path)
    assert ours.spec.output_scale is scaled
    source, source_real, target, target_real = texts()
    expected = theirs(source, attention_mask=source_real, decoder_input_ids=target).logits
    assert twins.closest(ours(source, target, source_real), expected, target_real) < 1e-5


def test_missing_decoder_layers_are_as_many_as_the_encoder_has(tmp_path: Path) -> None:
    config = transformers.T5Config(vocab_size=11, d_model=6, d_kv=2, d_ff=5, num_layers=2)
    twins.save_twin(transformers.T5ForConditionalGeneration(config), tmp_path)
    change(tmp_path, remove="num_decoder_layers")
    assert load_published(tmp_path).spec.decoder_layers == 2


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        (dict(attention_window=5), "attention_window = 5"),
        (dict(feed_forward_proj="gated-relu"), "feed_forward_proj: got 'gated-relu'"),
        (dict(dense_act_fn="gelu"), "dense_act_fn: got 'gelu'"),
        (dict(is_gated_act=True), "is_gated_act: got True"),
        (dict(is_decoder=True), "is_decoder: got True"),
        (dict(is_encoder_decoder=False), "is_encoder_decoder: got False"),
        (dict(scale_decoder_outputs="no"), "scale_decoder_outputs: got 'no'"),
        (dict(num_decoder_layers=0), "num_decoder_layers 0"),
        (dict(num_layers=3), "encoder.block.2.layer.0.SelfAttention.q.weight' is missing"),
        (dict(d_kv=7), "has shape (15, 23), the config asks for (21, 23)"),
        (dict(relative_attention_num_buckets=3), "relative_buckets: got 3"),
        (dict(relative_attention_max_distance=3), "distances up to 3"),
    ],
)
def test_configs_that_are_refused_by_name(keys: dict[str, Any], named: str, tmp_path: Path) -> None:
    twins.save_twin(twin("1.0", "one", tied=True), tmp_path)
    change(tmp_path, **keys)
    with pytest.raises((CheckpointError, ConfigError)) as refused:
        load_published(tmp_path)
    assert named in str(refused.value)


def test_leftovers_of_published_files(tmp_path: Path) -> None:
    """Copies of the embedding are dropped if they are copies; any other tensor is refused."""
    twins.save_twin(twin("1.1", "one", tied=False), tmp_path)
    change(tmp_path, n_positions=512, output_past=True)
    path = tmp_path / "model.safetensors"
    tensors = load_file(path)
    plain = load_published(tmp_path)
    bias = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    more = {f"{stack}.embed_tokens.weight": tensors["shared.weight"].clone() for stack in STACKS}
    save_file(tensors | more | {bias: torch.ones(7, 3)}, path)
    for name, parameter in load_published(tmp_path).named_parameters():
        assert torch.equal(parameter, dict(plain.named_parameters())[name]), name
    for name in more:
        save_file(tensors | more | {name: tensors["shared.weight"] + 1}, path)
        with pytest.raises(CheckpointError, match=f"{name} differs from shared.weight"):
            load_published(tmp_path)
    save_file(tensors | {"decoder.block.1.layer.0.SelfAttention.q.bias": torch.ones(15)}, path)
    with pytest.raises(CheckpointError, match="belong to no part"):
        load_published(tmp_path)


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize(("count", "farthest"), [(32, 128), (7, 11), (10, 17), (4, 3), (61, 299)])
def test_buckets(count: int, farthest: int, both_ways: bool) -> None:
    distance = torch.arange(-300, 301)[None]
    ours = buckets(distance, count, farthest, both_ways)
    theirs = T5Attention._relative_position_bucket(distance, both_ways, count, farthest)
    assert torch.equal(ours, theirs)
    assert int(ours.max()) < count


def test_buckets_by_hand() -> None:
    """Eight each way: 0-7 to the left have a bucket each, then the logarithm counts."""
    distance = torch.tensor([[0, -7, -8, 1, 7, 8, -127, -128, -1000, 1000]])
    far = 8 + int(8 * math.log(127 / 8) / math.log(128 / 8))
    assert buckets(distance, 32, 128, True).tolist() == [[0, 7, 8, 17, 23, 24, far, 15, 15, 31]]
    assert buckets(distance, 32, 128, False).tolist()[0][3:6] == [0, 0, 0]  # nothing is ahead
