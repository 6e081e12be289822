"""Progress: plain lines in a log, a redrawn line on a terminal, nothing for short work."""

import io
import time

import pytest
from rich.console import Console

from regard.draw.terminal import progress
from regard.draw.terminal.progress import TrainingProgress, progress_bar


class Watch:
    """A clock that only moves when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def log() -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, width=80, _environ={}), file


def test_a_log_gets_a_line_every_ten_seconds_and_one_at_the_end() -> None:
    console, file = log()
    watch = Watch()
    with TrainingProgress(100, console, clock=watch) as bar:
        for step in range(1, 26):
            watch.now += 1
            bar.update(step=step, loss=5.0, learning_rate=1e-4, tokens_per_second=12_345)
        bar.say("validation [loss] 4.5")
    lines = file.getvalue().splitlines()
    first = "train   10%  step 10/100  loss 5.000  lr 1.00e-04  12.3k tokens/s"
    assert lines[0] == first + "  0:00:10 elapsed  0:01:30 left"
    assert [line.split("/")[0].split()[-1] for line in lines if "step" in line] == [
        "10",
        "20",
        "25",
    ]
    assert lines[2] == "validation [loss] 4.5" and len(lines) == 4
    assert "\x1b" not in file.getvalue()


def test_the_last_line_is_not_printed_twice() -> None:
    console, file = log()
    watch = Watch()
    with TrainingProgress(10, console, clock=watch) as bar:
        watch.now += 10
        bar.update(step=10, loss=1.0, learning_rate=1.0, tokens_per_second=1.0)
    assert len(file.getvalue().splitlines()) == 1


def test_time_left_of_a_resumed_run_counts_only_its_own_steps() -> None:
    watch = Watch()
    with TrainingProgress(1000, log()[0], start_step=900, clock=watch) as bar:
        assert bar.seconds_left() is None
        watch.now += 20
        bar.update(step=920, loss=1.0, learning_rate=1.0, tokens_per_second=1.0)
        assert bar.seconds_left() == pytest.approx(80)


def test_time_left_under_a_limit_of_seconds() -> None:
    watch = Watch()
    with TrainingProgress(None, log()[0], seconds_limit=60, clock=watch) as bar:
        watch.now += 15
        assert bar.seconds_left() == pytest.approx(45)
    with TrainingProgress(100, log()[0], seconds_limit=60, clock=watch) as bar:
        watch.now += 10
        bar.update(step=50, loss=1.0, learning_rate=1.0, tokens_per_second=1.0)
        assert bar.seconds_left() == pytest.approx(10)  # the steps end first
        watch.now += 500
        assert bar.seconds_left() == 0


def test_nan_loss_and_an_error_still_leave_the_last_line() -> None:
    console, file = log()
    with pytest.raises(KeyboardInterrupt), TrainingProgress(9, console) as bar:
        bar.update(step=3, loss=float("nan"), learning_rate=0, tokens_per_second=2.5e6)
        raise KeyboardInterrupt
    assert "step 3/9  loss nan  lr 0.00e+00  2.5M tokens/s" in file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 160])
def test_a_terminal_is_redrawn_and_shows_every_field(width: int) -> None:
    file = Terminal()
    console = Console(file=file, width=width, force_terminal=True, _environ={})
    with TrainingProgress(1000, console) as bar:
        bar.update(step=500, loss=2.5, learning_rate=3e-4, tokens_per_second=900)
        bar.say("validation loss 2.4")
    text = file.getvalue()
    assert "\x1b[?25l" in text and text.rstrip().endswith("\x1b[?25h")  # cursor hidden, shown
    last = text[text.index("validation loss 2.4") :]
    for field in ("50%", "step 500/1,000", "loss 2.500", "lr 3.00e-04", "900 tokens/s", "left"):
        assert field in last


def test_redraws_are_at_most_four_a_second() -> None:
    assert progress.REDRAWS_PER_SECOND <= 4


def test_forced_colour_in_a_pipe_is_still_a_log() -> None:
    file = io.StringIO()
    with TrainingProgress(10, Console(file=file, force_terminal=True, _environ={})) as bar:
        bar.update(step=5, loss=1, learning_rate=1, tokens_per_second=1)
    assert "\x1b[?25l" not in file.getvalue() and file.getvalue().count("\n") == 1


def test_short_work_is_silent_and_long_work_is_not() -> None:
    console, file = log()
    watch = Watch()
    with progress_bar("encode", 10, console=console, clock=watch) as bar:
        bar.advance(10)
        watch.now += 1.9
    assert file.getvalue() == ""
    with progress_bar("encode", 40, console=console, clock=watch) as bar:
        for _ in range(30):
            watch.now += 1
            bar.advance()
    lines = file.getvalue().splitlines()
    assert lines[0] == "encode   25%  10/40  0:00:10 elapsed  0:00:30 left"
    assert len(lines) == 3 and lines[-1].startswith("encode   75%  30/40")


def test_work_of_unknown_length_counts() -> None:
    console, file = log()
    watch = Watch()
    with progress_bar("read", None, console=console, clock=watch) as bar:
        bar.advance(1234)
        watch.now += 5
    assert file.getvalue() == "read  1,234  0:00:05 elapsed\n"


def test_work_whose_length_is_found_out_on_the_way() -> None:
    """16 of 40 in 4 s: the other 24 take 6 s."""
    console, file = log()
    watch = Watch()
    with progress_bar("compare", None, console=console, clock=watch) as bar:
        watch.now += 4
        bar.advance(16)
        bar.expect(40)
    assert file.getvalue() == "compare   40%  16/40  0:00:04 elapsed  0:00:06 left\n"


def test_work_that_hangs_appears_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.02)
    file = Terminal()
    console = Console(file=file, width=80, force_terminal=True, _environ={})
    with progress_bar("download", 3, console=console):
        deadline = time.monotonic() + 5
        while "download" not in file.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "download" in file.getvalue() and file.getvalue().rstrip().endswith("\x1b[?25h")


def test_stdout_stays_clean(capsys: pytest.CaptureFixture[str]) -> None:
    with TrainingProgress(2) as bar:
        bar.update(step=1, loss=1, learning_rate=1, tokens_per_second=1)
        bar.say("hello")
    out, err = capsys.readouterr()
    assert out == "" and "hello" in err and "step 1/2" in err
