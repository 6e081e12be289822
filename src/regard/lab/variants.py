"""Models in which one sub-module is another one; the spec knows nothing of them.

    without_positions     attention is told nothing of order
    with_positions        another vector for each position: counts, one sine, bits …
    with_batch_norm       mean and variance over all words of the batch, not over one word's numbers
    without_residual      norm(sublayer(x)) in place of norm(x + sublayer(x))
    without_either        sublayer(x): no norm either
    unmasked              the decoder sees what it should predict
    undivided             scores without ÷ √d_k, the weights as they were
    without_parameters    softmax(X Xᵀ / √d) X in place of the encoder's attention

Each changes the model that it is given.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.add_and_norm import AddAndNorm
from regard.model.attention import MultiHeadAttention, attention_weights
from regard.model.cache import KeyValues
from regard.model.layer import Layer
from regard.model.masks import Mask
from regard.model.rotary import Rotation
from regard.model.trace import Trace
from regard.model.transformer import Transformer

PositionTable = Callable[[int, int], Tensor]  # length and d_model → (L, D)


class FixedPositions(nn.Module):
    """Position vectors from a table that a function makes."""

    def __init__(self, table: PositionTable, d_model: int) -> None:
        super().__init__()
        self.table, self.d_model = table, d_model

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "L D"]:
        return self.table(start + length, self.d_model)[start:]

    def at(self, positions: Int[Tensor, "B L"]) -> Float[Tensor, "B L D"]:
        vectors: Tensor = self(int(positions.max()) + 1)[positions]
        return vectors


class BatchNorm(nn.Module):
    """Mean and variance of each feature over all B · L places, padding too."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(d_model)

    def forward(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        normed: Tensor = self.norm(x.flatten(0, 1)).view(x.shape)
        return normed


class OnlyNorm(nn.Module):
    """norm(sublayer(x)): what a sub-layer does not hand on is gone."""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm = norm

    def forward(
        self,
        x: Float[Tensor, "B L D"],
        sublayer: Callable[[Tensor], Tensor],
        trace: Trace | None = None,
    ) -> Float[Tensor, "B L D"]:
        normed: Tensor = self.norm(sublayer(x))
        return normed


class SeesAll(nn.Module):
    """Attention that hears of no look-ahead mask."""

    def __init__(self, attention: MultiHeadAttention) -> None:
        super().__init__()
        self.attention = attention

    def forward(
        self,
        x: Float[Tensor, "B L D"],
        mask: Mask,
        memory: Float[Tensor, "B S D"] | None = None,
        cache: KeyValues | None = None,
        trace: Trace | None = None,
        rotation: Rotation | None = None,
    ) -> Float[Tensor, "B L D"]:
        attended: Tensor = self.attention(x, Mask(mask.real), memory, cache, trace, rotation)
        return attended


class BareAttention(nn.Module):
    """softmax(X Xᵀ / √d) X: nothing in it can be learned."""

    def forward(
        self,
        x: Float[Tensor, "B L D"],
        mask: Mask,
        memory: Float[Tensor, "B S D"] | None = None,
        cache: KeyValues | None = None,
        trace: Trace | None = None,
        rotation: Rotation | None = None,
    ) -> Float[Tensor, "B L D"]:
        heads = x[:, None]  # one head, as wide as the model
        scores = heads @ heads.transpose(-2, -1) / math.sqrt(x.shape[-1])
        weights = attention_weights(scores, mask.allowed(x.shape[1], x.shape[1], x.device))
        return (weights @ heads)[:, 0]


def without_positions(model: Transformer) -> None:
    for embedding in (model.source_embedding, model.target_embedding):
        if embedding is not None:
            embedding.positions = None


def with_positions(model: Transformer, table: PositionTable) -> None:
    for embedding in (model.source_embedding, model.target_embedding):
        if embedding is not None:
            fixed: nn.Module = FixedPositions(table, model.spec.d_model)
            embedding.positions = fixed  # type: ignore[assignment]


def with_batch_norm(model: Transformer) -> None:
    for around in model.modules():
        if isinstance(around, AddAndNorm):
            around.norm = BatchNorm(model.spec.d_model).to(next(model.parameters()))


def without_either(model: Transformer) -> None:
    without_residual(model)
    for part in model.modules():
        if isinstance(part, OnlyNorm):
            part.norm = nn.Identity()


def without_residual(model: Transformer) -> None:
    for layer in _layers(model):
        for name, part in list(layer.named_children()):
            if isinstance(part, AddAndNorm):
                setattr(layer, name, OnlyNorm(part.norm))


def unmasked(model: Transformer) -> None:
    assert model.decoder is not None
    for layer in _layers(model.decoder):
        layer.register_module("attention", SeesAll(layer.attention))


def undivided(model: Transformer) -> None:
    for part in model.modules():
        if isinstance(part, MultiHeadAttention):
            part.scale = False


def without_parameters(model: Transformer) -> None:
    assert model.encoder is not None
    for layer in model.encoder.layers:
        layer.attention = BareAttention()


def _layers(model: nn.Module) -> list[Layer]:
    return [part for part in model.modules() if isinstance(part, Layer)]


def raw_count(length: int, d_model: int) -> Float[Tensor, "L D"]:
    """0, 1, 2, 3 … in every dimension."""
    return torch.arange(length).float()[:, None].expand(length, d_model)


def share_of_length(length: int, d_model: int) -> Float[Tensor, "L D"]:
    """The count divided by the length: 0 … 1, whatever the length is."""
    return raw_count(length, d_model) / max(1, length - 1)


def one_sine(length: int, d_model: int) -> Float[Tensor, "L D"]:
    """sin(position) in every dimension."""
    return raw_count(length, d_model).sin()


def binary_digits(length: int, d_model: int) -> Float[Tensor, "L D"]:
    """Dimension i has bit i of the position."""
    bits = torch.arange(d_model).clamp(max=62)
    digits = (torch.arange(length)[:, None] >> bits) & 1
    return digits.float()
