"""For tests: a processor that dies, on one that does not.

    REGARD_SIMULATE="bf16=SIGILL,int8=hang,int16=garbage"      REGARD_SIMULATE=all

A trial of such a feature (child.py) kills itself by that signal, never ends, or answers with wrong
numbers. In every other process the feature raises where it would be computed: a way round the trial
fails. `all` are all features but fp32. `amx` is bf16 on a processor whose AMX is broken: deadly
until oneDNN is told to leave it alone.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import RLock
from typing import Any

from regard.errors import MisuseError, nearest

VARIABLE, IN_TRIAL = "REGARD_SIMULATE", "REGARD_TRIAL"
SIGNALS = ("SIGILL", "SIGSEGV", "SIGBUS")
DEATHS = (*SIGNALS, "hang", "garbage")
FEATURES = ("fp32", "bf16", "int16", "ctranslate2", "int8", "amx")
ALL = ("bf16", "int16", "ctranslate2", "int8")
# Parts of the names of operations that multiply.
PRODUCTS = ("mm", "mv", "dot", "matmul", "linear", "conv", "attention")


# One thread at a time: torch makes the Python object of an operation when it first needs it, and
# two threads that ask at once leave it with a pointer to one that is gone.
_ONE_WATCHES = RLock()


class SimulatedDeathError(RuntimeError):
    """Something was computed that would have ended the process."""


def simulated() -> dict[str, str]:
    """The death of each feature that has one."""
    setting = os.environ.get(VARIABLE, "")
    deaths: dict[str, str] = {}
    for part in filter(None, setting.split(",")):
        name, _, death = part.strip().partition("=")
        death = death or "SIGILL"
        if death not in DEATHS:
            raise MisuseError(VARIABLE, got=death, advice=nearest(death, DEATHS))
        if name not in (*FEATURES, "all"):
            raise MisuseError(VARIABLE, got=name, advice=nearest(name, (*FEATURES, "all")))
        deaths |= dict.fromkeys(ALL if name == "all" else (name,), death)
    return deaths


def death_of(feature: str) -> str:
    """How the feature dies here and now; empty: it does not."""
    deaths = simulated()
    if feature == "bf16" and "amx" in deaths and "ONEDNN_MAX_CPU_ISA" not in os.environ:
        return deaths["amx"]
    return deaths.get(feature, "")


def die(death: str) -> None:
    """Within a trial: end as told, or never."""
    if death in SIGNALS:
        os.kill(os.getpid(), signal.Signals[death])
    while death == "hang":
        time.sleep(60)


def forbid(feature: str) -> None:
    """Called where the feature is computed: raises if that would have been the end."""
    if VARIABLE in os.environ and IN_TRIAL not in os.environ and death_of(feature):
        raise SimulatedDeathError(f"{feature}: computed, though {VARIABLE} says that it is deadly")


def dies_as_simulated() -> AbstractContextManager[Any]:
    """Within this block, and in this thread, products in bf16 go through `forbid`."""
    return nullcontext() if VARIABLE not in os.environ else _watch()


@contextmanager
def _watch() -> Iterator[None]:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
        """Looks at every operation before it is computed."""

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if any(part in str(func) for part in PRODUCTS):
                tensors = [x for x in args if isinstance(x, torch.Tensor)]
                if any(x.dtype == torch.bfloat16 and x.device.type == "cpu" for x in tensors):
                    forbid("bf16")
            return func(*args, **(kwargs or {}))

    with _ONE_WATCHES, Watch():  # type: ignore[no-untyped-call]
        yield
