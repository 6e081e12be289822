"""`regard data`: the data sets that regard knows by name, which are here, and how to get them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.datasets.table import DataSet


@declare.command("""
  regard data                               what there is, and what is here
  regard data multi30k                      fetch it, or check the one that is here
  regard data libreoffice-de --from folder  take it from a folder
  regard data multi30k --path               where its files are
  regard train multi30k-quick data.set=tatoeba-de""")
@click.argument("name", required=False)
@declare.path(
    "--from", "origin", help="Take the files, or the archives they come in, from this folder."
)
@declare.flag("--path", "path_only", help="Print the folder of its files; no network.")
@click.option(
    "--mirror", default="", help="Ask this address in place of the public ones: MIRROR/HOST/PATH."
)
@declare.json("Print JSON.")
def command(
    name: str | None, origin: Path | None, path_only: bool, mirror: str, as_json: bool
) -> None:
    """List the data sets, or bring the one called NAME to this machine.

    A set is looked for below $REGARD_DATA, then in the cache of regard; it is fetched into the
    cache. Files are taken only with the right SHA-256; a download that was cut off goes on where it
    stopped.
    """
    from regard.datasets.find import folder_of_set
    from regard.datasets.obtain import obtain
    from regard.datasets.table import all_sets, named

    if name is None:
        if origin or path_only or mirror:
            raise click.UsageError("--from, --path, --mirror: name a set, `regard data` lists them")
        _list([_facts(dataset) for dataset in all_sets().values()], as_json)
        return
    dataset = named(name)
    if path_only:
        if origin or mirror or as_json:
            raise click.UsageError("--path only prints where the set is; leave the rest out")
        click.echo(folder_of_set(name))
        return
    if not dataset.is_made:
        obtain(dataset, lambda line: click.echo(line, err=True), origin=origin, mirror=mirror)
    _list([_facts(dataset)], as_json, one=True)


def _facts(dataset: "DataSet") -> dict[str, Any]:
    """What is said of a set, for a person and for a program."""
    from regard.datasets.find import find

    folder = find(dataset)
    return {
        "name": dataset.name,
        "what": dataset.what,
        "size": dataset.size,
        "licence": dataset.licence,
        "page": dataset.page,
        "note": dataset.note,
        "here": bool(folder or dataset.is_made),
        "folder": None if folder is None else str(folder),
        "files": [file.name for file in dataset.files],
    }


def _list(rows: list[dict[str, Any]], as_json: bool, one: bool = False) -> None:
    if as_json:
        click.echo(valid_json(rows[0] if one else rows))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        click.echo(f"{row['name']:<{width}}  {row['what']}")
        about = f"{row['size']} · licence: {row['licence']}"
        for line in filter(None, (about, row["page"], row["note"], _whereabouts(row))):
            click.echo(f"{'':<{width}}  {line}")


def _whereabouts(row: dict[str, Any]) -> str:
    if row["folder"] is None and row["here"]:
        return "here: part of regard"
    if row["here"]:
        return f"here: {row['folder']}"
    return (
        "not here"
        if "--from" in row["note"]
        else f"not here; to fetch it: regard data {row['name']}"
    )
