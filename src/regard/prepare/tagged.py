"""Words with tags, from a file or from the phrasebook, as rows that training reads.

A row's text is its words with a space between each two, its labels are their tags in order. As ids
it is the pieces, and for each piece the number of the tag of the word that begins there, from 1;
0: no word begins there, so nothing is asked. The later pieces of a word carry no tag of their own.
"""

from collections.abc import Iterator
from pathlib import Path

from regard.data.corpus import Limits, Report
from regard.data.labelled import Labelled
from regard.data.phrasebook.corpus import phrasebook, words_of_sentences
from regard.data.store import StoreRow
from regard.data.tagged import read_tagged
from regard.runs.sections import DataSection
from regard.text.published import PublishedTokenizer


def read_tags(path: Path, data: DataSection, report: Report) -> Iterator[Labelled]:
    """The sentences of a file, its columns as the recipe says."""
    return read_tagged(path, data.text, data.label, report, Limits(data.max_characters))


def tagged_phrases(language: str, split: str) -> Iterator[Labelled]:
    """The English sentences of the phrasebook, each once, with the classes of their words."""
    words_by_text = words_of_sentences(language)
    texts = dict.fromkeys(entry.source for entry in phrasebook(language) if entry.split == split)
    for line, text in enumerate(texts, start=1):
        words = words_by_text[text]
        tags = tuple(word.kind for word in words)
        yield Labelled(" ".join(word.text for word in words), None, tags, line)


def tagged_row(
    tokenizer: PublishedTokenizer, row: Labelled, limit: int, places: dict[str, int]
) -> StoreRow:
    """Ids, and the tag of each."""
    whole, begins = tokenizer.encode_words(row.text.split(" "), limit)
    tags = [0] * len(whole.ids)
    for place, tag in zip(begins, row.labels, strict=True):
        if place is not None:
            tags[place] = places[tag] + 1
    return {"text": list(whole.ids), "first": len(whole.ids), "tags": tags}
