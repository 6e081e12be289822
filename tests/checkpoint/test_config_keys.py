"""Keys of config.json: understood or refused if they change a model, named if nobody knows them."""

import dataclasses
import json
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from click.testing import CliRunner

import regard
import small_models
from refusals import refused
from regard.bundle.doctor import examine
from regard.checkpoint.families.config import HARMLESS, Config
from regard.checkpoint.families.config_keys import OLDER, config_keys
from regard.checkpoint.published import (
    FAMILIES,
    _read_spec,
    check_published,
    load_published,
    read_config,
)
from regard.cli.main import group
from regard.errors import CheckpointError, MisuseError

ROOT = Path(__file__).parents[2]
# Keys that published folders have and no class of transformers, with what they hold there.
WILD = {
    "is_llama_config": True,  # SmolLM2
    "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity",  # cross-encoders
    "sentence_transformers": {"version": "4.0.1"},
    "condition_on_chain": True,  # IgLM
}


@pytest.fixture(scope="module", params=small_models.MODELS)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of each family, written by its own library; named after it."""
    folder = tmp_path_factory.mktemp("families") / request.param
    small_models.save(request.param, folder)
    return folder


def values_of(folder: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((folder / "config.json").read_text())
    return values


def changed(folder: Path, target: Path, **keys: Any) -> Path:
    """A copy of the folder whose config has these keys too."""
    target.mkdir()
    (target / "model.safetensors").hardlink_to(folder / "model.safetensors")
    (target / "config.json").write_text(json.dumps(values_of(folder) | keys))
    return target


def test_the_table_is_what_the_tool_makes_of_the_pinned_version() -> None:
    made = runpy.run_path(str(ROOT / "tools/make_config_keys.py"))["table"]()
    file = ROOT / "src/regard/checkpoint/families/config_keys.json"
    assert json.loads(file.read_text()) == made


def test_every_key_of_the_table_is_refused_where_the_family_does_not_read_it(saved: Path) -> None:
    family = FAMILIES[saved.name]
    names = frozenset(check_published(saved).names)
    table = config_keys()
    keys = (table.image if family.reads_images else table.text) - set(family.harmless)
    keys -= family.fields.keys()  # which may be left out
    plain = read_config(saved)
    _read_spec(plain, family, names, strict=False)
    others = sorted(keys - plain._read - set(values_of(saved)) - set(table.generation))
    assert len(others) > (100 if family.reads_images else 600)
    for key in others:
        config = Config(values_of(saved) | {key: 53}, "config.json")
        with pytest.raises(CheckpointError, match=rf"\b{key} (=|is) 53"):
            _read_spec(config, family, names, strict=False)


def other_values(value: Any) -> list[Any]:
    """What is not the default, of the same kind."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, 2 * value]
    if isinstance(value, float):
        return [3 * value + 0.25]
    if isinstance(value, str):
        return ["relu", "tanh", "gelu_new", "gated-gelu"]
    return [] if value is not None else [1, True, 0.25]


def own_cases(folder: Path, most: int | None) -> list[tuple[str, Any]]:
    """Each key of the family's class and each alias, with values that are not its own."""
    theirs = transformers.AutoConfig.from_pretrained(folder)
    names = {field.name for field in dataclasses.fields(theirs)} | set(theirs.attribute_map)
    names |= set(values_of(folder))
    other = {"model_type", "architectures", "transformers_version", "dtype", "return_dict"}
    return [
        (name, value)
        for name in sorted(names - other)
        for value in other_values(getattr(theirs, name, None))[:most]
    ]


