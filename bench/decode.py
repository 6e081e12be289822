"""Decoding speed, ours beside the peers', on the same weights and the same sentences.

    python bench/decode.py --run runs/small --preset base
    make bench-decode RUN=runs/small

One after another, each in a process of its own: regard's engines, CTranslate2 used directly (as
installed, and in the layout that a patient person finds by hand), `transformers`. Greedy and beam
4; all sentences at once, and one by one. Leave the machine alone meanwhile.

--run is a trained run; the paper's norm order (`norm_order = "post"`) is the one that
`transformers` has a model for. --preset is a size with random weights, which never end a sentence
by themselves: all outputs have the same fixed length, and there is no BLEU.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from needs import folder_of_set, insist_on_libraries, say, stop_without

MULTI30K = folder_of_set("multi30k")
NEEDED = ("ctranslate2", "transformers", "psutil", "torch")
RANDOM_LENGTH = 24  # about what a sentence of Multi30k has


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--run", type=Path, action="append", default=[], help="a trained run; may be repeated")
    add("--preset", action="append", default=[], help="a size with random weights; may be repeated")
    add(
        "--source",
        type=Path,
        default=MULTI30K / "test_2016_flickr.en",
        help="sentences to translate",
    )
    add("--reference", type=Path, default=MULTI30K / "test_2016_flickr.de", help="for BLEU")
    add("--beam", type=int, action="append", choices=[1, 4], help="only this one (1 and 4)")
    add("--sentences", type=int, default=1000, help="only so many of them (1000)")
    add("--rounds", type=int, default=3, help="how often everybody runs (3)")
    add("--singles", type=int, default=30, help="sentences for the latency (30)")
    add("--max-length", type=int, default=100, help="of an output, in tokens (100)")
    add("--cold-starts", type=int, default=5, help="how often; 0: none (5)")
    add("--json", type=Path, help="write everything to this file")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    _insist(asked)
    from decoding.contenders import BEAMS, contenders
    from decoding.models import CommandFailed, from_preset, from_run, settle
    from decoding.report import LIBRARIES, Measured, as_json, show
    from decoding.rounds import Plan, Row, cold_starts, run_rounds
    from printed import machine, show_machine, wide_console

    from regard.processor.machine import cores

    console = wide_console()
    sources = asked.source.read_text(encoding="utf-8").splitlines()[: asked.sentences]
    references = asked.reference.read_text(encoding="utf-8").splitlines()[: asked.sentences]
    plan = Plan(asked.source.resolve(), len(sources), singles=asked.singles, rounds=asked.rounds)
    show_machine(console, machine(LIBRARIES))
    beams = sorted(asked.beam or BEAMS)
    corpus = (MULTI30K / "train.en.gz", MULTI30K / "train.de.gz")
    done = []
    with TemporaryDirectory(prefix="bench-decode-") as work:
        for given in [*asked.run, *(asked.preset or ([] if asked.run else ["small", "base"]))]:
            say(f"{given}: preparing …")
            try:
                if isinstance(given, Path):
                    model = from_run(given, Path(work), asked.max_length)
                else:
                    model = from_preset(given, corpus, Path(work), RANDOM_LENGTH)
            except CommandFailed as error:
                sys.exit(f"{given}: {error}")
            settle(model, sources[0])
            rows = [Row(one, beam) for beam in beams for one in contenders(cores())]
            run_rounds(model, rows, plan, say)
            cold = cold_starts(model, sources[0], asked.cold_starts, say)
            done.append(Measured(model, plan, rows, references, cold))
            show(console, done[-1])
            if asked.json:
                asked.json.write_text(as_json(done), encoding="utf-8")


def _insist(asked: argparse.Namespace) -> None:
    """Say what is missing before anything is measured."""
    insist_on_libraries(NEEDED)
    for file in (asked.source, asked.reference):
        stop_without(file, "multi30k", "--source and --reference")
    if asked.preset or not asked.run:  # random weights, but a vocabulary of real text
        stop_without(MULTI30K / "train.en.gz", "multi30k", "--run")


if __name__ == "__main__":
    main()
