"""The self-test takes bounded time: slow engines are compared on fewer sentences, and it says so.

The engines are fakes that move a fake clock: nothing sleeps and nothing is measured.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import regard.decode.engines.torch as torch_engine
from regard.answer.weights import read_transformer
from regard.bundle.bundle import Bundle, open_bundle
from regard.bundle.engine_choice import Choice
from regard.bundle.generation_settings import GenerationSettings
from regard.decode.engine import Hypothesis, Layout, Pending, Row
from regard.decode.options import DecodingOptions
from regard.engines import agreement, autotune
from regard.engines.agreement import FEW, SECONDS_FP32, SECONDS_INT8, parts
from regard.engines.autotune import SECONDS_MEASURING

COUNT = 500
LAYOUTS = [(4, 1), (2, 2), (1, 4)]
PRECISIONS = ("torch fp32", "ctranslate2 fp32", "ctranslate2 int8")


@dataclass
class World:
    """A clock that only work moves, and what was asked of which engine."""

    seconds: dict[str, float]  # a sentence, by engine and precision
    wrong: str = ""  # who answers otherwise than the others
    now: float = 1000.0
    asked: dict[str, list[Row]] = field(default_factory=dict)
    searches: list[DecodingOptions] = field(default_factory=list)
    layouts: list[tuple[str, int, int]] = field(default_factory=list)

    def clock(self) -> float:
        return self.now


class Fake:
    """Answers with its source; takes its time."""

    def __init__(self, world: World, name: str, layout: Layout) -> None:
        self.name, self.layout, self.world = name, layout, world
        self.full_name = f"{name} {layout.precision}"
        world.layouts.append((self.full_name, layout.workers, layout.threads))

    def submit(
        self, sources: Sequence[Row], search: DecodingOptions, prefixes: Sequence[Row] = ()
    ) -> Pending:
        def pending() -> list[list[Hypothesis]]:
            world = self.world
            world.now += world.seconds[self.full_name] * len(sources)
            world.searches.append(search)
            world.asked.setdefault(self.full_name, []).extend(sources)
            score = -2.0 if self.full_name == world.wrong else -1.0
            extra = (5,) if self.full_name == world.wrong else ()
            return [[Hypothesis((*row[:-1], *extra), score, score, True)] for row in sources]

        return pending

    def score(self, sources: Sequence[Row], targets: Sequence[Row]) -> list[list[float]]:
        return []

    def close(self) -> None:
        pass


@pytest.fixture
def bundle(toy_run: Path, monkeypatch: pytest.MonkeyPatch) -> Bundle:
    """A run with more held-out pairs than the toy has, each of them another."""
    words = ("red", "blue", "cat", "dog", "one", "two", "house", "tree")
    lines = [" ".join(words[n // 8**k % 8] for k in range(4)) for n in range(COUNT)]
    monkeypatch.setattr(Bundle, "probe", lambda self: [(line, line) for line in lines])
    return open_bundle(toy_run)


def tuned(
    world: World, bundle: Bundle, patch: pytest.MonkeyPatch, before: Choice | None = None
) -> Choice:
    def library(*parts: object, say: object) -> Any:
        layout = parts[-1]
        assert isinstance(layout, Layout)
        return Fake(world, "ctranslate2", layout)

    def torchs(model: object, frame: object, rules: object, layout: Layout) -> Any:
        return Fake(world, "torch", layout)

    patch.setattr(autotune, "converted_engine", library)
    patch.setattr(torch_engine, "TorchEngine", torchs)
    patch.setattr(autotune, "layouts_for", lambda count: LAYOUTS)
    return autotune.autotune(bundle, lambda: read_transformer(bundle), before, world.clock)


def alike(seconds: float) -> dict[str, float]:
    return dict.fromkeys(PRECISIONS, seconds)


def lengths(count: int, seconds: float, each: float) -> list[int]:
    """The parts where every thing takes `each` seconds."""
    world = World({})
    found = []
    for part in parts(count, seconds, world.clock):
        found.append(part.stop - part.start)
        world.now += each * found[-1]
    return found


@pytest.mark.parametrize(
    ("count", "each", "expected"),
    [
        (500, 0.001, [16, 64, 320, 100]),  # all, each part at most four times what was done
        (500, 0.25, [16, 24]),  # 10 s have room for 40
        (500, 1.0, [16]),  # too slow for more than the few
        (500, 100.0, [16]),
        (12, 1.0, [12]),
        (0, 1.0, []),
    ],
)
def test_parts_fill_the_time(count: int, each: float, expected: list[int]) -> None:
    assert lengths(count, 10.0, each) == expected


def test_parts_notice_that_work_becomes_slower() -> None:
    """The first 16 take 0.1 s in all, the others 0.5 s each: 64 more in 32 s, then it ends."""
    world = World({})
    totals: list[int] = []
    done = 0
    for part in parts(500, 10.0, world.clock, totals.append):
        world.now += 0.1 if part.start == 0 else 0.5 * (part.stop - part.start)
        done = part.stop
    assert done == 80
    assert totals == [500, 80]


@pytest.mark.needs("int8")
def test_a_usual_model_is_compared_on_everything(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    speeds = {"torch fp32": 0.01, "ctranslate2 fp32": 0.004, "ctranslate2 int8": 0.002}
    world = World(speeds)
    choice = tuned(world, bundle, monkeypatch)
    checks = choice.checks
    assert [checks[name]["sentences"] for name in PRECISIONS[1:]] == [100, COUNT]
    assert [checks[name]["left"] for name in PRECISIONS[1:]] == [0, 0]
    assert choice.reason == "ctranslate2 int8 is the fastest that agrees with torch"
    every = {tuple(row) for row in bundle.codec.encode([source for source, _ in bundle.probe()])}
    assert {tuple(row) for row in world.asked["ctranslate2 int8"]} == every
    assert set(world.layouts) >= {(name, *layout) for name in PRECISIONS for layout in LAYOUTS}
    # Every fifth sentence of the probe, as ever, is what torch was asked for first.
    sample = bundle.codec.encode([source for source, _ in bundle.probe()[::5]])
    first = sorted(map(tuple, world.asked["torch fp32"][:100]))
    assert first == sorted(map(tuple, sample))


@pytest.mark.parametrize("seconds", [0.02, 0.05, 0.1, 0.2, 0.4, 0.45])
@pytest.mark.needs("int8")
def test_slow_engines_are_done_in_a_minute(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """For as long as the few fit; 16 sentences of both engines in 15 s are 0.47 s each."""
    world = World(alike(seconds))
    began = world.now
    choice = tuned(world, bundle, monkeypatch)
    measuring = SECONDS_MEASURING + FEW * seconds  # the last layout that was begun in time
    assert world.now - began <= SECONDS_FP32 + SECONDS_INT8 + measuring + 1
    fits = min(100, int(SECONDS_FP32 / (2 * seconds)))
    compared = choice.checks["ctranslate2 fp32"]["sentences"]
    assert fits - 2 <= compared <= fits
    assert choice.checks["ctranslate2 int8"]["sentences"] >= compared


@pytest.mark.needs("int8")
def test_never_fewer_than_the_few_and_it_is_said(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """30 s a sentence: only the few, the same for all, and only the usual layout."""
    world = World(alike(30.0) | {"ctranslate2 int8": 10.0})
    choice = tuned(world, bundle, monkeypatch)
    for name, whole in (("ctranslate2 fp32", 100), ("ctranslate2 int8", COUNT)):
        check = choice.checks[name]
        assert (check["sentences"], check["left"]) == (FEW, whole - FEW)
    assert choice.reason == (
        "ctranslate2 int8 is the fastest that agrees with torch; "
        "to save time compared in fp32 on 16 of 100 and in int8 on 16 of 500 sentences"
    )
    few = sorted(map(tuple, world.asked["torch fp32"][:FEW]))
    for name in PRECISIONS[1:]:
        assert sorted(map(tuple, world.asked[name][:FEW])) == few
    assert len({tuple(row) for row in world.asked["ctranslate2 fp32"][:FEW]}) == FEW
    assert choice.layouts == {name: Layout(name.split()[1], *LAYOUTS[0]) for name in PRECISIONS}


def test_a_cut_comparison_repeats_itself(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = [World(alike(0.3)) for _ in range(2)]
    first, second = (tuned(world, bundle, monkeypatch) for world in worlds)
    assert first == second
    assert worlds[0].asked == worlds[1].asked


def test_a_disagreement_is_seen_in_few_sentences_too(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(alike(30.0), wrong="ctranslate2 fp32")
    choice = tuned(world, bundle, monkeypatch)
    assert choice.engine == "torch"
    assert choice.reason == (
        "fp32: the same tokens as torch in 0 of 16 sentences; "
        "to save time compared in fp32 on 16 of 100 sentences"
    )
    assert "ctranslate2 int8" not in world.asked


@pytest.mark.parametrize(("own", "used"), [(None, None), (5000, None), (8, 8)])
def test_endless_outputs_are_compared_up_to_the_usual_limit(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch, own: int | None, used: int | None
) -> None:
    """None stands for the source's tokens + 50; a limit below that is kept."""
    world = World(alike(30.0))
    vars(bundle)["settings"] = GenerationSettings(search=DecodingOptions(beam=2, max_length=own))
    tuned(world, bundle, monkeypatch)
    assert {search.max_length for search in world.searches} == {used, autotune.TOKENS}


@pytest.mark.needs("int8")
def test_bars_name_what_is_done(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    counts: dict[str, int] = {}

    class Bar:
        def __init__(self, label: str, total: int | None) -> None:
            self.label, self.total = label, total

        def advance(self, n: int = 1) -> None:
            counts[self.label] = counts.get(self.label, 0) + n

        def expect(self, total: int) -> None:
            self.total = total

    bars: list[Bar] = []

    @contextmanager
    def bar(label: str, total: int | None) -> Iterator[Bar]:
        bars.append(Bar(label, total))
        yield bars[-1]
        shown.append(label)

    for module in (agreement, autotune):
        monkeypatch.setattr(module, "progress_bar", bar)
    tuned(World(alike(0.3)), bundle, monkeypatch)
    assert shown == [
        "converting to fp32",
        "comparing fp32",
        "converting to int8",
        "comparing int8",
        "measuring layouts",
    ]
    for each in bars:
        if not each.label.startswith("converting"):  # a bar that ends full
            assert each.total == counts[each.label]
