"""log p of given pairs: against a pass of the model written out, and against the search's own."""

import math
from pathlib import Path

import pytest
import torch

import regard
from regard.api.model import Model
from regard.errors import DataError, MisuseError

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def model(toy_run: Path) -> Model:
    found = regard.load(toy_run, "cpu", engine="torch")
    assert isinstance(found, Model)
    return found


def test_log_p_of_each_token(model: Model) -> None:
    source, target = "red cat", "rot Katze"
    scored = model.score(source, target)
    tokenizer, special = model.tokenizer, model.tokenizer.special
    ids = tokenizer.encode(target)
    with torch.no_grad():
        logits = model.transformer(
            torch.tensor([[*tokenizer.encode(source), special.eos]]),
            torch.tensor([[special.bos, *ids]]),
        )[0]
    log_p = logits - logits.exp().sum(-1, keepdim=True).log()  # the definition
    expected = [float(log_p[n, i]) for n, i in enumerate([*ids, special.eos])]
    assert scored.log_probabilities == pytest.approx(expected, abs=1e-5)
    assert scored.tokens[-1] == "</s>" and len(scored.tokens) == len(ids) + 1
    assert scored.log_probability == pytest.approx(sum(expected), abs=1e-4)
    assert scored.mean == pytest.approx(sum(expected) / len(expected), abs=1e-5)
    assert scored.perplexity == pytest.approx(math.exp(-sum(expected) / len(expected)), rel=1e-4)


def test_the_score_of_a_translation_is_that_of_its_search(model: Model) -> None:
    texts = ["red cat", "two blue birds", "one"]
    for text, answers in zip(texts, model.translations(texts, n_best=3), strict=True):
        for answer in answers:
            ids = model.tokenizer.encode(answer.text)
            if tuple(ids) == answer.ids and answer.finished:  # a text may have other pieces
                scored = model.score(text, answer.text)
                assert scored.log_probability == pytest.approx(answer.log_probability, abs=1e-4)


def test_many_pairs_keep_their_order(model: Model) -> None:
    sources, targets = ["red", "two blue birds", ""], ["rot", "", "eins zwei"]
    found = model.score(sources, targets)
    assert [(s.source, s.target) for s in found] == list(zip(sources, targets, strict=True))
    for scored in found:
        (alone,) = model.score([scored.source], [scored.target])
        assert alone.log_probabilities == pytest.approx(scored.log_probabilities, abs=1e-5)


def test_wrong_pairs_are_named(model: Model) -> None:
    with pytest.raises(MisuseError, match="got 2 texts on one side and 1 on the other"):
        model.score(["a", "b"], ["c"])
    with pytest.raises(DataError, match=r"line 2: a target of 2,00\d tokens, .* at most 1,024"):
        model.score(["a", "b"], ["c", "1 " * 1000])
    with pytest.raises(DataError, match="line 1: target: .*lone surrogate"):
        model.score("a", "\ud800")
