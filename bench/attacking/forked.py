"""`regard …` in a process that is forked from this one: it starts at once, and can be killed."""

import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

LIMIT = 180.0  # seconds; what takes longer hangs
MOST = 160  # characters of a command's last words


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code (-9: SIGKILL) and what it said."""

    code: int
    out: str
    err: str
    seconds: float = 0.0  # without those in which others had the processor
    memory: int = 0  # bytes, at most

    @property
    def is_clean(self) -> bool:
        """An end as a command should have: no traceback, no signal, no NaN."""
        said = self.out + self.err
        return self.code >= 0 and "Traceback" not in said and "NaN" not in self.out

    @property
    def last_words(self) -> str:
        lines = [line for line in (self.err or self.out).splitlines() if line.strip()]
        said = lines[-1].strip() if lines else "not a word"
        return f"exit {self.code}: {said if len(said) <= MOST else said[: MOST - 1] + '…'}"


def get_ready() -> None:
    """Import once what every command imports; nothing is computed here, so a fork is safe."""
    from regard.processor.survives import get_ready as ask_processor

    ask_processor()
    with suppress(ImportError):
        import matplotlib.backends.backend_agg  # noqa: F401
        from torch.utils import tensorboard  # noqa: F401
    import regard.cli.main
    import regard.engines.autotune
    import regard.fit.train  # noqa: F401

    # One layout is enough: what is counted here is not speed.
    regard.engines.autotune.layouts_for = lambda count: [(1, 1)]


class Child:
    """A command that runs."""

    def __init__(self, arguments: Sequence[str], before: Callable[[], None] | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="said-"))
        sys.stdout.flush()
        sys.stderr.flush()
        self._status: int | None = None
        self._memory, self._begun, self._delayed = 0, time.monotonic(), 0.0
        self.pid = os.fork()
        if self.pid == 0:
            become(arguments, lambda: self._prepare(before))

    def _prepare(self, before: Callable[[], None] | None) -> None:
        print_to(self._folder / "out", self._folder / "err")
        if before is not None:
            before()

    def wait_for_halt(self) -> bool:
        """Until it has stopped itself; False if it ended first."""
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        self._status = None if os.WIFSTOPPED(status) else status
        return self._status is None

    def go_on(self) -> None:
        """After a halt."""
        if self._status is None:
            os.kill(self.pid, signal.SIGCONT)

    def wait(self, limit: float = LIMIT) -> Done:
        """Its end; one that hangs is killed."""
        while self._status is None:
            self._delayed = max(self._delayed, delay_of(self.pid))
            pid, status, used = os.wait4(self.pid, os.WNOHANG)
            if not pid and self._seconds > limit:
                os.kill(self.pid, signal.SIGABRT)
                pid, status, used = os.wait4(self.pid, 0)
            if pid:
                self._status, self._memory = status, 1024 * used.ru_maxrss
            time.sleep(0.005)
        out, err = (
            (self._folder / name).read_text(encoding="utf-8", errors="replace")
            for name in ("out", "err")
        )
        shutil.rmtree(self._folder)
        code = os.waitstatus_to_exitcode(self._status)
        return Done(code, out, err, self._seconds, self._memory)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._begun - self._delayed


def delay_of(pid: int) -> float:
    """Seconds that a process was ready and had no processor: on a crowded machine nearly all of
    its life. Linux counts them; elsewhere there are none."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def run(*arguments: str, before: Callable[[], None] | None = None, limit: float = LIMIT) -> Done:
    """A command from beginning to end; `before` is called in its process."""
    return Child(arguments, before).wait(limit)


def become(arguments: Sequence[str], prepare: Callable[[], object]) -> NoReturn:
    """Be that command, after this preparation, and never come back."""
    code = 99
    try:
        prepare()
        sys.argv = ["regard", *arguments]
        from regard.cli.main import main

        main()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        with suppress(Exception):
            traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(code)


def print_to(out: Path, err: Path) -> None:
    """The two streams of this process go into files."""
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
