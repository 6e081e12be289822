"""Which device: `auto` takes cuda, then mps, then the CPU.

Whoever computes passes here first, so the processor is made sure of here, before any product.
"""

import torch

from regard.errors import MisuseError
from regard.processor.survives import get_ready

DEVICES = ("auto", "cpu", "cuda", "mps")


def choose_device(name: str = "auto") -> torch.device:
    """The device of that name, or an error that says what this machine has."""
    present = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(device for device, there in present.items() if there)
    if name not in present:
        raise MisuseError("device", got=name, expected=f"one of {', '.join(DEVICES)}")
    if not present[name]:
        there = ", ".join(device for device, is_there in present.items() if is_there)
        raise MisuseError(f"device: {name} is not available here; this machine has {there}")
    if name == "cpu":
        get_ready()
    return torch.device(name)
