"""What a model's engines are asked for: translations of sources, or continuations of prompts.

    Translating   sources, by an encoder–decoder model
    Continuing    prompts, by a decoder-only model

All in which the two differ for the rest of this room, method by method the same in both:

    with_torch    the reference engine
    write         the folder of the ctranslate2 library; `weights` is the checksum of the weights
    opened        the engine on such a folder
    refused       what of a search the library does not have, or has with another meaning; `length`
                  is that of the longest prompt with what may follow it
    rows          what engines are compared and measured on
    decoding      how: as both engines offer it
    compared      each precision against torch, and why ctranslate2 is not to be used, if so

Nothing here imports torch until an engine of torch is made, or weights are written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regard.bundle.bundle import Bundle
from regard.bundle.codec import one_name_each
from regard.bundle.engine_choice import SENTENCES
from regard.bundle.generation_settings import GenerationSettings
from regard.checkpoint.ctranslate2_info import ROWS
from regard.data.store import Store
from regard.decode.engine import NO_END, Engine, Frame, Layout, Row
from regard.decode.engines.ctranslate2 import CTranslate2Engine, refused
from regard.decode.engines.ctranslate2_decoder import CTranslate2Decoder, refused_continuation
from regard.decode.options import DecodingOptions
from regard.engines.agreement import AgreementCheck, Clock, Make, compare
from regard.engines.continuation_agreement import compare_continuations

if TYPE_CHECKING:
    from regard.model.transformer import Transformer

PROMPTS = 100  # that engines are compared on, of a run
PROMPT_TOKENS, OUTPUT_TOKENS = 24, 32  # of each
Checks = tuple[Mapping[str, AgreementCheck], str]  # by engine and precision; why there are no more


@dataclass(frozen=True)
class Translating:
    """Sources in, by an encoder–decoder model."""

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


@dataclass(frozen=True)
class Continuing:
    """Prompts in, by a decoder-only model."""

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
            one_name_each(tokenizer.codec.tokens, model.spec.vocabulary),
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


Work = Translating | Continuing


def work_of(bundle: Bundle) -> Work:
    """What its engines are asked for; a stored choice says it without torch."""
    if bundle.choice is not None:
        continues = bundle.choice.task == "complete"
    else:
        continues = "complete" in bundle.tasks
    return Continuing(bundle) if continues else Translating(bundle)
