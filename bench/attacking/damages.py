"""A file is damaged, then a command that rests on it is run: noticed, made again, or wrong."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attacking.counted import Tally
from attacking.forked import Done, run
from attacking.tiny import STEPS, TEXT, Tiny, bits_of, by_library

# Nothing rests on these.
FREE = (".lock", "loss.png", "tensorboard/", "engines/.lock")
SAID = ("Warning", "again", "Preparing", "Note:")  # words of lines that tell what was mended


@dataclass(frozen=True)
class Target:
    """Files of a folder, and how to use them; `outcome` is what must stay the same."""

    kind: str
    folder: Path
    files: list[str]
    command: list[str]
    outcome: Callable[[Done], object] = lambda done: done.out


def damages(tiny: Tiny, count: int, seed: int, tally: Tally) -> None:
    """Each file in turn, again and again, each time otherwise."""
    known = list(targets(tiny))
    right = {target.kind: target.outcome(run(*target.command)) for target in known}
    tasks = [(target, name) for target in known for name in target.files]
    chance = random.Random(seed)
    for number in range(count):
        target, name = (
            tasks[number * len(tasks) // count]
            if count < len(tasks)
            else tasks[number % len(tasks)]
        )
        attack_one(target, name, right[target.kind], chance, tally)


def attack_one(
    target: Target, name: str, right: object, chance: random.Random, tally: Tally
) -> None:
    """Damage, use, compare, mend."""
    before = contents(target.folder)
    how, data = damaged(before[name], name, chance)
    (target.folder / name).write_bytes(data)
    done = run(*target.command)
    found = target.outcome(done)
    mend(target.folder, before)
    story = f"{name} ({how}): {done.last_words}"
    if not done.is_clean:
        tally.count("damage", target.kind, "wrong", story)
    elif done.code:
        tally.count("damage", target.kind, "noticed")
    elif found != right:
        tally.count("damage", target.kind, "wrong", f"{story}: another answer")
    elif any(word in done.err + done.out for word in SAID):
        tally.count("damage", target.kind, "survived")
    else:
        tally.count("damage", target.kind, "wrong", f"{story}: nobody noticed")


def damaged(data: bytes, name: str, chance: random.Random) -> tuple[str, bytes]:
    """One of the accidents that happen to files; in JSON one that means something."""
    places = range(len(data))
    if name.endswith((".json", ".jsonl")):
        places = [i for i in places if not chr(data[i]).isspace()]
    place = chance.choice(places)
    kind = chance.choice(["a bit", "a byte", "cut off", "a block of zeros"])
    if kind == "a bit":
        new = bytes([data[place] ^ 1 << chance.randrange(3)])
        return kind, data[:place] + new + data[place + 1 :]
    if kind == "a byte":
        return kind, data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
    if kind == "cut off":
        return kind, data[: min(place, len(data) - 2)]
    end = min(len(data), place + 512)
    zeros = bytes(end - place)
    return kind, data[:place] + (zeros if data[place:end] != zeros else b"\1" * len(zeros)) + data[
        end:
    ]


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def mend(folder: Path, before: dict[str, bytes]) -> None:
    """The folder as it was, whatever the command did to it."""
    import shutil

    shutil.rmtree(folder)
    for name, data in before.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def files_of(folder: Path, *beginnings: str, without: tuple[str, ...] = ()) -> list[str]:
    """Names of files that begin so, without those that nothing rests on."""
    found = [name for name in contents(folder) if name.startswith(beginnings or ("",))]
    return [name for name in found if not name.startswith((*FREE, *without))]


def targets(tiny: Tiny) -> Iterator[Target]:
    """What can be damaged here; what needs a library that is not installed is left out."""
    from importlib.util import find_spec

    run_folder = tiny.copy(tiny.straight, "damaged-run")
    by_torch = ["translate", str(run_folder), TEXT, "--engine", "torch", "--json"]
    elsewhere = ("data/", "checkpoints/", "log.jsonl")
    yield Target("a run", run_folder, files_of(run_folder, without=elsewhere), by_torch)
    again = ["train", "--resume", str(run_folder)]
    bits = lambda done: bits_of(run_folder)  # noqa: E731
    yield Target("its data", run_folder, files_of(run_folder, "data/"), again, bits)
    unfinished = tiny.copy(tiny.straight, "damaged-checkpoints")
    last = f"checkpoints/step-{STEPS:08d}/"
    go_on = ["train", "--resume", str(unfinished)]
    same = lambda done: bits_of(unfinished)  # noqa: E731
    yield Target("its last checkpoint", unfinished, files_of(unfinished, last), go_on, same)
    plot = ["plot", str(run_folder)]
    yield Target("its log", run_folder, ["log.jsonl"], plot)
    if find_spec("ctranslate2"):
        folder = tiny.copy(tiny.with_engines, "damaged-engines")
        for precision in ("fp32", "int8"):
            ask = ["translate", str(folder), TEXT, *by_library(precision), "--json"]
            names = files_of(folder, f"engines/ctranslate2-{precision}/")
            yield Target(f"engine {precision}", folder, names, ask)
        ask = ["translate", str(folder), TEXT, *by_library("fp32"), "--json"]
        yield Target("choice of engine", folder, ["engines/choice.json"], ask)
    native = tiny.copy(tiny.converted, "damaged-native")
    ask = ["translate", str(native), TEXT, "--engine", "torch", "--json"]
    yield Target("a converted run", native, files_of(native, without=("golden.json",)), ask)
    encoder = tiny.copy(tiny.classifier, "damaged-encoder")
    ask = ["classify", str(encoder), TEXT, "--json"]
    yield Target("a classifier", encoder, files_of(encoder, without=elsewhere), ask)
    if find_spec("bm25s"):
        index = tiny.copy(tiny.index, "damaged-index")
        ask = ["search", str(index), "red", "cat", "--mode", "keyword", "--json"]
        yield Target("an index", index, files_of(index), ask)
    from regard.bundle.box import models_in_the_box

    for name, boxed in list(models_in_the_box().items())[:1]:
        place = boxed.unpacked()
        ask = ["translate", name, "How are you?", "--engine", "torch", "--json"]
        yield Target("a model of the box", place, files_of(place), ask)