@pytest.mark.parametrize(
    "most", [pytest.param(1, id="first"), pytest.param(None, id="all", marks=pytest.mark.long)]
)
def test_every_key_of_its_own_class_is_understood_or_refused(
    most: int | None, saved: Path, tmp_path: Path
) -> None:
    """What loads with a changed key computes what transformers computes with it."""
    loaded = 0
    theirs_of = type(small_models.MODELS[saved.name]())
    for number, (key, value) in enumerate(own_cases(saved, most)):
        folder = changed(saved, tmp_path / str(number), **{key: value})
        try:
            ours = load_published(folder)
        except (CheckpointError, MisuseError):
            continue
        try:
            theirs = theirs_of.from_pretrained(folder).eval()
        except Exception as error:  # strict types there; here only what harms nobody passes
            assert key in HARMLESS | set(FAMILIES[saved.name].harmless), (key, value, error)
            continue
        loaded += 1
        expected = small_models.logits(theirs, saved.name)
        difference = (small_models.ours(ours, saved.name) - expected).abs().max()
        assert float(difference) < 1e-5, (key, value)
    assert loaded > 5


@pytest.mark.parametrize("key", WILD)
def test_an_unknown_key_is_named_and_the_model_is_right(
    key: str, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = changed(saved, tmp_path / saved.name, **{key: WILD[key]})
    theirs = type(small_models.MODELS[saved.name]()).from_pretrained(folder).eval()
    capsys.readouterr()
    ours = small_models.ours(load_published(folder), saved.name)
    assert (ours - small_models.logits(theirs, saved.name)).abs().max() < 1e-5
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Warning: config.json has keys") and f"{key} = " in line
    with pytest.raises(CheckpointError, match=key):
        load_published(folder, strict=True)


def test_strict_refuses_in_python_and_in_commands(tmp_path: Path) -> None:
    small_models.save("llama", tmp_path / "plain")
    folder = changed(tmp_path / "plain", tmp_path / "m", is_llama_config=True)
    assert regard.load(folder).spec.d_model == 24
    regard.load(tmp_path / "plain", strict=True)
    with refused(CheckpointError, problem="is_llama_config = True"):
        regard.load(folder, strict=True)
    run = CliRunner().invoke
    asked = run(group, ["doctor", str(folder)])
    assert asked.exit_code == 0 and "is_llama_config = True: regard does not" in asked.output
    asked = run(group, ["doctor", str(folder), "--strict"])
    assert asked.exit_code == 1 and "is_llama_config = True" in asked.output
    arguments = ["convert", str(folder), str(tmp_path / "out"), "--to", "hf"]
    assert "is_llama_config" in str(run(group, [*arguments, "--strict"]).exception)
    assert not (tmp_path / "out").exists()
    assert run(group, arguments).exit_code == 0
    regard.load(tmp_path / "out", strict=True)  # what is written has known keys only


def test_an_unknown_key_passes_only_where_every_tensor_fits(tmp_path: Path) -> None:
    small_models.save("bert", tmp_path / "plain")
    wider = changed(tmp_path / "plain", tmp_path / "m", odd_key=1, intermediate_size=38)
    with pytest.raises(CheckpointError, match=r"has shape .*odd_key = 1"):
        load_published(wider)
    assert not examine(wider).runs


def test_older_keys_are_refused_in_each_family(saved: Path, tmp_path: Path) -> None:
    for key in OLDER:
        with pytest.raises(CheckpointError, match=key):
            load_published(changed(saved, tmp_path / key, **{key: {"a": 1}}))


def test_an_alias_is_its_key(tmp_path: Path) -> None:
    twin = small_models.save("gpt2", tmp_path / "plain")
    values = values_of(tmp_path / "plain")
    values["hidden_size"] = values.pop("n_embd")
    folder = changed(tmp_path / "plain", tmp_path / "m")
    (folder / "config.json").write_text(json.dumps(values))
    ours = small_models.ours(load_published(folder), "gpt2")
    assert torch.allclose(ours, small_models.logits(twin, "gpt2"), atol=1e-5)
    other = changed(tmp_path / "plain", tmp_path / "other", hidden_size=24)
    with refused(CheckpointError, problem="hidden_size is 24, n_embd is 20"):
        load_published(other)
