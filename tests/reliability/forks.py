"""Trainings as processes that start at once, fail where they are told to, and can be killed.

A server imports torch once and forks for every `regard train`. What a training is told about its
faults (class Faults) is installed in its own process only; signals come from the process of the
test, by the number of the forked one.

At a gate a training says what it is about to do and waits until the test lets it go on, so that a
kill lands exactly there.
"""

import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

BENCH = str(Path(__file__).parents[2] / "bench")
PIECES = 8  # in which a watched file is written


@dataclass(frozen=True)
class Faults:
    """What goes wrong, and what is told."""

    gate: str = ""  # path of the two pipes
    # "step", "save", "validation": before each; "vocabulary", "average": before it is learned,
    # taken; and all that is done to the disk by a save: "disk", by what comes before the first
    # step: "prepare", by the choice of the final weights: "finish"
    gate_at: tuple[str, ...] = ()
    examples: str = ""  # file that gets the examples of every step
    nan: tuple[int, ...] = ()  # steps with a loss that is no number
    infinite: tuple[int, ...] = ()  # steps with an infinite gradient
    spikes: tuple[tuple[int, ...], ...] = ()  # examples of batches whose loss is very high
    largest_file: int = 0  # bytes (RLIMIT_FSIZE)
    slow_validation: float = 0.0  # seconds
    ignore_hangup: bool = False  # as under nohup
    broken_output: bool = False  # every write to the terminal fails
    clock: tuple[float, ...] = ()  # seconds by which it is wrong, at each look at it in turn


@dataclass
class Done:
    code: int  # of the exit; -9 after SIGKILL
    output: str


class Child:
    """A training that runs."""

    def __init__(self, server: "subprocess.Popen[str]", pid: int, output: Path, gate: str) -> None:
        self.pid, self._server, self._output = pid, server, output
        self._waits = self.is_over = False
        self._said = open(f"{gate}.said", encoding="utf-8") if gate else None  # noqa: SIM115
        self._go = open(f"{gate}.go", "w", encoding="utf-8") if gate else None  # noqa: SIM115

    def words(self) -> Iterator[str]:
        """What it is about to do, one at a time; it waits until the next is asked for."""
        assert self._said is not None
        while line := self._said.readline():
            self._waits = True
            yield line.strip()
            self.proceed()

    def proceed(self) -> None:
        """Let it go on from where it waits."""
        assert self._go is not None
        if self._waits:
            self._waits = False
            with suppress(BrokenPipeError):
                self._go.write("\n")
                self._go.flush()

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid, number)

    def wait(self, seconds: float = 120) -> Done:
        """The end of it."""
        assert self._server.stdout is not None
        timer = threading.Timer(seconds, self.kill)
        timer.start()
        try:
            if self._said is not None:
                self.proceed()
                for _ in self.words():  # whatever gates are left
                    pass
            code = json.loads(self._server.stdout.readline())["code"]
            self.is_over = True
        finally:
            timer.cancel()
            for pipe in (self._said, self._go):
                with suppress(BrokenPipeError):
                    if pipe is not None:
                        pipe.close()
        return Done(code, self._output.read_text(encoding="utf-8", errors="replace"))


