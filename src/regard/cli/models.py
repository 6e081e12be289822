"""`regard models`: the trained models that regard brings along."""

import click

from regard.cli import declare
from regard.valid_json import valid_json


@declare.command("""
  regard models
  regard models demo-de
  regard models --json""")
@click.argument("name", required=False)
@declare.json("Print the cards as JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List the trained models in the box, or print the card of one: data, recipe, scores, licence.

    Their names work wherever a model is asked for: regard translate demo-de "How are you?"
    """
    from regard.bundle.box import models_in_the_box
    from regard.errors import MisuseError, nearest

    models = models_in_the_box()
    if name is not None and name not in models:
        raise MisuseError("models", f"none is called {name!r}", advice=nearest(name, models))
    cards = [model.card for model in models.values() if name in (None, model.name)]
    if as_json:
        click.echo(valid_json(cards, indent=2))
        return
    for card in cards:
        scores = card["scores"]
        if name is None:
            notes = f", notes {scores['notes']}" if "notes" in scores else ""
            click.echo(
                f"{card['name']:<9} {card['languages']:<17} BLEU {scores['bleu']:5.1f} on "
                f"{scores['sentences']:,} sentences{notes}"
            )
            continue
        for key, value in card.items():
            if key != "scores":
                click.echo(f"{key:<10} {value}")
        click.echo(f"scores     {scores['set']}, {scores['sentences']:,} sentences")
        notes = f", notes {scores['notes']}" if "notes" in scores else ""
        click.echo(
            f"           BLEU {scores['bleu']}, chrF {scores['chrf']}, exact "
            f"{scores['exact']} %{notes}"
        )
        for row, values in scores.get("slices", {}).items():
            decided = f", deciding word {values['decided']} %" if "decided" in values else ""
            click.echo(f"           {row}: BLEU {values['bleu']}{decided}")
