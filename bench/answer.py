"""Answers from 100, 300 and 900 questions, three seeds each, beside the best-overlap sentence.

    make bench-answer
    python bench/answer.py --runs runs/bench-answer --sizes 100 300 900 --seeds 1 2 3

All models have the recipe `answer` and begin with the same encoder. Learned from are questions of
the XQuAD articles that ExpMRC does not ask about, all about some paragraphs before the first about
others; 60 more choose the checkpoint; ExpMRC's 501 are the test. Fewer questions are seen more
often: the number of steps is that of the recipe times the square root of their share.

    overlap      the sentence of the context that has the most of the question's words
    no answer    the questions of ExpMRC once more, each of another paragraph of its article, that a
                 model with `answer.no_answer` is to refuse; one is trained with `--no-answer`

A run that is finished is not trained again, one that was stopped goes on. What is printed is kept
beside the runs as results.json.
"""

import argparse
import json
import random
from copy import deepcopy
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from needs import say
from tasks import trained, with_steps

RECIPE = "answer"
HELD_OUT = 60
MOST = 864  # questions that are left to learn from


def split(tables: dict[str, Any], place: Path, sizes: list[int]) -> dict[int, Path]:
    """A SQuAD file for each size, and dev.json: paragraphs in an order of their own."""
    from regard.datasets.find import folder_of_set

    articles = json.loads((folder_of_set("xquad") / "xquad.en.json").read_text())["data"]
    left_out = tables["answer"]["leave_out"]
    paragraphs = [
        {"title": article["title"], "paragraphs": [paragraph]}
        for article in articles
        if article["title"] not in left_out
        for paragraph in article["paragraphs"]
    ]
    random.Random(1).shuffle(paragraphs)
    place.mkdir(parents=True, exist_ok=True)
    _write(place / "dev.json", _take(paragraphs, HELD_OUT))
    files = {}
    for size in sizes:
        files[size] = place / f"train-{size}.json"
        _write(files[size], _take(deepcopy(paragraphs), size))
    return files


def _take(articles: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """So many questions from the end of the list, which loses their paragraphs."""
    taken = []
    while count > 0 and articles:
        article = articles.pop()
        questions = article["paragraphs"][0]["qas"] = article["paragraphs"][0]["qas"][:count]
        count -= len(questions)
        taken.append(article)
    return taken


def _write(path: Path, articles: list[dict[str, Any]]) -> None:
    by_title: dict[str, dict[str, Any]] = {}  # paragraphs of an article stand together again
    for article in articles:
        whole = by_title.setdefault(article["title"], {"title": article["title"], "paragraphs": []})
        whole["paragraphs"] += article["paragraphs"]
    path.write_text(json.dumps({"version": "1.1", "data": list(by_title.values())}))


def overlap_sentence(question: str, context: str) -> str:
    """The sentence with the most words of the question, the first of several; the baseline."""
    from regard.evaluate.questions import normalised
    from regard.text.sentences import split_sentences

    wanted = {*normalised(question).split()}
    sentences = split_sentences(context)[1::2]
    return max(sentences, key=lambda one: len(wanted & {*normalised(one).split()}))


def recipe_for(
    tables: dict[str, Any], file: Path, size: int, seed: int, no_answer: float
) -> dict[str, Any]:
    """The recipe for a file of so many questions."""
    steps = max(1, round(tables["train"]["steps"] * min(1.0, size / MOST) ** 0.5))
    changed = with_steps(tables, steps)
    del changed["data"]["set"], changed["answer"]["leave_out"]
    changed["data"] |= {"texts": str(file), "valid_texts": str(file.with_name("dev.json"))}
    changed["answer"]["no_answer"] = no_answer
    changed["train"]["seed"] = seed
    return changed


def scores_of(folder: Path | None, no_answer: float = 0.0) -> dict[str, float]:
    """Of a run, or without one of the baseline, on ExpMRC."""
    from dataclasses import asdict

    from regard import load
    from regard.data.questions import read_questions
    from regard.data.report import Report
    from regard.datasets.find import scored_files
    from regard.evaluate.questions import right_answers, score_answers, score_questions
    from regard.evaluate.texts import TestTexts

    (file,) = scored_files("expmrc")
    rows = list(read_questions(file, Report(), no_answer=no_answer))
    if folder is not None:
        return asdict(score_questions(load(folder, "cpu"), TestTexts(str(file), rows)))
    texts = [overlap_sentence(row.text, row.pair or "") for row in rows]
    return asdict(score_answers(texts, [right_answers(row) for row in rows]))


def line(name: str, scores: list[dict[str, float]], floor: float) -> str:
    """Mean and spread of some seeds."""
    exact, f1 = ([one[key] for one in scores] for key in ("exact", "f1"))
    spread = stdev(f1) if len(f1) > 1 else 0.0
    return (
        f"{name:<18} {len(scores):5} {mean(exact):7.1f} {mean(f1):7.1f} {spread:8.1f} "
        f"{mean(f1) - floor:+15.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/bench-answer"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 900])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=0, help="for all questions; 0: the recipe's")
    parser.add_argument("--no-answer", action="store_true", help="also train one that may refuse")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    given = parser.parse_args()

    from regard.config import read_toml
    from regard.recipes.named import recipe_file

    tables = read_toml(recipe_file(Path(RECIPE)))
    tables = with_steps(tables, given.steps) if given.steps else tables
    common = {"workers": given.workers, "threads": given.threads}
    files = split(tables, given.runs / "data", given.sizes)
    floor = scores_of(None)
    results: dict[str, Any] = {"overlap": floor}
    print("trained on         seeds   exact      F1   spread  above the baseline")
    print(line("overlap sentence", [floor], floor["f1"]))
    for size, file in files.items():
        rows = []
        for seed in given.seeds:
            asked = recipe_for(tables, file, size, seed, 0.0)
            rows.append(scores_of(trained(given.runs / f"{size}-{seed}", asked, common)))
        if rows:
            results[str(size)] = rows
            print(line(f"{size} questions", rows, floor["f1"]), flush=True)
    if given.no_answer:
        size = max(files)
        asked = recipe_for(tables, files[size], size, (given.seeds or [1])[0], 0.5)
        run = trained(given.runs / f"{size}-no-answer", asked, common)
        results["no answer"] = scores = scores_of(run, no_answer=1.0)
        say(json.dumps(scores))
    (given.runs / "results.json").write_text(json.dumps({**vars(given), **results}, default=str))


if __name__ == "__main__":
    main()
