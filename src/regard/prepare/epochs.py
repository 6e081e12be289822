"""The batches of a training, epoch after epoch, each with the ids of its epoch.

Usually every epoch has the same ids. With BPE-dropout (tokenizer.dropout) each epoch cuts the words
anew, and the library that cuts them has no seed: so an epoch's ids are written to the run, whole or
not at all, before its first batch; whoever resumes reads them.

    data/train/              ids without dropout
    data/train-epoch-00007/  ids drawn for epoch 7; gone when no checkpoint needs them any more
"""

from collections.abc import Iterator
from pathlib import Path

from regard import atomic
from regard.checkpoint.files import steps_saved
from regard.checkpoint.training_state import load_state
from regard.data.batch import Batch, make_batch
from regard.data.buckets import BatchOrder, Numbers, PlannedBatch
from regard.data.prefetch import prefetched
from regard.data.store import ColumnLengths, Store, StoredIds, StoreRow, write_store
from regard.errors import ConfigError, DamageError, TrainingError
from regard.prepare.pairs import PreparedPairs
from regard.runs.sections import Recipe
from regard.text.special import Special
from regard.text.tokenizer import Tokenizer

CHUNK = 1000  # pairs cut at once
DRAWN = "train-epoch-"


class Epochs:
    """What a training reads; it goes on from any place."""

    def __init__(self, recipe: Recipe, data: PreparedPairs, folder: Path) -> None:
        self.recipe, self.data, self.folder = recipe, data, folder
        self._cutter = cutter(recipe, data.tokenizer)

    def start_at(self, epoch: int, number: int) -> Iterator[tuple[PlannedBatch, Store]]:
        """Batch `number` of `epoch` and all after it, each with the store of its examples."""
        train = self.recipe.train
        while True:
            pairs = self.pairs_of(epoch)
            order = BatchOrder(
                *lengths_of(pairs), train.token_budget, train.seed, self.data.corpora
            )
            yield from ((place, pairs) for place in order.of_epoch(epoch, number))
            epoch, number = epoch + 1, 0

    def batches(self, epoch: int, number: int) -> Iterator[tuple[PlannedBatch, Batch]]:
        """The same, as tensors; loaders make the next ones meanwhile."""
        places = self.start_at(epoch, number)
        for (place, _), batch in prefetched(self._batch, places, self.recipe.train.loaders):
            yield place, batch

    def _batch(self, at: tuple[PlannedBatch, Store]) -> Batch:
        place, pairs = at
        return pairs_batch(pairs, place.examples, self.data.tokenizer.special)

    def pairs_of(self, epoch: int) -> Store:
        """The ids of an epoch: read if they were drawn before, else drawn and written."""
        if self._cutter is None:
            return self.data.train
        folder = self.folder / f"{DRAWN}{epoch:05}"
        if folder.is_dir():
            store = Store.open(folder)
            store.verify()
            return store
        # Or its name would be made again, for somebody else's run.
        if not self.folder.parent.is_dir():
            problem = "the folder of this run was moved or deleted while it trained"
            advice = "move it back, or resume it where it is"
            raise TrainingError(self.folder, problem, advice=advice)
        return write_store(folder, self.data.train.kinds, self._drawn(self._cutter))

    def _drawn(self, cutter: Tokenizer) -> Iterator[StoreRow]:
        """All pairs, cut anew; one that becomes too long for a batch keeps its usual ids."""
        pairs, most = self.data.train, self.recipe.data.max_tokens
        for start in range(0, len(pairs), CHUNK):
            chunk = range(start, min(start + CHUNK, len(pairs)))
            sources = cutter.encode_batch(self._texts([pairs["source"][i] for i in chunk]))
            targets = cutter.encode_batch(self._texts([pairs["target"][i] for i in chunk]))
            for i, source, target in zip(chunk, sources, targets, strict=True):
                too_long = max(len(source), len(target)) > most
                yield {
                    "source": pairs["source"][i].tolist() if too_long else source,
                    "target": pairs["target"][i].tolist() if too_long else target,
                }

    def _texts(self, rows: list[StoredIds]) -> list[str]:
        """What was cut; kind bytes gives every text back as it was."""
        return self.data.tokenizer.decode_batch(rows)

    def forget_old(self, checkpoints: Path, best_step: int) -> None:
        """Remove what was drawn for epochs before those that the checkpoints stand in.

        The best one may be old; from it nobody goes on as long as there are later ones.
        """
        drawn = list(self.folder.glob(f"{DRAWN}*"))
        steps = steps_saved(checkpoints)
        if not drawn or not steps:
            return
        recent = [step for step in steps if step != best_step] or steps
        try:
            first = min(int(load_state(checkpoints, step)["epoch"]) for step in recent)
        except DamageError:  # which epochs it needs is not known
            return
        for folder in drawn:
            if int(folder.name.removeprefix(DRAWN)) < first:
                atomic.remove_folder(folder)


def lengths_of(pairs: Store) -> tuple[ColumnLengths, ColumnLengths]:
    """The positions that each pair takes in a batch: its tokens, and one for <s> or </s>."""
    return pairs["source"].lengths + 1, pairs["target"].lengths + 1


def pairs_batch(pairs: Store, numbers: Numbers, special: Special) -> Batch:
    """These examples as tensors."""
    chosen = [int(i) for i in numbers]
    return make_batch([(pairs["source"][i], pairs["target"][i]) for i in chosen], special, chosen)


def cutter(recipe: Recipe, tokenizer: Tokenizer) -> Tokenizer | None:
    """The tokenizer that cuts with chance; None where there is no dropout."""
    dropout = recipe.tokenizer.dropout
    if not dropout:
        return None
    if not tokenizer.has_merges:  # of a run that is started from
        problem = f"needs kind bytes, gpt2 or merges (BPE), got {tokenizer.kind}"
        raise ConfigError("tokenizer.dropout", problem)
    return tokenizer.with_dropout(dropout)
