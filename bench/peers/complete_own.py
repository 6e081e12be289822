"""The same decoder trained by regard: a recipe, as `regard train` runs it."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from complete_loop import held_out_loss
from torch import Tensor, nn

import regard


class Own(nn.Module):
    """A run, called as transformers calls its models, so that one function judges both."""

    def __init__(self, model: regard.Model) -> None:
        super().__init__()
        self._model = model

    def forward(self, ids: Tensor) -> Any:
        class Output:
            logits = self._model.logits(ids)

        return Output


def main(question: dict[str, Any]) -> dict[str, Any]:
    folder = Path(question["run"])
    begun = time.perf_counter()
    run = regard.train(question["recipe"], run=folder, quiet=True, **question["changes"])
    whole = time.perf_counter() - begun
    last = max((folder / "checkpoints").glob("step-*/state.json"), key=str)
    state = json.loads(last.read_text(encoding="utf-8"))
    compute = json.loads((folder / "run.json").read_text(encoding="utf-8"))["compute"]
    text = Path(question["text"]).read_text(encoding="utf-8")
    held_out = text[int(len(text) * 0.9) :]
    tokenizer = run.model.tokenizer
    ids = torch.tensor([tokenizer.encode(letter).ids[-1] for letter in sorted(set(held_out))])
    place = {letter: i for i, letter in enumerate(sorted(set(held_out)))}
    stream = ids[torch.tensor([place[letter] for letter in held_out])]
    return {
        "seconds": state["seconds"],  # with validations
        "whole": whole,  # with the vocabulary, the self-test, the final weights
        "tokens": state["tokens"],
        "loss": held_out_loss(Own(run.model), stream, question["width"]),
        "parameters": sum(w.numel() for w in run.model.transformer.parameters()),
        "layout": str(compute),
    }


if __name__ == "__main__":
    asked, answer = map(Path, sys.argv[1:3])
    answer.write_text(json.dumps(main(json.loads(asked.read_text()))), encoding="utf-8")
