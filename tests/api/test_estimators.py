"""The estimators of scikit-learn: its own checks that apply to texts, and what they learn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks as checks

import folders
import regard
from refusals import refused
from regard.errors import MisuseError

APPLY = (  # those that need no table of numbers
    checks.check_estimator_cloneable,
    checks.check_estimator_repr,
    checks.check_no_attributes_set_in_init,
    checks.check_parameters_default_constructible,
    checks.check_get_params_invariance,
    checks.check_set_params,
    checks.check_mixin_order,
    checks.check_estimator_tags_renamed,
    checks.check_valid_tag_types,
    checks.check_do_not_raise_errors_in_init_or_set_params,
)
ANIMALS, THINGS = ("cat", "dog", "bird"), ("mat", "tree", "sea")
TEXTS = [
    f"the {a} is on the {b} {n}" for n in range(9) for s in (ANIMALS, THINGS) for a in s for b in s
]
LABELS = [int(any(word in text for word in ANIMALS)) + 5 for text in TEXTS]


@pytest.mark.parametrize("check", APPLY, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", ["TextClassifier", "SentenceEncoder"])
def test_checks_of_the_library(kind: str, check: Any) -> None:
    estimator = regard.__getattr__(kind)()  # type: ignore[operator]
    check(kind, estimator)


@pytest.mark.end_to_end
def test_a_classifier_learns_and_answers_in_its_own_classes(tmp_path: Path) -> None:
    classifier = regard.TextClassifier(steps=40, run=str(tmp_path / "run"))
    with pytest.raises(NotFittedError):
        classifier.predict(["the cat"])
    classifier.fit(np.array(TEXTS), np.array(LABELS))
    assert classifier.classes_.tolist() == [5, 6]
    shares = classifier.predict_proba(TEXTS[:4])
    assert shares.shape == (4, 2) and np.allclose(shares.sum(axis=1), 1, atol=1e-6)
    assert classifier.score(TEXTS, LABELS) > 0.9
    assert (clone(classifier).steps, classifier.run_.state) == (40, "finished")
    with refused(MisuseError, problem="got 2 texts and 1 labels"):
        clone(classifier).fit(["a", "b"], [1])
    with refused(MisuseError, problem="got 1 class"):
        clone(classifier).fit(["a", "b"], [1, 1])


def test_vectors_for_other_estimators(tmp_path: Path) -> None:
    folders.bert(tmp_path / "bert", "")
    encoder = regard.SentenceEncoder(str(tmp_path / "bert"), device="cpu", precision="fp32")
    vectors = encoder.fit_transform(TEXTS[:6])
    expected = regard.load(tmp_path / "bert", "cpu", precision="fp32").embed(TEXTS[:6])
    assert np.allclose(vectors, expected, atol=1e-6)
    assert len(encoder.get_feature_names_out()) == vectors.shape[1] == 20
    pipeline = make_pipeline(clone(encoder), LogisticRegression()).fit(TEXTS, LABELS)
    assert pipeline.score(TEXTS, LABELS) > 0.8
