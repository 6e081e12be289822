"""Teacher forcing by hand: shift right, end marks, masks from lengths."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batch import IGNORED, make_batch, pad_rows, text_batch
from regard.text.special import Special


def test_two_pairs_worked_out_by_hand() -> None:
    batch = make_batch([([11, 12, 13], [21]), ([14], [22, 23])], Special(), examples=(7, 9))
    assert batch["source"].tolist() == [[11, 12, 13, 2], [14, 2, 0, 0]]
    assert batch["source_real"].tolist() == [[True] * 4, [True, True, False, False]]
    assert batch["target_in"].tolist() == [[1, 21, 0], [1, 22, 23]]
    assert batch["target_out"].tolist() == [[21, 2, 0], [22, 23, 2]]
    assert batch["target_real"].tolist() == [[True, True, False], [True, True, True]]
    assert batch.examples == (7, 9)
    assert batch.tokens == 6 + 5
    assert batch["source"].dtype == torch.int64 and batch["source_real"].dtype == torch.bool


def test_real_places_come_from_lengths_not_from_ids() -> None:
    marian = Special(pad=5, bos=5, eos=0, unk=1)  # starts from its padding id
    batch = make_batch([([5, 8], [5]), ([9], [5, 5])], marian)
    assert batch["source"].tolist() == [[5, 8, 0], [9, 0, 5]]
    assert batch["source_real"].tolist() == [[True, True, True], [True, True, False]]
    assert batch["target_in"].tolist() == [[5, 5, 5], [5, 5, 5]]
    assert batch["target_real"].tolist() == [[True, True, False], [True, True, True]]


def test_an_empty_side_is_its_end_mark() -> None:
    batch = make_batch([([], [])], Special())
    assert batch["source"].tolist() == [[2]]
    assert batch["target_in"].tolist() == [[1]] and batch["target_out"].tolist() == [[2]]


rows = st.lists(st.integers(4, 2**16 - 1), max_size=9).map(lambda r: np.array(r, dtype=np.uint16))


@given(st.lists(st.tuples(rows, rows), min_size=1, max_size=5))
def test_the_pairs_can_be_read_back(pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:
    batch = make_batch(pairs, Special(), examples=range(len(pairs)))
    for i, (source, target) in enumerate(pairs):
        assert batch["source"][i][batch["source_real"][i]].tolist() == [*source.tolist(), 2]
        assert batch["target_in"][i][batch["target_real"][i]].tolist() == [1, *target.tolist()]
        assert batch["target_out"][i][batch["target_real"][i]].tolist() == [*target.tolist(), 2]
        assert (batch["source"][i][~batch["source_real"][i]] == 0).all()
        assert (batch["target_out"][i][~batch["target_real"][i]] == 0).all()
    assert batch.tokens == sum(len(s) + len(t) + 2 for s, t in pairs)
    assert batch.examples == tuple(range(len(pairs)))


def test_rows_of_one_width() -> None:
    filled, real = pad_rows([[4, 5], [6]], pad=9)
    assert filled.tolist() == [[4, 5], [6, 9]]
    assert real.tolist() == [[True, True], [True, False]]


def test_moving_keeps_everything() -> None:
    batch = make_batch([([11], [21])], Special(), examples=(3,))
    moved = batch.to("meta")
    tensors = (moved["source"], moved["source_real"], moved["target_in"], moved["target_out"])
    assert {t.device.type for t in (*tensors, moved["target_real"])} == {"meta"}
    assert moved.examples == (3,) and moved["source"].shape == (1, 2)
    assert batch["source"].device.type == "cpu"


def test_what_is_counted_follows_from_the_names() -> None:
    pairs = make_batch([([11, 12], [21]), ([14], [22, 23])], Special())
    assert (pairs.tokens, pairs.targets, pairs.cells) == (10, 5, 12)
    assert pairs.row_in_words == "pair of 3 and 3 tokens"
    texts = text_batch([[1, 5, 2], [1, 2]], [3, 2], pad=0, examples=(5, 6))
    assert (len(texts), texts.tokens, texts.targets, texts.cells) == (2, 5, 2, 6)
    assert texts.row_in_words == "text of 3 tokens"
    asked = texts.having(text_labels=torch.tensor([[IGNORED, 7, IGNORED], [8, 9, IGNORED]]))
    assert asked.targets == 3 and "text_labels" not in texts
    lower = asked.rows(slice(1, 2))
    assert lower.examples == (6,) and lower["text_labels"].tolist() == [[8, 9, IGNORED]]


def test_a_batch_needs_pairs_and_as_many_numbers() -> None:
    with pytest.raises(AssertionError):
        make_batch([], Special())
    with pytest.raises(AssertionError):
        make_batch([([4], [5])], Special(), examples=(1, 2))
