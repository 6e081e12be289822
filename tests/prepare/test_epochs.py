"""BPE-dropout: other pieces in every epoch, the same text; what was drawn is kept for resuming."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from halting import ask, digest, go, go_with_halts
from regard.api.load import load
from regard.checkpoint.files import folder_name, read_own_json
from regard.data.store import Store
from regard.errors import ConfigError, DataError
from regard.prepare.epochs import Epochs
from regard.prepare.pairs import PreparedPairs, load_prepared
from regard.runs.folder import RunFolder
from regard.runs.recipe import make_recipe
from regard.runs.sections import Recipe
from regard.text.tokenizer import Tokenizer

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("dropout")
    go(ask(folder, "tokenizer.dropout=0.3", steps=8))
    return RunFolder(folder / "run")


@pytest.fixture
def data(run: RunFolder) -> PreparedPairs:
    return load_prepared(run)


@pytest.fixture
def recipe(run: RunFolder) -> Recipe:
    return make_recipe(read_own_json(run.recipe), "recipe")


def ids(store: Store) -> list[tuple[list[int], list[int]]]:
    both = store["source"], store["target"]
    return [(both[0][i].tolist(), both[1][i].tolist()) for i in range(len(store))]


def test_pieces_change_and_texts_do_not(
    tmp_path: Path, data: PreparedPairs, recipe: Recipe
) -> None:
    epochs = Epochs(recipe, data, tmp_path)
    plain, one, two = ids(data.train), ids(epochs.pairs_of(0)), ids(epochs.pairs_of(1))
    assert one != plain and one != two
    for before, after in zip(plain, one, strict=True):
        for side in (0, 1):
            assert data.tokenizer.decode(before[side]) == data.tokenizer.decode(after[side])
    assert sum(len(s) for s, _ in one) > 1.1 * sum(len(s) for s, _ in plain)
    assert ids(Epochs(recipe, data, tmp_path).pairs_of(0)) == one  # read, not drawn again


def test_a_pair_that_becomes_too_long_keeps_its_pieces(
    tmp_path: Path, data: PreparedPairs, recipe: Recipe
) -> None:
    most = int(max(data.train["source"].lengths.max(), data.train["target"].lengths.max()))
    short = replace(recipe, data=replace(recipe.data, max_tokens=most))
    store = Epochs(short, data, tmp_path).pairs_of(0)
    assert max(store["source"].lengths.max(), store["target"].lengths.max()) <= most
    longest = Epochs(recipe, data, tmp_path / "free").pairs_of(0)
    assert max(longest["source"].lengths.max(), longest["target"].lengths.max()) > most


def test_neither_validation_nor_the_saved_tokenizer_drops_anything(
    run: RunFolder, data: PreparedPairs
) -> None:
    tokenizer = load(run.folder, "cpu", engine="torch").tokenizer
    text = "red cat green house three birds"
    assert len({tuple(tokenizer.encode(text)) for _ in range(20)}) == 1
    assert len({tuple(tokenizer.with_dropout(0.5).encode(text)) for _ in range(20)}) > 5
    expected = [(tokenizer.encode(s), tokenizer.encode(t)) for s, t in data.valid_texts]
    assert ids(data.valid) == expected


def test_only_epochs_of_recent_checkpoints_stay(tmp_path: Path) -> None:
    go(ask(tmp_path, "tokenizer.dropout=0.1", "train.average=1", steps=48, pairs=100))
    run = RunFolder(tmp_path / "run")
    first, last = (
        json.loads((run.checkpoints / folder_name(step) / "state.json").read_text())["epoch"]
        for step in (40, 48)  # the last, and the one to fall back to
    )
    assert last > first >= 2
    drawn = sorted(path.name for path in run.data.glob("train-epoch-*"))
    assert drawn == [f"train-epoch-{epoch:05}" for epoch in range(first, last + 1)]


def test_resume_reads_what_was_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's draw is replaced by one that differs at every call: an epoch that is drawn a
    second time would have other ids, and so lead to other weights."""
    calls = 0

    class Cutter(Tokenizer):
        def __init__(self, tokenizer: Tokenizer) -> None:
            self.tokenizer = tokenizer

        def encode_batch(self, texts: list[str]) -> list[list[int]]:
            nonlocal calls
            calls += 1
            return [[*self.tokenizer.encode(text), 10 + calls] for text in texts]

    monkeypatch.setattr("regard.prepare.epochs.cutter", lambda recipe, tokenizer: Cutter(tokenizer))
    keys = "tokenizer.dropout=0.1"
    go(ask(tmp_path / "straight", keys, steps=30, pairs=100))
    straight, calls = calls, 0
    go_with_halts(ask(tmp_path / "halted", keys, steps=30, pairs=100), [2, 9, 21], monkeypatch)
    assert straight == calls >= 6  # both sides of three epochs
    assert digest(tmp_path / "halted/run") == digest(tmp_path / "straight/run")


def test_damaged_ids_are_noticed(tmp_path: Path, data: PreparedPairs, recipe: Recipe) -> None:
    epochs = Epochs(recipe, data, tmp_path)
    epochs.pairs_of(0)
    file = tmp_path / "train-epoch-00000/source.npy"
    content = bytearray(file.read_bytes())
    content[-2] ^= 1
    file.write_bytes(content)
    with pytest.raises(DataError, match="changed after it was written"):
        epochs.pairs_of(0)


def test_a_kind_without_merges_is_refused() -> None:
    for kind in ("unigram", "words", "characters"):
        tables = {"data": {"phrasebook": "de"}, "tokenizer": {"kind": kind, "dropout": 0.1}}
        with pytest.raises(ConfigError, match=f'merges, which kind "{kind}" does not have'):
            make_recipe(tables, "r.toml")
