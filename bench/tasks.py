"""One model for several tasks beside a model for each, and a beginning with holes beside chance.

    make bench-tasks
    python bench/tasks.py --runs runs/bench-tasks --steps 12000 --short 2000 --pretrain 4000

All models have the recipe phrasebook-tasks: its size, its data, its rates.

    one          all tasks in one model, `--steps` steps
    alone        a model for each task, which sees its pairs as often as the one model does; with
                 `--equal`, as many steps
    scratch      all tasks, `--short` steps from chance
    pretrained   the same number of steps after `--pretrain` steps of span corruption on the plain
                 sentences of both languages

A run that is finished is not trained again, one that was stopped goes on. All are judged on the
phrasebook's test set; what is printed is kept beside the runs as results.json.
"""

import argparse
import json
from collections.abc import Mapping
from copy import deepcopy
from math import ceil
from pathlib import Path
from typing import Any

from needs import say

RECIPE = "phrasebook-tasks"
VALIDATIONS = 4  # of each training


def recipe() -> dict[str, Any]:
    """The tables of the recipe that all of them share."""
    from regard.config import read_toml
    from regard.recipes.named import recipe_file

    return read_toml(recipe_file(Path(RECIPE)))


def with_steps(tables: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """The same for another number of steps: warm-up and validations at the same shares."""
    changed = deepcopy(dict(tables))
    train = changed["train"]
    share = steps / train["steps"]
    train |= {
        "steps": steps,
        "warmup": max(1, round(train["warmup"] * share)),
        "validate_every": max(1, steps // VALIDATIONS),
    }
    return changed


def alone(tables: Mapping[str, Any], name: str, steps: int) -> dict[str, Any]:
    """One task by itself."""
    changed = with_steps(tables, steps)
    changed["data"]["tasks"] = [
        {**task, "weight": 1.0} for task in tables["data"]["tasks"] if task["name"] == name
    ]
    return changed


def with_holes(tables: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """The plain sentences in place of the tasks."""
    changed = with_steps(tables, steps)
    del changed["data"]["tasks"]
    changed["text-to-text"] = {**changed.get("text-to-text", {}), "corrupt": True}
    return changed


def begun_with(tables: Mapping[str, Any], start: Path, steps: int) -> dict[str, Any]:
    """The tasks, from the weights and the vocabulary of another run."""
    changed = with_steps(tables, steps)
    changed["train"]["start_from"] = str(start)
    del changed["model"]["preset"], changed["tokenizer"]
    return changed


def shares(tables: Mapping[str, Any]) -> dict[str, float]:
    """Of each task: its part of an epoch's examples."""
    from regard.prepare.phrase_tasks import phrase_pairs

    language = tables["data"]["phrasebook"]
    shown = {
        task["name"]: task.get("weight", 1.0)
        * sum(1 for _ in phrase_pairs(task["make"], language, "train"))
        for task in tables["data"]["tasks"]
    }
    return {name: count / sum(shown.values()) for name, count in shown.items()}


def trained(folder: Path, tables: dict[str, Any], common: Mapping[str, Any]) -> Path:
    """The folder of a finished run: found, taken up again or made."""
    from regard.api.training import train
    from regard.runs.folder import RunFolder

    run = RunFolder(folder)
    state = run.read_info().get("state") if run.info.is_file() else None
    if state == "finished":
        return folder
    if state in ("training", "stopped"):
        say(f"{folder}: goes on")
        train(resume=folder)
    else:
        say(f"{folder}: {tables['train']['steps']:,} steps")
        tables["train"] |= common
        train(tables, run=folder)
    if run.read_info().get("state") != "finished":
        raise SystemExit(f"{folder}: was stopped; the same command goes on")
    return folder


def scores_of(folder: Path) -> dict[str, tuple[str, float]]:
    """Each task's metric and score on the test set."""
    from regard import load

    scores: Any = load(folder, "cpu").evaluate()
    return {task.name: (task.metric, task.score) for task in scores.tasks}


def compare(runs: Path, steps: int, short: int, pretrain: int, equal: bool, common: Any) -> Any:
    """Train what is missing; the scores by model and task."""
    tables = recipe()
    models = {"one": scores_of(trained(runs / "one", with_steps(tables, steps), common))}
    models["alone"] = {}
    for name, share in shares(tables).items():
        own = steps if equal else max(1, ceil(steps * share))
        single = trained(runs / f"only-{name}", alone(tables, name, own), common)
        models["alone"] |= scores_of(single)
    start = trained(runs / "holes", with_holes(tables, pretrain), common)
    models["scratch"] = scores_of(trained(runs / "scratch", with_steps(tables, short), common))
    tuned = begun_with(tables, start, short)
    models["pretrained"] = scores_of(trained(runs / "pretrained", tuned, common))
    return models


def mean(scores: Mapping[str, tuple[str, float]]) -> float:
    return sum(score for _, score in scores.values()) / len(scores)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/bench-tasks"))
    parser.add_argument("--steps", type=int, default=recipe()["train"]["steps"])
    parser.add_argument("--short", type=int, default=2000)
    parser.add_argument("--pretrain", type=int, default=4000)
    parser.add_argument("--equal", action="store_true", help="alone: as many steps as one")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    given = parser.parse_args()
    common = {"workers": given.workers, "threads": given.threads}
    counts = (given.steps, given.short, given.pretrain)
    models = compare(given.runs, *counts, given.equal, common)
    (given.runs / "results.json").write_text(json.dumps({**vars(given), **models}, default=str))
    print("task        metric      one    alone  difference   scratch  pretrained  difference")
    for name, (metric, score) in models["one"].items():
        other, first, begun = (models[m][name][1] for m in ("alone", "scratch", "pretrained"))
        print(
            f"{name:<11} {metric:<9} {score:5.1f} {other:8.1f} {score - other:+11.1f} "
            f"{first:9.1f} {begun:11.1f} {begun - first:+11.1f}"
        )
    one, other, first, begun = (mean(models[m]) for m in ("one", "alone", "scratch", "pretrained"))
    print(
        f"{'mean':<21} {one:5.1f} {other:8.1f} {one - other:+11.1f} {first:9.1f} {begun:11.1f} "
        f"{begun - first:+11.1f}"
    )


if __name__ == "__main__":
    main()
