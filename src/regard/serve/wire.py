"""What crosses the line between the server and an engine process: one JSON object a line.

    server ──▸ engine   the settings, once, then requests:
                        {"id": 7, "task": "translate", "asked": {…}}     {"cancel": 7}
    engine ──▸ server   {"ready": {…}} or {"failed": {…}}, then
                        {"id": 7, "piece": {…}}                          {"id": 7, "answer": {…}}
                        {"id": 7, "refusal": {…}}                        {"load": {…}}

A refusal is an error of ours (errors.py) with its parts, and the status that HTTP has for it.
"""

import json
from dataclasses import dataclass
from typing import Any

from regard.errors import DataError, MisuseError, RegardError
from regard.serve.options import ModelToServe, ServeOptions, engine_request

WireMessage = dict[str, Any]


@dataclass(frozen=True)
class WorkerSettings:
    """One model, and how it is to be computed: what an engine process is told first."""

    name: str
    place: str
    device: str
    engine: str
    precision: str
    workers: int | None
    threads: int | None
    shortlist: bool
    slots: int | None
    exact: bool


def settings_for(options: ServeOptions, model: ModelToServe) -> WorkerSettings:
    """Those of one of the server's models."""
    asked = engine_request(options)
    return WorkerSettings(
        model.name,
        model.place,
        options.device,
        asked.engine,
        asked.precision,
        asked.workers,
        asked.threads,
        asked.shortlist,
        options.limits.slots,
        options.exact,
    )


def as_line(message: WireMessage) -> bytes:
    """A message as it is written; numbers that JSON has not are the sender's mistake."""
    return json.dumps(message, allow_nan=False).encode() + b"\n"


def read_message(line: bytes) -> WireMessage:
    """Off the line; half a line, of a process that was killed as it wrote, is a ValueError."""
    message: WireMessage = json.loads(line)
    return message


def refusal_of(error: RegardError, status: int | None = None) -> WireMessage:
    """An error of ours as a message; what the caller asked wrongly is 400, the rest 500."""
    theirs = isinstance(error, MisuseError | DataError)
    return {
        "status": status or (400 if theirs else 500),
        "kind": type(error).__name__,
        "message": str(error),
        **vars(error),
    }
