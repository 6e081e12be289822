"""One measurement of continuations in a process of its own: load, warm up, then against the clock.

    python bench/peers/complete_measure.py QUESTION.json ANSWER.json

Texts in, texts out, every output of the same length: one prompt, then all of them.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

Go = Callable[[list[str], int], list[str]]  # prompts, new tokens of each → what follows


def _own(folder: str, options: dict[str, Any]) -> tuple[Go, str]:
    from regard.api.load import load
    from regard.decode.options import DecodingOptions
    from regard.engines.engines import describe

    model = load(folder, "cpu", engine=options["engine"])
    engine = model.engines.take(DecodingOptions(beam=1))  # prepared before the clock starts
    return lambda prompts, tokens: model.complete(prompts, max_tokens=tokens), describe(engine)


def _transformers(folder: str, options: dict[str, Any]) -> tuple[Go, str]:
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, padding_side="left")
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(0)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()

    def go(prompts: list[str], tokens: int) -> list[str]:
        batch = tokenizer(prompts, return_tensors="pt", padding=True)
        with torch.inference_mode():
            ids = model.generate(
                **batch, max_new_tokens=tokens, do_sample=False, pad_token_id=0, eos_token_id=None
            )
        return list(tokenizer.batch_decode(ids[:, batch["input_ids"].shape[1] :]))

    return go, f"generate, one padded batch, {torch.get_num_threads()} threads, fp32"


def _ctranslate2(folder: str, options: dict[str, Any]) -> tuple[Go, str]:
    import ctranslate2
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    library = ctranslate2.Generator(options["converted"], device="cpu")

    def go(prompts: list[str], tokens: int) -> list[str]:
        pieces = [tokenizer.convert_ids_to_tokens(tokenizer.encode(text)) for text in prompts]
        answers = library.generate_batch(
            pieces, max_length=tokens, min_length=tokens, include_prompt_in_result=False
        )
        return [tokenizer.decode(answer.sequences_ids[0]) for answer in answers]

    return go, f"generate_batch, its own layout, {options['converted'].rpartition('-')[2]}"


PEERS = {"own": _own, "transformers": _transformers, "ctranslate2": _ctranslate2}


def main() -> None:
    asked, answer = Path(sys.argv[1]), Path(sys.argv[2])
    question = json.loads(asked.read_text(encoding="utf-8"))
    go, layout = PEERS[question["peer"]](question["folder"], question["options"])
    prompts, tokens = question["prompts"], question["tokens"]
    seconds: dict[str, float] = {}
    outputs: list[str] = []
    for name, some in {"one": prompts[:1], "all": prompts}.items():
        go(some, min(tokens, 4))  # threads and buffers are there then
        begun = perf_counter()
        outputs = go(some, tokens)
        seconds[name] = perf_counter() - begun
    speeds = {"one": tokens / seconds["one"], "all": tokens * len(prompts) / seconds["all"]}
    found = {"layout": layout, "speeds": speeds, "outputs": outputs}
    answer.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
