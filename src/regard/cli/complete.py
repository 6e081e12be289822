"""`regard complete`: go on with a text, token by token as it is made."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare
from regard.cli.streams import echo_answer
from regard.errors import DataError
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.complete import Completer

lengths = declare.section("Length")
draws = declare.section("Drawing and searching")
shown = declare.section("Output")


@declare.command("""
  regard complete openai-community/gpt2 "Once upon a time"
  regard complete runs/shakespeare "ROMEO:" --temperature 0.8 --seed 1 --stop-text "JULIET:"
  regard complete path/to/llama "Once upon a time" --temperature 0.8 --top-p 0.9 --n 3
  regard complete path/to/gpt2 --file prompts.txt --max-tokens 20 --json""")
@declare.model
@click.argument("prompt", nargs=-1)
@declare.file("Go on with each line of a file, many at once.")
@lengths("--max-tokens", type=click.IntRange(min=1), help="Most new tokens; default: 50.")
@lengths("--stop-text", multiple=True, help="End before this text; may be given several times.")
@lengths("--window", is_flag=True, help="Read the last tokens only of a text that is too long.")
@draws("--temperature", type=float, help="0 (default): always the likeliest token.")
@draws("--top-k", type=click.IntRange(min=1), help="Draw from this many tokens only.")
@draws("--top-p", type=float, help="Draw from the likeliest that reach this probability.")
@draws("--seed", type=click.IntRange(min=0), help="The same seed draws the same text.")
@draws("--beam", type=click.IntRange(min=1), help="Above 1: the best of so many texts.")
@draws("--n", type=click.IntRange(min=1), help="So many continuations, drawn or of a beam.")
@declare.engines(shortlist=False)
@shown("--json", "as_json", is_flag=True, help="One JSON object a prompt.")
@shown("--check-batch", is_flag=True, help="Do prompts go on alike alone and in batches?")
def command(
    model: Path,
    prompt: tuple[str, ...],
    file: Path | None,
    as_json: bool,
    check_batch: bool,
    **options: Any,
) -> None:
    """Print each PROMPT and what MODEL writes after it; without PROMPT, lines of --file or standard
    input.

    MODEL is a run with objective "complete", a published folder of a decoder-only family (GPT-2,
    Llama), or its name on the hub. One prompt is shown word by word, several are worked on
    together. Beam and penalties are those of its generation_config.json unless given.
    """
    from regard.answer.complete import Completer, sampling_with
    from regard.cli.inputs import check_there, opened_with_engines, texts_of

    if file:
        check_there(file)
    device, request = options.pop("device"), declare.engine_request(options)
    unsaid = (None, ())
    chosen = {name: value for name, value in options.items() if value not in unsaid}
    sampling = sampling_with(chosen)  # a wrong option is said before anything is loaded
    loaded = opened_with_engines(model, "complete", device, request)
    completer = Completer(loaded, sampling)
    if check_batch:
        from regard.cli.check_batch import show_prompt_check

        texts = [text for part in texts_of(prompt, file) for text in part]
        sys.exit(0 if show_prompt_check(completer, texts, as_json) else 1)
    some = False
    for texts in texts_of(prompt, file):
        some = True
        if len(texts) == 1 and sampling.n == 1 and not as_json:
            _stream(completer, texts[0])
        else:
            _print_all(completer, texts, as_json)
    if file and not some:
        raise DataError(file, "is empty", expected="a prompt a line")
    loaded.engines.close()


def _stream(completer: "Completer", prompt: str) -> None:
    """Print piece by piece; an interrupt ends the line as the end of the text does."""
    pieces, tokens = completer.stream(prompt), len(completer.row(prompt))
    first = next(pieces, "")  # a prompt that does not fit is an error, and not printed
    try:
        echo_answer(prompt + first, nl=False)
        for piece in pieces:
            echo_answer(piece, nl=False)
    finally:
        click.echo()
    room, sampling = completer.room, completer.sampling
    if room is not None and not sampling.window and tokens + sampling.max_tokens > room:
        left = f"this model holds {room:,} tokens, so at most {room - tokens:,} follow the prompt"
        click.echo(f"Note: {left}; --window lets a text go on.", err=True)


def _print_all(completer: "Completer", prompts: list[str], as_json: bool) -> None:
    """The continuations of prompts that were worked on together."""
    for prompt, answers in zip(prompts, completer.completions(prompts), strict=True):
        texts = [answer.text for answer in answers]
        if as_json:
            several = completer.sampling.n > 1
            told = {"completions": texts} if several else {"completion": texts[0]}
            click.echo(valid_json({"prompt": prompt, **told}))
            continue
        for text in texts:
            echo_answer(prompt + text)
