"""What commands declare alike: examples, paths, choices, columns of a table, engines, headings."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from regard.engines.engines import EngineRequest

QUIET, VERBOSE = "regard.quiet", "regard.verbose"  # of a command's context
VERBOSE_HELP = "Also say what is opened and chosen, why, and how long it takes."
Decorator = Callable[..., Any]
Option = Callable[..., Decorator]  # click.option, or one that knows a heading
PATH = click.Path(path_type=Path)
ENGINE = ("engine", "precision", "workers", "threads", "shortlist")
COLUMNS = {
    "source": "of the sentences to translate",
    "target": "of their translations",
    "text": "of the texts",
    "pair": "of the second texts, where two are compared",
    "label": "of the labels",
}


class SectionedOption(click.Option):
    """An option that knows its heading: `regard translate --help` has too many for one list."""

    def __init__(self, *args: Any, heading: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heading = heading


class SectionedCommand(click.Command):
    """Its help lists options by heading, in the order of their first option; the others last.

    `old` has names that options had before: they go on working, and no help shows them.
    """

    def __init__(self, *args: Any, old: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.old = old
        self.params += [
            _of_every_command("-q", "--quiet", QUIET, "Print answers and errors only."),
            _of_every_command("-v", "--verbose", VERBOSE, VERBOSE_HELP),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = args.index("--") if "--" in args else len(args)
        renamed = [self._renamed(word) if n < options else word for n, word in enumerate(args)]
        return super().parse_args(ctx, renamed)

    def _renamed(self, word: str) -> str:
        name, equals, value = word.partition("=")
        return f"{self.old[name]}{equals}{value}" if name in self.old else word

    def invoke(self, ctx: click.Context) -> Any:
        """With `--quiet`, nothing but answers and errors; errors are printed by main.py."""
        quiet, verbose = ctx.meta.get(QUIET), ctx.meta.get(VERBOSE)
        with redirect_stderr(StringIO() if quiet else sys.stderr), _log_shown(bool(verbose)):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                own = parameter.heading if isinstance(parameter, SectionedOption) else "Options"
                sections.setdefault(own, []).append(record)
        for heading in sorted(sections, key=lambda heading: heading == "Options"):
            with formatter.section(heading):
                formatter.write_dl(sections[heading])


def command(examples: str, **old: str) -> Callable[[Callable[..., None]], click.Command]:
    """A command whose help ends with examples, as they are written.

    `old` has earlier names of options, without their dashes: `pairs="--file"`.
    """
    names = {f"--{name.replace('_', '-')}": new for name, new in old.items()}
    return click.command(cls=SectionedCommand, epilog=f"\b\nExamples:{examples}", old=names)


@contextmanager
def _log_shown(verbose: bool) -> Iterator[None]:
    """What the library notes of its choices goes to standard error, then how long it all took."""
    if not verbose:
        yield
        return
    log, handler, begun = logging.getLogger("regard"), logging.StreamHandler(), time.perf_counter()
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.info("%.1f seconds, the start of Python aside", time.perf_counter() - begun)
        log.removeHandler(handler)
        log.setLevel(level)


def _of_every_command(short: str, name: str, key: str, help: str) -> click.Option:
    """A switch that no command has to declare: it is kept in the context."""
    return click.Option(
        [short, name],
        is_flag=True,
        expose_value=False,
        callback=lambda ctx, option, value: ctx.meta.update({key: value}),
        help=help,
    )


def section(heading: str) -> Option:
    """`click.option` for the options under one heading."""

    def option(*names: str, **settings: Any) -> Decorator:
        return click.option(*names, cls=SectionedOption, heading=heading, **settings)

    return option


def path(*names: str, **settings: Any) -> Decorator:
    """The option of a file or folder."""
    return click.option(*names, type=PATH, **settings)


def flag(*names: str, help: str) -> Decorator:
    """An option without a value."""
    return click.option(*names, is_flag=True, help=help)


def count(*names: str, **settings: Any) -> Decorator:
    """The option of a whole number from 1."""
    return click.option(*names, type=click.IntRange(min=1), **settings)


def file(text: str, option: Option = click.option) -> Decorator:
    """`--file`, `-f`: what a command works on; the text says how it is read."""
    return option("--file", "-f", type=PATH, help=text)


def output(text: str, **settings: Any) -> Decorator:
    """`--output`, `-o`: where the results go."""
    return path("--output", "-o", help=text, **settings)


def top(text: str = "Show so many.", **settings: Any) -> Decorator:
    """`--top`, `-k`: how many of the best."""
    return count("--top", "-k", help=text, **settings)


def json(text: str) -> Decorator:
    """`--json`; the text says what it prints."""
    return flag("--json", "as_json", help=text)


def choice(
    *names: str, among: Iterable[str], option: Option = click.option, **settings: Any
) -> Decorator:
    """One of several words, of which the first is taken unless another is the default."""
    words = list(among)
    shown = {"default": words[0], "show_default": True, **settings}
    return option(*names, type=click.Choice(words), **shown)


def _device(option: Option = click.option) -> Decorator:
    return option(
        "--device",
        default="auto",
        show_default=True,
        envvar="REGARD_DEVICE",
        show_envvar=True,
        help="auto, cpu, cuda or mps.",
    )


def _all_of(options: list[Decorator]) -> Decorator:
    """Several options as one decorator, listed in this order."""

    def add(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def columns(*roles: str, **other: str) -> Decorator:
    """`--text-column` and the like; `other` has words for roles that mean something else here."""
    options = []
    for role in roles:
        which = other.get(role, COLUMNS[role])
        text = f"Of a table: the column {which}, by name or number; found if left out."
        options.append(click.option(f"--{role}-column", default="", metavar="COLUMN", help=text))
    return _all_of(options)


def named_columns(options: dict[str, Any]) -> dict[str, str]:
    """The columns that a user has named, by role; taken out of the command's options."""
    named = {role: options.pop(f"{role}_column", "") for role in COLUMNS}
    return {role: name for role, name in named.items() if name}


