"""Engines that go on with texts: prompts in, by a decoder-only model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.bundle.bundle import Bundle
from regard.bundle.codec import distinct
from regard.bundle.engine_choice import SENTENCES
from regard.bundle.generation_settings import GenerationSettings
from regard.checkpoint.ctranslate2_info import ROWS
from regard.data.store import Store
from regard.decode.engine import NO_END, Engine, Frame, Layout, Row
from regard.decode.engines.ctranslate2_decoder import CTranslate2Decoder, refused_continuation
from regard.decode.options import DecodingOptions
from regard.engines.agreement import Clock, Make
from regard.engines.continuation_agreement import compare_continuations
from regard.engines.work import Checks

if TYPE_CHECKING:
    from regard.model.transformer import Transformer

PROMPTS = 100  # that engines are compared on, of a run
PROMPT_TOKENS, OUTPUT_TOKENS = 24, 32  # of each


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
        from regard.checkpoint.to_ctranslate2 import write_decoder  # imports torch

        settings, tokenizer = self.bundle.settings, self.bundle.tokenizer_for("complete")
        write_decoder(
            model,
            folder,
            distinct(tokenizer.codec.tokens, model.spec.vocabulary),
            end=settings.ends[0] if settings.ends else 0,  # nothing ends there: see `opened`
            never=settings.rules.never,
            precision=precision,
            weights=weights,
        )

    def opened(self, folder: Path, layout: Layout, shortlist: bool) -> Engine:
        settings, endless = self.bundle.settings, self.bundle.limit is None
        return CTranslate2Decoder(folder, settings.ends, settings.rules, layout, endless)

    def refused(self, decoding: DecodingOptions, prefixed: bool, length: int = 0) -> str | None:
        if length > ROWS:  # else the spec need not be read
            spec = self.bundle.spec
            most = max(ROWS, spec.max_length)
            if spec.positions in ("sinusoidal", "halves") and length > most:
                return f"more than {most:,} positions of this model, whose sinusoids have no end"
        return refused_continuation(decoding, self.bundle.settings.rules, prefixed)

    def rows(self) -> list[list[int]]:
        """Beginnings of held-out texts from all over, or of sentences; never a whole window."""
        most = min(PROMPT_TOKENS, max(1, (self.bundle.limit or 2 * PROMPT_TOKENS) // 2))
        return [row[:most] for row in self._held_out(most) or self._sentences() if row]

    def _held_out(self, length: int) -> list[list[int]]:
        folder = self.bundle.path / "data" / "valid"
        if not self.bundle.is_run or not folder.is_dir():
            return []
        ids = Store.open(folder)["text"].values
        step = max(length, len(ids) // PROMPTS)
        return [ids[i : i + length].tolist() for i in range(0, len(ids) - length, step)][:PROMPTS]

    def _sentences(self) -> list[list[int]]:
        tokenizer = self.bundle.tokenizer_for("complete")
        return [list(tokenizer.encode(sentence).ids) for sentence in SENTENCES]

    def decoding(self, rows: Sequence[Row]) -> DecodingOptions:
        """Greedy: what both engines offer."""
        room = (self.bundle.limit or 2 * OUTPUT_TOKENS) - max(map(len, rows), default=0)
        return DecodingOptions(beam=1, max_length=max(1, min(OUTPUT_TOKENS, room)))

    def compared(
        self,
        with_torch: Make,
        with_library: Make,
        rows: Sequence[Row],
        decoding: DecodingOptions,
        clock: Clock,
    ) -> Checks:
        return compare_continuations(with_torch, with_library, rows, decoding, clock)


def prompt_frame(settings: GenerationSettings) -> Frame:
    """Where an output ends; it starts from its prompt, and what is padded is not looked at."""
    end = settings.ends[0] if settings.ends else NO_END
    return Frame(pad=0, start=0, end=end)
