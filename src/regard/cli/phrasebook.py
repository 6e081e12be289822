"""`regard phrasebook`: look at the embedded corpus, or write it to files."""

from dataclasses import asdict
from pathlib import Path

import click

from regard.cli import declare
from regard.cli.inputs import say_written
from regard.valid_json import valid_json


@declare.command(
    """
  regard phrasebook                     what it holds
  regard phrasebook --sample            ten pairs of each pattern
  regard phrasebook --language hi --sample --slice it
  regard phrasebook --output folder     train, dev and test as .tsv files""",
    write="--output",
)
@declare.choice("--language", among=["de", "hi"], help="German or Hindi.")
@declare.flag("--sample", help="Print pairs of each pattern.")
@declare.count("--per-pattern", default=10, show_default=True)
@click.option("--slice", "chosen", help="Only patterns of this slice.")
@declare.output("Write the splits as TSV files.")
@declare.json("JSON instead of text.")
def command(
    language: str,
    sample: bool,
    per_pattern: int,
    chosen: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """The phrasebook: English–German and English–Hindi pairs, made by a grammar."""
    if output:
        _write(language, output)
    elif sample:
        _sample(language, per_pattern, chosen, as_json)
    else:
        _statistics(language, as_json)


def _sample(language: str, per_pattern: int, chosen: str | None, as_json: bool) -> None:
    from regard.data.phrasebook.corpus import NOTES, SLICES, sample
    from regard.errors import MisuseError, nearest

    slices = (*SLICES, NOTES)
    if chosen is not None and chosen not in slices:
        raise MisuseError("slice", got=chosen, advice=nearest(chosen, slices))
    for pattern, entries in sample(language, per_pattern).items():
        if chosen and chosen not in entries[0].slices:
            continue
        if as_json:
            rows = [asdict(entry) for entry in entries]
            click.echo(valid_json({"pattern": pattern, "pairs": rows}))
            continue
        tags = f"  [{', '.join(entries[0].slices)}]" if entries[0].slices else ""
        click.echo(f"\n{pattern}{tags}")
        for entry in entries:
            click.echo(f"  {entry.source}\n      {entry.target}")


def _statistics(language: str, as_json: bool) -> None:
    from regard.data.phrasebook.corpus import SPLITS, statistics

    counts = statistics(language)
    slices = sorted({name for name, _ in counts.slices})
    if as_json:
        by_slice = {f"{name}/{split}": n for (name, split), n in counts.slices.items()}
        click.echo(valid_json({**asdict(counts), "slices": by_slice}))
        return
    splits = ", ".join(f"{counts.per_split[split]:,} {split}" for split in SPLITS)
    click.echo(f"{counts.pairs:,} pairs ({splits})")
    click.echo(
        f"{counts.patterns} patterns, the largest {counts.biggest_pattern} with "
        f"{100 * counts.biggest_share:.1f} % of the pairs; {counts.lemmas} lemmas"
    )
    click.echo(
        f"{counts.min_words} to {counts.max_words} words, {counts.mean_words:.1f} on average"
    )
    click.echo("\nslice       " + "".join(f"{split:>8}" for split in SPLITS))
    for name in slices:
        numbers = "".join(f"{counts.slices.get((name, split), 0):8,}" for split in SPLITS)
        click.echo(f"{name:<12}{numbers}")


def _write(language: str, folder: Path) -> None:
    from regard import atomic
    from regard.data.phrasebook.corpus import SPLITS, phrasebook
    from regard.errors import MisuseError

    if folder.exists() and not folder.is_dir():
        raise MisuseError(folder, "a file", expected="a folder, for a file of each split")
    for split in SPLITS:
        pairs = [e for e in phrasebook(language) if e.split == split]
        path = folder / f"{split}.tsv"
        atomic.write_text(path, "".join(f"{e.source}\t{e.target}\n" for e in pairs))
        say_written(path, f", {len(pairs):,} pairs")
