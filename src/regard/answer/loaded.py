"""A bundle with its weights, which are read when they are first needed, and its engines.

Nothing here imports torch: a translation by the ctranslate2 engine never does.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from regard.answer.translate import Translator
from regard.bundle.bundle import Bundle, open_bundle
from regard.engines.engines import EngineRequest, Engines
from regard.model.spec import Spec
from regard.printable import Say, to_log
from regard.text.published import PublishedTokenizer

if TYPE_CHECKING:
    from regard.answer.embed import Embedder
    from regard.model.transformer import Transformer

TORCH = EngineRequest("torch")  # the reference, for those who look inside


@dataclass(frozen=True)
class LoadedModel:
    """What every task works with."""

    bundle: Bundle
    device: str = "auto"
    request: EngineRequest = field(default_factory=EngineRequest)
    allow_nonfinite: bool = False
    say: Say = to_log  # hears what takes a while, and what was mended

    @cached_property
    def transformer(self) -> "Transformer":
        """The model itself, on its device."""
        from regard.answer.weights import read_transformer  # imports torch
        from regard.model.device import choose_device  # imports torch

        device = choose_device(self.device)  # made sure of, before anything is computed
        network = read_transformer(self.bundle, allow_nonfinite=self.allow_nonfinite)
        to_log(f"weights: {sum(w.numel() for w in network.parameters()):,}, device: {device}")
        return network.to(device).eval()

    @property
    def spec(self) -> Spec:
        """Everything in which the model differs from others."""
        return self.bundle.spec

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it can be asked for, beside `logits`."""
        return self.bundle.tasks

    def demand(self, task: str) -> None:
        """Insist that it offers a task; else an error lists what it offers."""
        self.bundle.demand(task)

    def tokenizer_for(self, task: str) -> PublishedTokenizer:
        """Its tokenizer, for a task of an encoder or of a published model."""
        return self.bundle.tokenizer_for(task)

    @cached_property
    def engines(self) -> Engines:
        """The engines that make text, each opened when it is first used; T5's tasks are torch's."""
        faster = self.bundle.choice is not None or {"translate", "complete"} & set(self.tasks)
        request = self.request if faster else TORCH
        return Engines(self.bundle, lambda: self.transformer, self.device, request, self.say)

    @property
    def embedder(self) -> "Embedder":
        """What makes vectors; prepared when it is first used, and again if the weights changed."""
        from regard.answer.embed import Embedder  # imports torch

        tokenizer, prepared = self.tokenizer_for("embed"), self._prepared.get("embedder")
        if prepared is None or not prepared.is_current:
            pooling, precision = self.bundle.pooling, self.request.precision
            prepared = Embedder(self.transformer, tokenizer, pooling, precision)
            self._prepared["embedder"] = prepared
        return prepared

    @cached_property
    def _prepared(self) -> "dict[str, Embedder]":
        return {}

    @cached_property
    def translator(self) -> Translator:
        """Text in, text out, with these engines."""
        bundle = self.bundle
        return Translator(bundle.codec, bundle.settings.search, bundle.limit, self.engines.take)


def open_model(
    name: str | Path,
    device: str = "auto",
    request: EngineRequest | None = None,
    *,
    allow_pickle: bool = False,
    allow_nonfinite: bool = False,
    strict: bool = False,
    say: Say = to_log,
) -> LoadedModel:
    """A model by its path or name; its weights are not read yet."""
    bundle = open_bundle(name, allow_pickle=allow_pickle, strict=strict)
    return LoadedModel(bundle, device, request or EngineRequest(), allow_nonfinite, say)
