"""`regard convert`, `regard doctor` and `regard verify` as they are typed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import small_models
from regard.cli.main import group
from regard.convert.verify import read_golden, write_golden

pytestmark = pytest.mark.end_to_end


def call(*arguments: object) -> Result:
    result = CliRunner().invoke(group, [str(a) for a in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_convert_verify_and_a_loud_difference(tmp_path: Path) -> None:
    small_models.save("llama", tmp_path / "a")
    made = call("convert", tmp_path / "a", tmp_path / "b", "--to", "native")
    assert "every bit of the weights is equal" in made.output
    equal = call("verify", tmp_path / "b")
    assert equal.exit_code == 0 and "12 greedy tokens" in equal.output
    golden = tmp_path / "b/golden.json"
    values = read_golden(golden)
    values["greedy"][0] = 100 - values["greedy"][0]
    values["leads"][0] = 1.0
    values["versions"]["torch"] = "1.0"
    write_golden(golden, values)
    different = call("verify", tmp_path / "b")
    assert different.exit_code == 1
    assert "DIFFERENT" in different.stderr and "greedy token 0" in different.stderr
    assert "torch 1.0 → " in different.stderr
    as_json = call("verify", tmp_path / "b", "--json")
    assert as_json.exit_code == 1 and json.loads(as_json.stdout)["equal"] is False


def test_doctor_says_yes_and_no(tmp_path: Path) -> None:
    small_models.save("gpt2", tmp_path)
    good = call("doctor", tmp_path)
    assert good.exit_code == 0 and "regard runs it: yes" in good.output
    assert (
        "more (--tensors)" in good.output
        and "more (--tensors)" not in call("doctor", tmp_path, "--tensors").output
    )
    (tmp_path / "notes.gguf").write_bytes(b"GGUF\1")
    bad = call("doctor", tmp_path / "notes.gguf", "--json")
    found = json.loads(bad.output)
    assert bad.exit_code == 1 and found["runs"] is False
    assert found["findings"] == [{"level": "broken", "text": "cut off inside its header"}]
