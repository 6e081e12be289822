"""Telling libraries to leave instruction sets alone, by the variables that they read.

oneDNN, MKL, torch and ctranslate2 look at the processor once, at their first product, and at these
variables then: later they are not heeded (torch 2.13; docs/decisions/0010-processors.md). So a cap
is set before torch computes, and processes that we start inherit it. What a user has set stays.
"""

import os
import sys

from regard.processor.machine import cpu_flags

ONEDNN = "ONEDNN_MAX_CPU_ISA"
# Each one leaves fewer instructions than the one before; the first takes none away.
LADDER: tuple[dict[str, str], ...] = (
    {},
    {ONEDNN: "AVX512_CORE_BF16"},
    {ONEDNN: "AVX512_CORE"},
    {
        ONEDNN: "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "CT2_FORCE_CPU_ISA": "AVX2",
    },
)
# One of these flags has a processor on which the cap of the same place makes a difference.
_TAKES_AWAY: tuple[set[str], ...] = (
    set(),
    {"amx_tile", "amx_bf16", "amx_int8", "avx512_fp16"},
    {"amx_tile", "avx512_bf16", "avx512_fp16", "avx512_vnni"},
    {"avx512f"},
)
_NAMES = (*LADDER[-1], "DNNL_MAX_CPU_ISA")  # the last one is what oneDNN was called before
_OURS = "REGARD_CAPS"  # the names that we have set, for processes that inherit them

_torch_was_first: bool | None = None
_unheeded: set[tuple[str, str]] = set()


def note_import_order() -> None:
    """Called at every door of regard, before it imports torch: what computed before us?"""
    global _torch_was_first
    if _torch_was_first is None:
        _torch_was_first = "torch" in sys.modules


def _ours() -> set[str]:
    return set(filter(None, os.environ.get(_OURS, "").split(",")))


def users_caps() -> dict[str, str]:
    """What the user has set."""
    return {n: os.environ[n] for n in _NAMES if n in os.environ and n not in _ours()}


def our_caps() -> dict[str, str]:
    """What we have set, here or in the process that started this one."""
    return {n: os.environ[n] for n in sorted(_ours()) if n in os.environ}


def rungs(highest: int, simulating: bool) -> list[int]:
    """The caps to try: a user's own stands alone, and one that takes nothing away is left out."""
    if users_caps():
        return [0]
    flags = cpu_flags()
    useful = [n for n in range(1, highest + 1) if simulating or not flags or _TAKES_AWAY[n] & flags]
    return [0, *useful]


def environment_with(rung: int) -> dict[str, str]:
    """The environment of a process that runs under this cap and none other of ours."""
    return {n: v for n, v in os.environ.items() if n not in {*_ours(), _OURS}} | LADDER[rung]


def apply(rung: int, library: str) -> bool:
    """Set a cap here; False: `library` may have computed before, and then does not heed it."""
    note_import_order()
    late = _torch_was_first if library == "torch" else library in sys.modules
    for name, value in LADDER[rung].items():
        if name in users_caps() or os.environ.get(name) == value:
            continue
        if _is_weaker(name, value):  # another feature needed more
            continue
        os.environ[name] = value
        os.environ[_OURS] = ",".join(sorted(_ours() | {name}))
        if late:
            _unheeded.add((library, name))
    return not any((library, name) in _unheeded for name in LADDER[rung])


def _is_weaker(name: str, value: str) -> bool:
    """Whether a lower cap than `value` is set already."""
    ladder = [cap.get(name) for cap in LADDER]
    present = os.environ.get(name)
    return present in ladder and ladder.index(present) > ladder.index(value)
