"""How fast decoders go on with texts: ours beside transformers and CTranslate2, same weights.

    python bench/complete_decode.py
    make bench-complete-decode

One after another, each in a process of its own: regard by its torch engine and as `auto` chooses,
`transformers` (`generate` on one padded batch), CTranslate2 as installed, converted by its own
converter in float32 and int8. Greedy, for one prompt and for many, texts in and texts out. Leave
the machine alone meanwhile.

--family gpt2 or llama, drawn at random in a size; they never end a text by themselves, so every
output has the same number of tokens. Printed are new tokens per second (median and range over the
rounds), ratios, and how many texts are those of transformers. It always ends with exit code 0.
"""

import argparse
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from contender import Contender
from needs import insist_on_libraries, say

NEEDED = ("ctranslate2", "transformers", "torch")
LIBRARIES = ("regard", "torch", "transformers", "ctranslate2")
# width, layers, heads, rows of the vocabulary
SIZES = {"tiny": (32, 2, 2, 300), "small": (512, 6, 8, 16_000), "gpt2": (768, 12, 12, 50_257)}
PEER, DIRECT = "transformers", ("direct-float32", "direct-int8")


@dataclass
class Row:
    """One contender; a speed for each round."""

    contender: Contender
    speeds: dict[str, list[float]] = field(default_factory=lambda: {"one": [], "all": []})
    outputs: list[str] = field(default_factory=list)
    layout: str = ""
    failure: str = ""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--family", action="append", choices=["gpt2", "llama"], help="only this one (both)")
    add("--size", choices=SIZES, default="small", help="of the model (small)")
    add("--prompts", type=int, default=64, help="how many (64)")
    add("--tokens", type=int, default=64, help="new ones of each (64)")
    add("--rounds", type=int, default=3, help="how often everybody runs (3)")
    add("--json", type=Path, help="write everything to this file")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    insist_on_libraries(NEEDED)
    from printed import machine, show_goals, show_machine, wide_console

    console = wide_console()
    show_machine(console, machine(LIBRARIES))
    prompts = some_prompts(asked.prompts)
    done: dict[str, Any] = {}
    with TemporaryDirectory(prefix="bench-complete-") as work:
        for family in asked.family or ["gpt2", "llama"]:
            folder = Path(work) / family
            say(f"{family}: preparing …")
            make_model(family, SIZES[asked.size], folder)
            rows = [Row(one) for one in contenders(folder)]
            for number in range(asked.rounds):
                for row in rows:
                    say(f"{family}, round {number + 1}: {row.contender.name} …")
                    run(row, folder, prompts, asked.tokens)
            console.print(table(f"{family} {asked.size}", rows, len(prompts), asked.tokens))
            show_goals(console, verdicts(rows, len(prompts)))
            done[family] = [vars(row) | {"contender": vars(row.contender)} for row in rows]
            if asked.json:
                asked.json.write_text(json.dumps(done, indent=1), encoding="utf-8")


def contenders(folder: Path) -> list[Contender]:
    """Who runs, with which options."""
    direct = [
        Contender(
            f"direct-{kind}",
            f"CTranslate2 as installed, {kind}",
            "ctranslate2",
            {"converted": f"{folder}-{kind}"},
        )
        for kind in ("float32", "int8")
    ]
    return [
        Contender("torch", "regard, torch", "own", {"engine": "torch"}),
        Contender("auto", "regard, auto", "own", {"engine": "auto"}),
        Contender("transformers", "transformers, padded batch", "transformers", {}),
        *direct,
    ]


def some_prompts(count: int, seed: int = 1) -> list[str]:
    """Texts of 3 to 25 words: 16 to 128 tokens of one byte each, or nearly so."""
    chance = random.Random(seed)
    letters = "etaoinshrdlu"
    return [
        " ".join("".join(chance.choices(letters, k=4)) for _ in range(chance.randint(3, 25)))
        for _ in range(count)
    ]


