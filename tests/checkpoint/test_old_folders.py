"""Folders of 2018 and 2019, whose config.json does not say what they are: the weights tell."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import folders
import parity.twins as twins
import regard
import small_models
from refusals import refused
from regard.bundle.bundle import open_bundle
from regard.bundle.doctor import examine
from regard.checkpoint.published import FAMILIES, load_published
from regard.convert.convert import convert
from regard.errors import CheckpointError


def edit(folder: Path, *removed: str, **keys: Any) -> None:
    path = folder / "config.json"
    values = json.loads(path.read_text()) | keys
    path.write_text(json.dumps({k: v for k, v in values.items() if k not in removed}))


def without_prefix(folder: Path, prefix: str) -> None:
    """The trunk alone, as its own class saves it."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    inner = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    save_file(inner, path)


@pytest.mark.parametrize("family", small_models.MODELS)
def test_a_config_without_model_type(family: str, tmp_path: Path) -> None:
    twin = small_models.save(family, tmp_path / "m")
    edit(tmp_path / "m", "model_type", "architectures", "transformers_version")
    ours = small_models.ours(load_published(tmp_path / "m"), family)
    assert torch.allclose(ours, small_models.logits(twin, family), atol=1e-5)
    bundle, told = open_bundle(tmp_path / "m"), small_models.ALIKE.get(family, family)
    assert bundle.family_name == bundle.family.name == told
    assert examine(tmp_path / "m").family == told
    convert(tmp_path / "m", tmp_path / "native", "native")
    assert open_bundle(tmp_path / "native").family_name == told


def test_a_converted_folder_that_does_not_say_it_is_refused_by_name(tmp_path: Path) -> None:
    small_models.save("bert", tmp_path / "m")
    convert(tmp_path / "m", tmp_path / "native", "native")
    edit(tmp_path / "native", "model_type")
    (tmp_path / "native/checksums.json").unlink()
    with refused(CheckpointError, problem="'model_type' is missing"):
        _ = open_bundle(tmp_path / "native").family_name


def test_a_gpt2_of_2019_has_keys_of_its_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = small_models.save("gpt2", tmp_path)
    values = dict(vocab_size=101, n_embd=20, n_head=5, n_layer=2, n_positions=23, n_ctx=23)
    old = dict(n_special=0, predict_special_tokens=True, layer_norm_epsilon=1e-5, num_labels=1)
    (tmp_path / "config.json").write_text(json.dumps(values | old | {"torchscript": False}))
    capsys.readouterr()
    ours = small_models.ours(load_published(tmp_path), "gpt2")
    assert torch.allclose(ours, small_models.logits(twin, "gpt2"), atol=1e-5)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_bare_encoders_are_told_by_their_segments(family: str, tmp_path: Path) -> None:
    small_models.save(family, tmp_path / "m")
    without_prefix(tmp_path / "m", f"{family}.")
    edit(tmp_path / "m", "model_type", "architectures", type_vocab_size=3)
    with refused(
        CheckpointError, problem="model_type", advice="add the key if it is one of bert, rob"
    ):
        load_published(tmp_path / "m")
    segments = {"bert": 2, "roberta": 1}[family]
    path = tmp_path / "m/model.safetensors"
    table = "embeddings.token_type_embeddings.weight"
    tensors = load_file(path)
    save_file(tensors | {table: tensors[table][:segments].clone()}, path)
    edit(tmp_path / "m", type_vocab_size=segments)
    assert open_bundle(tmp_path / "m").family_name == family


def test_names_of_no_family_say_what_to_add(tmp_path: Path) -> None:
    config = transformers.OpenAIGPTConfig(vocab_size=31, n_embd=12, n_head=3, n_layer=2)
    transformers.OpenAIGPTModel(config).save_pretrained(tmp_path)
    edit(tmp_path, "model_type")
    with refused(CheckpointError, problem="key 'model_type' is missing", advice="one of bert"):
        regard.load(tmp_path)
    assert not examine(tmp_path).runs


@pytest.mark.parametrize("name", ["roberta-prelayernorm", "albert", "mbart", "camembert", "xlm"])
def test_a_family_that_regard_lacks_is_no_other_one(name: str, tmp_path: Path) -> None:
    small_models.save("bert", tmp_path)
    edit(tmp_path, model_type=name)
    with pytest.raises(CheckpointError) as refused:
        load_published(tmp_path)
    assert repr(name) in str(refused.value) and "did you mean" not in str(refused.value)
    assert all(family in str(refused.value) for family in FAMILIES)


@pytest.mark.parametrize("family", ["bert", "distilbert"])
@pytest.mark.parametrize("head", ["TokenClassification", "SequenceClassification"])
def test_a_classifier_without_architectures(family: str, head: str, tmp_path: Path) -> None:
    """Whether it labels words or texts, the weights tell."""
    twin = folders.bert(tmp_path / "m", head, family, id2label=folders.LABELS)
    edit(tmp_path / "m", "architectures")
    model = regard.load(tmp_path / "m")
    assert ("tag" in model.tasks) == (head == "TokenClassification")
    ids, real = twins.ids_and_mask(40)
    network = model.transformer
    with torch.no_grad():
        ours = network.answer(network.encode(ids, real))
        theirs = twin(ids, attention_mask=real).logits
    assert twins.closest(ours, theirs, real if ours.dim() == 3 else None) < 1e-5
