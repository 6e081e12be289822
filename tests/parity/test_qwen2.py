"""Qwen 2 against the `transformers` library: logits, layers, padding, cache, greedy text, back.

What it shares with Llama (stretched positions, old files, a head of its own) test_llama.py has.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import parity.decoders as decoders
import parity.twins as twins
from regard.bundle.doctor import examine
from regard.checkpoint.families.llama import LLAMA
from regard.checkpoint.families.qwen2 import QWEN2
from regard.checkpoint.published import load_published, save_published
from regard.errors import CheckpointError, MisuseError

# hidden, heads, K/V heads, layers, feed-forward; sizes differ from each other.
SHAPES = {
    "grouped": dict(sizes=(36, 6, 3, 3, 41)),
    "tied": dict(sizes=(28, 7, 1, 2, 37), tie_word_embeddings=True, rms_norm_eps=1e-3),
    "base": dict(sizes=(20, 2, 2, 2, 17), rope_parameters=dict(rope_theta=511.0)),
}
V = 97


def twin(shape: str) -> torch.nn.Module:
    chosen = dict(SHAPES[shape])
    d, heads, groups, layers, f = chosen.pop("sizes")
    config = transformers.Qwen2Config(
        vocab_size=V,
        hidden_size=d,
        num_attention_heads=heads,
        num_key_value_heads=groups,
        num_hidden_layers=layers,
        intermediate_size=f,
        max_position_embeddings=43,
        **chosen,
    )
    return transformers.Qwen2ForCausalLM(config)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A tied twin's folder."""
    return twins.save_twin(twin("tied"), tmp_path / "a")


def edit(folder: Path, without: tuple[str, ...] = (), **changes: object) -> None:
    path = folder / "config.json"
    values = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: v for key, v in values.items() if key not in without}))


@pytest.mark.parametrize("shape", SHAPES)
def test_logits_layers_cache_and_greedy_text(shape: str, tmp_path: Path) -> None:
    theirs = twin(shape)
    ours = load_published(twins.save_twin(theirs, tmp_path / "a"))
    decoders.check_logits_and_layers(theirs, ours, V)
    decoders.check_cache(ours, V)
    decoders.check_generation(theirs, tmp_path / "b", V)


@pytest.mark.parametrize("shape", SHAPES)
def test_there_and_back(shape: str, tmp_path: Path) -> None:
    theirs = twin(shape)
    ours = load_published(twins.save_twin(theirs, tmp_path / "a"))
    save_published(ours, QWEN2, tmp_path / "b")
    again = transformers.Qwen2ForCausalLM.from_pretrained(tmp_path / "b")
    decoders.check_same_weights(theirs, again)
    decoders.check_logits_and_layers(again, ours, V)
    once_more = load_published(tmp_path / "b")
    decoders.check_same_weights(ours, once_more)
    assert replace(once_more.spec, head_size=None) == ours.spec  # which is written out


def test_every_tensor_counts(saved: Path) -> None:
    decoders.check_every_tensor_counts(QWEN2, saved)


def test_a_config_as_published(saved: Path) -> None:
    # Qwen2.5-0.5B of 2024: the older keys of positions, and windows that are described and shut.
    older = dict(rope_theta=10_000.0, sliding_window=7, max_window_layers=1)
    edit(saved, ("rope_parameters", "layer_types"), use_sliding_window=False, **older)
    theirs = transformers.Qwen2ForCausalLM.from_pretrained(saved)
    decoders.check_logits_and_layers(theirs, load_published(saved, strict=True), V)


@pytest.mark.parametrize(
    "key, value",
    {
        "use_sliding_window": True,
        "layer_types": ["full_attention", "sliding_attention"],
        "rope_scaling": {"type": "yarn", "factor": 4.0},
        "attention_bias": True,
        "hidden_act": "mish",
    }.items(),
)
def test_what_regard_does_not_compute_is_refused_by_name(
    key: str, value: object, saved: Path
) -> None:
    edit(saved, ("rope_parameters",), **{key: value})
    with pytest.raises(CheckpointError, match=key):
        load_published(saved)


def test_it_is_told_from_a_llama(saved: Path, tmp_path: Path) -> None:
    weights = saved / "model.safetensors"
    assert examine(weights).family == "qwen2"
    tensors = load_file(weights)
    edit(saved, ("model_type",))
    assert load_published(saved).spec.o_bias is False
    with pytest.raises(MisuseError, match="o_bias"):
        save_published(load_published(saved), LLAMA, tmp_path / "b")
    # A Llama may have all four biases, or none.
    more = {f"model.layers.{n}.self_attn.o_proj.bias": torch.zeros(28) for n in range(2)}
    save_file({**tensors, **more}, weights)
    assert examine(weights).family == "llama"
    save_file({n: t for n, t in tensors.items() if not n.endswith("bias")}, weights)
    assert examine(weights).family == "llama"
