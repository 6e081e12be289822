"""ViT against the `transformers` library: logits and every layer of images, both ways."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

import parity.decoders as checks
import parity.twins as twins
from regard.checkpoint.families.vit import VIT
from regard.checkpoint.published import load_published, save_published
from regard.errors import CheckpointError, MisuseError
from regard.model.presets import preset
from regard.model.spec import parameter_count
from regard.model.trace import Trace
from regard.model.transformer import Transformer

SHAPES: dict[str, dict[str, Any]] = {
    "one": dict(
        hidden_size=20,
        num_attention_heads=5,
        num_hidden_layers=2,
        intermediate_size=37,
        image_size=21,
        patch_size=7,
    ),
    "two": dict(
        hidden_size=33,
        num_attention_heads=3,
        num_hidden_layers=3,
        intermediate_size=13,
        image_size=10,
        patch_size=5,
        num_channels=1,
        qkv_bias=False,
        layer_norm_eps=1e-3,
    ),
    "three": dict(
        hidden_size=14,
        num_attention_heads=7,
        num_hidden_layers=2,
        intermediate_size=29,
        image_size=15,
        patch_size=3,
        num_channels=2,
        hidden_act="gelu_new",
        pooler_act="relu",
    ),
}
HEADS = {"classes": transformers.ViTForImageClassification, "none": transformers.ViTModel}
each_head = pytest.mark.parametrize("head", HEADS)
each_shape = pytest.mark.parametrize("shape", SHAPES)


def twin(head: str, shape: str) -> Any:
    return HEADS[head](transformers.ViTConfig(num_labels=11, **SHAPES[shape]))


def both(folder: Path, head: str, shape: str) -> tuple[Any, Transformer]:
    theirs = twin(head, shape)
    return theirs, load_published(twins.save_twin(theirs, folder))


def images(model: Transformer) -> Tensor:
    size = model.spec.image_size
    return torch.randn(
        3, model.spec.channels, size, size, generator=torch.Generator().manual_seed(2)
    )


@each_head
@each_shape
@torch.no_grad()
def test_logits_and_layers(head: str, shape: str, tmp_path: Path) -> None:
    theirs, ours = both(tmp_path, head, shape)
    pixels = images(ours)
    expected = theirs(pixels, output_hidden_states=True)
    trace = Trace()
    memory = ours.see(pixels, trace)
    assert twins.closest(memory, ours.see(pixels)) < 1e-5  # explicit is fused
    assert len(expected.hidden_states) == ours.spec.encoder_layers + 1
    assert twins.closest(trace["source.sum"], expected.hidden_states[0]) < 1e-5
    for n, hidden in enumerate(expected.hidden_states[1:]):
        assert twins.closest(trace[f"encoder.{n}.ffn.norm"], hidden) < 1e-5
    if head == "none":
        assert ours.pooler is not None
        assert twins.closest(memory, expected.last_hidden_state) < 1e-5
        assert twins.closest(ours.pooler(memory), expected.pooler_output) < 1e-5
    else:
        assert twins.closest(ours.answer(memory), expected.logits) < 1e-5


@each_head
@each_shape
def test_there_and_back(head: str, shape: str, tmp_path: Path) -> None:
    theirs, ours = both(tmp_path / "a", head, shape)
    assert sum(p.numel() for p in ours.parameters()) == parameter_count(ours.spec)
    save_published(ours, VIT, tmp_path / "b")
    checks.check_same_weights(theirs, HEADS[head].from_pretrained(tmp_path / "b"))
    once_more = load_published(tmp_path / "b")
    assert once_more.spec == ours.spec
    checks.check_same_weights(ours, once_more)


@each_head
def test_every_row_and_every_tensor_counts(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = twins.save_twin(twin(head, "one"), tmp_path)
    path = folder / "model.safetensors"
    whole = load_file(path)
    pooler = ("pooler.dense.weight", "pooler.dense.bias")
    for name in whole:
        if name == pooler[0]:
            continue  # a trunk may come without
        save_file({key: value for key, value in whole.items() if key != name}, path)
        with pytest.raises(CheckpointError):
            load_published(folder)
    save_file(whole, path)
    checks.check_every_row_counts(VIT, folder, monkeypatch.setitem)


@torch.no_grad()
def test_a_pooler_beside_the_classifier_is_not_read(tmp_path: Path) -> None:
    theirs, ours = both(tmp_path, "classes", "one")
    path = tmp_path / "model.safetensors"
    pooler = {
        "vit.pooler.dense.weight": torch.randn(20, 20),
        "vit.pooler.dense.bias": torch.ones(20),
    }
    save_file(load_file(path) | pooler, path)
    again = load_published(tmp_path)
    pixels = images(again)
    assert twins.closest(again.answer(again.see(pixels)), theirs(pixels).logits) < 1e-5


def change(folder: Path, **keys: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_register_tokens", 4),
        ("pooler_act", "gelu"),
        ("pooler_output_size", 7),
        ("patch_size", 4),
        ("image_size", [21, 21]),
        ("qkv_bias", "yes"),
    ],
)
def test_what_is_not_known_is_refused_by_name(key: str, value: Any, tmp_path: Path) -> None:
    folder = twins.save_twin(twin("none", "one"), tmp_path)
    change(folder, **{key: value})
    with pytest.raises((CheckpointError, MisuseError), match=key):
        load_published(folder)


def test_an_image_of_another_size_is_refused(tmp_path: Path) -> None:
    _, ours = both(tmp_path, "classes", "one")
    with pytest.raises(MisuseError, match="pixels"):
        ours.see(torch.zeros(1, 3, 21, 28))


def test_a_model_of_text_is_not_written_as_vit(tmp_path: Path) -> None:
    with pytest.raises(MisuseError):
        save_published(Transformer(preset("tiny", 31, decoder_layers=0)), VIT, tmp_path)
