"""The example sentences of the notes: a table in, pairs out.

People type an example as the notes print it, with or without its last sign; so each sentence is a
pair with the sign and a pair without.
"""

from __future__ import annotations

from pathlib import Path

from grammar.tables import read_table

NOTES = Path(__file__).parent / "notes.tsv"
END_SIGNS = ".?!।"


def notes_sentences(language: str, path: Path = NOTES) -> list[tuple[str, str]]:
    """The sentences and their checked translations, each with and without its last sign."""
    pairs = [(row.en, row.target) for row in read_table(path, "note", language)]
    bare = [(en.rstrip(END_SIGNS), target.rstrip(END_SIGNS)) for en, target in pairs]
    return list(dict.fromkeys([*pairs, *bare]))
