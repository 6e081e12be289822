"""Devices: auto finds one, absent ones are an error that says what is there."""

import pytest
import torch

from refusals import refused
from regard.errors import MisuseError
from regard.model.device import choose_device


def test_cpu_is_always_there_and_auto_finds_something() -> None:
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device().type in ("cpu", "cuda", "mps")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has cuda")
def test_absent_devices_are_named() -> None:
    with pytest.raises(MisuseError, match="cuda is not available here; this machine has .*cpu"):
        choose_device("cuda")


def test_unknown_devices_are_refused() -> None:
    with refused(MisuseError, expected="one of auto, cpu, cuda, mps"):
        choose_device("tpu")
