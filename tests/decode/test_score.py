"""Scores of given outputs against a full pass by hand, and against what a search says."""

import random

import pytest
import torch

from decode.plain import unchecked
from decode.searching import END, FRAME, KINDS, START, make, search_with, sentences
from regard.decode import score
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import DecodingOptions
from regard.decode.score import score_pairs
from regard.model.transformer import Transformer


def by_hand(model: Transformer, source: list[int], target: list[int]) -> list[float]:
    """log p of each token, each from a pass of its own that ends before it."""
    found = []
    for i, token in enumerate([*target, END]):
        with torch.no_grad(), unchecked():
            logits = model(torch.tensor([source]), torch.tensor([[START, *target[:i]]]))[0, -1]
        found.append(float(logits.log_softmax(dim=-1)[token]))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_mixed_lengths(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make(kind)
    sources = sentences(9, model.spec.vocabulary, seed=1)
    targets = [row[:-1] for row in sentences(9, model.spec.vocabulary, longest=6, seed=2)]
    assert [] in targets and len({len(t) for t in targets}) > 2
    expected = [by_hand(model, s, t) for s, t in zip(sources, targets, strict=True)]
    for cells in (1, 40, 8192):  # one by one, a few, all at once
        monkeypatch.setattr(score, "BATCH_CELLS", cells)
        found = score_pairs(model, sources, targets, FRAME)
        for row, wanted in zip(found, expected, strict=True):
            assert row == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("kind", ["post", "t5", "marian"])
def test_a_search_and_the_score_of_its_output_agree(kind: str, beam: int) -> None:
    model = make(kind)
    rows = sentences(12, model.spec.vocabulary)
    found = search_with(model, rows, DecodingOptions(beam=beam, n_best=beam, max_length=10))
    pairs = [
        (row, hypothesis)
        for row, hypotheses in zip(rows, found, strict=True)
        for hypothesis in hypotheses
    ]
    random.Random(0).shuffle(pairs)
    engine = TorchEngine(model, FRAME)
    scores = engine.score([row for row, _ in pairs], [h.ids for _, h in pairs])
    engine.close()
    assert any(h.finished for _, h in pairs)
    for (_, h), tokens in zip(pairs, scores, strict=True):
        assert len(tokens) == len(h.ids) + 1
        counted = tokens if h.finished else tokens[:-1]  # a cut-off output has no end token
        assert h.log_probability == pytest.approx(sum(counted), abs=1e-9)


def test_nothing_to_score() -> None:
    assert score_pairs(make(), [], [], FRAME) == []
