"""Runs that are stopped after a step, as by Ctrl-C, and what two runs of the same bits share."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toy
from regard.checkpoint.files import steps_saved
from regard.fit import trainer
from regard.fit.train import Request, train
from regard.runs.folder import RunFolder, write_own_json
from regard.training.loop import Step


def ask(folder: Path, *changes: str, pairs: int = 200, steps: int = 40) -> Request:
    """A small training on the toy language in `folder`/run."""
    folder.mkdir(exist_ok=True)
    source, target = toy.write(folder, pairs)
    usual = ("train.validate_every=8", "train.average=3", f"train.steps={steps}")
    return Request(
        source=source,
        target=target,
        assignments=(*toy.SMALL, *usual, *changes),
        folder=folder / "run",
    )


def forget_steps(run: RunFolder) -> None:
    """As if it had been killed before its first checkpoint."""
    shutil.rmtree(run.checkpoints)
    for path in (run.log, run.weights, run.weights_info):
        path.unlink()
    kept = {k: v for k, v in run.read_info().items() if k not in ("step", "best_step", "ended")}
    write_own_json(run.info, kept | {"state": "training"})


def go(asked: Request) -> list[str]:
    lines: list[str] = []
    train(asked, lines.append)
    return lines


def go_with_halts(asked: Request, halts: list[int], patch: pytest.MonkeyPatch) -> None:
    """The same training, stopped by a signal after each of these steps and resumed."""
    steps = trainer.training_steps

    def halting(*arguments: Any) -> Iterator[Step]:
        for step in steps(*arguments):
            if halts and step.number == halts[0]:
                halts.pop(0)
                os.kill(os.getpid(), signal.SIGINT)
            yield step

    patch.setattr(trainer, "training_steps", halting)
    again = Request(resume=asked.folder)
    while train(asked, lambda line: None).signal is not None:
        asked = again
    assert not halts


def digest(run: Path) -> dict[str, str]:
    """Everything that two equal runs share, to the last bit."""
    return toy.digest(run, steps_saved(run / "checkpoints")[-1])
