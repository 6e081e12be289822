"""CTranslate2 used directly: its `Translator` on the folder that `regard convert` wrote."""

import json

import ctranslate2
from job import Job, Output, spelled

from regard.text.tokenizer import Tokenizer


class Direct:
    """`translate_batch` sorts by length and cuts into batches of `max_batch_size` by itself."""

    def __init__(self, job: Job) -> None:
        self._tokenizer = Tokenizer.load(job.run / "tokenizer.json")
        self._pieces = json.loads((job.ctranslate2 / "shared_vocabulary.json").read_text("utf-8"))
        self._ids = {piece: i for i, piece in enumerate(self._pieces)}
        self._translator = ctranslate2.Translator(str(job.ctranslate2), "cpu", **job.options)
        self._options = {
            "beam_size": job.beam,
            "length_penalty": job.alpha,
            "max_decoding_length": job.max_length,
            "max_batch_size": job.batch,
            "max_input_length": 0,  # else it cuts long sentences without a word
            "min_decoding_length": 0,  # an output may be empty, as in ours
            "return_end_token": True,  # the end token counts in the length norm, as in ours
        }
        self.layout = f"Translator({spelled(job.options)})"
        self.search = f"translate_batch({spelled(self._options)})"

    def translate(self, texts: list[str]) -> list[Output]:
        rows = self._tokenizer.encode_batch(texts)
        end = self._tokenizer.special.eos
        sources = [[self._pieces[i] for i in (*row, end)] for row in rows]
        found = self._translator.translate_batch(sources, **self._options)
        ids = [self._row(result.hypotheses[0], end) for result in found]
        decoded = self._tokenizer.decode_batch(ids)
        return [Output(text, len(row)) for text, row in zip(decoded, ids, strict=True)]

    def _row(self, pieces: list[str], end: int) -> list[int]:
        row = [self._ids[piece] for piece in pieces]
        return row[:-1] if row and row[-1] == end else row
