"""Classifiers of one set of texts: the usual baseline, and runs beside it.

    sst2=$(regard data sst2 --path)
    python bench/classify.py $sst2/train.tsv $sst2/dev.tsv \\
        --scratch runs/sst2-scratch --run runs/sst2-1 --run runs/sst2-2 --run runs/sst2-3

The baseline is TF-IDF of words and pairs of words with logistic regression (scikit-learn), trained
on the first file. `--run` names runs that differ in their seed: their mean is printed. All are
judged on the second file. Files are read as `regard train` reads them (text, label).
"""

import argparse
import json
from pathlib import Path
from statistics import mean, stdev

from needs import insist_on_libraries


def read(path: Path) -> tuple[list[str], list[str]]:
    """Texts and labels."""
    from regard.data.corpus import Limits
    from regard.data.labelled import Columns, read_labelled
    from regard.data.report import Report
    from regard.data.role import Role

    rows = list(
        read_labelled(
            path, Columns(Role("text", "1"), label=Role("label", "2")), Report(), Limits()
        )
    )
    return [row.text for row in rows], [row.labels[0] for row in rows]


def baseline(train: Path, dev: Path) -> float:
    """Its accuracy."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score
    from sklearn.pipeline import make_pipeline

    texts, labels = read(train)
    asked, truth = read(dev)
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
    answers = make_pipeline(words, LogisticRegression(C=10.0, max_iter=1000)).fit(texts, labels)
    return float(accuracy_score(truth, answers.predict(asked)))


def accuracy(run: Path, dev: Path) -> float:
    """That of a run, as `regard evaluate` prints it."""
    from regard import load
    from regard.evaluate.texts import score_texts_of, texts_to_score

    model = load(run)
    return score_texts_of(model, texts_to_score(model, dev)).accuracy


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--run", type=Path, action="append", default=[])
    parser.add_argument("--scratch", type=Path, help="a run that was trained from scratch")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    insist_on_libraries(["sklearn"])
    found = {"TF-IDF + logistic regression": baseline(given.train, given.dev)}
    if given.scratch:
        found["from scratch"] = accuracy(given.scratch, given.dev)
    seeds = {f"fine-tuned, {run.name}": accuracy(run, given.dev) for run in given.run}
    found |= seeds
    if seeds:
        found["fine-tuned, mean"] = mean(seeds.values())
    if given.json:
        print(json.dumps(found))
        return
    print(f"accuracy on {given.dev}")
    for name, right in found.items():
        print(f"  {name:32} {right:.2%}")
    if len(seeds) > 1:
        print(f"  {'standard deviation':32} {stdev(seeds.values()):.2%}")


if __name__ == "__main__":
    main()
