"""Options under headings: `regard translate --help` has too many for one list."""

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[..., Any]


class SectionedOption(click.Option):
    """An option that knows its heading."""

    def __init__(self, *args: Any, heading: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heading = heading


class SectionedCommand(click.Command):
    """A command whose help lists options by heading, in the order of their first option."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        others: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None or not isinstance(parameter, click.Option):
                continue
            if isinstance(parameter, SectionedOption):
                sections.setdefault(parameter.heading, []).append(record)
            else:
                others.append(record)
        for heading, records in {**sections, "Options": others}.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def section(heading: str) -> Callable[..., Decorator]:
    """`click.option` for the options under one heading."""

    def option(*names: str, **settings: Any) -> Decorator:
        return click.option(*names, cls=SectionedOption, heading=heading, **settings)

    return option
