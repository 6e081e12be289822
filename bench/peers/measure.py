"""One measurement in a process of its own, so that memory and threads are the peer's alone.

    python bench/peers/measure.py JOB.json RESULT.json

Load, translate some sentences to warm up, then all of them against the clock, then single ones.
Every time is end to end: from text to text, tokenization and detokenization included.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Protocol

from job import Job, Output, Result, from_json
from memory import peak_megabytes


class Peer(Protocol):
    """Something that translates, and says with which settings."""

    search: str

    @property
    def layout(self) -> str: ...

    def translate(self, texts: list[str]) -> list[Output]: ...


def _own(job: Job) -> Peer:
    from own import Own

    return Own(job)


def _direct(job: Job) -> Peer:
    from direct import Direct

    return Direct(job)


def _marian(job: Job) -> Peer:
    from marian import Marian

    return Marian(job)


PEERS: dict[str, Callable[[Job], Peer]] = {
    "regard": _own,
    "ctranslate2": _direct,
    "transformers": _marian,
}


def measure(job: Job) -> Result:
    """Throughput over all sentences, then the latency of single ones."""
    texts = job.source.read_text(encoding="utf-8").splitlines()[: job.sentences]
    peer = PEERS[job.peer](job)
    peer.translate(texts[: job.batch])
    start = perf_counter()
    outputs = peer.translate(texts)
    seconds = perf_counter() - start
    megabytes = peak_megabytes()
    # Evenly over the set, so that long and short sentences are in it as often as there.
    every = max(1, len(texts) // job.singles)
    alone = texts[::every][: job.singles]
    for text in alone[:5]:
        peer.translate([text])
    latencies = []
    for text in alone:
        start = perf_counter()
        peer.translate([text])
        latencies.append(1000 * (perf_counter() - start))
    # An output as long as the limit was cut off: it has no end token.
    tokens = sum(o.length + (o.length < job.max_length) for o in outputs)
    return Result(
        layout=peer.layout,
        search=peer.search,
        seconds=seconds,
        tokens=tokens,
        texts=[o.text for o in outputs],
        latencies=latencies,
        megabytes=megabytes,
    )


if __name__ == "__main__":
    asked, answer = map(Path, sys.argv[1:])
    found = measure(from_json(Job, json.loads(asked.read_text(encoding="utf-8"))))
    answer.write_text(json.dumps(asdict(found)), encoding="utf-8")
