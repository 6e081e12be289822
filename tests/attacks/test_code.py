"""Line 4: configs that would choose code, and JSON that is a trap for its reader."""

import json
from pathlib import Path
from typing import Any

import pytest

from attacks.craft import Attack, canary, config, good, refused
from regard.checkpoint.published import load_published

KEYS: dict[str, dict[str, Any]] = {
    "auto_map": {"auto_map": {"AutoModel": "evil.Model"}},
    "trust_remote_code": {"trust_remote_code": True},
    "custom_pipelines": {"custom_pipelines": {"x": {"impl": "evil.Pipeline"}}},
    "_attn_implementation_internal": {"_attn_implementation_internal": "evil/kernel"},
    "attn_implementation": {"attn_implementation": "evil/kernel"},
    "_attn_implementation": {"_attn_implementation": {"": "evil/kernel"}},
    "auto_map deep within": {"task_specific_params": {"a": [{"auto_map": {"x": "y"}}]}},
    "trust_remote_code in the labels": {"id2label": {"trust_remote_code": "yes"}},
    "quantization_config": {"quantization_config": {"quant_method": "evil"}},
    "a family that nobody knows": {"model_type": "evil"},
    "a family that is a path": {"model_type": "../../evil"},
    "a family that is a list": {"model_type": ["bert"]},
    "an activation that is a path": {"hidden_act": "os.system"},
    "an activation that is an object": {"hidden_act": {"class": "x"}},
    "a text of a megabyte": {"hidden_act": "x" * 2**20},
}


@pytest.mark.parametrize("name", KEYS)
def test_key(name: str, tmp_path: Path) -> None:
    config(good(tmp_path / "m"), **KEYS[name])
    refused(tmp_path / "m", "config.json: ")


@pytest.mark.parametrize("keys", [{"run_this": "import os"}, {"\x1b[2Jx": "\x1b[2J"}])
def test_a_key_that_nobody_knows_is_named_in_plain_letters(
    keys: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config(good(tmp_path / "m"), **keys)
    refused(tmp_path / "m", "config.json: ", strict=True)
    capsys.readouterr()
    load_published(tmp_path / "m")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Warning: config.json has keys") and line.isprintable()


def test_code_in_the_folder_is_never_imported(tmp_path: Path) -> None:
    folder = good(tmp_path / "m")
    for name in ("modeling_bert.py", "configuration_bert.py", "__init__.py", "sitecustomize.py"):
        (folder / name).write_text(f"open({str(canary(folder))!r}, 'w')")
    config(folder, architectures=["modeling_bert.Evil"], tokenizer_class="modeling_bert.Evil")
    load_published(folder)
    assert not canary(folder).exists()


def test_what_says_nothing_is_passed_over(tmp_path: Path) -> None:
    config(
        good(tmp_path / "m"),
        trust_remote_code=False,
        auto_map=None,
        attn_implementation="sdpa",
        _attn_implementation_autoset=True,
    )
    load_published(tmp_path / "m")


def text(folder: Path, content: str | bytes) -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    (folder / "config.json").write_bytes(raw)


def swap(folder: Path, old: str, new: str) -> None:
    text(folder, (folder / "config.json").read_text().replace(old, new))


FILES: dict[str, tuple[Attack, str]] = {
    "a key twice": (lambda f: swap(f, "{", '{"vocab_size": 5, '), "stands in it twice"),
    "NaN": (lambda f: swap(f, '"vocab_size": 31', '"vocab_size": NaN'), "NaN is no number"),
    "infinity": (lambda f: swap(f, '"vocab_size": 31', '"vocab_size": 1e999'), "out of range"),
    "a number of 5000 digits": (
        lambda f: swap(f, '"vocab_size": 31', f'"vocab_size": {"9" * 5000}'),
        "a number of 5000 digits",
    ),
    "100,000 lists in one another": (lambda f: text(f, "[" * 100_000), "nested too deep"),
    "100 objects in one another": (
        lambda f: text(f, '{"a":' * 100 + "1" + "}" * 100),
        "nested too deep",
    ),
    "a million empty lists": (
        lambda f: text(f, '{"a":[' + "[]," * 10**6 + "1]}"),
        "2000002 parts, at most 400000",
    ),
    "five megabytes": (lambda f: text(f, json.dumps({"a": "x" * 5 * 2**20})), "at most 4194304"),
    "not UTF-8": (lambda f: text(f, b'{"a": "\xff"}'), "not valid JSON"),
    "two values": (lambda f: swap(f, "{", "{} {"), "not valid JSON"),
    "a list": (lambda f: text(f, "[]"), "expected a JSON object"),
    "nothing": (lambda f: text(f, ""), "not valid JSON"),
}


@pytest.mark.parametrize("name", FILES)
def test_file(name: str, tmp_path: Path) -> None:
    attack, message = FILES[name]
    attack(good(tmp_path / "m"))
    refused(tmp_path / "m", message)
