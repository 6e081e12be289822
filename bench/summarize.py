"""Summaries of SciTLDR's test abstracts: ROUGE of the first sentence, TextRank, models of regard.

    make bench-summarize RUN=runs/scitldr
    python bench/summarize.py --run runs/scitldr

lead-1       the first sentence
TextRank     the best sentence by the words that sentences share (Mihalcea and Tarau 2004), as the
             library `summa` does it; where it finds none, the first
minilm       one sentence by vectors: `regard summarize minilm --sentences 1`
from scratch a run of recipe scitldr, as `regard evaluate` asks it

All are judged by `rouge-score` with its stemmer, F1, the maximum over an abstract's references. The
abstract's own division into sentences is what the first two choose from; the others read its text.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

from needs import folder_of_set, insist_on_libraries, say, stop_without

Summaries = Callable[[list[list[str]]], list[str]]


def lead(documents: list[list[str]]) -> list[str]:
    """The first sentence of each."""
    return [sentences[0] for sentences in documents]


def text_rank(documents: list[list[str]]) -> list[str]:
    """The sentence that summa ranks highest."""
    from summa.summarizer import summarize

    answers = []
    for sentences in documents:
        # summa divides texts by itself, and at line ends
        text = "\n".join(" ".join(one.split()) for one in sentences)
        ranked = summarize(text, ratio=1.0, scores=True)
        best = max(ranked, key=lambda each: each[1])[0] if ranked else ""
        answers.append(best or sentences[0])
    return answers


def by(model: str, length: str | None) -> Summaries:
    """What a model of regard makes of each."""
    from regard import load

    loaded = load(model)

    def answer(documents: list[list[str]]) -> list[str]:
        return loaded.summarize([" ".join(one) for one in documents], length=length)

    return answer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--file", type=Path, default=folder_of_set("scitldr") / "test.jsonl")
    parser.add_argument("--model", default="minilm", help="a sentence encoder")
    parser.add_argument("--run", type=Path, help="a run of recipe scitldr")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    insist_on_libraries(["rouge_score", "summa"])
    stop_without(given.file, "scitldr", "--file")
    from regard.prepare.rouge import rouge_of

    rows = [json.loads(line) for line in given.file.read_text(encoding="utf-8").splitlines()]
    documents = [[one.strip() for one in row["source"] if one.strip()] for row in rows]
    references = [row["target"] for row in rows]
    ways: dict[str, Summaries] = {"lead-1": lead, "TextRank (summa)": text_rank}
    ways[f"{given.model}, one sentence"] = by(given.model, "1 sentence")
    if given.run:
        ways[f"from scratch, {given.run.name}"] = by(str(given.run), None)
    found = {}
    for name, way in ways.items():
        begun = time.perf_counter()
        answers = way(documents)
        seconds = time.perf_counter() - begun
        words = sum(len(text.split()) for text in answers) / len(answers)
        found[name] = {**vars(rouge_of(answers, references)), "words": words, "seconds": seconds}
        say(f"{name}: {seconds:.1f} seconds")
    if given.json:
        print(json.dumps(found))
        return
    print(f"{len(documents):,} abstracts, {sum(map(len, references)):,} references: {given.file}")
    print(f"{'':32} ROUGE-1  ROUGE-2  ROUGE-L   words  seconds")
    for name, row in found.items():
        numbers = "  ".join(f"{row[kind]:7.2f}" for kind in ("rouge1", "rouge2", "rougeL"))
        print(f"{name:32} {numbers}  {row['words']:6.1f}  {row['seconds']:7.1f}")


if __name__ == "__main__":
    main()
