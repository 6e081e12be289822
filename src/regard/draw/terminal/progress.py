"""Progress: steps and measurements go in, a live line or plain log lines come out, on stderr.

On a terminal one line is redrawn at most four times a second. Everywhere else (a pipe, a CI log)
one plain line is printed about every ten seconds and once at the end. stdout is never touched, so
it stays clean for data.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console as RichConsole
from rich.live import Live
from rich.text import Text

from regard.draw.palette import TRAINING
from regard.draw.terminal.console import Console

REDRAWS_PER_SECOND = 4
SECONDS_BETWEEN_LINES = 10.0
QUIET_SECONDS = 2.0  # work that ends sooner shows nothing
BAR_CELLS = (28, 22, 16, 10)  # the longest that keeps everything on one line

Clock = Callable[[], float]
Fields = list[Text]


class _Display:
    """Where the lines go: a live line on a terminal, else a plain line now and then."""

    def __init__(
        self, console: RichConsole | None, clock: Clock, fields: Callable[[int], Fields]
    ) -> None:
        self.console = console or Console(stderr=True)
        # FORCE_COLOR makes rich believe in a terminal; redrawing needs a real one.
        self.live_mode = self.console.is_interactive and self.console.file.isatty()
        self.clock, self.fields = clock, fields
        self._live: Live | None = None
        self._printed_at = clock()
        self._printed = ""

    def start(self) -> None:
        """Begin to redraw (on a terminal)."""
        if self.live_mode:
            self._live = Live(
                get_renderable=self._live_lines,
                console=self.console,
                refresh_per_second=REDRAWS_PER_SECOND,
                redirect_stdout=False,
            )
            self._live.start()

    def tick(self) -> None:
        """Something moved: print a plain line if the last one is old enough."""
        if not self.live_mode and self.clock() - self._printed_at >= SECONDS_BETWEEN_LINES:
            self.print_line()

    def print_line(self) -> None:
        """The state as one plain line, unless it was the last thing printed."""
        line = "  ".join(field.plain for field in self.fields(0))
        self._printed_at = self.clock()
        if line != self._printed:
            self.say(line)
            self._printed = line

    def say(self, line: str) -> None:
        """A line that stays: above the live line, or in the log."""
        with suppress(OSError, SystemExit):  # closed terminal, or pipe: rich would end the work
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def stop(self) -> None:
        """End with the last state on the screen or in the log."""
        if self._live is not None:
            with suppress(OSError, SystemExit):
                self._live.stop()
            self._live = None
        elif not self.live_mode:
            self.print_line()

    def _live_lines(self) -> Text:
        """All fields on one line, the bar as long as that allows; else flowing into the next."""
        width = self.console.width
        choices = [self.fields(cells) for cells in BAR_CELLS]
        fields = next((c for c in choices if Text("  ").join(c).cell_len <= width), choices[-1])
        lines = [Text()]
        for field in fields:
            if lines[-1] and lines[-1].cell_len + 2 + field.cell_len > width:
                lines.append(Text())
            lines[-1].append("  " if lines[-1] or len(lines) > 1 else "").append_text(field)
        text = Text("\n").join(lines)
        text.no_wrap, text.overflow = True, "ellipsis"
        return text


class TrainingProgress:
    """The progress of a training run, as a context manager.

    Time left follows from the steps done since `start_step` (a resumed run starts above 0), from
    `seconds_limit` (training for some minutes, counted from now), or from whichever ends first.
    """

    def __init__(
        self,
        total_steps: int | None,
        console: RichConsole | None = None,
        *,
        start_step: int = 0,
        seconds_limit: float | int | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._total = total_steps
        self._first = self._step = start_step
        self._limit, self._clock = seconds_limit, clock
        self._began = clock()
        self._measured: Fields = []
        self._display = _Display(console, clock, self._fields)

    def __enter__(self) -> "TrainingProgress":
        """Start the clock and the display."""
        self._began = self._clock()
        self._display.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the last state visible, also after an error or Ctrl-C."""
        self._display.stop()

    def update(
        self,
        *,
        step: int,
        loss: float | int,
        learning_rate: float | int,
        tokens_per_second: float | int,
    ) -> None:
        """`step` optimizer steps are done now; the rest is what the last one measured."""
        self._step = step
        self._measured = [
            Text(f"loss {loss:.3f}", "bold"),
            Text(f"lr {learning_rate:.2e}"),
            Text(f"{_short(tokens_per_second)} tokens/s"),
        ]
        self._display.tick()

    def say(self, line: str) -> None:
        """Print a line that stays (a validation, a saved checkpoint); markup is not read."""
        self._display.say(line)

    def seconds_left(self) -> float | None:
        """Estimated time to the end; None while nothing is known."""
        elapsed = self._clock() - self._began
        ends = [] if self._limit is None else [self._limit - elapsed]
        done = self._step - self._first
        if self._total is not None and done > 0:
            ends.append(elapsed / done * (self._total - self._step))
        return max(0.0, min(ends)) if ends else None

    def _share(self) -> float | None:
        """How much of the run is done: by steps or by time, whichever is further."""
        shares = [self._step / self._total] if self._total else []
        if self._limit:
            shares.append((self._clock() - self._began) / self._limit)
        return min(1.0, max(shares)) if shares else None

    def _fields(self, bar_cells: int) -> Fields:
        steps = f"{self._step:,}" + (f"/{self._total:,}" if self._total is not None else "")
        times = [Text(f"{_duration(self._clock() - self._began)} elapsed", "dim")]
        left = self.seconds_left()
        if left is not None:
            times.append(Text(f"{_duration(left)} left"))
        head = _head("train", self._share(), bar_cells)
        return [*head, Text(f"step {steps}"), *self._measured, *times]


