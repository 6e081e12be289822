"""regard itself: text in, text out, by its Python interface."""

from typing import Any

from job import Job, Output, spelled

import regard


class Own:
    """`regard.load(run, engine=…)`; regard chooses precision, layout and batches by itself."""

    def __init__(self, job: Job) -> None:
        self._model: Any = regard.load(job.run, **job.options)
        self._options = {
            "beam": job.beam,
            "alpha": job.alpha,
            "length_norm": "power",
            "stop": "first-k",
            "max_length": job.max_length,
            "split": False,  # the peers get whole lines too
        }
        self._call = f"regard.load(run, {spelled(job.options)})"
        self.search = f"translate({spelled(self._options)})"

    @property
    def layout(self) -> str:
        """What was asked for, and what was taken."""
        return "; ".join([self._call, *self._model.engines.notes])

    def translate(self, texts: list[str]) -> list[Output]:
        found = self._model.translations(texts, **self._options)
        return [Output(best[0].text, len(best[0].ids)) for best in found]
