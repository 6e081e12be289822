"""The benchmark of attacks: what it chooses and counts, and two kills of a tiny training."""

import json
import random
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest


def test_moments_are_spread_over_every_phase(bench: Path) -> None:
    kills = import_module("attacking.kills")
    phases = ["preparation"] * 10 + ["steps", "validation"] * 6 + ["checkpoint", "final weights"]
    numbers = kills.chosen(phases, 12)
    assert numbers[:2] == [1, 6] and len(numbers) == len(set(numbers))
    found = [phases[number - 1] for number in numbers]
    assert {name: found.count(name) for name in found} == {
        "preparation": 2,
        "steps": 2,
        "validation": 2,
        "checkpoint": 1,  # it has no more
        "final weights": 1,
    }


def test_damage_is_damage(bench: Path) -> None:
    damages = import_module("attacking.damages")
    text = json.dumps({"a": [1, 2, 3], "b": {"c": "words"}}, indent=2).encode() + b"\n"
    chance, kinds = random.Random(1), set()
    for _ in range(300):
        kind, data = damages.damaged(text, "x.json", chance)
        kinds.add(kind)
        try:
            assert json.loads(data) != json.loads(text)
        except ValueError:  # no JSON any more, or no text
            assert data != text
        _, zeros = damages.damaged(bytes(2000), "x.bin", chance)
        assert zeros != bytes(2000)
    assert len(kinds) == 4


@pytest.mark.parametrize(
    ("code", "out", "err", "end"),
    [
        (1, "", "regard: x: differs from its checksum", "noticed"),
        (0, "right", "x: differs: the engine is made again from the weights.", "survived"),
        (0, "right", "", "wrong"),
        (0, "left", "Warning: x", "wrong"),
        (0, '{"score": NaN}', "Warning: x", "wrong"),
        (1, "", "Traceback (most recent call last):", "wrong"),
        (-11, "", "", "wrong"),
    ],
)
def test_ends_are_told_apart(
    code: int,
    out: str,
    err: str,
    end: str,
    bench: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    damages, counted = import_module("attacking.damages"), import_module("attacking.counted")
    done = import_module("attacking.forked").Done(code, out, err)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/x").write_bytes(b"whole file")
    monkeypatch.setattr(damages, "run", lambda *command: done)
    tally = counted.Tally()
    target = damages.Target("a run", tmp_path / "folder", ["x"], ["translate"])
    damages.attack_one(target, "x", "right", random.Random(1), tally)
    assert (tmp_path / "folder/x").read_bytes() == b"whole file"  # mended
    (row,) = tally.rows()
    assert row[end] == row["tried"] == 1 and len(tally.wrong) == (end == "wrong")


@pytest.mark.long
@pytest.mark.end_to_end
def test_two_kills(bench: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(bench / "attacks.py"), "--json", str(tmp_path / "found.json")]
    numbers = ["--kills", "2", "--races", "0", "--damages", "0"]
    done = subprocess.run([*command, *numbers], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert [(row["place"], row["survived"]) for row in found["rows"]] == [
        ("preparation", 1),
        ("steps", 1),
    ]
