"""Proof on the user's own recipe that a killed run loses nothing.

    straight   a short run from its first step to its last
    killed     the same run from the same first step, killed by SIGKILL several times and resumed

Both are processes of their own, and the kills come from this one. At the end SHA-256 of weights,
optimizer, final weights and log are compared.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from regard.bundle.encoder_file import NAME as ENCODER
from regard.checkpoint.files import copy_around, folder_name, read_own_json, steps_saved
from regard.checksums import sha256
from regard.draw.terminal.progress import progress_bar
from regard.errors import MisuseError, TrainingError
from regard.fit.request import Request
from regard.printable import Say
from regard.runs.folder import RunFolder
from regard.runs.log import read_log

SHORT = (
    "train.steps=30",
    "train.validate_every=6",
    "train.bleu_sentences=4",
    "train.patience=0",
    "train.minutes=",  # a run that ends by the clock never ends twice at the same step
)
KILLS = 3
WAIT = 0.002  # seconds between two looks at the log
MOMENT = 0.05  # seconds; a kill comes within them, anywhere in a step or a checkpoint
SHOWN = 16  # digits of a checksum


@dataclass
class Proof:
    """What was compared: name → the checksums of the straight and of the killed run."""

    steps: int
    kills: list[str] = field(default_factory=list)  # a clause for each
    sums: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return bool(self.kills) and all(a == b for a, b in self.sums.values())

    def lines(self) -> list[str]:
        """The table and the verdict."""
        rows = [("SHA-256", "straight", "killed and resumed", "")]
        for name, (a, b) in self.sums.items():
            rows.append((name, a[:SHOWN], b[:SHOWN], "same" if a == b else "DIFFERENT"))
        table = [f"{n:16}{a:18}{b:20}{same}".rstrip() for n, a, b, same in rows]
        if not self.kills:
            verdict = "Not proved: the run was over before a kill reached it; add train.steps=300"
        elif self.holds:
            times = "once" if len(self.kills) == 1 else f"{len(self.kills)} times"
            verdict = f"Proved: killed {times}, and not one bit is different."
        else:
            verdict = "NOT the same: a resumed run of this recipe ends with other bits."
        return [*self.kills, "", *table, "", verdict]


def prove(request: Request, say: Say) -> Proof:
    """Train a short run straight and one that is killed and resumed; compare them."""
    if request.resume or request.folder or request.minutes:
        raise MisuseError("train", "--prove-resume takes a recipe or own files and KEY=VALUE only")
    folder = Path(tempfile.mkdtemp(prefix="regard-prove-"))
    proof: Proof | None = None
    try:
        proof = _proof(request, RunFolder(folder / "straight"), RunFolder(folder / "killed"), say)
    finally:
        if proof is None or proof.holds:
            shutil.rmtree(folder, ignore_errors=True)
    if not proof.holds:
        say(f"Both runs are left for you to look at in {folder}.")
    return proof


def _proof(request: Request, straight: RunFolder, killed: RunFolder, say: Say) -> Proof:
    with progress_bar("the straight run", None):
        short = replace(request, assignments=(*SHORT, *request.assignments))
        _train([*short.words(), "--run", str(straight.folder)])
    train = read_own_json(straight.recipe)["train"]
    say(
        f"A short run: {train['steps']} steps, a checkpoint every {train['validate_every']}, "
        "straight; then the same again, killed and resumed."
    )
    _copy_start(straight, killed)
    proof = Proof(train["steps"])
    goals = [int(train["steps"] * (i + random.random()) / KILLS) for i in range(KILLS)]
    with progress_bar("killing and resuming", len(goals) + 1) as bar:
        for goal in goals:
            death = _killed_at(killed, goal)
            proof.kills += [death] if death else []
            bar.advance()
        _train(["--resume", str(killed.folder)])
    proof.sums.update(_sums(straight, killed, train["steps"]))
    return proof


def _command(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "regard", "train", *arguments]


def _train(arguments: Sequence[str]) -> None:
    """A training from beginning to end; its own error message is ours."""
    done = subprocess.run(_command(arguments), capture_output=True, text=True)
    if done.returncode:
        told = done.stderr.strip().splitlines() or ["no message"]
        raise TrainingError(f"the short run ended with {done.returncode}: {told[-1]}")


def _copy_start(straight: RunFolder, killed: RunFolder) -> None:
    """The second run before its first step: prepared data and the way to compute are the same."""
    killed.folder.mkdir()
    encoder = [path for path in (straight.folder / ENCODER,) if path.is_file()]
    for path in (straight.info, straight.recipe, straight.spec, straight.checksums, *encoder):
        shutil.copy(path, killed.folder / path.name)
    copy_around(straight.folder, killed.folder)  # the tokenizer
    shutil.copytree(straight.data, killed.data, copy_function=_link)
    killed.update_info(state="training", step=0, best_step=0)


def _link(source: str, target: str) -> None:
    """A second name for a file that nobody changes; a copy where that cannot be."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy(source, target)


def _killed_at(run: RunFolder, goal: int) -> str:
    """Resume, and kill when the log shows that step; empty if the run was over before."""
    start = (steps_saved(run.checkpoints) or [0])[-1]
    old_log = _identity(run.log)
    process = subprocess.Popen(
        _command(["--resume", str(run.folder)]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while process.poll() is None:
            reached = 0
            if _identity(run.log) != old_log:  # a run that begins writes the file anew
                reached = max((int(r["step"]) for r in read_log(run.log)), default=0)
            if reached >= max(goal, start + 1):
                time.sleep(random.random() * MOMENT)
                process.kill()  # SIGKILL: nothing can be done about it
                if process.wait() == 0:
                    return ""
                kept = (steps_saved(run.checkpoints) or [0])[-1]
                return f"SIGKILL after step {reached}; the last checkpoint is of step {kept}"
            time.sleep(WAIT)
    finally:
        process.kill()
        process.wait()
    return ""


def _identity(file: Path) -> int:
    try:
        return file.stat().st_ino
    except FileNotFoundError:
        return 0


def _sums(straight: RunFolder, killed: RunFolder, steps: int) -> dict[str, tuple[str, str]]:
    last = Path("checkpoints") / folder_name(steps)
    files = {
        "weights": last / "weights.safetensors",
        "optimizer": last / "optimizer.safetensors",
        "final weights": Path("model.safetensors"),
        "log": Path("log.jsonl"),
    }
    return {
        name: (sha256(straight.folder / file), sha256(killed.folder / file))
        for name, file in files.items()
    }
