"""`regard complete`: go on with a text, token by token as it is made."""

from pathlib import Path
from typing import Any

import click

from regard.cli import declare
from regard.valid_json import valid_json


@declare.command("""
  regard complete openai-community/gpt2 "Once upon a time"
  regard complete path/to/llama "Once upon a time" --temperature 0.8 --top-p 0.9 --seed 1
  regard complete path/to/gpt2 "Once upon a time" --max-tokens 20 --json""")
@declare.model
@click.argument("prompt", nargs=-1)
@declare.count("--max-tokens", help="Most new tokens; default: 50.")
@declare.count("--beam", help="Above 1: the best of so many texts; default: the folder's.")
@click.option("--temperature", type=float, help="0 (default): always the likeliest token.")
@declare.count("--top-k", help="Draw from this many tokens only.")
@click.option("--top-p", type=float, help="Draw from the likeliest that reach this probability.")
@click.option("--seed", type=click.IntRange(min=0), help="The same seed draws the same text.")
@declare.device
@declare.json("One JSON object a prompt.")
def command(
    model: Path, prompt: tuple[str, ...], device: str, as_json: bool, **options: Any
) -> None:
    """Print each PROMPT and what MODEL writes after it; without PROMPT, lines of standard input.

    MODEL is a published folder of a decoder-only family (GPT-2, Llama), or its name on the hub.
    """
    from regard.cli.inputs import opened, texts_of
    from regard.cli.streams import echo_answer
    from regard.decode.sample import Sampling

    chosen = {name: value for name, value in options.items() if value is not None}
    Sampling(**chosen)  # a wrong option is said before anything is loaded
    loaded = opened(model, "complete", device)
    for texts in texts_of(prompt):
        for text in texts:
            if as_json:
                answer = {"prompt": text, "completion": loaded.complete(text, **chosen)}
                click.echo(valid_json(answer))
                continue
            pieces = loaded.stream(text, **chosen)
            first = next(pieces, "")  # a prompt that does not fit is an error, and not printed
            echo_answer(text + first, nl=False)
            for piece in pieces:
                echo_answer(piece, nl=False)
            click.echo()