class WorkProgress:
    """Counts units of any other work; made by `progress_bar`."""

    def __init__(self, label: str, total: int | None, console: RichConsole | None, clock: Clock):
        self._label, self._total, self._clock = label, total, clock
        self._done, self._began = 0, clock()
        self._lock = threading.Lock()
        self._finished = self._shown = False
        self._display = _Display(console, clock, self._fields)

    def advance(self, n: int = 1) -> None:
        """`n` more units are done."""
        self._done += n
        if self._clock() - self._began >= QUIET_SECONDS:
            self._display.tick()

    def expect(self, total: int) -> None:
        """The whole work turns out to be `total` units."""
        self._total = total

    def _show(self) -> None:
        """Called by a timer when the quiet time is over: work that hangs must show too."""
        with self._lock:
            if not self._finished:
                self._shown = True
                self._display.start()

    def _finish(self) -> None:
        with self._lock:
            self._finished = True
            if self._shown or self._clock() - self._began >= QUIET_SECONDS:
                self._display.stop()

    def _fields(self, bar_cells: int) -> Fields:
        elapsed = self._clock() - self._began
        count = f"{self._done:,}" + (f"/{self._total:,}" if self._total is not None else "")
        share = min(1.0, self._done / self._total) if self._total else None
        fields = [*_head(self._label, share, bar_cells), Text(count)]
        fields.append(Text(f"{_duration(elapsed)} elapsed", "dim"))
        if share and share < 1:
            fields.append(Text(f"{_duration(elapsed / share - elapsed)} left"))
        return fields


@contextmanager
def progress_bar(
    label: str,
    total: int | None,
    *,
    console: RichConsole | None = None,
    clock: Clock = time.monotonic,
) -> Iterator[WorkProgress]:
    """Show the progress of work that takes over two seconds: `with … as bar: bar.advance()`."""
    work = WorkProgress(label, total, console, clock)
    timer = threading.Timer(QUIET_SECONDS, work._show)
    timer.daemon = True
    timer.start()
    try:
        yield work
    finally:
        timer.cancel()
        work._finish()


def _head(label: str, share: float | None, cells: int) -> Fields:
    """The label, a bar of `cells` (none if 0) and the percentage."""
    name = Text(label, "bold")
    if share is None:
        return [name]
    percent = Text(f"{math.floor(share * 100):3d}%")
    full = round(share * cells)
    bar = Text("━" * full, f"bold {TRAINING}").append("─" * (cells - full), "dim")
    return [name, bar, percent] if cells else [name, percent]


def _short(count: float | int) -> str:
    """950, 12.3k, 1.2M."""
    for size, suffix in ((1e6, "M"), (1e3, "k")):
        if abs(count) >= size:
            return f"{count / size:.1f}{suffix}"
    return f"{count:.0f}"


def _duration(seconds: float | int) -> str:
    """Hours, minutes, seconds as 0:01:23."""
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
