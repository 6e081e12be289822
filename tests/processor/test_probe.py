"""Each way that a processor can fail a trial rules out what was tried, and is said in words."""

import os
import sys
from pathlib import Path

import pytest

from regard.errors import MisuseError
from regard.processor import caps, kept, probe, survives
from regard.processor.kept import TrialAnswer
from regard.processor.probe import try_library
from regard.processor.simulate import ALL, DEATHS, SimulatedDeathError, forbid, simulated

WORDS = {
    "SIGILL": "SIGILL, an illegal instruction",
    "SIGSEGV": "SIGSEGV, an access outside its memory",
    "SIGBUS": "SIGBUS, a bus error",
    "hang": "did not end within 0.2 seconds",
    "garbage": "numbers were wrong by 1",
}


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept, known or set."""
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(survives, "_answered", {})
    for name in (*caps.LADDER[-1], "REGARD_CAPS", "REGARD_SIMULATE"):
        monkeypatch.setenv(name, "")  # so that it is as before in the end
        monkeypatch.delenv(name)


@pytest.mark.parametrize("feature", ALL)
@pytest.mark.parametrize("death", DEATHS)
def test_each_death_of_each_feature(
    feature: str, death: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_SIMULATE", f"{feature}={death}")
    if death != "garbage":  # that one computes, which a busy machine may need its time for
        monkeypatch.setenv("REGARD_TRIAL_SECONDS", "0.2")
    monkeypatch.setattr(caps, "cpu_flags", lambda: frozenset({"avx2"}))  # no cap makes a difference
    answer = try_library([feature])[feature]
    assert answer.rung is None and answer.certain
    assert WORDS[death] in answer.deaths[0]
    with pytest.raises(SimulatedDeathError):
        forbid(feature)


def test_the_ladder_stops_where_it_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that this is for: bf16 dies in AMX, and is well without it."""
    monkeypatch.setenv("REGARD_SIMULATE", "amx=SIGILL")
    answer = try_library(["bf16"])["bf16"]
    assert answer.rung == 1 and caps.LADDER[1] == {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}
    assert len(answer.deaths) == 1 and "SIGILL" in answer.deaths[0]


def test_what_comes_after_a_death_is_tried_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_SIMULATE", "ctranslate2=SIGSEGV,int8=SIGBUS")
    monkeypatch.setattr(caps, "cpu_flags", lambda: frozenset({"avx2"}))
    answers = try_library(["ctranslate2", "int8"])
    assert "SIGSEGV" in answers["ctranslate2"].deaths[0] and "SIGBUS" in answers["int8"].deaths[0]


def test_a_found_answer_is_kept_and_costs_no_child(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REGARD_SIMULATE", "int16=SIGILL")
    reason = survives.ruled_out("int16")
    assert "int16: tried in a process of its own, it ended with SIGILL" in reason
    said = capsys.readouterr().err
    assert "regard: int16 is not used on this machine" in said
    monkeypatch.setattr(survives, "_answered", {})
    monkeypatch.setattr(survives, "try_library", lambda features: pytest.fail("tried again"))
    assert survives.ruled_out("int16") == reason
    assert capsys.readouterr().err == ""
    with pytest.raises(
        MisuseError, match="--precision: this machine does not survive int16: .*fp32"
    ):
        survives.insist_on("int16", "--precision", "fp32")
    monkeypatch.setenv("REGARD_SIMULATE", "int8=SIGILL")  # another machine, so to speak
    with pytest.raises(pytest.fail.Exception):
        survives.ruled_out("int16")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"format": 1}',
        '{"format": 1, "identity": {"cpu": "abacus"}, "answers": {"bf16": {"rung": 0}}}',
        '{"format": 1, "identity": IDENTITY, "answers": {"bf16": {"rung": 9, "deaths": []}}}',
        '{"format": 1, "identity": IDENTITY, "answers": {"bf16": {"rung": true, "deaths": []}}}',
        '{"format": 1, "identity": IDENTITY, "answers": {"bf16": {"rung": 0, "deaths": [1]}}}',
        '{"format": 1, "identity": IDENTITY, "answers": {"bf16": {"rung": 0, "deaths": "\\n"}}}',
        '{"format": 1, "identity": IDENTITY, "answers": {"bf16": 7}}',
        '{"format": 2, "identity": IDENTITY, "answers": {"bf16": {"rung": 0, "deaths": []}}}',
    ],
)
def test_a_damaged_file_is_none(content: str) -> None:
    identity = {"cpu": "ours"}
    path = kept.place(identity)
    path.parent.mkdir(parents=True)
    path.write_text(content.replace("IDENTITY", '{"cpu": "ours"}'))
    assert kept.read_answers(identity) == {} and kept.read_speeds(identity) == {}
    kept.keep(
        identity, {"fp32": TrialAnswer(0), "bf16": TrialAnswer(None, ("it died",))}, {"fp32": 83}
    )
    assert kept.read_answers(identity) == {
        "fp32": TrialAnswer(0),
        "bf16": TrialAnswer(None, ("it died",)),
    }
    assert kept.read_speeds(identity) == {"fp32": 83.0}


def test_want_of_memory_is_not_the_processors_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ruled out for now, and asked again by the next command."""
    monkeypatch.setattr(probe, "CODE", "raise MemoryError('no room')")
    monkeypatch.setattr(caps, "cpu_flags", lambda: frozenset({"avx2"}))
    assert "it failed: MemoryError: no room" in survives.ruled_out("bf16")
    assert kept.read_answers(survives.about()) == {}
    survives.get_ready()  # fp32 is not given up for that
    monkeypatch.setattr(survives, "_answered", {})
    monkeypatch.setattr(sys, "executable", os.devnull)
    assert "no process could be started" in survives.ruled_out("bf16")


def test_a_users_cap_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI")
    assert caps.rungs(3, simulating=True) == [0]
    assert caps.apply(1, "nothing") and os.environ["ONEDNN_MAX_CPU_ISA"] == "AVX512_CORE_VNNI"
    assert not caps.our_caps()


def test_a_stronger_cap_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert caps.apply(3, "nothing") and caps.our_caps() == caps.LADDER[3]
    assert caps.apply(1, "nothing") and caps.our_caps() == caps.LADDER[3]
    assert (
        caps.users_caps() == {} and caps.environment_with(0).keys() & caps.LADDER[3].keys() == set()
    )


def test_only_caps_that_take_something_away(monkeypatch: pytest.MonkeyPatch) -> None:
    for flags, expected in (
        ({"avx2"}, [0]),
        ({"avx2", "avx512f"}, [0, 3]),
        ({"avx512f", "avx512_bf16"}, [0, 2, 3]),
        ({"avx512f", "avx512_bf16", "amx_tile"}, [0, 1, 2, 3]),
        (set(), [0, 1, 2, 3]),
    ):
        monkeypatch.setattr(caps, "cpu_flags", lambda flags=flags: frozenset(flags))
        assert caps.rungs(3, simulating=False) == expected


def test_wrong_variables_are_misuse(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("bf61=SIGILL", "bf16=SIGKIL"):
        monkeypatch.setenv("REGARD_SIMULATE", text)
        with pytest.raises(MisuseError, match="did you mean"):
            simulated()
    monkeypatch.delenv("REGARD_SIMULATE")
    monkeypatch.setenv("REGARD_TRIAL_SECONDS", "soon")
    with pytest.raises(MisuseError, match="REGARD_TRIAL_SECONDS: got 'soon'"):
        try_library(["int16"])
