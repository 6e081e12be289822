"""`regard explain`: attention as a picture or as equations; words with what they add."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare
from regard.cli.explain_attention import VIEWS, View, explain_attention
from regard.cli.explain_words import explain_words

if TYPE_CHECKING:
    from regard.bundle.bundle import Bundle

# options that only one of the two kinds of views has, by their names as parameters
OF_ATTENTION = ("kind", "layer", "head", "every", "heads", "pieces", "svg", "png")
OF_WORDS = ("match", "label", "steps")


@declare.command(
    """
  regard explain runs/demo "The animal did not cross the street because it was too tired."
  regard explain runs/demo "How are you?" --kind encoder --layer 2 --head 3
  regard explain runs/demo "How are you?" --svg attention.svg --png attention.png
  regard explain runs/demo "He sat on the bank of the river." --as equation --word bank
  regard explain runs/demo "I like eating ice-cream." --as dots --svg grid.svg
  regard explain runs/demo "Hi, how are you?" --as filter --head 2 --word you
  regard explain runs/demo "How are you?" --as words --word dir
  regard explain minilm "A cat sleeps." --match "A kitten naps on the sofa."
  regard explain path/to/classifier "A fine film, if a little slow." --label positive
  regard explain runs/answer "Who won?" --pair "The final was won by Emma."
  regard explain path/to/gpt2 "The capital of France is" --answer " Paris"
  regard explain path/to/gpt2 "The cat sat on" --layer 3 --head 2""",
    all="--all-terms",
    steps="--points",
    translation="--answer",
)
@click.argument("run", metavar="MODEL", type=declare.PATH)
@click.argument("text")
@declare.choice(
    "--as",
    "view",
    among=[*VIEWS, "words"],
    default=None,
    show_default=False,
    help="How to show it: see the examples. Default: words of a label and of a continuation, else "
    "heatmap.",
)
@click.option(
    "--answer",
    help="Explain this output instead of the model's own; a continuation begins with its space.",
)
@declare.count("--max-tokens", help="Decoder: most tokens of its own continuation; default: 8.")
@click.option(
    "--kind",
    type=click.Choice(["cross", "encoder", "decoder"]),
    help="Of a model with both: cross-attention (default of heatmap and dots), or the "
    "self-attention of either side (encoder: default of equation and filter).",
)
@declare.count("--layer", help="Which layer; default: the last.")
@declare.count("--head", help="Which head; default: the mean of all, for a filter the first.")
@click.option("--word", help="Equation, filter, words of an output: only this one, or its place.")
@declare.flag("--all-terms", "every", help="Equation: keep terms below 0.005.")
@declare.flag("--heads", help="SVG: all heads of the layer side by side.")
@declare.flag("--pieces", help="Show sub-words instead of whole words.")
@declare.path("--svg", help="Write the picture as SVG.")
@declare.path("--png", help="Write the picture as PNG.")
@click.option("--pair", help="Encoder: the second text, of two; the context of a question.")
@click.option("--match", help="Encoder: what the match of TEXT with this text rests on.")
@click.option("--label", help="Encoder: explain this label; default: the likeliest.")
@click.option(
    "--points",
    "steps",
    type=click.IntRange(min=1, max=4096),
    help="Words: points of the integral; default: as many as it needs.",
)
@declare.device
@declare.json("Print words and numbers as JSON.")
def command(
    run: Path,
    text: str,
    view: str | None,
    answer: str | None,
    max_tokens: int | None,
    pair: str | None,
    word: str | None,
    device: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Show what MODEL attends to, and which words of TEXT its answer rests on.

    In a heat map rows are the words that look and columns the words looked at, and each row sums
    to 1; a grid of dots is the same turned on its side. `--as words` shows what each word adds to
    the answer, by integrated gradients, beside how much it was looked at: to a label, to the answer
    of a question in --pair or, with --match, to the likeness of two texts (encoders), to a
    continuation (decoders), to an output (models with both).
    """
    from regard.bundle.bundle import open_bundle

    bundle = open_bundle(run)
    view = view or _usual_view(bundle, options)
    of_attention = {name: options[name] for name in OF_ATTENTION}
    of_words = {name: options[name] for name in OF_WORDS}
    _refuse(of_words if view in VIEWS else of_attention, view)
    if view in VIEWS:
        look = View(view, word=word, **of_attention)
        explain_attention(bundle, look, text, device, as_json, answer, pair, max_tokens)
    else:
        output = {"output": answer, "word": word, "most": max_tokens}
        encoder = {"pair": pair, "match": options["match"], "label": options["label"]}
        explain_words(bundle, text, device, as_json, options["steps"], output, encoder)


def _usual_view(bundle: "Bundle", options: dict[str, Any]) -> str:
    """Words where an option or the model asks for them, else a heat map."""
    if any(options[name] is not None for name in OF_WORDS):
        return "words"
    if any(options[name] for name in OF_ATTENTION):
        return "heatmap"
    spec = bundle.spec
    if not spec.decoder_layers:
        return "words" if spec.head in ("classes", "spans") else "heatmap"
    return "words" if spec.head == "tokens" and not spec.encoder_layers else "heatmap"


def _refuse(options: dict[str, Any], view: str) -> None:
    """Name the first option that this view does not have."""
    context = click.get_current_context()
    for parameter in context.command.params:
        if options.get(parameter.name or ""):
            raise click.UsageError(f"{parameter.opts[0]}: not for --as {view}")
