"""Losses of encoders against torch's own, and against `transformers` on the same weights."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

import folders
from regard.checkpoint.published import load_published
from regard.data.batch import Batch, text_batch
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.losses import (
    Classification,
    Filling,
    classification_loss,
)
from regard.training.shared import can_share
from regard.training.worker_process import is_known, packed, unpacked

ROWS = [[2, 7, 9, 3, 11, 3], [2, 8, 3], [2, 5, 6, 10, 3], [2, 12, 13, 3, 14, 15, 3]]
FIRST = [4, 3, 5, 4]  # tokens of the first text


def batch(labels: torch.Tensor) -> Batch:
    return text_batch(ROWS, FIRST, pad=0, examples=(4, 5, 6, 7)).having(labels=labels)


def test_segments_begin_where_the_first_text_ends() -> None:
    pairs = batch(torch.tensor([0, 1, 2, 0]))
    assert pairs["text_segments"][0].tolist() == [0, 0, 0, 0, 1, 1, 0]
    assert pairs["text_segments"][1].tolist() == [0] * 7
    assert pairs["text_real"][1].tolist() == [True] * 3 + [False] * 4
    assert (pairs.tokens, pairs.targets, pairs.cells) == (21, 4, 28)


def test_one_class_is_torchs_cross_entropy() -> None:
    logits, labels = torch.randn(4, 3, dtype=torch.float64), torch.tensor([0, 2, 1, 1])
    for epsilon in (0.0, 0.3):
        loss = classification_loss(logits, labels, epsilon)
        expected = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=epsilon)
        torch.testing.assert_close(loss.smoothed, expected)
        torch.testing.assert_close(loss.plain, F.cross_entropy(logits, labels, reduction="sum"))


def test_several_classes_are_torchs_binary_cross_entropy() -> None:
    logits, labels = torch.randn(4, 5, dtype=torch.float64), torch.rand(4, 5).round()
    loss = classification_loss(logits, labels, 0.0)
    expected = torch.nn.BCEWithLogitsLoss()(logits, labels.double())  # a mean over all 20
    torch.testing.assert_close(loss.smoothed / 4, expected)


@pytest.mark.parametrize("family", ["bert", "distilbert"])
@pytest.mark.parametrize("kind", ["single_label_classification", "multi_label_classification"])
def test_loss_and_gradient_are_those_of_transformers(
    family: str, kind: str, tmp_path: Path
) -> None:
    theirs = folders.bert(
        tmp_path / "m", "SequenceClassification", family, num_labels=3, problem_type=kind
    ).eval()  # eval: no dropout
    ours = load_published(tmp_path / "m").eval()
    one = kind.startswith("single")
    labels = torch.tensor([0, 2, 1, 1]) if one else torch.rand(4, 3).round()
    pairs = batch(labels)
    inputs = {"input_ids": pairs["text"], "attention_mask": pairs["text_real"].long()}
    inputs["labels"] = labels
    if family == "bert":
        inputs["token_type_ids"] = pairs["text_segments"]
    expected = theirs(**inputs).loss
    expected.backward()
    loss = Classification()(ours, pairs).smoothed / pairs.targets
    loss.backward()
    torch.testing.assert_close(loss, expected, atol=1e-6, rtol=1e-5)
    weight = theirs.get_input_embeddings().weight.grad
    assert ours.source_embedding is not None
    torch.testing.assert_close(ours.source_embedding.weight.grad, weight, atol=1e-6, rtol=1e-4)


def encoder(dropout: float) -> Transformer:
    spec = preset(
        "tiny", 16, d_model=8, heads=2, ffn_size=12, encoder_layers=1, decoder_layers=0,
        head="classes", classes=3, segments=2, dropout=dropout,
    )  # fmt: skip
    return Transformer(spec, seed=1).double()


@pytest.mark.skipif(not can_share(), reason="several workers are for Linux")
@pytest.mark.parametrize("several", [False, True])
def test_two_workers_find_the_gradient_of_one(several: bool) -> None:
    labels = torch.rand(4, 3).round() if several else torch.tensor([0, 2, 1, 1])
    results = []
    for count in (1, 2):
        model = encoder(dropout=0.0)
        with closing(
            DataParallel(model, Classification(0.1), Compute(workers=count), seed=3)
        ) as workers:
            means = workers.gradients(1, [batch(labels)])
            gradients = [None if w.grad is None else w.grad.clone() for w in model.parameters()]
        results.append((means, gradients))
    assert results[0][0].smoothed == pytest.approx(results[1][0].smoothed, abs=1e-9)
    for one, two in zip(results[0][1], results[1][1], strict=True):
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            torch.testing.assert_close(one, two)


def test_halves_are_the_rows_of_the_whole() -> None:
    """With dropout: what memory forces into halves has the masks of the whole."""
    model, whole = encoder(dropout=0.3), batch(torch.tensor([0, 2, 1, 1]))
    results = []
    for most in (None, 1):  # cells of a part: 1 leaves single rows
        with closing(
            DataParallel(model, Classification(), Compute(), seed=3, most=most)
        ) as workers:
            means = workers.gradients(1, [whole])
            results.append((means.plain, [w.grad.clone() for w in model.parameters()]))
    assert results[0][0] == pytest.approx(results[1][0], abs=1e-12)
    for one, two in zip(results[0][1], results[1][1], strict=True):
        torch.testing.assert_close(one, two)


def test_an_objective_travels_as_name_and_fields() -> None:
    told = packed(Classification(0.25))
    assert told.pop("module") == "regard.training.losses"
    assert told == {"name": "Classification", "fields": {"smoothing": 0.25}}
    assert unpacked(packed(Filling(0.5))) == Filling(0.5)


def test_only_a_loss_that_another_process_can_find_is_told() -> None:
    @dataclass(frozen=True)
    class Local(Classification):
        """Of no module."""

    assert is_known(Classification()) and not is_known(Local())
    assert not is_known(lambda model, batch: Classification()(model, batch))


def test_parts_are_as_narrow_as_their_rows() -> None:
    labels = torch.arange(28).view(4, 7)
    whole = batch(torch.tensor([0, 1, 2, 0])).having(text_labels=labels)
    parts = whole.split(2)
    assert [part.examples for part in parts] == [(4, 5, 6), (7,)]
    for part in parts:
        width = int(part["text_real"].sum(dim=1).max())
        assert part["text"].shape[1] == part["text_labels"].shape[1] == width
        assert part["labels"].shape == (len(part),)  # of a text, not of its places
    assert torch.cat([p["text_real"].sum(dim=1) for p in parts]).tolist() == list(map(len, ROWS))
