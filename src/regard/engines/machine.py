"""What this machine offers regard: the report of `regard doctor` without a file.

Speeds are those of matrix products, 2·n³ operations each, measured now and kept beside what the
processor survives (processor/kept.py). ctranslate2 does not offer its products by themselves.
"""

import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median

from regard.draw.terminal.progress import progress_bar
from regard.places import cache_folder
from regard.processor import caps, kept
from regard.processor.machine import (
    LIBRARIES,
    cores,
    cpu_flags,
    cpu_name,
    library_version,
    total_memory,
)
from regard.processor.probe import FEATURES
from regard.processor.survives import about, answers, get_ready, ruled_out
from regard.training.memory_limit import free_memory
from regard.version import __version__

SIZE = 384  # of the matrices: without hardware for it, bf16 takes long enough
SECONDS = 0.2  # of one measurement; the median of three counts
# What each precision is for, as people know it.
NAMES = {
    "fp32": "fp32, torch",
    "bf16": "bf16, torch",
    "int16": "int16, regard's own loops",
    "ctranslate2": "fp32, ctranslate2",
    "int8": "int8, ctranslate2",
}
# extra → a module of it, what it is for
EXTRAS = {
    "fast": (("ctranslate2", "llvmlite"), "faster translations and embeddings on a CPU"),
    "train": (("matplotlib", "tensorboard"), "pictures of a run, its log for TensorBoard"),
    "search": (("faiss", "bm25s"), "regard index, regard search"),
    "metrics": (("sklearn",), "regard evaluate of classifiers"),
    "serve": (("fastapi", "uvicorn", "prometheus_client"), "regard serve"),
    "gguf": (("gguf",), "GGUF files of llama.cpp"),
    "images": (("PIL",), "regard see"),
    "parquet": (("pyarrow",), "tables and vectors as .parquet"),
}
SETS = (
    "avx2",
    "fma",
    "avx512f",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_bf16",
    "amx_int8",
)


@dataclass(frozen=True)
class MachineWay:
    """A way to compute: whether it is used, how fast it is, or why it is not used."""

    name: str
    is_used: bool
    gflops: float | None
    why: str
    deaths: tuple[str, ...]


@dataclass(frozen=True)
class MachineReport:
    """Everything, as `--json` prints it."""

    regard: str
    python: str
    system: str
    processor: str
    instruction_sets: list[str]
    cores: int
    memory: int | None
    free_memory: int | None
    ways: dict[str, MachineWay]
    caps: dict[str, str]
    users_caps: dict[str, str]
    libraries: dict[str, str]
    missing: dict[str, str]
    caches: str


def examine_machine() -> MachineReport:
    """Ask, try and measure; some seconds, most of them the first time."""
    with progress_bar("looking at this machine", 1 + len(FEATURES)) as bar:
        answers(*(f for f, one in FEATURES.items() if library_version(one.library)))
        get_ready()
        bar.advance()
        ways: dict[str, MachineWay] = {}
        for feature in FEATURES:
            ways[feature] = _way(feature)
            bar.advance()
    speeds = {name: way.gflops for name, way in ways.items() if way.gflops is not None}
    kept.keep(about(), {}, speeds)
    return MachineReport(
        regard=__version__,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor=cpu_name(),
        instruction_sets=[name for name in SETS if name in cpu_flags()],
        cores=cores(),
        memory=total_memory(),
        free_memory=free_memory(),
        ways=ways,
        caps=caps.our_caps(),
        users_caps=caps.users_caps(),
        libraries={name: library_version(name) for name in LIBRARIES},
        missing={
            extra: purpose
            for extra, (modules, purpose) in EXTRAS.items()
            if any(find_spec(module) is None for module in modules)
        },
        caches=str(cache_folder()),
    )


def _way(feature: str) -> MachineWay:
    installed = bool(library_version(FEATURES[feature].library))
    deaths = answers(feature)[feature].deaths if installed else ()
    why = ruled_out(feature)
    gflops = None if why or feature not in _PRODUCTS else _measured(_PRODUCTS[feature]())
    return MachineWay(NAMES[feature], not why, gflops, why, deaths)


def _torch_product(name: str) -> Callable[[], object]:
    import torch

    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[name]
    a, b = (torch.randn(SIZE, SIZE).to(dtype) for _ in range(2))
    return lambda: a @ b


def _whole_product() -> Callable[[], object]:
    import torch

    from regard.model.fast.int16 import Int16Weight  # imports torch

    weight, x = Int16Weight(torch.randn(SIZE, SIZE)), torch.randn(SIZE, SIZE)
    return lambda: weight.product(x)


_PRODUCTS: dict[str, Callable[[], Callable[[], object]]] = {
    "fp32": lambda: _torch_product("fp32"),
    "bf16": lambda: _torch_product("bf16"),
    "int16": _whole_product,
}


def _measured(product: Callable[[], object]) -> float:
    """GFLOP/s: the median of three short measurements, after a first product."""
    product()
    rates = []
    for _ in range(3):
        count, begun = 0, time.perf_counter()
        while not count or time.perf_counter() - begun < SECONDS:
            product()
            count += 1
        rates.append(2 * SIZE**3 * count / (time.perf_counter() - begun) / 1e9)
    return round(median(rates), 1)


def lines(report: MachineReport) -> Iterator[str]:
    """The report for a person."""
    sets = ", ".join(report.instruction_sets)
    yield f"regard      {report.regard}, Python {report.python}, {report.system}"
    yield f"processor   {report.processor}" + (f" ({sets})" if sets else "")
    yield f"cores       {report.cores} of {os.cpu_count()}"
    if report.memory is not None:
        free = f", {report.free_memory / 1e9:.1f} GB free" if report.free_memory else ""
        yield f"memory      {report.memory / 1e9:.1f} GB{free}"
    yield "precisions"
    width = max(map(len, NAMES.values()))
    for way in report.ways.values():
        speed = f"{way.gflops:,.1f} GFLOP/s" if way.gflops is not None else "works"
        yield f"  {way.name:{width}}  {speed if way.is_used else f'not used: {way.why}'}"
    for words, table in (("set by regard", report.caps), ("set by you", report.users_caps)):
        for name, value in table.items():
            yield f"cap         {name}={value}, {words}"
    libraries = (
        f"{name} {version or 'not installed'}" for name, version in report.libraries.items()
    )
    yield f"libraries   {', '.join(libraries)}"
    for extra, purpose in report.missing.items():
        yield f"missing     {purpose}: pip install 'regard[{extra}]'"
    yield f"caches      {report.caches}"
