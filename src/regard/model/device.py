"""Which device, and how many threads: `auto` takes cuda, then mps, then the CPU."""

import torch

from regard.errors import MisuseError

DEVICES = ("auto", "cpu", "cuda", "mps")


def choose_device(name: str = "auto") -> torch.device:
    """The device of that name, or an error that says what this machine has."""
    present = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        return torch.device(next(device for device, there in present.items() if there))
    if name not in present:
        raise MisuseError(f"device: got {name!r}, expected one of {', '.join(DEVICES)}")
    if not present[name]:
        there = ", ".join(device for device, is_there in present.items() if is_there)
        raise MisuseError(f"device: {name} is not available here; this machine has {there}")
    return torch.device(name)
