"""Windows of a stream against the same written out place by place; documents that do not meet."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batch import IGNORED, Batch
from regard.data.store import ColumnKind, write_store
from regard.data.windows import Windows
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.training.losses import Completion, read_ahead

KINDS = {"text": ColumnKind(100), "begins": ColumnKind(2, ragged=False)}


def windows(folder: Path, documents: list[list[list[int]]], length: int) -> Windows:
    """Of documents, each of which has some parts."""
    rows = [
        {"text": part, "begins": int(number == 0)}
        for parts in documents
        for number, part in enumerate(parts)
    ]
    return Windows(write_store(folder, KINDS, rows), length)


def plain(batch: Batch) -> list[list[tuple[int, int]]]:
    """What comes in and what is asked for, of each row its real places."""
    return [
        [(int(a), int(b)) for a, b, r in zip(*columns, strict=True) if r]
        for columns in zip(batch["text"], batch["text_labels"], batch["text_real"], strict=True)
    ]


def test_every_token_is_asked_for_once(tmp_path: Path) -> None:
    made = windows(tmp_path / "s", [[[1, 5, 6], [7, 2]], [[1, 8, 2]], [[1, 9, 9, 9, 2]]], 4)
    assert (made.total, made.width) == (13, 4)
    stream = [1, 5, 6, 7, 2, 1, 8, 2, 1, 9, 9, 9, 2]
    asked = [5, 6, 7, 2, IGNORED, 8, 2, IGNORED, 9, 9, 9, 2]
    batches = made.held_out(rows=2)
    assert [len(b) for b in batches] == [2, 1]
    places = [place for batch in batches for row in plain(batch) for place in row]
    assert places == list(zip(stream, asked, strict=False))
    second = batches[0].rows(slice(1, 2))
    assert second["text_documents"].tolist() == [[0, 1, 1, 1]]
    assert second["text_positions"].tolist() == [[0, 0, 1, 2]]


def test_a_stream_may_begin_within_a_document(tmp_path: Path) -> None:
    rows = [{"text": [5, 6, 2], "begins": 0}, {"text": [1, 7, 2], "begins": 1}]
    (batch,) = Windows(write_store(tmp_path / "s", KINDS, rows), 5).held_out(rows=1)
    assert batch["text_documents"].tolist() == [[0, 0, 0, 1, 1]]
    assert batch["text_positions"].tolist() == [[0, 1, 2, 0, 1]]


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    length=st.integers(1, 7),
    seed=st.integers(0, 99),
)
def test_windows_of_any_epoch_lie_in_the_stream(
    lengths: list[int], length: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if sum(lengths) < 2:
        lengths = [2]
    ids = iter(range(sum(lengths)))
    documents = [[[next(ids) % 100 for _ in range(n)]] for n in lengths]
    made = windows(tmp_path_factory.mktemp("w") / "s", documents, length)
    start = made.start(seed, 3)
    assert start == made.start(seed, 3) and 0 <= start < length
    rows = plain(made.batch(np.arange(made.count), start))
    flat = [a for row in rows for a, _ in row]
    assert flat == list(range(start, start + made.count * made.width))  # each place once, in order
    assert all(b in (a + 1, IGNORED) for row in rows for a, b in row)


def test_documents_of_a_row_do_not_see_each_other(tmp_path: Path) -> None:
    """The vectors of a packed row are those of each document alone, for either kind of position."""
    texts = [[1, 5, 6, 7, 2], [1, 8, 9, 2]]
    made = windows(tmp_path / "s", [[text] for text in texts], 8)
    (packed,) = made.held_out(rows=1)
    for name in ("gpt-tiny", "llama-tiny"):
        model = Transformer(preset(name, 20, d_model=32, dropout=0.0), seed=2).double().eval()
        together = read_ahead(model, packed)[0]
        apart = [model.decode(torch.tensor([text]))[0] for text in texts]
        expected = torch.cat(apart)[:8]
        assert (together - expected).abs().max() < 1e-12
        model.train()
        for fast in (True, False):  # the kernels of training, and torch's
            with torch.set_grad_enabled(fast):
                assert (read_ahead(model, packed)[0] - expected).abs().max() < 1e-12


def test_the_loss_is_minus_log_p_of_the_next_token(tmp_path: Path) -> None:
    made = windows(tmp_path / "s", [[[1, 5, 6, 2]], [[1, 7, 2]]], 6)
    (batch,) = made.held_out(rows=1)
    model = Transformer(preset("gpt-tiny", 20, d_model=32, dropout=0.0), seed=2).double().eval()
    expected = 0.0
    for text in ([1, 5, 6, 2], [1, 7, 2]):
        log_p = model.token_logits(model.decode(torch.tensor([text[:-1]])))[0].log_softmax(-1)
        expected -= sum(float(log_p[n, i]) for n, i in enumerate(text[1:]))
    loss = Completion()(model, batch)
    assert float(loss.plain) == pytest.approx(expected, rel=1e-9)
    assert batch.targets == 5 and batch.tokens == 6


def test_conversations_stay_whole_and_only_answers_are_asked_for(tmp_path: Path) -> None:
    """7 and 5 stand for questions, 8 and 9 for answers; a window of eight holds two of them."""
    kinds = {**KINDS, "answer": ColumnKind(2)}
    talks = [[1, 7, 8, 2], [1, 5, 9, 9], [1, 7, 7, 8, 2], [1, 5, 9, 2, 7, 8, 2, 3]]
    answers = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 0, 1, 1, 0]]
    rows = [
        {"text": text, "answer": answer, "begins": 1}
        for text, answer in zip(talks, answers, strict=True)
    ]
    made = Windows(write_store(tmp_path / "s", kinds, rows), 8)
    assert (made.count, made.start(1, 5)) == (3, 0)
    no = IGNORED
    expected = [
        [(1, no), (7, 8), (8, 2), (2, no), (1, no), (5, 9), (9, 9)],
        [(1, no), (7, no), (7, 8), (8, 2)],
        [(1, no), (5, 9), (9, 2), (2, no), (7, 8), (8, 2), (2, no)],
    ]
    assert [row for batch in made.held_out(rows=2) for row in plain(batch)] == expected
    batch = made.batch(np.array([2, 0]))
    assert plain(batch) == [expected[2], expected[0]] and batch.examples == (2, 0)
    assert batch["text_positions"][1, :7].tolist() == [0, 1, 2, 3, 0, 1, 2]
