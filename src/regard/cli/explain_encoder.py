"""`regard explain` for an encoder: which words a label or a match rests on."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.api.model import Model
    from regard.explain.encoder import Account


def is_model(path: Path) -> bool:
    """Whether this is a published model or a run that trained an encoder; else a run translates."""
    from regard.bundle.bundle import open_bundle

    return not open_bundle(path).is_own_translator


def explain(
    model: Path,
    text: str,
    device: str,
    as_json: bool,
    *,
    pair: str | None,
    match: str | None,
    label: str | None,
    steps: int | None,
) -> None:
    """Print one account for a label, two for a match: the words of either text."""
    from regard.explain.encoder import explain_label, explain_match

    if match is not None and (pair is not None or label is not None):
        raise click.UsageError("--match compares two texts; --pair and --label are for a label")
    if match is not None:
        accounts: Sequence[Account] = explain_match(
            _offering(model, "embed", device), text, match, steps
        )
    else:
        accounts = [explain_label(_offering(model, "classify", device), text, pair, label, steps)]
    if as_json:
        click.echo(valid_json([_numbers(one) for one in accounts]))
        return
    for number, account in enumerate(accounts):
        if number:
            click.echo()
        _show(account)


def _offering(model: Path, task: str, device: str) -> "Model":
    """The model, if it offers the task that is to be explained."""
    from regard.api.load import load
    from regard.errors import MisuseError

    loaded = load(model, device)
    if task not in loaded.tasks:
        raise MisuseError(
            f"explain: {loaded.bundle} offers {', '.join(loaded.tasks) or 'nothing'}; explained "
            "are translations by runs of `regard train`, and by any model labels of a text "
            "(classify) and, if you give --match TEXT, the match of two texts (embed)"
        )
    return loaded


def _numbers(account: "Account") -> dict[str, object]:
    attribution = account.attribution
    correlation = account.correlation
    return {
        "answer": account.answer,
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


def _show(account: "Account") -> None:
    from regard.draw.terminal.attributions import attribution_table
    from regard.draw.terminal.console import Console

    attribution = account.attribution
    quantity = "cosine" if account.answer == "match" else f"p({account.answer})"
    console = Console()

    def say(line: str, style: str | None = None) -> None:
        console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)

    say(account.text, "bold")
    say(
        f"{quantity} = {attribution.value:.4f}; with every word as {account.hidden_by} "
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
        "to no word"
    )
    correlation = account.correlation
    if correlation is not None:
        say(f"Rank correlation of both views (without signs): {correlation:+.2f}")
    say(account.verdict)
