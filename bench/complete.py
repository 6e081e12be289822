"""Decoders, letter by letter: ours beside transformers' GPT-2 in the loop that people write.

    python bench/complete.py
    make bench-complete

Shakespeare in nanoGPT's setting for a CPU: 4 layers, 4 heads, 128 wide, windows of 64 letters,
2,000 steps of 12 windows. One after another, each in a process of its own and all cores its own:
the recipe `shakespeare` with as many steps and with half of them, and transformers' model in a
plain loop in fp32 and with autocast in bf16 and fused AdamW, as experts do. All are judged by one
function: the loss on the last tenth of the text in windows of 64 that follow each other. Times
are those of all steps; ours have validations in them, the loops have none. `--minutes 10` trains
the recipe `shakespeare-more` for so long instead, and prints its loss.
"""

import argparse
import json
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from needs import folder_of_set, insist_on_libraries, say, stop, stop_without

TEXT = folder_of_set("shakespeare") / "tinyshakespeare.txt"
LOSS, TIME, SPEED, MORE = 1.88, 0.5, 1.3, 1.60  # goals
SETTING = {"layers": 4, "heads": 4, "d_model": 128, "width": 64, "rows": 12}
PEERS = {
    "transformers, plain loop": {"autocast": False, "fused": False},
    "transformers, autocast bf16 and fused AdamW": {"autocast": True, "fused": True},
}
OURS, HALF = "regard", "regard, half of the steps"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3, help="how often everybody trains (3)")
    parser.add_argument("--minutes", type=float, help="train shakespeare-more for so long instead")
    parser.add_argument("--text", type=Path, default=TEXT)
    parser.add_argument("--json", type=Path, help="write everything to this file")
    return parser.parse_args()


def one_round(asked: argparse.Namespace, number: int, work: Path) -> dict[str, dict[str, Any]]:
    """What each one reached, with another seed in each round."""
    from child import ask

    common = {**SETTING, "steps": asked.steps, "seed": number, "text": str(asked.text)}
    found = {}
    data = {"texts": str(asked.text), "set": ""}
    limits = {OURS: {"steps": asked.steps}, HALF: {"steps": asked.steps // 2}}
    if asked.minutes:
        limits = {OURS: {"minutes": asked.minutes}}
    for name, limit in limits.items():
        say(f"round {number}: {name} …")
        run = {
            "run": str(work / f"run-{number}-{'-'.join(name.split())}"),
            "recipe": "shakespeare-more" if asked.minutes else "shakespeare",
            "changes": {"data": data, "train": {"seed": number, **limit}},
        }
        found[name] = ask("complete_own.py", {**common, **run})
    for name, options in ({} if asked.minutes else PEERS).items():
        say(f"round {number}: {name} …")
        found[name] = ask("complete_loop.py", {**common, **options})
    return found


def main() -> None:
    asked = arguments()
    insist_on_libraries(("transformers", "torch"))
    stop_without(asked.text, "shakespeare", "--text")
    from goals import Verdict, ratio
    from printed import machine, new_table, show_goals, show_machine, wide_console

    console = wide_console()
    here = machine(("torch", "transformers"))
    show_machine(console, here)
    with TemporaryDirectory(prefix="bench-complete-") as work:
        rounds = [one_round(asked, number + 1, Path(work)) for number in range(asked.rounds)]
    for found in rounds:
        for name, answer in found.items():
            if "failure" in answer:
                stop(f"{name}: {answer['failure']}")
    columns = ["parameters", "loss", "training, s", "with all, s", "tokens/s"]
    table = new_table(f"{asked.steps:,} steps, median of {asked.rounds} rounds", columns)
    for name in rounds[0]:
        answers = [found[name] for found in rounds]
        seconds = median(a["seconds"] for a in answers)
        table.add_row(
            name,
            f"{answers[0]['parameters']:,}",
            f"{median(a['loss'] for a in answers):.4f}",
            f"{seconds:.1f}",
            f"{median(a['whole'] for a in answers):.1f}" if "whole" in answers[0] else "–",
            f"{answers[0]['tokens'] / seconds:,.0f}",
        )
    console.print(table)
    console.print(f"{OURS}: {rounds[0][OURS]['layout']}", highlight=False)
    judged, bound = (OURS, MORE) if asked.minutes else (HALF, LOSS)
    loss = median(found[judged]["loss"] for found in rounds)
    verdicts = [Verdict(f"loss: {judged}", f"≤ {bound}", f"{loss:.4f}", loss <= bound)]
    if not asked.minutes:
        times = {name: [found[name]["seconds"] for found in rounds] for name in rounds[0]}
        plain, best = (times[name] for name in PEERS)
        loops = [[1 / s for s in theirs] for theirs in (plain, best)]
        verdicts += [
            ratio("its time ÷ transformers in a plain loop", times[HALF], [plain], TIME,
                  at_least=False),
            *(
                ratio(f"speed ÷ the best peer loop at equal {what}", [1 / s for s in times[name]],
                      loops, SPEED)
                for what, name in (("loss or less", HALF), ("steps", OURS))
            ),
        ]  # fmt: skip
    show_goals(console, verdicts)
    if asked.json:
        asked.json.write_text(json.dumps({"machine": here, "rounds": rounds}), encoding="utf-8")


if __name__ == "__main__":
    main()
