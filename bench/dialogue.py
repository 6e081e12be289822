"""Who answers short conversations: a run of recipe dialogue, and the nearest neighbour beside it.

    make bench-dialogue RUN=runs/dialogue

The neighbour is that of TF-IDF (words and pairs of words, scikit-learn): of all questions of the
training part the most alike one lends its answer. Once it looks at the last question alone, once at
all that was said. Both are judged on the test part, whose fillers and wordings training never saw.
"""

import argparse
import json
from pathlib import Path

from needs import insist_on_libraries


def read(path: Path) -> list[tuple[list[str], str]]:
    """Of each answer what was said before it, the question last."""
    from regard.prepare.turns import read_dialogues
    from regard.runs.sections import DataSection

    rows = []
    for dialogue in read_dialogues(DataSection(texts=path)):
        said = [message.content for message in dialogue.messages]
        rows += [(said[:n], said[n]) for n in range(1, len(said), 2)]
    return rows


def last_of(path: Path) -> list[tuple[list[str], str]]:
    """Of each conversation the last answer, with what was said before it."""
    from regard.prepare.turns import read_dialogues
    from regard.runs.sections import DataSection

    said = ([m.content for m in d.messages] for d in read_dialogues(DataSection(texts=path)))
    return [(texts[:-1], texts[-1]) for texts in said]


def nearest(train: Path, test: Path, whole: bool) -> float:
    """The share of exact answers by the most alike question; `whole`: by all that was said."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def text(said: list[str]) -> str:
        return " ".join(said) if whole else said[-1]

    trained, tested = read(train), last_of(test)
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+|[?!.]")
    vectors = words.fit_transform(text(said) for said, _ in trained)
    alike = words.transform(text(said) for said, _ in tested) @ vectors.T
    answers = [trained[int(row.argmax())][1] for row in alike]
    right = sum(one == truth for one, (_, truth) in zip(answers, tested, strict=True))
    return right / len(tested)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, nargs="?", help="a run of recipe dialogue")
    parser.add_argument("--train", type=Path, help="conversations instead of those of the set")
    parser.add_argument("--test", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    insist_on_libraries(["sklearn"])
    from regard import load
    from regard.datasets.find import folder_of_set
    from regard.evaluate.dialogues import dialogues_to_score, score_dialogues

    folder = folder_of_set("dialogue")
    train, test = (
        options.train or folder / "train.jsonl.gz",
        options.test or folder / "test.jsonl.gz",
    )
    exact = {
        "nearest neighbour, by the last question": nearest(train, test, whole=False),
        "nearest neighbour, by all that was said": nearest(train, test, whole=True),
    }
    if options.run:
        model = load(options.run)
        exact["regard"] = score_dialogues(model, dialogues_to_score(model, test)[1]).exact
    if options.json:
        print(json.dumps(exact))
        return
    print(f"exact answers on {test.name}")
    for name, share in exact.items():
        print(f"  {name:42} {share:.2%}")


if __name__ == "__main__":
    main()
