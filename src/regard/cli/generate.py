"""`regard generate`: text in, text out, with an encoder–decoder model."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from regard.cli import declare
from regard.valid_json import valid_json


@declare.command("""
  regard generate google/flan-t5-small "Answer: what is the capital of France?"
  regard generate path/to/t5 "translate English to German: How are you?" --beam 4
  regard generate path/to/t5 --file questions.txt --json""")
@declare.model
@click.argument("text", nargs=-1)
@declare.file("Work on a file line by line; or on a table.")
@declare.columns("text")
@declare.count("--beam", help="Beam size; 1 is greedy.")
@declare.count("--n-best", help="Print this many outputs of each.")
@click.option("--alpha", type=float, help="Exponent of the length norm.")
@declare.count("--max-length", help="Most output tokens.")
@click.option("--min-length", type=click.IntRange(min=0), help="Fewest output tokens.")
@click.option("--no-repeat-ngram", type=click.IntRange(min=0), help="No n tokens come twice.")
@click.option("--repetition-penalty", type=float, help="Above 1: used tokens are less likely.")
@click.option("--temperature", type=float, help="Above 0: draw each token.")
@declare.count("--top-k", help="Draw from the k likeliest tokens.")
@click.option("--top-p", type=float, help="Draw from the fewest that reach this probability.")
@click.option("--seed", type=click.IntRange(min=0), help="The same seed draws the same.")
@click.option("--prefix", help="What each output begins with.")
@declare.device
@declare.json("One JSON object a text, with scores.")
def command(
    model: Path,
    text: tuple[str, ...],
    file: Path | None,
    text_column: str,
    device: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Print what MODEL makes of each TEXT; without TEXT, of the lines of --file or standard input.

    MODEL is a text-to-text run, a published folder of T5 or FLAN-T5, or its name on the hub. Beam
    and length are those of its generation_config.json unless given.
    """
    from regard.cli.inputs import check_there, one_line, opened, texts_of
    from regard.cli.streams import echo_answer

    chosen = {name: value for name, value in options.items() if value is not None}
    if file:
        check_there(file)
    loaded = opened(model, "generate", device)
    for texts in texts_of(text, file, None, text_column):
        for each, answers in zip(texts, loaded.translations(texts, **chosen), strict=True):
            if as_json:
                outputs = [{k: v for k, v in asdict(one).items() if k != "ids"} for one in answers]
                click.echo(valid_json({"text": each, "outputs": outputs}))
                continue
            for one in answers:
                score = f"{one.score:8.4f}\t" if len(answers) > 1 else ""
                echo_answer(score + one_line(one.text))
