"""Engines that go on with texts: prompts in, by a decoder-only model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.bundle.bundle import Bundle
from regard.bundle.generation_settings import GenerationSettings
from regard.decode.engine import NO_END, Engine, Frame, Layout, Row
from regard.decode.options import DecodingOptions
from regard.engines.agreement import Clock, Make
from regard.engines.work import Checks

if TYPE_CHECKING:
    from regard.model.transformer import Transformer


@dataclass(frozen=True)
class Continuing:
    """engines/work.py says what each of these is."""

    bundle: Bundle
    task: str = "complete"

    def with_torch(self, model: "Transformer", layout: Layout) -> Engine:
        from regard.decode.engines.torch import TorchEngine  # imports torch

        settings = self.bundle.settings
        return TorchEngine(model, prompt_frame(settings), settings.rules, layout)

    def write(self, model: "Transformer", folder: Path, weights: str, precision: str) -> None:
        raise NotImplementedError

    def opened(self, folder: Path, layout: Layout, shortlist: bool) -> Engine:
        raise NotImplementedError

    def refused(self, decoding: DecodingOptions, prefixed: bool) -> str | None:
        return "continuations"

    def rows(self) -> list[list[int]]:
        return []

    def decoding(self, rows: Sequence[Row]) -> DecodingOptions:
        return DecodingOptions(beam=1)

    def compared(
        self,
        with_torch: Make,
        with_library: Make,
        rows: Sequence[Row],
        decoding: DecodingOptions,
        clock: Clock,
    ) -> Checks:
        return {}, ""


def prompt_frame(settings: GenerationSettings) -> Frame:
    """Where an output ends; it starts from its prompt, and what is padded is not looked at."""
    end = settings.ends[0] if settings.ends else NO_END
    return Frame(pad=0, start=0, end=end)
