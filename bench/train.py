"""Training speed, ours beside the peers', on the same batches from the same starting weights.

    python bench/train.py --preset small
    make bench-train

One after another, each in a process of its own: regard as its self-test chooses, regard's plain
path, and plain loops around `torch.nn.Transformer` and the Marian model of `transformers`, each in
fp32 as people write them and with autocast in bf16 and fused Adam as experts do. Vocabulary and
batches are made once from Multi30k, and all learners read them from the same file. Leave the
machine alone meanwhile.

JoeyNMT is not among them: its last release, 2.3.0, wants protobuf < 3.21 and does not install
beside the versions of constraints.txt.

Printed are real source and target tokens per second, the loss on the validation pairs after the
same number of steps, the most memory, and which part of the matrix throughput of this machine
(measured too) went into matrix products on real tokens.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from needs import folder_of_set, insist_on_libraries, say, stop, stop_without

MULTI30K = folder_of_set("multi30k")
NEEDED = ("transformers", "psutil", "torch")
STEPS = {"tiny": 200, "small": 200, "base": 40}  # about as long as the loss needs to say something
OTHER_STEPS = 40
NO_BF16 = (
    "bf16 is the slower precision here: the experts' loops run in fp32 with fused Adam, without "
    "autocast"
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--preset", action="append", help=f"a size; may be repeated ({', '.join(STEPS)})")
    add("--steps", type=int, help="until the loss is compared (tiny, small 200; base 40)")
    add("--rounds", type=int, default=3, help="how often everybody's time is taken (3)")
    add("--only", action="append", default=[], help="only this contender; may be repeated")
    add("--pieces", type=int, default=8000, help="of the vocabulary (8000)")
    add("--token-budget", type=int, default=4096, help="of a batch, padding counted (4096)")
    add("--source", type=Path, default=MULTI30K / "train.en.gz", help="sentences to learn from")
    add("--target", type=Path, default=MULTI30K / "train.de.gz", help="their translations")
    add("--valid-source", type=Path, default=MULTI30K / "val.en", help="sentences to validate on")
    add("--valid-target", type=Path, default=MULTI30K / "val.de", help="their translations")
    add("--matmul-seconds", type=float, default=1.0, help="of each try; 0: none (1)")
    add("--json", type=Path, help="write everything to this file")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    _insist(asked)
    from printed import machine, show_machine, wide_console
    from training.contenders import bf16_pays, contenders, usual
    from training.data import Corpus, make_lessons
    from training.report import LIBRARIES, as_json, show, show_throughput
    from training.rounds import Measured, Plan, Row, run_rounds
    from training.work import throughput

    from regard.errors import RegardError
    from regard.model.presets import preset
    from regard.processor.machine import cores

    known = contenders(cores())
    unknown = set(asked.only) - {one.key for one in known}
    if unknown:
        stop(f"--only {', '.join(unknown)}: expected one of {', '.join(c.key for c in known)}")
    names = asked.preset or list(STEPS)
    plans = {
        name: Plan(
            steps=asked.steps or STEPS.get(name, OTHER_STEPS),
            rounds=asked.rounds,
            budget=asked.token_budget,
        )
        for name in names
    }
    for plan in plans.values():
        if plan.steps < plan.least or plan.rounds < 1:
            stop(f"--steps, --rounds: expected at least {plan.least} steps and 1 round")
    corpus = Corpus(asked.source, asked.target, asked.valid_source, asked.valid_target)
    console = wide_console()
    show_machine(console, machine(LIBRARIES))
    done: list[Measured] = []
    with TemporaryDirectory(prefix="bench-train-") as work:
        try:
            for name in names:
                preset(name, asked.pieces)  # a wrong name is said now
            say("vocabulary and batches …")
            most = max(plan.steps for plan in plans.values())
            lessons = make_lessons(corpus, asked.pieces, asked.token_budget, most, Path(work))
        except RegardError as error:
            stop(str(error))
        say("the machine's matrix throughput …")
        limit = throughput(cores(), asked.matmul_seconds) if asked.matmul_seconds else {}
        show_throughput(console, limit)
        chosen = [one for one in known if one.key in asked.only] or usual(known, limit)
        if not bf16_pays(limit) and not asked.only:
            console.print(NO_BF16, highlight=False, soft_wrap=True)
        for name, plan in plans.items():
            spec = preset(name, lessons.vocabulary, norm_order="post")
            one = Measured(name, spec, plan, lessons, [Row(c) for c in chosen], limit)
            run_rounds(one, say)
            done.append(one)
            show(console, one)
            if asked.json:
                asked.json.write_text(as_json(done), encoding="utf-8")


def _insist(asked: argparse.Namespace) -> None:
    """Say what is missing before anything is measured."""
    insist_on_libraries(NEEDED)
    for file in (asked.source, asked.target, asked.valid_source, asked.valid_target):
        stop_without(file, "multi30k", "--source, --target, --valid-source and --valid-target")


if __name__ == "__main__":
    main()
