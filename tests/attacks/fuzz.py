"""Every file of a folder, damaged in every way: a named error or the right answer, and soon.

    python tests/attacks/fuzz.py --kind run --minutes 5 --seed 1
    python tests/attacks/fuzz.py --kind index --cases 40

A case is a fresh copy of the folder, one thing in it that changes, and a command that reads it, in
a process of its own. It is asked only

    whether it ends with a documented exit code, without a traceback or a signal, within the limit
    whether it takes at most twice the memory that it takes with the undamaged folder
    whether everything outside of the folder is as it was
    whether it prints nothing that a terminal would obey
    whether an answer is the right one, or a line says what is wrong

The last not where the change is sealed: what has the right checksum may mean something else.
"""

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before torch: a fork inherits no threads
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "bench")]

from attacking.forked import Done, get_ready, run  # noqa: E402
from attacking.tiny import TEXT, Tiny, by_library, insist  # noqa: E402
from mutate import MUTATIONS, OUTSIDE, Change, files_of, seal_again  # noqa: E402

LIMIT = 50.0  # seconds of a case
CODES = (0, 1, 2, 3, 4)  # errors.py
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
FIRST = ("translate", "search", "classify", "fill", "embed")  # whose answers are compared


@dataclass
class Target:
    """A folder that is damaged again and again, and the commands that read it."""

    whole: Path
    folder: Path
    commands: list[list[str]]
    has_checksums: bool = True
    right: dict[str, Done] = field(default_factory=dict)

    def renew(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.whole, self.folder, symlinks=True)


# of a published folder: the family → what reads it
ASKED = {
    "bert": (["fill", "", "the [MASK] sat on the mat.", "--json"], ["embed", "", "the cat"]),
    "gpt2": (["complete", "", "the cat", "--json"],),
    "marian": (["translate", "", "the cat sat", "--engine", "torch", "--json"],),
    "t5": (["generate", "", "the cat sat", "--json"],),
}


def targets(tiny: Tiny, kind: str, seed: int) -> Target:
    """What there is to damage of a kind; other seeds have other models."""
    folder = tiny.place / "damaged" / kind
    name, parent = str(folder), str(folder.parent)
    looks = [["doctor", name], ["doctor", name, "--json"]]
    if kind == "run":
        whole = tiny.straight if seed % 2 else tiny.classifier
        answer = ["translate", "--engine", "torch"] if seed % 2 else ["classify"]
        ask = [answer[0], name, TEXT, *answer[1:], "--json"]
        shows = [["runs", parent], ["runs", name, "--json"], ["plot", name], ["evaluate", name]]
        if seed % 2:
            insist(run("verify", str(whole), "--update"))
            shows += [["verify", name], ["explain", name, TEXT]]
        return Target(whole, folder, [ask, *looks, *shows, ["train", "--resume", name]])
    if kind == "engine":
        asks = [["translate", name, TEXT, *by_library(p), "--json"] for p in ("fp32", "int8")]
        engine = str(folder / "engines/ctranslate2-int8")
        commands = [*asks, ["translate", name, TEXT], ["doctor", name], ["doctor", engine]]
        return Target(tiny.with_engines, folder, commands)
    if kind == "index":
        asks = [
            ["search", name, "red", "cat", "--mode", mode, "--json"]
            for mode in ("keyword", "semantic", "hybrid")
        ]
        texts = str(tiny.place / "texts")
        update = ["index", texts, "--output", name, "--model", str(tiny.classifier)]
        return Target(tiny.index, folder, [*asks, update, [*update, "--rebuild"], *looks])
    if kind == "gguf":
        import gguf_files

        whole = tiny.place / kind
        whole.mkdir()
        gguf_files.write(whole / "a.gguf", gguf_files.twin(300), gguf_files.Kind.Q8_0)
        insist(run("verify", str(whole / "a.gguf"), "--update"))
        file = str(folder / "a.gguf")
        asks = [["complete", file, "the cat", "--json"], ["doctor", file], ["verify", file]]
        convert = ["convert", file, str(folder.parent / "out"), "--to", "hf"]
        return Target(whole, folder, [*asks, *looks, convert], has_checksums=False)
    import folders

    family = list(ASKED)[seed % len(ASKED)]
    whole = tiny.place / kind
    if family == "bert":
        folders.bert(whole, "MaskedLM")
    else:
        {"gpt2": folders.gpt2, "marian": folders.marian, "t5": folders.t5}[family](whole)
    insist(run("verify", str(whole), "--update"))
    asks = [[word or name for word in ask] for ask in ASKED[family]]
    convert = ["convert", name, str(folder.parent / "out"), "--to", "native"]
    return Target(whole, folder, [*asks, *looks, ["verify", name], convert], has_checksums=False)


