"""A student beside its teacher: accuracy on the same texts, and texts per second in turn.

    python bench/distil.py runs/sst2-1 runs/sst2-distil $(regard data sst2 --path)/dev.tsv

Both are runs that classify. Each round times the teacher, then the student, on all texts, from text
to label, after one pass that warms up. Leave the machine alone meanwhile.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

from needs import insist_on_libraries, say


def texts_per_second(model: Any, texts: list[Any]) -> float:
    pairs = [pair for _, pair in texts] if texts[0][1] else None
    start = time.perf_counter()
    model.classify([text for text, _ in texts], pair=pairs, cut=True)
    return len(texts) / (time.perf_counter() - start)


def compare(teacher: Path, student: Path, file: Path, rounds: int) -> dict[str, Any]:
    """Everything that is printed."""
    from regard import load
    from regard.evaluate.texts import score_texts_of, texts_to_score

    models = [load(folder) for folder in (teacher, student)]
    tests = [texts_to_score(model, file) for model in models]
    accuracy = [score_texts_of(m, t).accuracy for m, t in zip(models, tests, strict=True)]
    texts = [(row.text, row.pair) for row in tests[0].rows]
    speeds = []
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        speeds.append([texts_per_second(model, texts) for model in models])
    ratios = sorted(fast / slow for slow, fast in speeds)
    return {
        "texts": len(texts),
        "layers": [model.spec.encoder_layers for model in models],
        "accuracy": accuracy,
        "share_of_teacher": accuracy[1] / accuracy[0],
        "texts_per_second": [median(column) for column in zip(*speeds, strict=True)],
        "ratio": median(ratios),
        "ratios": ratios,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("teacher", type=Path)
    parser.add_argument("student", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the numbers here")
    given = parser.parse_args()
    insist_on_libraries(["sklearn"])
    from printed import machine, new_table, show_machine, wide_console

    found = compare(given.teacher, given.student, given.texts, given.rounds)
    console = wide_console()
    versions = machine(["torch", "scikit-learn"])
    show_machine(console, versions)
    table = new_table(
        f"{given.texts.name}, {found['texts']:,} texts", ("layers", "accuracy", "texts/s")
    )
    each = zip(found["layers"], found["accuracy"], found["texts_per_second"], strict=True)
    for name, (layers, right, speed) in zip(("teacher", "student"), each, strict=True):
        table.add_row(name, str(layers), f"{right:.2%}", f"{speed:,.0f}")
    console.print(table)
    low, high = found["ratios"][0], found["ratios"][-1]
    console.print(
        f"The student has {found['share_of_teacher']:.1%} of the teacher's accuracy "
        f"at {found['ratio']:.2f} times its speed (rounds {low:.2f} to {high:.2f}).",
        highlight=False,
    )
    if given.json:
        given.json.write_text(json.dumps({"machine": versions, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
