"""A worker in a process of its own, and how one talks with it.

    this process  ── share: step, numbers, parts (safetensors) ──▸  worker process
    this process  ◂── losses, or what went wrong (JSON) ──          worker process

Weights and gradients are in memory that both see. Threads of one process would be simpler, but take
turns at Python's lock (docs/decisions/0006-training-speed.md); `multiprocessing` would run a user's
script once more in each worker (docs/decisions/0013-workers.md). A worker process ignores signals,
which are for its parent to answer, and ends with it.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

from regard.config import build, to_tables
from regard.data.batch import Batch
from regard.errors import TrainingError
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.training.compute import Compute
from regard.training.malloc import keep_freed_memory
from regard.training.parts import BatchPart
from regard.training.shared import SharedTensors
from regard.training.worker import LossOf, MeanLoss, Share, ShareResult, Worker, trained

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>


class WorkerProcess:
    """The other process, seen from ours."""

    def __init__(
        self,
        model: Transformer,
        loss_of: LossOf,
        compute: Compute,
        seed: int,
        weights: SharedTensors,
    ) -> None:
        self._gradients = SharedTensors(trained(model))
        self._line, theirs = Pipe()
        files = (weights.descriptor, self._gradients.descriptor, theirs.fileno())
        code = f"from regard.training.worker_process import serve; serve{files}"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            pass_fds=files,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        theirs.close()
        about = {
            "spec": to_tables(model.spec),
            "frozen": [not weight.requires_grad for weight in model.parameters()],
            "double": weights.tensors[0].dtype == torch.float64,
            "loss": packed(loss_of),
            "compute": asdict(compute),
            "seed": seed,
        }
        self._line.send_bytes(json.dumps(about).encode())

    def ask(self, share: Share) -> None:
        """Hand a share over; `listen` waits for the answer."""
        tensors = {"step": torch.tensor([share.step, share.targets])}
        for i, part in enumerate(share.parts):
            tensors[f"{i}"] = torch.tensor([part.number, part.rows, part.start])
            named = part.batch.tensors.items()
            tensors |= {f"{i}.{name}": tensor.contiguous() for name, tensor in named}
        try:
            self._line.send_bytes(save(tensors))
        except (BrokenPipeError, ConnectionResetError):
            raise self._gone() from None

    def listen(self) -> dict[str, Any]:
        """What it says to the share that it was asked for."""
        try:
            said: dict[str, Any] = json.loads(self._line.recv_bytes())
        except (EOFError, ConnectionResetError):
            raise self._gone() from None
        return said

    def _gone(self) -> TrainingError:
        return TrainingError(
            f"a worker process ended with code {self._process.wait()} (-9: killed, often because "
            "memory ran out); resume the run, with a smaller train.token_budget for a new one"
        )

    def result(self, said: dict[str, Any], share: Share) -> ShareResult:
        """Its gradients, in the shared memory, and losses."""
        if "error" in said:
            raise TrainingError(f"a worker process failed:\n{said['error']}")
        missing = set(said["missing"])
        tensors = enumerate(self._gradients.tensors)
        gradients = [None if i in missing else tensor for i, tensor in tensors]
        return ShareResult(
            gradients, MeanLoss(*said["loss"]), [share.parts[i] for i in said["failed"]]
        )

    def close(self) -> None:
        self._line.close()
        self._process.wait()
        self._gradients.close()


def die_with_parent() -> bool:
    """Ask the system to end this process when its parent ends; False where it has no such wish.

    Then the line, which ends with the parent too, ends the worker after the share at hand.
    """
    try:
        prctl = ctypes.CDLL(None).prctl
    except (AttributeError, OSError, TypeError):  # not Linux
        return False
    return bool(prctl(_DIE_WITH_PARENT, signal.SIGKILL) == 0)


def serve(weights: int, gradients: int, line: int) -> None:
    """The worker process's own side: answer shares until the line is closed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    die_with_parent()
    keep_freed_memory()
    talk = Connection(line)
    try:
        about = json.loads(talk.recv_bytes())
        compute = build(Compute, about["compute"], "compute")
        torch.set_num_threads(compute.threads)
        model = Transformer(build(Spec, about["spec"], "spec"), seed=None)
        model = model.double() if about["double"] else model
        use_shared(model, SharedTensors(list(model.parameters()), weights).tensors)
        for weight, frozen in zip(model.parameters(), about["frozen"], strict=True):
            weight.requires_grad_(not frozen)
        shared_gradients = SharedTensors(trained(model), gradients).tensors
        worker = Worker(model, unpacked(about["loss"]), compute, about["seed"])
        while True:
            talk.send_bytes(_answered(worker, talk.recv_bytes(), shared_gradients))
    except (EOFError, ConnectionResetError, BrokenPipeError):
        return


def _answered(worker: Worker, question: bytes, into: Sequence[Tensor]) -> bytes:
    try:
        tensors = load(question)
        step, targets = tensors.pop("step").tolist()
        count = sum("." not in name for name in tensors)
        parts = [_part(tensors, i) for i in range(count)]
        total = worker.gradients(Share(step, targets, parts))
        missing = []
        for i, (gradient, place) in enumerate(zip(total.gradients, into, strict=True)):
            if gradient is None:
                missing.append(i)
            else:
                place.copy_(gradient)
        said = {
            "loss": [total.loss.smoothed, total.loss.plain],
            "missing": missing,
            "failed": [parts.index(part) for part in total.failed],
        }
        return json.dumps(said).encode()
    except Exception:  # whatever it is, the other side has to know
        return json.dumps({"error": traceback.format_exc()}).encode()


def _part(tensors: dict[str, Tensor], i: int) -> BatchPart:
    number, rows, start = tensors[f"{i}"].tolist()
    named = {n.removeprefix(f"{i}."): t for n, t in tensors.items() if n.startswith(f"{i}.")}
    return BatchPart(number, Batch(named), rows, start)


def is_known(loss_of: LossOf) -> bool:
    """Whether it can be told to another process: data, of a class that a module has."""
    kind = type(loss_of)
    if not is_dataclass(loss_of) or kind.__module__ == "__main__":  # theirs is another
        return False
    return vars(import_module(kind.__module__)).get(kind.__name__) is kind


def packed(loss_of: Any) -> dict[str, Any]:
    """Where its class is, and its fields."""
    kind = type(loss_of)
    return {"module": kind.__module__, "name": kind.__name__, "fields": asdict(loss_of)}


def unpacked(told: dict[str, Any]) -> LossOf:
    """The inverse of `packed`."""
    kind = vars(import_module(told["module"]))[told["name"]]
    loss_of: LossOf = kind(**told["fields"])
    return loss_of


def use_shared(model: Transformer, tensors: Sequence[Tensor]) -> None:
    """Let the model's weights be these tensors; their values are left as they are."""
    for weight, tensor in zip(model.parameters(), tensors, strict=True):
        weight.data = tensor
