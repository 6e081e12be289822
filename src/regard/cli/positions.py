"""`regard positions`: the sinusoids of the paper, to look at; needs no model."""

from pathlib import Path

import click

from regard.cli import declare
from regard.cli.inputs import say_written
from regard.valid_json import valid_json


@declare.command("""
  regard positions --length 50 --dim 128
  regard positions --length 50 --dim 128 --svg positions.svg --png positions.png
  regard positions --length 16 --dim 6 --json""")
@click.option("--length", type=int, default=50, show_default=True, help="How many positions.")
@click.option("--dim", type=int, default=128, show_default=True, help="d_model, an even number.")
@click.option(
    "--base", type=float, default=10_000, show_default=True, help="The paper's 10000, or another."
)
@declare.path("--svg", help="Write the four pictures as SVG.")
@declare.path("--png", help="Write the four pictures as PNG.")
@declare.json("Print the numbers as JSON.")
def command(
    length: int, dim: int, base: float, svg: Path | None, png: Path | None, as_json: bool
) -> None:
    """Draw positional encoding: heat map, waves, PE·PE by distance, bits beside sines."""
    from regard.draw.figure.png import write_png
    from regard.draw.figure.positions import MOST_IN_PNG, positions
    from regard.draw.figure.svg import write_svg
    from regard.draw.terminal.console import Console
    from regard.draw.terminal.positions import PositionReport
    from regard.explain.positions import position_figures

    figures = position_figures(length, dim, base)
    if as_json:
        numbers = {
            "length": length,
            "dim": dim,
            "base": base,
            "table": figures.table.round(6).tolist(),
            "products": figures.products.round(6).tolist(),
            "deviation": figures.deviation.round(8).tolist(),
            "wavelengths": list(figures.wavelengths),
        }
        click.echo(valid_json(numbers))
    else:
        Console().print(PositionReport(figures), highlight=False)
    if svg:
        write_svg(svg, positions(figures))
        say_written(svg)
    if png:
        write_png(png, positions(figures, MOST_IN_PNG))
        say_written(png)
