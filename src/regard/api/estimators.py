"""Estimators of scikit-learn: a classifier of texts, and vectors of texts for other estimators.

    TextClassifier(minutes=3).fit(texts, labels).predict(new)
    make_pipeline(SentenceEncoder("minilm"), LogisticRegression()).fit(texts, labels)

They need scikit-learn (extra `metrics`). What is learnt lies in the folder of a run: `run`, or a
folder that goes with the estimator.
"""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from regard.answer.classify import class_probabilities
from regard.api.load import load
from regard.api.model import Model
from regard.api.shapes import many
from regard.api.training import train
from regard.errors import MisuseError


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learns labels of texts: a small encoder of its own, or `start_from` a published one.

    `minutes` limits the training, `steps` counts its steps; without both they follow from the
    number of texts. `run` is the folder to make. `run_` and `model_` are there once it is fitted.
    """

    def __init__(
        self,
        start_from: str | None = None,
        minutes: float | None = None,
        steps: int | None = None,
        seed: int = 1,
        run: str | None = None,
        quiet: bool = True,
    ) -> None:
        self.start_from = start_from
        self.minutes = minutes
        self.steps = steps
        self.seed = seed
        self.run = run
        self.quiet = quiet

    def fit(self, X: Iterable[str], y: Iterable[Any]) -> "TextClassifier":
        """Train on texts and their labels, of which a part is held out to choose the weights."""
        texts, labels = many(X, "fit"), list(y)
        if len(texts) != len(labels):
            raise MisuseError("fit", f"got {len(texts):,} texts and {len(labels):,} labels")
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            problem = f"got {len(self.classes_)} class in the labels"
            raise MisuseError("fit", problem, expected="2 or more")
        if self.run is None:
            self._place = TemporaryDirectory(prefix="regard-")  # removed with the estimator
        folder = Path(self._place.name) / "run" if self.run is None else Path(self.run)
        keys: dict[str, Any] = {"seed": self.seed}
        keys |= {} if self.steps is None else {"steps": self.steps}
        keys |= {} if self.start_from is None else {"start_from": self.start_from}
        rows = ({"text": t, "label": str(label)} for t, label in zip(texts, labels, strict=True))
        self.run_ = train(
            rows,
            columns={"text": "text", "label": "label"},
            minutes=self.minutes,
            run=folder,
            quiet=self.quiet,
            train=keys,
        )
        self.model_ = self.run_.model
        return self

    def predict_proba(self, X: Iterable[str]) -> np.ndarray:
        """The probability of each class (columns, as in `classes_`) for each text (rows)."""
        check_is_fitted(self)
        shares, _ = class_probabilities(self.model_, many(X, "predict"))
        places = {name: n for n, name in enumerate(self.model_.labels)}
        return shares[:, [places[str(label)] for label in self.classes_]]

    def predict(self, X: Iterable[str]) -> np.ndarray:
        """The likeliest class of each text."""
        shares = self.predict_proba(X)  # it says so where nothing is fitted yet
        best: np.ndarray = self.classes_[shares.argmax(axis=1)]
        return best

    def __sklearn_tags__(self) -> Tags:
        return _of_texts(super().__sklearn_tags__())


class SentenceEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts → vectors of a sentence encoder: any model of regard that offers `embed`."""

    def __init__(
        self, model: str = "minilm", device: str = "auto", precision: str = "auto"
    ) -> None:
        self.model = model
        self.device = device
        self.precision = precision

    def fit(self, X: Iterable[str] | None = None, y: object = None) -> "SentenceEncoder":
        """Open the model; there is nothing to learn."""
        self.model_: Model = load(self.model, self.device, precision=self.precision)
        self.model_.demand("embed")
        self.n_features_out_ = self.model_.vector_size
        return self

    def transform(self, X: Iterable[str]) -> np.ndarray:
        """A row for each text."""
        check_is_fitted(self)
        return self.model_.embed(many(X, "transform"))

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """One name for each column."""
        check_is_fitted(self)
        return np.array([f"sentence{n}" for n in range(self.n_features_out_)], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = _of_texts(super().__sklearn_tags__())
        tags.requires_fit = True
        return tags


def _of_texts(tags: Tags) -> Tags:
    """What scikit-learn should know: the input is a list of texts, not a table of numbers."""
    tags.input_tags.string = True
    tags.input_tags.two_d_array = False
    tags.input_tags.one_d_array = True
    tags.no_validation = True
    return tags
