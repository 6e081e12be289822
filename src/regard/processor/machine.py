"""What this machine is, told without torch: the processor, the system, the versions that compute.

Whatever was found out about the processor (kept.py) holds for exactly this: another processor,
kernel of the system or version of a library is tried anew.
"""

import os
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LIBRARIES = ("torch", "ctranslate2", "llvmlite")
_INFO, _MEMORY = Path("/proc/cpuinfo"), Path("/proc/meminfo")


@cache
def _first_core() -> dict[str, str]:
    """The fields of the first core in /proc/cpuinfo; nothing where there is no such file."""
    fields: dict[str, str] = {}
    if _INFO.is_file():
        with _INFO.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if not value and fields:  # the empty line after a core
                    break
                fields[name.strip()] = value.strip()
    return fields


def cpu_name() -> str:
    """The name of the CPU as the system gives it."""
    return _first_core().get("model name") or platform.processor() or platform.machine()


def cpu_flags() -> frozenset[str]:
    """The instruction sets that it announces, in Linux's words; empty where that is not known."""
    fields = _first_core()
    return frozenset((fields.get("flags") or fields.get("Features") or "").split())


def total_memory() -> int | None:
    """Bytes of memory of the whole machine; None: not known here."""
    return sizes_in(_MEMORY).get("MemTotal")


def sizes_in(path: Path) -> dict[str, int]:
    """Those lines of a file of /proc that give a size, in bytes; empty: there is no such file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    parts = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): 1024 * int(size) for name, size, _ in parts}


@dataclass(frozen=True)
class Machine:
    """What the best layout of workers and threads depends on."""

    cpu: str
    cores: int


def cores() -> int:
    """The cores that this process may use."""
    if can_ask_for_cores():
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_ask_for_cores() -> bool:
    """Whether the system says which cores this process may use; else all are counted."""
    return platform.system() == "Linux"


def this_machine() -> Machine:
    """The name of the CPU as the system gives it, and the cores that may be used."""
    return Machine(cpu_name(), cores())


@cache
def library_version(name: str) -> str:
    """Empty: it is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # `regard --help` does without

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def identity() -> dict[str, str]:
    """All that an answer about the processor depends on."""
    return {
        "cpu": cpu_name(),
        "flags": " ".join(sorted(cpu_flags())),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        **{name: library_version(name) for name in LIBRARIES},
    }
