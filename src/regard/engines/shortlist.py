"""A shortlist beside a ctranslate2 engine, learned from the training pairs of its run."""

from pathlib import Path

from regard.checkpoint.ctranslate2_info import SHORTLIST, has_shortlist, read_pieces
from regard.checksums import add_checksums
from regard.data.shortlist import learn_shortlist, write_shortlist
from regard.data.store import Store


def add_shortlist(folder: Path, corpus: Path) -> None:
    """Learn a shortlist from the training pairs of a run; one that is there stays."""
    if has_shortlist(folder):
        return
    store = Store.open(corpus)
    store.verify()
    # Evenly from all over: a corpus may be sorted, and is not read to its end.
    step = max(1, len(store) // 50_000)
    source, target = store["source"], store["target"]
    pairs = ((source[i], target[i]) for i in range(0, len(store), step))
    learned = learn_shortlist(pairs, source.below)
    write_shortlist(folder / SHORTLIST, learned, read_pieces(folder))
    add_checksums(folder, [SHORTLIST])
