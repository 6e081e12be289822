"""One GGUF file, opened and gone on with: seconds, tokens a second, memory.

python gguf_measure.py QUESTION ANSWER
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from memory import peak_megabytes


def with_regard(asked: dict[str, Any]) -> dict[str, Any]:
    import regard

    begun = time.perf_counter()
    model = regard.load(asked["file"])
    model.complete("a", max_tokens=1)
    opened = time.perf_counter()
    ((answer,),) = model.completions([asked["prompt"]], max_tokens=asked["tokens"])
    seconds = time.perf_counter() - opened
    told = {"open": opened - begun, "speed": len(answer.ids) / seconds, "text": answer.text}
    return told | {"version": version("regard")}


def with_llama(asked: dict[str, Any]) -> dict[str, Any]:
    from llama_cpp import Llama

    begun = time.perf_counter()
    model = Llama(
        asked["file"],
        n_ctx=1024,
        n_threads=asked["threads"],
        n_threads_batch=asked["threads"],
        verbose=False,
    )
    model.create_completion("a", max_tokens=1, temperature=0)
    opened = time.perf_counter()
    answer = model.create_completion(
        asked["prompt"], max_tokens=asked["tokens"], temperature=0, repeat_penalty=1.0
    )
    seconds = time.perf_counter() - opened
    count = answer["usage"]["completion_tokens"]
    text = answer["choices"][0]["text"]
    told = {"open": opened - begun, "speed": count / seconds, "text": text}
    return told | {"version": version("llama-cpp-python")}


PEERS = {"regard": with_regard, "llama": with_llama}

if __name__ == "__main__":
    question = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    found = PEERS[question["peer"]](question)
    answer = json.dumps(found | {"memory": peak_megabytes()})
    Path(sys.argv[2]).write_text(answer, encoding="utf-8")
