"""Engines that translate: sources in, by an encoder–decoder model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regard.bundle.bundle import Bundle
from regard.decode.engine import Engine, Layout, Row
from regard.decode.engines.ctranslate2 import CTranslate2Engine, refused
from regard.decode.options import DecodingOptions
from regard.engines.agreement import Clock, Make, compare
from regard.engines.work import Checks

if TYPE_CHECKING:
    from regard.model.transformer import Transformer


@dataclass(frozen=True)
class Translating:
    """engines/work.py says what each of these is."""

    bundle: Bundle
    task: str = "translate"

    def with_torch(self, model: "Transformer", layout: Layout) -> Engine:
        from regard.decode.engines.torch import TorchEngine  # imports torch

        return TorchEngine(model, self.bundle.codec.frame, self.bundle.settings.rules, layout)

    def write(self, model: "Transformer", folder: Path, weights: str, precision: str) -> None:
        from regard.checkpoint.to_ctranslate2 import write_ctranslate2  # imports torch

        codec = self.bundle.codec
        write_ctranslate2(
            model,
            folder,
            codec.vocabulary(model.spec.vocabulary),
            start=codec.frame.start,
            end=codec.frame.end,
            never=self.bundle.settings.rules.never,
            precision=precision,
            weights=weights,
        )

    def opened(self, folder: Path, layout: Layout, shortlist: bool) -> Engine:
        frame, rules, limit = self.bundle.codec.frame, self.bundle.settings.rules, self.bundle.limit
        return CTranslate2Engine(folder, frame, rules, layout, limit, shortlist=shortlist)

    def refused(self, decoding: DecodingOptions, prefixed: bool, length: int = 0) -> str | None:
        return refused(decoding, self.bundle.settings.rules, prefixed)

    def rows(self) -> list[list[int]]:
        """The sources of the probe; one that the model cannot hold is left out."""
        limit = self.bundle.limit
        rows = self.bundle.codec.encode([source for source, _ in self.bundle.probe()])
        return [row for row in rows if limit is None or len(row) <= limit]

    def decoding(self, rows: Sequence[Row]) -> DecodingOptions:
        """The model's own beam, as both engines offer it.

        Outputs that never end would be as long as published settings allow, often 512 tokens;
        those that end are shorter than the longest source + 50.
        """
        own = self.bundle.settings.search
        usual = DecodingOptions().limit(max(map(len, rows), default=0))
        longest = own.max_length if own.max_length is not None and own.max_length < usual else None
        decoding = DecodingOptions(own.beam, own.alpha, max_length=longest)
        return decoding if self.refused(decoding, False) is None else replace(decoding, beam=1)

    def compared(
        self,
        with_torch: Make,
        with_library: Make,
        rows: Sequence[Row],
        decoding: DecodingOptions,
        clock: Clock,
    ) -> Checks:
        """With their references; without any, if some of the probe are left out."""
        references = [target for _, target in self.bundle.probe()]
        kept = references if len(references) == len(rows) else [None] * len(rows)
        probe = list(zip(rows, kept, strict=True))
        return compare(with_torch, with_library, self.bundle.codec, probe, decoding, clock)
