"""What a model's engines are asked for, translations or continuations: in what these two differ.

    Translating   sources with an encoder–decoder model      engines/translating.py
    Continuing    prompts with a decoder-only model          engines/continuing.py

Nothing here imports torch.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from regard.decode.engine import Engine, Layout, Row
from regard.decode.options import DecodingOptions
from regard.engines.agreement import AgreementCheck, Clock, Make

if TYPE_CHECKING:
    from regard.model.transformer import Transformer

Checks = tuple[Mapping[str, AgreementCheck], str]  # by engine and precision; why there are no more


@runtime_checkable
class Work(Protocol):
    """All that engines/autotune.py and engines/converted.py need to know of it."""

    @property
    def task(self) -> str:
        """The name of what it is for."""

    def with_torch(self, model: "Transformer", layout: Layout) -> Engine:
        """The reference."""

    def write(self, model: "Transformer", folder: Path, weights: str, precision: str) -> None:
        """Write the folder of the ctranslate2 library; `weights` is their checksum."""

    def opened(self, folder: Path, layout: Layout, shortlist: bool) -> Engine:
        """The engine on such a folder."""

    def refused(self, decoding: DecodingOptions, prefixed: bool, length: int = 0) -> str | None:
        """What of a search the library does not have, or has with another meaning.

        `length` is that of the longest prompt with what may follow it.
        """

    def rows(self) -> list[list[int]]:
        """What engines are compared and measured on."""

    def decoding(self, rows: Sequence[Row]) -> DecodingOptions:
        """How: as both engines offer it."""

    def compared(
        self,
        with_torch: Make,
        with_library: Make,
        rows: Sequence[Row],
        decoding: DecodingOptions,
        clock: Clock,
    ) -> Checks:
        """Each precision against torch, and why ctranslate2 is not to be used, if so."""
