"""The most memory that a measurement took, as the system counted it."""

import resource
import sys
from pathlib import Path

import psutil


def peak_megabytes() -> float:
    """The most memory so far: this process, and those it has started, each at its own peak."""
    here = psutil.Process()
    return sum(_peak(process.pid) for process in [here, *here.children(recursive=True)])


def _peak(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        # Not ru_maxrss: a new program inherits there what its parent held.
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    if pid == psutil.Process().pid:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1024**2 if sys.platform == "darwin" else 1024)
    return float(psutil.Process(pid).memory_info().rss / 1024**2)
