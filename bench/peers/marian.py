"""`transformers`: MarianMTModel.generate on the folder that `regard convert --to hf` wrote."""

from typing import Any

import torch
from job import Job, Output, spelled
from transformers import MarianMTModel

from regard.text.tokenizer import Tokenizer


class Marian:
    """Batches in the order of the input, padded to the longest of each, as its documents show."""

    def __init__(self, job: Job) -> None:
        self._tokenizer = Tokenizer.load(job.run / "tokenizer.json")
        self._model = MarianMTModel.from_pretrained(job.hf, dtype=torch.float32).eval()
        self._batch = job.batch
        self._options: dict[str, Any] = {
            "num_beams": job.beam,
            "do_sample": False,
            "max_new_tokens": job.max_length,
        }
        if job.beam > 1:
            self._options |= {"length_penalty": job.alpha, "early_stopping": True}
        threads = torch.get_num_threads()
        self.layout = f"MarianMTModel, float32, threads {threads}, padded batches of {job.batch}"
        self.search = f"generate({spelled(self._options)})"

    def translate(self, texts: list[str]) -> list[Output]:
        rows = self._tokenizer.encode_batch(texts)
        chunks = [rows[n : n + self._batch] for n in range(0, len(rows), self._batch)]
        ids = [row for chunk in chunks for row in self._generate(chunk)]
        decoded = self._tokenizer.decode_batch(ids)
        return [Output(text, len(row)) for text, row in zip(decoded, ids, strict=True)]

    def _generate(self, rows: list[list[int]]) -> list[list[int]]:
        special = self._tokenizer.special
        longest = max(map(len, rows)) + 1
        source = torch.tensor(
            [[*row, special.eos, *[special.pad] * (longest - 1 - len(row))] for row in rows]
        )
        with torch.inference_mode():
            found = self._model.generate(
                source, attention_mask=(source != special.pad).long(), **self._options
            )
        # The first is the start token; all that follows an end token is padding.
        outputs = [row[1:] for row in found.tolist()]
        return [row[: row.index(special.eos)] if special.eos in row else row for row in outputs]
