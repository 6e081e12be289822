"""`regard explain --as words`: which words a label, a match or an output rests on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.loaded import LoadedModel
    from regard.bundle.bundle import Bundle
    from regard.explain.account import Account


def explain_words(
    bundle: "Bundle",
    text: str,
    device: str,
    as_json: bool,
    steps: int | None,
    output: dict[str, Any],
    encoder: dict[str, Any],
) -> None:
    """Print one account for a label or an output, two for a match: the words of either text."""
    from regard.answer.loaded import TORCH, LoadedModel

    makes_text = bundle.spec.decoder_layers > 0
    if makes_text and any(value is not None for value in encoder.values()):
        raise click.UsageError("--pair, --match and --label are for encoders")
    if not makes_text and any(value is not None for value in output.values()):
        raise click.UsageError("--answer, --word and --max-tokens are for models that make text")
    model = LoadedModel(bundle, device, TORCH)
    if makes_text:
        from regard.explain.outputs import explain_output  # here: torch takes seconds

        accounts: Sequence[Account] = [explain_output(model, text, steps=steps, **output)]
    else:
        accounts = _of_encoder(model, text, steps, **encoder)
    if as_json:
        click.echo(valid_json([_numbers(one) for one in accounts]))
        return
    for number, account in enumerate(accounts):
        if number:
            click.echo()
        _show(account, "elsewhere" if makes_text else "to no word")


def _of_encoder(
    model: "LoadedModel",
    text: str,
    steps: int | None,
    pair: str | None,
    match: str | None,
    label: str | None,
) -> "Sequence[Account]":
    from regard.errors import MisuseError
    from regard.explain.encoder import (  # here: torch takes seconds
        explain_label,
        explain_match,
        explain_span,
    )

    if match is not None and (pair is not None or label is not None):
        raise click.UsageError("--match compares two texts; --pair and --label are for a label")
    if match is None and "answer" in model.tasks:
        return [explain_span(model, text, pair, steps)]
    task = "classify" if match is None else "embed"
    if task not in model.tasks:
        raise MisuseError(
            f"explain: {model.bundle} offers {', '.join(model.tasks) or 'nothing'}; words account "
            "for a label (classify), for the answer to a question (answer) and, if you give "
            "--match TEXT, for the match of two texts (embed); --as heatmap shows attention"
        )
    if match is not None:
        return explain_match(model, text, match, steps)
    return [explain_label(model, text, pair, label, steps)]


def _numbers(account: "Account") -> dict[str, object]:
    attribution = account.attribution
    correlation = account.correlation
    return {
        "answer": account.answer,
        "quantity": account.quantity,
        "text": account.text,
        "value": round(attribution.value, 6),
        "baseline": round(attribution.baseline, 6),
        "hidden_by": account.hidden_by,
        "steps": attribution.steps,
        "gap": round(attribution.gap, 6),
        "words": [
            {"word": word, "gradients": round(float(g), 6), "attention": round(float(a), 6)}
            for word, g, a in zip(account.words, account.gradients, account.attention, strict=True)
        ],
        "rank_correlation": None if correlation is None else round(correlation, 6),
        "verdict": account.verdict,
    }


def _show(account: "Account", otherwise: str) -> None:
    """The table of one account; `otherwise`: where the rest of the attention goes."""
    from regard.draw.terminal.attributions import attribution_table
    from regard.draw.terminal.console import Console

    attribution = account.attribution
    console = Console()

    def say(line: str, style: str | None = None) -> None:
        console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)

    say(account.text, "bold")
    say(
        f"{account.quantity} = {attribution.value:.4f}; with every word as {account.hidden_by} "
        f"{attribution.baseline:.4f}; the words add {attribution.difference:+.4f}"
    )
    titles = ("integrated gradients", "attention, last layer")
    table = attribution_table(
        account.words, account.gradients.tolist(), account.attention.tolist(), titles
    )
    console.print(table, highlight=False)
    say(
        f"sum {account.gradients.sum():+.4f}, missing {attribution.gap:+.4f} with "
        f"{attribution.steps} points; {account.looked_elsewhere:.0%} of the attention goes "
        f"{otherwise}"
    )
    correlation = account.correlation
    if correlation is not None:
        say(f"Rank correlation of both views (without signs): {correlation:+.2f}")
    say(account.verdict)
