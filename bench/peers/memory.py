"""The most memory that a measurement took, as the system counted it."""

import resource
import sys
from pathlib import Path

import psutil


def peak_megabytes() -> float:
    """The most memory so far: this process, and those it has started, each at its own peak.

    Pages that a helper shares with others (libraries, weights in shared memory) count once.
    """
    here = psutil.Process()
    helpers = here.children(recursive=True)
    return _peak(here.pid) + sum(_peak(one.pid) - _shared(one.pid) for one in helpers)


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


def _shared(pid: int) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup")
    if not rollup.exists():
        return 0.0
    rows = [line.split() for line in rollup.read_text().splitlines()]
    return sum(int(row[1]) for row in rows if row[0] in ("Shared_Clean:", "Shared_Dirty:")) / 1024