def lengths(of: str = "") -> Decorator:
    """`--length` and `--sentences`: how long a summary is to be."""
    about = f"{of}: about so many" if of else "About so many"
    words = click.option("--length", type=int, metavar="WORDS", help=f"{about} words.")
    sentences = click.option("--sentences", type=int, metavar="N", help=f"{about} sentences.")
    return _all_of([words, sentences])


def named_length(words: int | None, sentences: int | None) -> str | None:
    """What of the two was given, as answer/summarize.py reads it."""
    if words is not None and sentences is not None:
        raise click.UsageError("--length counts words, --sentences sentences: give one of them")
    if words is not None:
        return str(words)
    return None if sentences is None else f"{sentences} sentences"


def engines(shortlist: bool = True, heading: str = "Engine") -> Decorator:
    """Which engine works and how it uses the machine."""
    engine = section(heading)
    precisions = ["auto", "fp32", "bf16", "int8"]
    numbers = "Of the numbers: bf16 is torch's, int8 ctranslate2's."
    options = [
        choice(
            "--engine",
            among=["auto", "torch", "ctranslate2"],
            option=engine,
            envvar="REGARD_ENGINE",
            show_envvar=True,
            help="Who computes.",
        ),
        choice(
            "--precision",
            among=precisions,
            option=engine,
            envvar="REGARD_PRECISION",
            show_envvar=True,
            help=numbers,
        ),
        engine("--workers", type=click.IntRange(1, 1024), help="Batches side by side."),
        engine("--threads", type=click.IntRange(1, 1024), help="Threads of each worker."),
        _device(engine),
    ]
    if shortlist:
        text = "Only words that the training pairs suggest (ctranslate2)."
        options.append(engine("--shortlist", is_flag=True, help=text))
    return _all_of(options)


def engine_request(options: dict[str, Any]) -> "EngineRequest":
    """What they ask for; they are taken out of `options`."""
    from regard.engines.engines import EngineRequest

    return EngineRequest(**{name: options.pop(name) for name in ENGINE if name in options})


model = click.argument("model", type=PATH)
device = _device()
