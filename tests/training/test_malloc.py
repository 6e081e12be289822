"""Freed memory stays with the process: making and freeing large blocks brings no new pages."""

import subprocess
import sys

import pytest

CODE = """
import resource, sys
sys.path[:0] = {path!r}
from regard.training.malloc import keep_freed_memory
import torch
torch.set_num_threads(1)
kept = keep_freed_memory() if {keep} else False

def work():
    blocks = [torch.ones(12 << 20) for _ in range(2)]  # 48 MB each
    del blocks

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(int(kept), min(faults() for _ in range(12)))  # the first ones make room
"""


def page_faults(keep: bool) -> tuple[bool, int]:
    code = CODE.format(path=[p for p in sys.path if p], keep=keep)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kept, faults = done.stdout.split()
    return bool(int(kept)), int(faults)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's switch")
def test_large_blocks_are_used_again() -> None:
    kept, faults = page_faults(keep=True)
    if not kept:
        pytest.skip("this C library has no mallopt")
    _, without = page_faults(keep=False)
    assert faults < 1000 < without  # 96 MB are 24,576 pages of 4 KB
