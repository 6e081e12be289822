"""The translation loss counts real target tokens only, whatever padding surrounds them."""

import pytest
import torch
from torch.nn import functional as F

from regard.data.batch import make_batch
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.text.special import Special
from regard.training.losses import translation_loss

PAIRS = [([5, 6, 7], [8, 9]), ([5], [9, 8, 7, 6])]


def test_a_batch_is_the_sum_of_its_sentences() -> None:
    model = Transformer(preset("tiny", 12)).double().eval()
    together = translation_loss(model, make_batch(PAIRS, Special()), 0.1)
    alone = [translation_loss(model, make_batch([pair], Special()), 0.1) for pair in PAIRS]
    assert float(together.smoothed.detach()) == pytest.approx(
        sum(float(loss.smoothed.detach()) for loss in alone), rel=1e-12
    )


def test_equals_cross_entropy_of_the_models_logits() -> None:
    model = Transformer(preset("tiny", 12)).double().eval()
    batch = make_batch(PAIRS, Special())
    logits = model(batch["source"], batch["target_in"], batch["source_real"])
    expected = F.cross_entropy(
        logits[batch["target_real"]], batch["target_out"][batch["target_real"]], reduction="sum"
    )
    got = translation_loss(model, batch, 0.0).plain
    assert float(got) == pytest.approx(float(expected.detach()), rel=1e-12)
    assert torch.equal(batch["target_real"].sum(1), torch.tensor([3, 5]))
