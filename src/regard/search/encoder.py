"""The model of an index: an encoder that makes vectors, counts tokens and has a fingerprint."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.answer.loaded import LoadedModel, open_model
from regard.bundle.named import kept_name, located
from regard.bundle.pooling import Pooling
from regard.convert.golden import weights_digest
from regard.errors import MisuseError
from regard.text.published import PublishedTokenizer


@dataclass(frozen=True)
class Encoder:
    """A model that offers embeddings, and how an index names it."""

    name: str  # a folder of this machine, whole, or a name of the hub
    model: LoadedModel

    @cached_property
    def tokenizer(self) -> PublishedTokenizer:
        """Its tokenizer; without one there are no embeddings."""
        return self.model.tokenizer_for("embed")

    @cached_property
    def pooling(self) -> Pooling:
        """How the vectors of a text's tokens become one."""
        return self.model.bundle.pooling

    @cached_property
    def width(self) -> int:
        """The numbers of a vector."""
        return self.model.embedder.size

    @cached_property
    def limit(self) -> int | None:
        """The most tokens that it reads of a text, special ones included."""
        limits = (self.pooling.limit or self.tokenizer.max_length, self.model.spec.position_limit)
        return min((limit for limit in limits if limit is not None), default=None)

    @cached_property
    def frame(self) -> int:
        """The special tokens around a text, and its prompt."""
        return len(self.tokenizer.encode(self.ready("")).ids)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over all that decides a vector: weights, the tokens' names, the pooling."""
        digest = sha256(weights_digest(self.model.transformer).encode())
        digest.update("\0".join(self.tokenizer.codec.tokens).encode())
        # Indexes were made while the class had another name.
        digest.update(repr(self.pooling).replace("Pooling(", "Layout(", 1).encode())
        return digest.hexdigest()

    def ready(self, text: str) -> str:
        """A text as the tokenizer gets it."""
        return self.pooling.prompt + (text.lower() if self.pooling.lower_case else text)

    def count(self, text: str) -> int:
        """The tokens of a text, without those around it."""
        return len(self.tokenizer.encode(self.ready(text)).ids) - self.frame

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector for each text, (n, width)."""
        return self.model.embedder(list(texts))

    def unknown(self, text: str) -> float:
        """The share of a text's tokens that the vocabulary does not have."""
        ids = self.tokenizer.encode(self.ready(text)).ids
        alien = self.tokenizer.roles.get("unk")
        return sum(i == alien for i in ids) / max(1, len(ids) - self.frame)

    def insist_on(self, fingerprint: str, index: Path) -> None:
        """Refuse to be mixed with the vectors of another model."""
        if self.fingerprint != fingerprint:
            raise MisuseError(
                f"{index}: was made with another model than {self.name} (fingerprint "
                f"{fingerprint[:12]}, got {self.fingerprint[:12]}), and their vectors cannot be "
                "compared; name the model it was made with, or make the index anew with "
                "`regard index … --rebuild`"
            )


def open_encoder(model: str | Path | LoadedModel, device: str = "auto") -> Encoder:
    """The encoder of a folder or of a name on the hub; an error lists what another model offers."""
    if isinstance(model, LoadedModel):
        model.demand("embed")
        return Encoder(kept_name(model.bundle.name or model.bundle.path), model)
    place = located(model)
    if isinstance(place, Path) and not place.exists():
        expected = "the folder of an encoder or its name on the hub"
        advice = "name it with --model"
        raise MisuseError(model, "the model is not there", expected=expected, advice=advice)
    loaded = open_model(model, device)
    loaded.demand("embed")
    return Encoder(kept_name(model), loaded)
