"""GPT-2 against the `transformers` library: logits, layers, padding, cache, greedy text, back."""

import json
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import parity.decoders as decoders
import parity.twins as twins
from regard.checkpoint.families.gpt2 import GPT2
from regard.checkpoint.guard import read_header
from regard.checkpoint.published import load_published, save_published
from regard.errors import CheckpointError

# Sizes differ from each other, so that no axis can be taken for another one.
SHAPES = {
    "one": dict(n_embd=15, n_head=5, n_layer=2, n_inner=37, layer_norm_epsilon=1e-3),
    "default width": dict(n_embd=22, n_head=2, n_layer=3, n_inner=None),
    "own head": dict(n_embd=21, n_head=7, n_layer=2, n_inner=29, tie_word_embeddings=False),
    "no scale": dict(n_embd=26, n_head=13, n_layer=2, n_inner=31, scale_attn_weights=False),
    "gelu": dict(n_embd=33, n_head=3, n_layer=2, n_inner=17, activation_function="gelu"),
}
V = 101


def twin(shape: str, **more: object) -> torch.nn.Module:
    config = transformers.GPT2Config(
        vocab_size=V,
        n_positions=23,
        bos_token_id=None,
        eos_token_id=None,
        **{**SHAPES[shape], **more},
    )
    return transformers.GPT2LMHeadModel(config)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A tied twin's folder."""
    return twins.save_twin(twin("one"), tmp_path / "a")


def edit(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("shape", SHAPES)
def test_logits_layers_cache_and_greedy_text(shape: str, tmp_path: Path) -> None:
    theirs = twin(shape)
    folder = twins.save_twin(theirs, tmp_path / "a")
    tied = SHAPES[shape].get("tie_word_embeddings", True)
    assert ("lm_head.weight" in read_header(folder / "model.safetensors")) is not tied
    ours = load_published(folder)
    decoders.check_logits_and_layers(theirs, ours, V)
    decoders.check_cache(ours, V)
    decoders.check_generation(theirs, tmp_path / "b", V)


@pytest.mark.parametrize("shape", SHAPES)
def test_there_and_back(shape: str, tmp_path: Path) -> None:
    theirs = twin(shape)
    ours = load_published(twins.save_twin(theirs, tmp_path / "a"))
    save_published(ours, GPT2, tmp_path / "b")
    again = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "b")
    decoders.check_same_weights(theirs, again)
    decoders.check_logits_and_layers(again, ours, V)
    once_more = load_published(tmp_path / "b")
    decoders.check_same_weights(ours, once_more)
    assert once_more.spec == ours.spec


@pytest.mark.parametrize("shape", ["one", "own head"])
def test_every_tensor_counts(shape: str, tmp_path: Path) -> None:
    folder = twins.save_twin(twin(shape), tmp_path / "a")
    decoders.check_every_tensor_counts(GPT2, folder)


def test_names_without_prefix_and_old_buffers(saved: Path) -> None:
    # The first published files: no "transformer.", and the masks of each layer among the weights.
    before = load_published(saved)
    path = saved / "model.safetensors"
    tensors = {name.removeprefix("transformer."): t for name, t in load_file(path).items()}
    for n in range(2):
        tensors[f"h.{n}.attn.bias"] = torch.ones(1, 1, 23, 23).tril()
        tensors[f"h.{n}.attn.masked_bias"] = torch.tensor(-1e4)
    save_file(tensors, path)
    edit(saved, n_ctx=23)
    decoders.check_same_weights(before, load_published(saved))
    save_file({**tensors, "transformer.wte.weight": tensors["wte.weight"].clone()}, path)
    with pytest.raises(CheckpointError, match="twice"):
        load_published(saved)


def test_a_trunk_alone(tmp_path: Path) -> None:
    whole = twin("own head")
    twins.redraw(whole)
    whole.eval().transformer.save_pretrained(tmp_path / "a")
    ours = load_published(tmp_path / "a")
    assert ours.spec.head == "none"
    save_published(ours, GPT2, tmp_path / "b")
    again = transformers.GPT2Model.from_pretrained(tmp_path / "b")
    decoders.check_same_weights(whole.transformer, again)
    ids, _ = twins.ids_and_mask(V)
    with torch.no_grad():
        assert twins.closest(ours.decode(ids), again(ids).last_hidden_state) < 1e-5


def test_a_head_in_the_file_counts_whatever_the_config_says(saved: Path) -> None:
    path = saved / "model.safetensors"
    own = torch.randn(V, 15, generator=torch.Generator().manual_seed(2))
    save_file({**load_file(path), "lm_head.weight": own}, path, metadata={"format": "pt"})
    assert json.loads((saved / "config.json").read_text())["tie_word_embeddings"] is True
    theirs = transformers.GPT2LMHeadModel.from_pretrained(saved)
    assert torch.equal(theirs.lm_head.weight, own)
    decoders.check_logits_and_layers(theirs, load_published(saved), V)


@pytest.mark.parametrize(
    "key, value",
    {
        "scale_attn_by_inverse_layer_idx": True,
        "reorder_and_upcast_attn": True,
        "add_cross_attention": True,
        "activation_function": "mish",
        "n_embd": "15",
        "alibi": True,
        "quantization_config": {"bits": 4},
        "auto_map": {"AutoModel": "code.Model"},
    }.items(),
)
def test_what_regard_does_not_compute_is_refused_by_name(
    key: str, value: object, saved: Path
) -> None:
    edit(saved, **{key: value})
    with pytest.raises(CheckpointError, match=key):
        load_published(saved)


def test_an_untied_head_must_be_in_the_file(saved: Path) -> None:
    edit(saved, tie_word_embeddings=False)
    with pytest.raises(CheckpointError, match=r"'lm_head\.weight' is missing"):
        load_published(saved)
