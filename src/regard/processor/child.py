"""The other side of a trial: computes in a process that may die of it, tells how far off it was.

    python -c "from regard.processor.child import main; main()" 60 fp32 bf16
    fp32 2.2e-07
    bf16 0.0021

The error is the difference from the same in float64, beside how much those numbers vary: 1 is no
better than chance. The clock of a trial starts when its libraries are there, which a busy machine
may take a minute for; it ends the child by SIGALRM.
"""

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.processor.simulate import death_of, die

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Trial = Callable[[], tuple[Numbers, Numbers]]  # what was computed, what is right

# Where each trial stands: beside what it tries.
TRIALS = {
    "fp32": ("regard.processor.child", "fp32"),
    "bf16": ("regard.processor.child", "bf16"),
    "int16": ("regard.model.fast.int16", "trial"),
    "ctranslate2": ("regard.decode.engines.ctranslate2_trial", "fp32"),
    "int8": ("regard.decode.engines.ctranslate2_trial", "int8"),
}
SIZE = 192  # of matrices: large enough for the kernels of large ones


def main() -> None:
    """Try the features that are named, one after the other, each for so many seconds at most."""
    seconds, *features = sys.argv[1:]
    _leave_no_core()
    for feature in features:
        death = death_of(feature)
        if death:
            _set_alarm(float(seconds))
            die(death)
        module, name = TRIALS[feature]
        trial: Trial = vars(import_module(module))[name]
        import_module("torch")
        _set_alarm(float(seconds))
        got, right = trial()
        _set_alarm(0)  # none
        if death == "garbage":
            got = got[::-1]
        # Written at once: the next feature may be the last.
        error = float(((got - right) ** 2).mean() ** 0.5 / right.std())
        os.write(1, f"{feature} {error:.6g}\n".encode())


def _set_alarm(seconds: float) -> None:
    if sys.platform != "win32":  # there only the limit of the other side holds
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _leave_no_core() -> None:
    """A process that is expected to die leaves no file of its memory behind."""
    if os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fp32() -> "tuple[Numbers, Numbers]":
    """What training and translating with torch consist of, in single precision."""
    import torch

    return _products(torch.float32), _products(torch.float64)


def bf16() -> "tuple[Numbers, Numbers]":
    """The same in bf16, on numbers that bf16 holds."""
    import torch

    return _products(torch.bfloat16), _products(torch.float64)


def _products(dtype: Any) -> "Numbers":
    """A plain product, a batched one, a layer with its gradient, attention."""
    import torch
    from torch.nn import functional as F

    chance = torch.Generator().manual_seed(1)
    matrices = [torch.randn(SIZE, SIZE, generator=chance).bfloat16().to(dtype) for _ in range(3)]
    x, weight, other = matrices
    weight.requires_grad_()
    hidden = torch.relu(F.linear(x, weight, other[0])) / 16
    (gradient,) = torch.autograd.grad(hidden.sum(), weight)
    q, k, v = (m.detach().view(4, 4, SIZE // 4, SIZE // 4) for m in matrices)
    seen = F.scaled_dot_product_attention(q, k, v)
    results = [hidden.detach(), x @ other / 16, q @ k / 8, seen, gradient / 8]
    return torch.cat([one.double().flatten() for one in results]).numpy()
