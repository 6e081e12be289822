"""Which words a label or a match rests on: completeness, words, verdicts, refusals."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

import folders
from refusals import refused
from regard.api.load import load
from regard.api.model import Model
from regard.errors import MisuseError
from regard.explain.account import Account, rank_correlation, word_groups
from regard.explain.encoder import explain_label, explain_match
from regard.explain.gradients import Attribution

FAMILIES = ("bert", "distilbert")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    root = tmp_path_factory.mktemp("encoders")
    for family in FAMILIES:
        folders.bert(root / family, "SequenceClassification", family, id2label=folders.LABELS)
    folders.bert(root / "labels", "TokenClassification", id2label=folders.LABELS)
    folders.bert(root / "vectors", "")
    return {folder.name: load(folder, "cpu") for folder in root.iterdir()}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_words_add_up_to_what_the_label_changes(family: str, models: dict[str, Model]) -> None:
    model, text = models[family], "the red cat sat on a mat"
    found = explain_label(model, text)
    best = model.classify(text)[0]
    assert found.answer == best.label
    assert found.attribution.value == pytest.approx(best.probability, abs=1e-6)
    hidden = {one.label: one.probability for one in model.classify("[MASK] " * 7)}
    assert found.attribution.baseline == pytest.approx(hidden[best.label], abs=1e-6)
    assert found.gradients.sum() == pytest.approx(found.attribution.difference, abs=2e-3)
    assert found.words == text.split()
    assert found.attention.sum() == pytest.approx(1) and (found.attention > 0).all()
    assert 0 < found.looked_elsewhere < 1


def test_attention_is_that_of_the_twin(tmp_path: Path) -> None:
    twin = folders.bert(tmp_path / "m", "SequenceClassification", id2label=folders.LABELS)
    model = load(tmp_path / "m", "cpu")
    assert model.tokenizer is not None
    ids = torch.tensor([model.tokenizer.encode("the red cat").ids])
    twin.set_attn_implementation("eager")
    weights = twin(ids, output_attentions=True).attentions[-1][0].mean(dim=0)[0, 1:-1]
    expected = (weights / weights.sum()).detach().numpy()
    assert np.abs(explain_label(model, "the red cat").attention - expected).max() < 1e-5


def test_another_label_and_a_pair(models: dict[str, Model]) -> None:
    model = models["bert"]
    accounts = {
        name: explain_label(model, "the cat", pair="a dog", label=name)
        for name in folders.LABELS.values()
    }
    probabilities = {one.label: one.probability for one in model.classify("the cat", pair="a dog")}
    for name, account in accounts.items():
        assert account.words == ["the", "cat", "a", "dog"]
        assert account.attribution.value == pytest.approx(probabilities[name], abs=1e-6)
    # probabilities sum to 1 everywhere on the path, so what one label gains the others lose
    sums = sum(account.gradients for account in accounts.values())
    assert np.abs(sums).max() < 5e-3


@pytest.mark.parametrize("family", [*FAMILIES, "vectors"])
def test_a_match_has_an_account_of_either_text(family: str, models: dict[str, Model]) -> None:
    model = models[family]
    one, two = explain_match(model, "the red cat sat", "a blue dog")
    cosine = model.similar("the red cat sat", "a blue dog")
    for account in (one, two):
        assert account.attribution.value == pytest.approx(cosine, abs=1e-5)
        assert account.gradients.sum() == pytest.approx(account.attribution.difference, abs=2e-3)
    assert one.words == ["the", "red", "cat", "sat"] and two.words == ["a", "blue", "dog"]
    nothing = model.similar("[MASK] [MASK] [MASK] [MASK]", "a blue dog")
    assert one.attribution.baseline == pytest.approx(nothing, abs=1e-5)


def test_pieces_of_a_word_are_one_word(models: dict[str, Model]) -> None:
    tokenizer = models["bert"].tokenizer
    assert tokenizer is not None
    groups = word_groups(tokenizer, tokenizer.encode("catx sat zz [MASK].").ids)
    assert [word for word, _ in groups] == ["catx", "sat", "zz", "[MASK]", "."]
    assert [len(places) for _, places in groups][:3] == [2, 1, 2]  # cat ##x, sat, z ##z


def account(gradients: list[float], attention: list[float]) -> Account:
    words = ["a", "fine", "film"][: len(gradients)]
    whole = Attribution(np.array(gradients), 1.0, 0.0, 1)
    shares = np.array(attention)
    return Account("glad", "p(glad)", "", words, np.array(gradients), shares, 0.0, whole, "[MASK]")


def test_disagreement_is_said() -> None:
    same = account([0.1, -0.9, 0.2], [0.2, 0.5, 0.3])
    assert same.verdict == 'Both name "fine" first.' and same.correlation == pytest.approx(1)
    other = account([0.1, 0.2, -0.9], [0.7, 0.2, 0.1])
    assert 'attention looks most at "a"' in other.verdict
    assert 'rests most on "film"' in other.verdict and other.correlation == pytest.approx(-1)
    assert "nothing to compare" in account([0.3], [1.0]).verdict
    assert account([0.3], [1.0]).correlation is None


def test_rank_correlation_is_scipys_with_ties_too() -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        a, b = generator.integers(0, 5, (2, 9)).astype(np.float64)
        assert rank_correlation(a, b) == pytest.approx(stats.spearmanr(a, b).statistic)
    assert rank_correlation(np.ones(3), np.arange(3.0)) is None


def test_refusals(models: dict[str, Model]) -> None:
    with refused(MisuseError, subject="label", got="happy", expected="sad, glad, neither"):
        explain_label(models["bert"], "the cat", label="happy")
    with pytest.raises(MisuseError, match="labels each token"):
        explain_label(models["labels"], "the cat")
    with refused(MisuseError, problem="no words"):
        explain_label(models["bert"], "")
    with refused(MisuseError, problem="reads at most 23"):
        explain_match(models["vectors"], "cat " * 30, "dog")
    with refused(MisuseError, problem="does not offer it"):
        explain_label(models["vectors"], "the cat")
