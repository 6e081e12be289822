"""`--check-batch` of `translate` and `complete`: batch invariance, proved on the user's model."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.complete import Completer
    from regard.answer.translate import Translator
    from regard.decode.engine import Engine
    from regard.decode.options import DecodingOptions
    from regard.engines.batch_invariance import InvarianceVerdict
    from regard.engines.engines import Engines


def show_check(
    translator: "Translator",
    engines: "Engines",
    texts: list[str],
    options: dict[str, Any],
    as_json: bool,
) -> bool:
    """Check and print a table; whether the promise holds. Without texts it is the model's probe."""
    from regard.answer.translate import options_with, sentences_of
    from regard.errors import MisuseError

    search, reading = options_with(translator.decoding, "translate", options)
    if search.draws or reading.prefix:
        raise MisuseError("--check-batch: compares searches; leave out --temperature and --prefix")
    sources = texts or [source for source, _ in engines.bundle.probe()]
    sentences = sentences_of(sources, reading)
    if not sentences:
        raise MisuseError("--check-batch", "got blank lines only", expected="some text")
    told = [sentence.text for sentence in sentences]
    return _show(engines.take(search), translator.rows(sentences), told, search, as_json)


def show_prompt_check(completer: "Completer", prompts: list[str], as_json: bool) -> bool:
    """The same for what goes on with each of the prompts."""
    from regard.errors import MisuseError

    sampling = completer.sampling
    if sampling.temperature > 0 or sampling.window or sampling.stops:
        advice = "leave out --temperature, --window and --stop-text"
        raise MisuseError("--check-batch", "compares searches", advice=advice)
    if not prompts:
        raise MisuseError("--check-batch", "got no prompt", expected="some text")
    many = len(prompts)
    rows = [completer.row(text, number, many) for number, text in enumerate(prompts)]
    # Published settings may ask for a least length, which counts the prompt; the same for all here.
    decoding = completer.decoding(max(rows, key=len))
    return _show(completer.engine(decoding), rows, prompts, decoding, as_json)


def _show(
    engine: "Engine",
    rows: Sequence[Sequence[int]],
    texts: list[str],
    decoding: "DecodingOptions",
    as_json: bool,
) -> bool:
    from regard.draw.terminal.progress import progress_bar
    from regard.engines.batch_invariance import WAYS, check_batch

    with progress_bar("checking", len(rows) * len(WAYS)) as bar:
        verdict = check_batch(engine, rows, decoding, bar.advance)
    if as_json:
        ways = [
            asdict(way)
            | {"different": [texts[n] for n in way.different]}
            | {"holds": verdict.holds(way)}
            for way in verdict.ways
        ]
        row = {"engine": verdict.engine, "kept": verdict.kept, "ways": ways}
        click.echo(valid_json(row, gaps=True))
    else:
        _print(verdict, decoding.beam, texts)
    return verdict.kept


def _print(verdict: "InvarianceVerdict", beam: int, texts: Sequence[str]) -> None:
    from regard.engines.batch_invariance import SHARE, TOLERANCE
    from regard.printable import counted

    many = counted(len(texts), "sentence")
    click.echo(f"{verdict.engine}, beam {beam}: {many}, compared with each alone")
    click.echo(f"{'':24} same tokens   largest |Δ log p| per token")
    for way in verdict.ways:
        share = f"{way.same:,} of {way.sentences:,}"
        click.echo(f"{way.name:24} {share:>13} {way.largest:15.1e}")
    for number in sorted({n for way in verdict.ways for n in way.different}):
        click.echo(f"  differs: {texts[number]}")
    most = f"{TOLERANCE:.0e}".replace("e-0", "e-")
    promise = (
        f"same tokens, log p per token within {most}"
        if verdict.strict
        else f"same tokens for {SHARE:.1%} of the sentences"
    )
    click.echo(f"promise ({promise}): {'kept' if verdict.kept else 'BROKEN'}")
