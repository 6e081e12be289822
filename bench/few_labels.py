"""Classifiers of SST-2 from few labels: pairs of labels first, beside three other ways.

    make bench-few-labels
    python bench/few_labels.py --few 8 --few 16 --few 64 --seeds 3

pairs, then a head   recipe sst2-few, then sst2-few-head: `similar` on pairs of labels, `classify`
pairs, then a line   logistic regression on the vectors of the first of the two
plain fine-tuning    recipe sst2-few-head from minilm itself
frozen vectors       logistic regression on minilm's vectors
SetFit               the library, in an environment of its own (`--setfit PYTHON`): its loop, its
                     head, as many pairs of the same sentences

All learn from the same sentences of each label and are judged on SST-2's dev part. What is
finished is kept in `--runs` and not done again.
"""

import argparse
import json
import subprocess
from copy import deepcopy
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from classify import accuracy, read
from needs import folder_of_set, insist_on_libraries, say, stop_without
from tasks import trained

ITERATIONS = 20  # pairs of each sentence with its label, and with the other
PEER = Path(__file__).parent / "peers" / "setfit_few.py"


def tables(recipe: str, few: int, seed: int, steps: int, start: str) -> dict[str, Any]:
    """A recipe with another number of examples, and as many steps as these take."""
    from regard.config import read_toml
    from regard.recipes.named import recipe_file

    changed = deepcopy(read_toml(recipe_file(Path(recipe))))
    changed["data"]["few"] = few
    changed["train"] |= {
        "seed": seed,
        "steps": steps,
        "warmup": max(1, steps // 10),
        "validate_every": steps,
        "start_from": start,
    }
    return changed


def drawn(few: int, seed: int) -> tuple[list[str], list[str]]:
    """The sentences that the recipes draw, with their labels."""
    from regard.fit.objectives.classify import survey
    from regard.runs.recipe import make_recipe

    recipe = make_recipe(with_files(tables("sst2-few-head", few, seed, 1, "minilm")), "bench")
    rows = list(survey(recipe).train())
    return [row.text for row in rows], [row.labels[0] for row in rows]


def with_files(recipe: dict[str, Any]) -> dict[str, Any]:
    from regard.datasets.find import with_sets

    return with_sets(recipe, "bench")


def regressed(
    model: str, texts: list[str], labels: list[str], asked: list[str], truth: list[str]
) -> float:
    """Accuracy of logistic regression on a model's vectors."""
    from sklearn.linear_model import LogisticRegression

    from regard import load

    encoder = load(model)
    head = LogisticRegression(max_iter=1000).fit(encoder.embed(texts), labels)
    return float(head.score(encoder.embed(asked), truth))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--few", type=int, action="append", help="of each label; again for more")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--runs", type=Path, default=Path("runs/bench-few-labels"))
    parser.add_argument("--setfit", type=Path, help="the Python of an environment with setfit")
    parser.add_argument("--threads", type=int, default=0)
    given = parser.parse_args()
    insist_on_libraries(["sklearn"])
    dev = folder_of_set("sst2") / "dev.tsv"
    stop_without(dev, "sst2", "the set")
    asked, truth = read(dev)
    common = {"threads": given.threads, "workers": min(1, given.threads)}
    given.runs.mkdir(parents=True, exist_ok=True)
    kept = given.runs / "results.json"
    found: dict[str, float] = json.loads(kept.read_text()) if kept.is_file() else {}

    def once(name: str, few: int, seed: int, measure: Any) -> None:
        key = f"{name}|{few}|{seed}"
        if key not in found:
            found[key] = measure()
            kept.write_text(json.dumps(found, indent=1))
            say(f"{key}: {found[key]:.2%}")

    sizes = given.few or [8, 16, 64]
    for few in sizes:
        for seed in range(1, given.seeds + 1):
            texts, labels = drawn(few, seed)
            place = given.runs / f"{few}-{seed}"
            steps = max(1, round(2 * ITERATIONS * len(texts) / 20))  # 20 pairs fill a batch
            head = max(40, len(texts) // 2)

            def pairs(place: Path = place, few: int = few, seed: int = seed, n: int = steps) -> str:
                recipe = tables("sst2-few", few, seed, n, "minilm")
                return str(trained(place.with_name(f"{place.name}-pairs"), recipe, common))

            def fine(name: str, start: str, few: int, seed: int, n: int) -> float:
                folder = given.runs / f"{few}-{seed}-{name}"
                recipe = tables("sst2-few-head", few, seed, n, start)
                return accuracy(trained(folder, recipe, common), dev)

            examples = (texts, labels, asked, truth)
            once("frozen vectors", few, seed, lambda e=examples: regressed("minilm", *e))
            once("pairs, then a line", few, seed, lambda e=examples, p=pairs: regressed(p(), *e))
            once(
                "pairs, then a head",
                few,
                seed,
                lambda f=few, s=seed, n=head, p=pairs: fine("head", p(), f, s, n),
            )
            once(
                "plain fine-tuning",
                few,
                seed,
                lambda f=few, s=seed, n=head: fine("plain", "minilm", f, s, n),
            )
            if given.setfit:
                once("SetFit", few, seed, lambda e=examples, s=seed: peer(given.setfit, e, s))
    print(f"accuracy on {dev.name} of SST-2, {len(truth)} sentences; mean ± deviation of seeds")
    print(f"{'of each label':22}" + "".join(f"{few:>16}" for few in sizes))
    for name in dict.fromkeys(key.split("|")[0] for key in found):
        cells = []
        for few in sizes:
            got = [v for k, v in found.items() if k.split("|")[:2] == [name, str(few)]]
            spread = f" ± {stdev(got):.1%}" if len(got) > 1 else ""
            cells.append(f"{mean(got):.1%}{spread}" if got else "–")
        print(f"{name:22}" + "".join(f"{cell:>16}" for cell in cells))


def peer(python: Path, examples: tuple[list[str], ...], seed: int) -> float:
    """SetFit's accuracy, measured by its own environment."""
    from regard.bundle.named import folder_of

    texts, labels, asked, truth = examples
    order = {
        "model": str(folder_of("minilm")),
        "texts": texts,
        "labels": labels,
        "asked": asked,
        "truth": truth,
        "seed": seed,
        "iterations": ITERATIONS,
    }
    done = subprocess.run(
        [str(python), str(PEER)], input=json.dumps(order), capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return float(json.loads(done.stdout.splitlines()[-1])["accuracy"])


if __name__ == "__main__":
    main()