class Trainings:
    """The server's other end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="regard-forks-")
        self._last: Child | None = None
        self._count = 0
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": BENCH},
        )

    def start(self, *arguments: str, **faults: Any) -> Child:
        if self._last is not None and not self._last.is_over:  # a test that failed left it
            self._last.kill()
            self._last.wait()
        self._count += 1
        place = Path(self._folder.name) / str(self._count)
        gate = str(place) if faults.get("gate_at") else ""
        if gate:
            os.mkfifo(f"{gate}.said")
            os.mkfifo(f"{gate}.go")
        order = {
            "arguments": arguments,
            "faults": asdict(Faults(**{**faults, "gate": gate})),
            "output": f"{place}.out",
        }
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        pid = json.loads(self._server.stdout.readline())["pid"]
        self._last = Child(self._server, pid, Path(f"{place}.out"), gate)
        return self._last

    def run(self, *arguments: str, **faults: Any) -> Done:
        return self.start(*arguments, **faults).wait()

    def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(timeout=30)
        self._folder.cleanup()


# What follows runs in the server and its children.


def serve() -> None:
    import matplotlib.backends.backend_agg  # noqa: F401
    from torch.utils import tensorboard  # noqa: F401

    import regard.fit.train  # noqa: F401

    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _train(order)
        print(json.dumps({"pid": pid}), flush=True)
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)


def _train(order: dict[str, Any]) -> None:
    from attacking.forked import become

    become(["train", *order["arguments"]], lambda: _prepare(order))


def _prepare(order: dict[str, Any]) -> None:
    from attacking.forked import print_to

    print_to(order["output"], order["output"])
    os.close(0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.dump_traceback_later(100, file=2)  # where a training hangs that should not
    _install(Faults(**order["faults"]))


def _install(faults: Faults) -> None:
    gate = _Gate(faults.gate) if faults.gate else None
    _watch_steps(faults, gate)
    if gate is not None:
        _watch_moments(gate, set(faults.gate_at))
        _watch_disk(gate, set(faults.gate_at))
    if faults.clock:
        _set_clock(faults.clock)
    if faults.ignore_hangup:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if faults.broken_output:
        broken, reading = os.pipe()[::-1]
        os.close(reading)
        os.dup2(broken, 1)
        os.dup2(broken, 2)
    if faults.largest_file:
        import resource

        limit = (faults.largest_file, faults.largest_file)
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    if faults.slow_validation:
        from regard.fit.objectives import translate as translation

        validate = translation.validate

        def slow(*given: Any) -> Any:
            time.sleep(faults.slow_validation)
            return validate(*given)

        translation.validate = slow


class _Gate:
    def __init__(self, path: str) -> None:
        self._said = open(f"{path}.said", "w", encoding="utf-8")  # noqa: SIM115
        self._go = open(f"{path}.go", encoding="utf-8")  # noqa: SIM115

    def __call__(self, word: str) -> None:
        self._said.write(word + "\n")
        self._said.flush()
        self._go.readline()


def _watch_steps(faults: Faults, gate: _Gate | None) -> None:
    from regard.training.data_parallel import DataParallel, MeanLoss

    gradients = DataParallel.gradients
    spikes = {tuple(examples) for examples in faults.spikes}

    def watched(self: DataParallel, step: int, group: Any) -> MeanLoss:
        if step == 0:  # the self-test measures, it does not train
            return gradients(self, step, group)
        if gate is not None and "step" in faults.gate_at:
            gate(f"step {step}")
        examples = tuple(number for batch in group for number in batch.examples)
        if faults.examples:
            with open(faults.examples, "a", encoding="utf-8") as file:
                file.write(json.dumps({"step": step, "examples": examples}) + "\n")
        means = gradients(self, step, group)
        if step in faults.nan:
            return MeanLoss(float("nan"), float("nan"))
        if step in faults.infinite:
            next(w for w in self._weights if w.grad is not None).grad.fill_(float("inf"))
        if examples in spikes:
            return MeanLoss(means.smoothed + 50, means.plain + 50)
        return means

    DataParallel.gradients = watched  # type: ignore[method-assign]


def _watch_moments(gate: _Gate, at: set[str]) -> None:
    """A word before each of these."""
    from regard.checkpoint import training_state
    from regard.fit.checkpoints import CheckpointManager
    from regard.fit.trainer import Trainer
    from regard.text.tokenizer import Tokenizer

    def told(work: Callable[..., Any], word: Callable[..., str]) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            gate(word(*given))
            return work(*given, **named)

        return watched

    if at & {"save", "disk"}:
        name = lambda checkpoints, content, progress, *_: f"save {progress.step}"  # noqa: E731
        CheckpointManager.save = told(CheckpointManager.save, name)  # type: ignore[method-assign]
    if "validation" in at:
        name = lambda trainer, *_: f"validation {trainer.progress.step}"  # noqa: E731
        Trainer._validation = told(Trainer._validation, name)  # type: ignore[method-assign]
    if "average" in at:
        training_state.average_weights = told(training_state.average_weights, lambda *_: "average")
    if "vocabulary" in at:
        learn = told(Tokenizer.train, lambda *_: "vocabulary")
        Tokenizer.train = learn  # type: ignore[method-assign, assignment]


def _watch_disk(gate: _Gate, at: set[str]) -> None:
    """A word before and after all that is done to the disk meanwhile."""
    import shutil

    from regard.fit.checkpoints import CheckpointManager
    from regard.fit.trainer import Trainer

    inside = int("prepare" in at)

    def during(work: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            nonlocal inside
            inside += 1
            try:
                return work(*given, **named)
            finally:
                inside -= 1

        return watched

    if "disk" in at:
        CheckpointManager.save = during(CheckpointManager.save)  # type: ignore[method-assign]
    if "prepare" in at:
        steps = Trainer.train

        def past_preparation(*given: Any) -> Any:
            nonlocal inside
            inside -= 1
            return steps(*given)

        Trainer.train = past_preparation  # type: ignore[method-assign, assignment]
    if "finish" in at:
        Trainer.finish = during(Trainer.finish)  # type: ignore[method-assign]
    if not at & {"disk", "prepare", "finish"}:
        return

    def around(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            if not inside:
                return work(*given, **named)
            about = f"{name} {' '.join(map(_named, given))}"
            gate(f"before {about}")
            result = work(*given, **named)
            gate(f"after {about}")
            return result

        return watched

    at_once = Path.write_bytes

    def in_pieces(path: Path, data: bytes) -> int:
        if not inside:
            return at_once(path, data)
        with path.open("wb", buffering=0) as file:
            for i in range(PIECES):
                piece = data[len(data) * i // PIECES : len(data) * (i + 1) // PIECES]
                file.write(piece)
                gate(f"wrote {i + 1}/{PIECES} {path}")
        return len(data)

    os.fsync = around("fsync", os.fsync)
    shutil.rmtree = around("rmtree", shutil.rmtree)
    Path.mkdir = around("mkdir", Path.mkdir)  # type: ignore[method-assign]
    Path.rename = around("rename", Path.rename)  # type: ignore[method-assign]
    Path.replace = around("replace", Path.replace)  # type: ignore[method-assign]
    Path.write_bytes = in_pieces  # type: ignore[method-assign, assignment]


def _set_clock(wrong: tuple[float, ...]) -> None:
    """The time of day jumps ahead and back; seconds are still counted as they pass."""
    from itertools import cycle

    jumps, right = cycle(wrong), time.time
    time.time = lambda: right() + next(jumps)


def _named(thing: object) -> str:
    return os.readlink(f"/proc/self/fd/{thing}") if isinstance(thing, int) else str(thing)


if __name__ == "__main__":
    serve()