def outside(tiny: Tiny) -> dict[str, tuple[int, int]]:
    """Size and time of everything that no command may touch."""
    found = {}
    for root, folders, names in os.walk(tiny.place):
        if Path(root) == tiny.place:
            folders[:] = [name for name in folders if name not in ("damaged", "cache")]
        for name in [*names, *folders]:
            status = os.lstat(Path(root) / name)
            found[str(Path(root) / name)] = status.st_size, status.st_mtime_ns
    return found


def problem(done: Done, right: Done, change: Change, command: list[str], checked: bool) -> str:
    """What is wrong with how a command ended; empty if nothing is."""
    said = done.out + done.err
    if done.seconds > LIMIT:
        return f"took {done.seconds:.0f} s"
    if done.code not in CODES:
        return f"ended with {done.code}"
    if "Traceback" in said:
        return "a traceback"
    if obeyed := OBEYED.search(said):
        return f"printed {obeyed[0]!r}"
    if done.memory > 2 * right.memory:
        return f"took {done.memory / 1e6:.0f} MB, not {right.memory / 1e6:.0f}"
    if done.code and not done.err.strip() and command[0] != "doctor":
        return "said nothing"
    if not done.code and command[0] in FIRST:
        if "NaN" in done.out:
            return "answered NaN"
        if checked and not change.is_sealed and done.out != right.out and not done.err.strip():
            return "another answer, and nothing said"
    return ""


def cases(target: Target, chance: random.Random) -> Iterator[tuple[Change, list[str]]]:
    """A fresh copy with one thing changed, and what to do with it; without end."""
    while True:
        target.renew()
        names = files_of(target.folder)
        top = [name for name in names if "/" not in name]  # what most commands read
        name = chance.choice(chance.choice((names, top)))
        change = chance.choice(MUTATIONS)(target.folder, name, chance)
        if change is None:
            continue
        if chance.random() < 0.5 and change.can_be_sealed:
            change = seal_again(target.folder, change)
        yield change, chance.choice(target.commands)


def fuzz(kind: str, place: Path, seed: int, count: int, minutes: float) -> dict[str, int]:
    """So many cases, or for so long; how they ended. What went wrong is told on the way."""
    tiny = Tiny(place)
    (place / OUTSIDE / "tree/deep").mkdir(parents=True)
    for name in ("file", "tree/file", "tree/deep/file"):
        (place / OUTSIDE / name).write_text("not yours")
    target = targets(tiny, kind, seed)
    target.folder.parent.mkdir(exist_ok=True)
    ends: Counter[str] = Counter()
    for command in target.commands:
        target.renew()
        target.right[" ".join(command)] = right = run(*command)
        assert right.code == 0 or command[0] == "doctor", (command, right)
    before = outside(tiny)
    begun = time.monotonic()
    for change, command in cases(target, random.Random(seed)):
        if ends.total() >= count or (minutes and time.monotonic() - begun > 60 * minutes):
            break
        shutil.rmtree(target.folder.parent / "out", ignore_errors=True)
        done = run(*command, limit=LIMIT)
        wrong = problem(
            done, target.right[" ".join(command)], change, command, target.has_checksums
        )
        # A folder that is a link lies where its owner wants it; train may write there.
        linked = (target.folder / change.name).is_dir() and command[0] == "train"
        if (now := outside(tiny)) != before and not linked:
            wrong = f"changed outside: {sorted(set(now.items()) ^ set(before.items()))[:2]}"
        before = now
        ends["wrong" if wrong else "refused" if done.code else "answered"] += 1
        if wrong:
            words = " ".join(command).replace(str(place), "…")
            print(f"wrong: case {ends.total()}: {change}: regard {words}: {wrong}", flush=True)
            print(f"    {done.last_words}", flush=True)
    shutil.rmtree(target.folder, ignore_errors=True)
    return dict(ends)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--kind", choices=("run", "engine", "index", "published", "gguf"), required=True
    )
    parser.add_argument("--cases", type=int, default=10**9)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="fuzz-"))
    os.environ["REGARD_CACHE"] = str(place / "cache")
    try:
        get_ready()
        ends: Mapping[str, int] = fuzz(given.kind, place, given.seed, given.cases, given.minutes)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(f"{given.kind}, seed {given.seed}: {sum(ends.values())} cases: {dict(ends)}")
    sys.exit(1 if ends.get("wrong") else 0)


if __name__ == "__main__":
    main()
