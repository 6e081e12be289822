"""`regard` as a shell starts it: any of its streams closed, a terminal, a limit on files.

A server imports torch once and forks for each command, which then starts at once. A stream that is
closed is None in Python, as the interpreter leaves it at its own start.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BENCH = str(Path(__file__).parents[2] / "bench")
STREAMS = ("stdin", "stdout", "stderr")


@dataclass(frozen=True)
class Done:
    code: int  # of the exit; -9 after SIGKILL
    out: str  # of a terminal: both streams
    err: str


class Shell:
    """The server's other end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="regard-shell-")
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ
            | {"OMP_NUM_THREADS": "1", "COLUMNS": "100", "TERM": "xterm-256color"}
            | {"PYTHONPATH": BENCH},
        )

    def __call__(
        self,
        *words: str,
        cwd: Path,
        text: str = "",
        closed: Collection[int] = (),
        terminal: bool = False,
        largest_file: int = 0,
        **environment: str,
    ) -> Done:
        """One command to its end; `text` is its standard input."""
        place = Path(self._folder.name)
        paths = [place / name for name in STREAMS]
        paths[0].write_text(text, encoding="utf-8")
        order = {
            "words": words,
            "cwd": str(cwd),
            "paths": [str(path) for path in paths],
            "closed": list(closed),
            "terminal": terminal,
            "largest_file": largest_file,
            "environment": environment,
        }
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        code = json.loads(self._server.stdout.readline())["code"]
        out, err = (p.read_bytes().decode("utf-8", "surrogateescape") for p in paths[1:])
        return Done(code, out, err)

    def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(timeout=30)
        self._folder.cleanup()


# What follows runs in the server and its children.


def serve() -> None:
    from regard.processor.survives import get_ready

    get_ready()
    import torch._dynamo  # noqa: F401

    import regard.api.model
    import regard.evaluate.translations
    import regard.fit.train  # noqa: F401

    for line in sys.stdin:
        order = json.loads(line)
        for path in order["paths"][1:]:
            open(path, "wb").close()
        code = _in_a_terminal(order) if order["terminal"] else _forked(order)
        print(json.dumps({"code": code}), flush=True)


def _forked(order: dict[str, Any]) -> int:
    child = os.fork()
    if child == 0:
        for number, path in enumerate(order["paths"]):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_APPEND
            os.dup2(os.open(path, flags), number)
        os.closerange(3, 256)
        _run(order)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _in_a_terminal(order: dict[str, Any]) -> int:
    import pty

    child, terminal = pty.fork()
    if child == 0:
        _run(order)
    with open(order["paths"][1], "wb") as file, suppress(OSError):  # the end of a terminal is EIO
        while data := os.read(terminal, 1 << 16):
            file.write(data)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run(order: dict[str, Any]) -> None:
    from attacking.forked import become

    become(order["words"], lambda: _prepare(order))


def _prepare(order: dict[str, Any]) -> None:
    os.chdir(order["cwd"])
    os.environ.update(order["environment"])
    for number, name in enumerate(STREAMS):
        if number in order["closed"]:
            os.close(number)
            setattr(sys, name, None)
        else:
            mode = "r" if number == 0 else "w"
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    if order["largest_file"]:
        import resource

        limits = (order["largest_file"],) * 2
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


if __name__ == "__main__":
    serve()
