"""Masking: the shares of BERT, whole words, and chance that depends on nothing but its numbers."""

import numpy as np
import pytest
import torch

from regard.data.batch import IGNORED
from regard.data.noise import Masking

MASK = 4
ORDINARY = np.arange(5, 105)
CONTINUES = np.arange(105) % 5 == 1  # 6, 11, 16, …


def many(rows: int = 400, length: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    """Texts of ordinary tokens between <s> and </s>, some shorter."""
    ids = torch.from_numpy(np.random.default_rng(0).integers(5, 105, (rows, length)))
    lengths = torch.arange(rows) % 20 + length - 19
    real = torch.arange(length) < lengths[:, None]
    ids[:, 0] = 1
    ids[torch.arange(rows), lengths - 1] = 2
    return ids * real, real


def test_the_shares_are_those_of_bert() -> None:
    source, real = many()
    holes, labels = Masking(MASK, ORDINARY, CONTINUES)(source, real, (1, 2, 3))
    asked = labels != IGNORED
    candidates = real & (source >= 5)
    for row, chosen in zip(candidates, asked, strict=True):  # exactly so many of each text
        assert int(chosen.sum()) == max(1, round(0.15 * int(row.sum())))
    assert not (asked & ~candidates).any()
    assert torch.equal(labels[asked], source[asked]) and torch.equal(holes[~asked], source[~asked])
    hidden = (holes[asked] == MASK).float().mean()
    same = (holes[asked] == source[asked]).float().mean()
    spread = 4 * (0.8 * 0.2 / int(asked.sum())) ** 0.5  # four standard deviations
    assert float(hidden) == pytest.approx(0.8, abs=spread)
    assert float(same) == pytest.approx(0.1 + 0.1 / 100, abs=spread)
    replaced = holes[asked][(holes[asked] != MASK) & (holes[asked] != source[asked])]
    assert replaced.min() >= 5 and len(replaced.unique()) > 60


def test_the_same_numbers_hide_the_same_words() -> None:
    source, real = many(20)
    rule = Masking(MASK, ORDINARY, CONTINUES)
    one, again, other = (rule(source, real, chance) for chance in [(1, 0, 5), (1, 0, 5), (1, 0, 6)])
    assert torch.equal(one[0], again[0]) and torch.equal(one[1], again[1])
    assert not torch.equal(one[1], other[1])


def test_pieces_of_a_word_are_hidden_together() -> None:
    source, real = many()
    _, labels = Masking(MASK, ORDINARY, CONTINUES, whole_words=True)(source, real, (7,))
    asked = labels != IGNORED
    together = 0
    for ids, chosen in zip(source.tolist(), asked.tolist(), strict=True):
        for place in range(1, len(ids)):
            if CONTINUES[ids[place]] and ids[place - 1] >= 5:
                assert chosen[place] == chosen[place - 1], (ids, place)
                together += chosen[place]
    assert together > 100  # the case did come up


def test_a_text_of_one_word_and_one_of_none() -> None:
    source = torch.tensor([[1, 6, 2], [1, 2, 0]])
    real = torch.tensor([[True, True, True], [True, True, False]])
    for whole in (False, True):
        _, labels = Masking(MASK, ORDINARY, CONTINUES, whole_words=whole)(source, real, (0,))
        assert labels.tolist() == [[IGNORED, 6, IGNORED], [IGNORED] * 3]
