"""A command, run in a real terminal, as two pictures: light and dark.

    python tools/terminal_picture.py --first Measure docs/images/demo regard demo

tmux runs the command and gives back its screen, so that bars and colours are those that a person
sees at the end. `--from FILE` draws a screen that was recorded before, `--record FILE` keeps one.
Lines between `--first` and `--last` (patterns) are drawn; `--cut FROM TO` replaces lines by an
ellipsis. Nothing of the picture is loaded from the network.
"""

import argparse
import re
import shlex
import subprocess
import time
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

LIGHT = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [
        (36, 41, 47),
        (207, 34, 46),
        (17, 99, 41),
        (77, 45, 0),
        (9, 105, 218),
        (130, 80, 223),
        (27, 124, 131),
        (110, 119, 129),
    ],
)
DARK = TerminalTheme(
    (13, 17, 23),
    (201, 209, 217),
    [
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
)
# As rich draws a terminal, but with fonts of the reader's machine and without a window's buttons.
FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>
<rect x="1" y="1" width="{terminal_width}" height="{frame_height}" rx="8"
  fill="{background}" stroke="#8b949e" stroke-opacity="0.4"/>
<g transform="translate({terminal_x}, {top})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
TOP = 14


def recorded(words: list[str], columns: int, seconds: float) -> str:
    """The whole screen of a command, with its colours, when it has ended."""
    session = f"picture-{time.time_ns()}"
    tmux = ["tmux", "-L", session]
    command = f"{shlex.join(words)}; tmux -L {session} wait -S done; sleep 60"
    size = ["-x", str(columns), "-y", "50"]
    subprocess.run([*tmux, "new-session", "-d", *size, "-s", session, command], check=True)
    subprocess.run([*tmux, "set", "-g", "history-limit", "5000"], check=True)
    try:
        subprocess.run([*tmux, "wait", "done"], check=True, timeout=seconds)
        screen = [*tmux, "capture-pane", "-e", "-J", "-p", "-S", "-", "-t", session]
        return subprocess.check_output(screen, text=True)
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


def excerpt(screen: str, first: str, last: str, cuts: list[list[str]]) -> list[Text]:
    """The lines between two patterns, less the cuts."""
    lines = [Text.from_ansi(line) for line in screen.rstrip("\n").split("\n")]
    begin = next((i for i, line in enumerate(lines) if re.search(first, line.plain)), 0)
    ends = [i for i, line in enumerate(lines) if last and re.search(last, line.plain)]
    end = ends[-1] if ends else len(lines) - 1
    kept = lines[begin : end + 1]
    for line in kept:
        line.expand_tabs(8)
    for start, stop in cuts:
        i = next(i for i, line in enumerate(kept) if re.search(start, line.plain))
        j = next(j for j, line in enumerate(kept) if j >= i and re.search(stop, line.plain))
        kept[i : j + 1] = [Text("  …", style="dim")]
    return kept


def draw(lines: list[Text], columns: int, theme: TerminalTheme, name: str) -> str:
    """The lines as SVG."""
    for line in lines:
        line.truncate(columns, overflow="ellipsis")
    console = Console(record=True, width=columns + 2, file=StringIO(), force_terminal=True)
    for line in lines:
        console.print(line, soft_wrap=True)
    background = theme.background_color.hex
    height = TOP + round(len(lines) * 24.4) + TOP  # rich's line height for its font size of 20
    text = FORMAT.replace("{background}", background).replace("{top}", str(TOP))
    text = text.replace("{frame_height}", str(height)).replace(
        '0 0 {width} {height}"', f'0 0 {{width}} {height + 2}"'
    )
    return console.export_svg(theme=theme, code_format=text, unique_id=name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("picture", type=Path, help="without -light.svg and -dark.svg")
    parser.add_argument("--columns", type=int, default=92)
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--from", dest="source", type=Path)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--first", default="")
    parser.add_argument("--last", default="")
    parser.add_argument("--cut", nargs=2, action="append", default=[], metavar=("FROM", "TO"))
    parser.add_argument("command", nargs=argparse.REMAINDER, help="with its arguments")
    options = parser.parse_args()
    if options.source:
        screen = options.source.read_text(encoding="utf-8")
    else:
        screen = recorded(options.command, options.columns, options.seconds)
    if options.record:
        options.record.write_text(screen, encoding="utf-8")
    lines = excerpt(screen, options.first, options.last, options.cut)
    for name, theme in {"light": LIGHT, "dark": DARK}.items():
        path = options.picture.with_name(f"{options.picture.name}-{name}.svg")
        path.write_text(draw(lines, options.columns, theme, f"terminal-{name}"), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
