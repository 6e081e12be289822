"""`regard train --find-lr` and `--find-batch`: what a test found, as a table and a suggestion."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from regard.cli.inputs import say_written

if TYPE_CHECKING:
    from regard.fit.request import Request

BAR = 36  # cells


def show_rates(request: "Request", png: Path | None, svg: Path | None) -> None:
    """Make the range test, print some of its steps, draw it where asked."""
    from regard.draw.figure.range_plot import range_plot
    from regard.draw.terminal.heat_map import bar
    from regard.fit.find_lr import find_rate

    test = find_rate(request)
    rows = test.rows()
    low, high = min(loss for _, loss in rows), max(loss for _, loss in rows)
    nearest = min(rows, key=lambda row: abs(row[0] / test.chosen - 1))
    click.echo("learning rate     loss")
    for rate, loss in rows:
        mark = " ←" if (rate, loss) == nearest else ""
        cells = bar(loss - low, (high - low) or 1.0, BAR).rstrip()
        click.echo(f"      {rate:.1e}  {loss:7.3f}  {cells}{mark}".rstrip())
    click.echo(
        f"The loss falls fastest at a rate of {test.chosen:.1e}: try {test.setting} "
        f"(the recipe's own peak is {test.before:.1e})."
    )
    for path in (png, svg):
        if path is not None:
            lines = test.rates, test.losses, test.smooth
            kind: Literal["png", "svg"] = "svg" if path is svg else "png"
            range_plot(
                path, *lines, test.chosen, test.setting, kind, model=test.model, unit=test.unit
            )
            say_written(path)


def show_batches(request: "Request") -> None:
    """Try budgets, print each, and say which to take."""
    from regard.fit.find_batch import FEWEST, find_batch

    test = find_batch(request, click.echo)
    largest, fastest = test.largest, test.fastest
    click.echo(
        f"Largest that fits {test.megabytes:,} MB: train.token_budget={largest.budget} "
        f"({largest.peak:,} MB at peak)."
    )
    if largest.budget >= test.most:
        click.echo(f"Memory has room for more, but an epoch would have fewer than {FEWEST} steps.")
    click.echo(f"Fastest: train.token_budget={fastest.budget} ({fastest.speed:,.0f} tokens/s).")
