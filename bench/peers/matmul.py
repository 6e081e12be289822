"""How many operations a second the machine gives in matrix products, in each precision.

    python bench/peers/matmul.py QUESTION.json ANSWER.json

Question: cores, size of the square matrices, seconds of each repeat. Two layouts are tried, one
process with all threads and a process of one thread for each core, and the better one is told. A
precision that would end the process is left out.
A product of size n is 2·n³ operations.
"""

import json
import multiprocessing
import sys
from multiprocessing.synchronize import Barrier
from pathlib import Path
from time import perf_counter
from typing import Any

from regard.processor.survives import get_ready, ruled_out

# torch's names of them; torch itself is imported when the processor has been asked.
TYPES = {"fp32": "float32", "bf16": "bfloat16"}
REPEATS = 3


def layouts(cores: int) -> list[tuple[int, int]]:
    """Processes, and threads of each."""
    return [(1, cores), (cores, 1)]


def types() -> dict[str, str]:
    """The precisions that this processor survives."""
    return {name: dtype for name, dtype in TYPES.items() if not ruled_out(name)}


def _work(
    rank: int, cores: int, size: int, seconds: float, together: Barrier, answers: Any
) -> None:
    """The rates of one process; it waits while a layout has fewer processes."""
    names, rates = types().values(), []
    import torch

    for name in names:
        a, b = (torch.randn(size, size).to(vars(torch)[name]) for _ in range(2))
        out = a @ b
        for processes, threads in layouts(cores):
            torch.set_num_threads(threads)
            for _ in range(REPEATS):
                together.wait()
                rates.append(_rate(a, b, out, seconds) if rank < processes else 0.0)
                together.wait()
    answers.put(rates)


def _rate(a: Any, b: Any, out: Any, seconds: float) -> float:
    import torch

    products, began = 0, perf_counter()
    while perf_counter() - began < seconds:
        torch.mm(a, b, out=out)
        products += 1
    return 2 * len(a) ** 3 * products / (perf_counter() - began)


def measure(cores: int, size: int, seconds: float) -> dict[str, float]:
    """For each precision the best of layouts and repeats, all processes together."""
    get_ready()  # before the processes are started: they inherit what is set
    new = multiprocessing.get_context("spawn")
    together, answers = new.Barrier(cores), new.Queue()
    running = [
        new.Process(target=_work, args=(rank, cores, size, seconds, together, answers))
        for rank in range(cores)
    ]
    for process in running:
        process.start()
    rates = [answers.get(timeout=300) for _ in running]
    for process in running:
        process.join()
    totals = [sum(of_all) for of_all in zip(*rates, strict=True)]
    names = list(types())
    each = len(totals) // len(names)
    return {name: max(totals[i * each : (i + 1) * each]) for i, name in enumerate(names)}


if __name__ == "__main__":
    asked, answer = map(Path, sys.argv[1:])
    found = measure(**json.loads(asked.read_text(encoding="utf-8")))
    answer.write_text(json.dumps(found), encoding="utf-8")
