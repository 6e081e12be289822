"""Mistral against the `transformers` library: logits, layers, padding, cache, greedy text, back.

What it shares with Llama (stretched positions, old files, a head of its own) test_llama.py has.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers

import parity.decoders as decoders
import parity.twins as twins
from regard.checkpoint.families.mistral import MISTRAL
from regard.checkpoint.published import load_published, save_published
from regard.errors import CheckpointError

# hidden, heads, K/V heads, size of a head, layers, feed-forward; sizes differ from each other.
SHAPES = {
    "grouped": dict(sizes=(36, 6, 3, 6, 3, 41)),
    "wide heads": dict(sizes=(20, 2, 2, 14, 2, 17), rope_parameters=dict(rope_theta=1e6)),
    "tied": dict(sizes=(28, 7, 1, 4, 2, 37), tie_word_embeddings=True, rms_norm_eps=1e-3),
}
V = 97


def twin(shape: str) -> torch.nn.Module:
    chosen = dict(SHAPES[shape])
    d, heads, groups, size, layers, f = chosen.pop("sizes")
    config = transformers.MistralConfig(
        vocab_size=V,
        hidden_size=d,
        num_attention_heads=heads,
        num_key_value_heads=groups,
        head_dim=size,
        num_hidden_layers=layers,
        intermediate_size=f,
        max_position_embeddings=43,
        eos_token_id=None,  # or a row that comes to it ends there
        sliding_window=None,
        **chosen,
    )
    return transformers.MistralForCausalLM(config)


@pytest.mark.parametrize("shape", SHAPES)
def test_logits_layers_cache_text_and_back(shape: str, tmp_path: Path) -> None:
    theirs = twin(shape)
    ours = load_published(twins.save_twin(theirs, tmp_path / "a"), strict=True)
    decoders.check_logits_and_layers(theirs, ours, V)
    decoders.check_cache(ours, V)
    save_published(ours, MISTRAL, tmp_path / "b")
    again = transformers.MistralForCausalLM.from_pretrained(tmp_path / "b")
    assert again.config.sliding_window is None
    decoders.check_same_weights(theirs, again)
    decoders.check_logits_and_layers(again, ours, V)
    once_more = load_published(tmp_path / "b").spec
    assert replace(once_more, head_size=None) == replace(ours.spec, head_size=None)
    decoders.check_generation(theirs, tmp_path / "c", V)


def test_every_tensor_counts(tmp_path: Path) -> None:
    decoders.check_every_tensor_counts(MISTRAL, twins.save_twin(twin("tied"), tmp_path / "a"))


@pytest.mark.parametrize(
    "changes",
    [
        {"sliding_window": 7},  # a window of Mistral 7B 0.1
        {"sliding_window": ...},  # left out, it is 4,096
        {"attention_bias": True},
        {"layer_types": ["full_attention", "sliding_attention"]},
    ],
    ids=str,
)
def test_what_regard_does_not_compute_is_refused_by_name(
    changes: dict[str, object], tmp_path: Path
) -> None:
    folder = twins.save_twin(twin("tied"), tmp_path / "a")
    values = {**json.loads((folder / "config.json").read_text()), **changes}
    text = json.dumps({key: value for key, value in values.items() if value is not ...})
    (folder / "config.json").write_text(text)
    with pytest.raises(CheckpointError, match=next(iter(changes))):
        load_published(folder)
