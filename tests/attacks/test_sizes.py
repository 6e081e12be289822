"""Line 2, for every family: each whole number of a config, made negative, huge or no number."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from attacks.craft import config, forget, refused, spent
from regard.checkpoint.families.config import Config
from regard.checkpoint.published import FAMILIES, load_published, save_published
from regard.model.transformer import Transformer

SMALL: dict[str, dict[str, Any]] = {
    "bert": dict(
        vocab_size=31,
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=17,
        max_position_embeddings=11,
        type_vocab_size=2,
    ),
    "distilbert": dict(
        vocab_size=31, dim=12, n_layers=2, n_heads=3, hidden_dim=17, max_position_embeddings=11
    ),
    "vit": dict(
        image_size=15,
        patch_size=5,
        num_channels=3,
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=17,
    ),
    "gpt2": dict(vocab_size=31, n_embd=12, n_layer=2, n_head=3, n_inner=17, n_positions=11),
    "llama": dict(
        vocab_size=31,
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=4,
        intermediate_size=17,
        max_position_embeddings=11,
        tie_word_embeddings=True,
    ),
    "t5": dict(
        vocab_size=31,
        d_model=12,
        d_kv=5,
        d_ff=17,
        num_layers=2,
        num_decoder_layers=2,
        num_heads=3,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=13,
    ),
    "marian": dict(
        vocab_size=31,
        d_model=12,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=3,
        decoder_attention_heads=3,
        encoder_ffn_dim=17,
        decoder_ffn_dim=17,
        max_position_embeddings=11,
    ),
}
NUMBERS = [(family, key) for family, keys in SMALL.items() for key in keys if "tie" not in key]
WRONG: list[Any] = [-1, 0, 2**40, 2**63 - 1, 7.0, "7", True, [7], {}]


def good(folder: Path, name: str) -> Path:
    """A folder of a family that loads."""
    family = FAMILIES[name]
    spec = family.spec(Config(SMALL[name] | {"model_type": name}, "config.json"), frozenset())
    save_published(Transformer(spec, seed=3), family, folder)
    return folder


@pytest.mark.parametrize(("family", "key"), NUMBERS)
def test_number(family: str, key: str, tmp_path: Path) -> None:
    folder = good(tmp_path / "m", family)
    before = json.loads((folder / "config.json").read_text())
    assert before[key] == SMALL[family][key]
    load_published(folder)
    start = forget() if Path("/proc/self/clear_refs").exists() else 0
    for value in WRONG:
        config(folder, **{key: value})
        refused(folder, "config.json|m: ")
    if start:
        assert spent() - start <= 64 * 2**20


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"num_channels": -1}, "channels: got -1, expected 1 to 1024"),
        ({"num_channels": 0}, "channels: got 0, expected 1 to 1024"),
        ({"num_channels": 1024}, r"asks for .* weights|\(12, 3, 5, 5\), the config asks for"),
        ({"num_channels": 10**9}, "channels: got 1000000000, expected 1 to 1024"),
        ({"image_size": 16_384, "patch_size": 1}, "asks for .* weights, the files hold"),
        ({"image_size": 16_384, "patch_size": 16_384}, "asks for .* weights, the files hold"),
        ({"patch_size": 0}, "patch_size"),
        ({"patch_size": -5}, "patch_size: got -5"),
        ({"patch_size": 4}, "patch_size"),
        ({"image_size": -15}, "image_size: got -15"),
    ],
)
def test_image(keys: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Images of no channels, of no patches, or of more than a machine holds."""
    folder = good(tmp_path / "m", "vit")
    config(folder, **keys)
    refused(folder, message)


def test_names_for_classes_that_are_not_there(tmp_path: Path) -> None:
    folder = good(tmp_path / "m", "vit")
    path = folder / "model.safetensors"
    head = {"classifier.weight": torch.ones(2, 12), "classifier.bias": torch.ones(2)}
    save_file(load_file(path) | head, path)
    load_published(folder)
    config(folder, id2label={str(i): "x" for i in range(100_000)})
    refused(folder, r"asks for .* weights, the files hold")
