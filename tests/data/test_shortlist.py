"""Shortlists: a textbook's table of probabilities, what is kept of it, and the library's file."""

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.checkpoint.ctranslate2_info import SHORTLIST
from regard.checkpoint.to_ctranslate2 import write_ctranslate2
from regard.data.shortlist import Shortlist, learn_shortlist, likelihoods, write_shortlist
from regard.decode.engine import Frame
from regard.decode.engines.ctranslate2 import CTranslate2Engine
from regard.decode.options import DecodingOptions
from regard.errors import CheckpointError, DataError
from regard.model.presets import preset
from regard.model.transformer import Transformer

DAS, HAUS, BUCH, EIN, THE, HOUSE, BOOK, A = range(8)
CORPUS = [([DAS, HAUS], [THE, HOUSE]), ([DAS, BUCH], [THE, BOOK]), ([EIN, BUCH], [A, BOOK])]


@pytest.mark.parametrize(
    ("rounds", "the_das", "book_buch", "house_haus"),
    [(1, 0.5, 0.5, 0.5), (2, 0.6364, 0.6364, 0.5714), (3, 0.7479, 0.7479, 0.6534)],
)
def test_the_example_of_the_textbook(
    rounds: int, the_das: float, book_buch: float, house_haus: float
) -> None:
    """Koehn, Statistical Machine Translation (2010), 4.2: das → the is 0.5, 0.6364, 0.7479.

    haus → house by hand: after round 2 it is 4/7, the|haus 3/7, house|das 2/11, the|das 7/11. Then
    c(haus, house) = (4/7) / (4/7 + 2/11) = 44/58, c(haus, the) = (3/7) / (3/7 + 7/11) = 33/82, and
    44/58 / (44/58 + 33/82) = 0.6534.
    """
    source, target, p, counts = likelihoods(CORPUS, 8, rounds)
    table = {(int(s), int(t)): float(q) for s, t, q in zip(source, target, p, strict=True)}
    assert table[DAS, THE] == pytest.approx(the_das, abs=5e-5)
    assert table[BUCH, BOOK] == pytest.approx(book_buch, abs=5e-5)
    assert table[HAUS, HOUSE] == pytest.approx(house_haus, abs=5e-5)
    assert (DAS, A) not in table  # they never stand in one pair
    assert counts.tolist() == [0, 0, 0, 0, 2, 1, 2, 1]


def test_the_probabilities_of_a_source_piece_add_up_to_one() -> None:
    chance = np.random.default_rng(0)
    pairs = [(chance.integers(0, 30, 7), chance.integers(30, 60, 9)) for _ in range(50)]
    source, _, p, _ = likelihoods(pairs, 60)
    sums = np.bincount(source, p)
    assert sums[np.unique(source)] == pytest.approx(1.0)


def test_what_is_kept() -> None:
    learned = learn_shortlist(CORPUS, 8, common=1, likely=1)
    assert learned.common == (THE,)
    assert learned.likely[EIN] == (A, EIN)  # the likeliest, and the piece itself
    assert learned.of([EIN, HAUS]) == {THE, A, EIN, HOUSE, HAUS}
    assert learned.of([THE]) == {THE}  # never seen as a source


def test_no_pairs() -> None:
    with pytest.raises(DataError, match="no pairs to learn it from"):
        learn_shortlist([([1], [])], 8)


def test_white_space_in_a_piece_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="' ' has white space"):
        write_shortlist(tmp_path / SHORTLIST, Shortlist((0,), {1: (1,)}), ["a", " "])


@pytest.mark.needs("ctranslate2")
def test_the_library_reads_it(tmp_path: Path) -> None:
    """With the shortlist the library writes only pieces that it allows."""
    torch.manual_seed(0)
    model = Transformer(preset("tiny", 20, encoder_layers=1, decoder_layers=1, tie="none")).eval()
    pieces = ["<pad>", "<s>", "</s>", "<unk>", *(f"p{i}" for i in range(4, 20))]
    write_ctranslate2(model, tmp_path / "m", pieces, start=1, end=2)
    frame, sources = Frame(0, 1, 2), [[i, 2] for i in range(4, 20)]
    search = DecodingOptions(beam=1, max_length=12)
    with pytest.raises(CheckpointError, match=r"has no vmap\.txt"):
        CTranslate2Engine(tmp_path / "m", frame, shortlist=True)
    free = CTranslate2Engine(tmp_path / "m", frame).submit(sources, search)()
    assert not {i for found in free for i in found[0].ids} <= {1, 2, 3, 7, 8, 9}
    list_ = Shortlist((7,), {i: (8, 9) for i in range(4, 12)})
    write_shortlist(tmp_path / "m" / SHORTLIST, list_, pieces)
    engine = CTranslate2Engine(tmp_path / "m", frame, shortlist=True)
    for source in sources:  # one by one: the library joins the lists of a batch
        (found,) = engine.submit([source], search)()
        always = {1, 2, 3}  # its start, end and unknown pieces
        assert set(found[0].ids) <= list_.of(source) | always
