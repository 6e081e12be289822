"""Integrated gradients: worked out by hand, exact for polynomials, complete, and as captum's."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import folders
from regard.api.load import load
from regard.explain.encoder import explain_label
from regard.explain.gradients import attribute, integrated

ROWS, START = torch.tensor([[1.0, 2.0], [3.0, -1.0]]), torch.tensor([[0.0, 1.0], [1.0, 1.0]])


def test_a_linear_answer_by_hand() -> None:
    """f = 2 x11 - x12 + 5 x21 + x22: each token adds its weights times its change."""
    weights = torch.tensor([[2.0, -1.0], [5.0, 1.0]])
    found = attribute(lambda x: (x * weights).sum(dim=(1, 2)), ROWS, START)
    assert found.tokens.tolist() == pytest.approx([2 * 1 - 1 * 1, 5 * 2 + 1 * -2])
    assert (found.value, found.baseline) == (2 - 2 + 15 - 1, -1 + 5 + 1)
    assert found.gap == pytest.approx(0, abs=1e-5)


def test_a_product_is_shared_by_its_factors() -> None:
    """f = a · b from (0, 0) to (3, 5): ∂f/∂a along the path is 5α, so a adds 3 · 5/2."""
    rows, start = torch.tensor([[3.0], [5.0]]), torch.zeros(2, 1)
    found = integrated(lambda x: x[:, 0, 0] * x[:, 1, 0], rows, start, 1)
    assert found.tolist() == pytest.approx([7.5, 7.5])


def test_n_points_are_exact_up_to_degree_2n_of_the_answer() -> None:
    rows, start = torch.tensor([[2.0]], dtype=torch.float64), torch.zeros(1, 1).double()
    for degree, points, exact in ((6, 3, True), (8, 3, False)):
        found = integrated(lambda x, n=degree: x[:, 0, 0] ** n, rows, start, points)  # type: ignore[misc]
        assert (abs(found[0] - 2**degree) < 1e-9) == exact


def test_points_are_added_until_the_sum_is_complete() -> None:
    def steep(x: Tensor) -> Tensor:
        return torch.sigmoid(60 * (x.sum(dim=(1, 2)) - 4.3))

    few = attribute(steep, ROWS, START, steps=4)
    enough = attribute(steep, ROWS, START)
    assert few.steps == 4 and abs(few.gap) > 0.05
    assert enough.steps > 16 and abs(enough.gap) <= 0.01 * abs(enough.difference)


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_captum_finds_the_same(family: str, tmp_path: Path) -> None:
    """On the twin of the `transformers` library, through its own input embeddings."""
    attr = pytest.importorskip("captum.attr")
    twin = folders.bert(tmp_path / "m", "SequenceClassification", family, num_labels=3)
    model = load(tmp_path / "m", "cpu")
    assert model.tokenizer is not None and model.tokenizer.mask_id is not None
    ours = explain_label(model, "the red cat sat on a mat", steps=20)
    ids = torch.tensor([model.tokenizer.encode("the red cat sat on a mat").ids])
    hidden = ids.clone()
    hidden[:, 1:-1] = model.tokenizer.mask_id
    embedding = twin.get_input_embeddings()
    chosen = int(twin(ids).logits.argmax())
    theirs = attr.IntegratedGradients(
        lambda rows: twin(inputs_embeds=rows).logits.softmax(-1)[:, chosen]
    ).attribute(embedding(ids), embedding(hidden), n_steps=20, method="gausslegendre")
    expected = theirs.sum(dim=-1)[0].detach().numpy()
    assert np.abs(expected).max() > 1e-3
    assert np.abs(ours.attribution.tokens - expected).max() < 1e-5
