"""Baseline of a text classifier: TF-IDF of words and pairs of words, logistic regression.

    python bench/classify.py ../shared/data/sst2/train.tsv ../shared/data/sst2/dev.tsv

Both files are read as `regard train` reads them (text, label). What a trained encoder has to beat.
"""

import argparse
import json
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.pipeline import make_pipeline

from regard.data.corpus import Limits, Report
from regard.data.labelled import Columns, read_labelled


def read(path: Path) -> tuple[list[str], list[str]]:
    rows = list(read_labelled(path, Columns("1", "", "2"), Report(), Limits()))
    return [row.text for row in rows], [row.labels[0] for row in rows]


def baseline(train: Path, dev: Path) -> dict[str, float | int]:
    """Its accuracy and macro F1."""
    texts, labels = read(train)
    asked, truth = read(dev)
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
    answers = make_pipeline(words, LogisticRegression(C=10.0, max_iter=1000)).fit(texts, labels)
    found = answers.predict(asked)
    return {
        "train": len(texts),
        "texts": len(asked),
        "accuracy": float(accuracy_score(truth, found)),
        "f1": float(f1_score(truth, found, average="macro")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = baseline(asked.train, asked.dev)
    if asked.json:
        print(json.dumps(found))
    else:
        print(f"TF-IDF + logistic regression, trained on {found['train']:,} texts")
        print(
            f"accuracy {found['accuracy']:8.2%}   F1 {found['f1']:8.2%}   {found['texts']:,} texts"
        )


if __name__ == "__main__":
    main()
