"""One measurement in a process of its own, so that memory and threads are the peer's alone.

    python bench/peers/embed_measure.py JOB.json RESULT.json

Load, embed some sentences to warm up, then all of them against the clock, texts to vectors.
"""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from multiprocessing import active_children
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from embed_job import Job, Result
from job import from_json
from memory import peak_megabytes

WARM_UP = 256  # sentences, from all over the set
Embed = Callable[[list[str]], np.ndarray]


def _own(job: Job) -> tuple[Embed, str]:
    import torch

    from regard.api.load import load

    precision = job.options.get("precision", "auto")
    model = load(job.model, "cpu", precision=precision)
    chosen = f"precision {precision}: {model.embedder.precision}"
    return model.embed, f"embed(sentences); {chosen}, threads {torch.get_num_threads()}"


def _sentence_transformers(job: Job) -> tuple[Embed, str]:
    processes = job.options.get("processes")
    if processes:  # the pool's processes read it when they start
        os.environ["OMP_NUM_THREADS"] = "1"
    import torch
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(job.model), device="cpu")
    options: dict[str, Any] = {"show_progress_bar": False}
    said = f"torch threads {torch.get_num_threads()}"
    if processes:
        options["pool"] = model.start_multi_process_pool(["cpu"] * processes)
        said += f" in each of {processes} processes, chunks and batches by default"
    else:
        options["batch_size"] = job.options["batch_size"]
        said += f", batch_size={job.options['batch_size']}"
    attention = model[0].auto_model.config._attn_implementation
    return (
        lambda texts: np.asarray(model.encode(texts, **options)),
        f"encode(sentences); {said}, fp32, attention {attention}, sorted by length (its own way)",
    )


def _library(job: Job) -> tuple[Embed, str]:
    from embed_libraries import library

    return library(job.peer, job.model, job.options)


PEERS: dict[str, Callable[[Job], tuple[Embed, str]]] = {
    "regard": _own,
    "sentence-transformers": _sentence_transformers,
    "ctranslate2": _library,
    "onnxruntime": _library,
    "openvino": _library,
}


def measure(job: Job) -> Result:
    """Sentences per second over all of them."""
    texts = json.loads(job.sentences.read_text(encoding="utf-8"))
    embed, layout = PEERS[job.peer](job)
    embed(texts[:: max(1, len(texts) // WARM_UP)][:WARM_UP])
    start = perf_counter()
    vectors = embed(texts)
    seconds = perf_counter() - start
    np.save(job.vectors, vectors)
    return Result(layout, seconds, len(texts), peak_megabytes())


if __name__ == "__main__":
    asked, answer = map(Path, sys.argv[1:])
    found = measure(from_json(Job, json.loads(asked.read_text(encoding="utf-8"))))
    answer.write_text(json.dumps(asdict(found)), encoding="utf-8")
    for process in active_children():  # those of a pool hold our output open
        process.kill()