def make_model(family: str, size: tuple[int, int, int, int], folder: Path) -> None:
    """A folder of random weights with a tokenizer of bytes, and what CTranslate2 makes of it."""
    import ctranslate2
    import torch
    import transformers
    from tokenizers import pre_tokenizers

    width, layers, heads, rows = size
    torch.manual_seed(1)
    if family == "gpt2":
        config: Any = transformers.GPT2Config(
            vocab_size=rows, n_embd=width, n_layer=layers, n_head=heads, bos_token_id=0,
            eos_token_id=None,
        )  # fmt: skip
    else:
        config = transformers.LlamaConfig(
            vocab_size=rows, hidden_size=width, num_hidden_layers=layers, bos_token_id=0,
            num_attention_heads=heads, num_key_value_heads=max(1, heads // 2), eos_token_id=None,
            intermediate_size=3 * width,
        )  # fmt: skip
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():  # layers that say more than the last token does
        for parameter in model.parameters():
            parameter *= 3 if parameter.dim() == 2 else 1
    model.save_pretrained(folder)
    pieces = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    pieces += [f"<{i}>" for i in range(len(pieces), rows)]
    (folder / "vocab.json").write_text(json.dumps({p: i for i, p in enumerate(pieces)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = transformers.GPT2TokenizerFast.from_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for kind in ("float32", "int8"):
        converter = ctranslate2.converters.TransformersConverter(str(folder))
        converter.convert(f"{folder}-{kind}", quantization=kind)


def run(row: Row, folder: Path, prompts: list[str], tokens: int) -> None:
    """One more round."""
    from child import ask

    one = row.contender
    if row.failure:
        return
    question = {"peer": one.peer, "options": one.options, "folder": str(folder)}
    answer = ask("complete_measure.py", question | {"prompts": prompts, "tokens": tokens})
    if "failure" in answer:
        row.failure = answer["failure"]
        return
    row.layout, row.outputs = answer["layout"], answer["outputs"]
    for name, speed in answer["speeds"].items():
        row.speeds[name].append(speed)


def table(title: str, rows: list[Row], prompts: int, tokens: int) -> Any:
    """Speeds, and how many texts are those of transformers."""
    from printed import new_table

    columns = ("one prompt\ntokens/s", "\nmin–max", f"{prompts} prompts\ntokens/s", "\nmin–max")
    shown = new_table(
        f"[bold]{title}[/] · random weights, greedy, {tokens} new tokens a prompt, text to text",
        (*columns, "same\ntexts", "layout"),
    )
    theirs = next(row.outputs for row in rows if row.contender.key == PEER)
    for row in rows:
        if row.failure:
            shown.add_row(row.contender.name, "[red]✗[/]", row.failure)
            continue
        cells = []
        for speeds in row.speeds.values():
            cells += [f"{median(speeds):,.0f}", f"{min(speeds):,.0f}–{max(speeds):,.0f}"]
        same = sum(a == b for a, b in zip(row.outputs, theirs, strict=False))
        shown.add_row(row.contender.name, *cells, f"{same} of {prompts}", row.layout)
    return shown


def verdicts(rows: list[Row], prompts: int) -> list[Any]:
    """Ours against each peer; more is better."""
    from goals import ratio

    by_key = {row.contender.key: row for row in rows if not row.failure}
    found = []
    for name, words in (("one", "one prompt"), ("all", f"{prompts} prompts")):
        for ours in ("torch", "auto"):
            for peers, who in (((PEER,), "transformers"), (DIRECT, "CTranslate2, its better row")):
                mine = by_key[ours].speeds[name] if ours in by_key else []
                theirs = [by_key[key].speeds[name] for key in peers if key in by_key]
                found.append(ratio(f"{words}: regard {ours} ÷ {who}", mine, theirs, 1.0))
    return found


if __name__ == "__main__":
    main()
