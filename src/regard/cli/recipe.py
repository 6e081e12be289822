"""`regard recipe`: the recipes that come with regard, and the text of one."""

from dataclasses import asdict
from pathlib import Path

import click

from regard.cli import declare
from regard.valid_json import valid_json


@declare.command("""
  regard recipe                    what there is
  regard recipe demo               every key with its meaning, choices and default
  regard recipe demo > mine.toml   a copy to change; then: regard train mine.toml""")
@click.argument("name", required=False)
@declare.json("Print JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List the recipes of regard, or print the one called NAME.

    A recipe is trained by its name, `regard train demo`, or from a file, `regard train mine.toml`.
    """
    from regard.cli.streams import echo_exactly
    from regard.recipes.named import card_of, recipe_file, recipe_names, recipe_text

    if name is None:
        cards = [card_of(each) for each in recipe_names()]
        if as_json:
            click.echo(valid_json([asdict(card) for card in cards], gaps=True))
            return
        width = max(len(card.name) for card in cards)
        for card in cards:
            click.echo(f"{card.name:<{width}}  {card.what}")
            click.echo(f"{'':<{width}}  data: {card.data} · takes {card.takes}")
        return
    text = recipe_text(name)
    if as_json:
        from regard.config import read_toml

        tables = read_toml(recipe_file(Path(name)))
        click.echo(valid_json({"name": name, "tables": tables, "text": text}, gaps=True))
        return
    # A file made by > should be UTF-8 on every system, with the line ends it has here.
    echo_exactly(text)
