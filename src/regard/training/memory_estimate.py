"""How much memory training takes, from shapes alone: before anything is allocated.

    weights       P numbers, and a copy in half precision for bf16; P more for a moving average
    Adam          2 P: both moments
    gradients     P for each worker, twice if it has several batches or a process of its own, and
                  the embedding's once more
    activations   what the way back needs of the way forward, for the largest batch
    checkpoint    3 P for the moment in which one is laid out to be written

P is the number of weights. With LoRA (model/lora.py) gradients are those of the adapted maps and of
the head, Adam's moments those of A, B and the head, and the maps are there twice. A step and the
writing of a checkpoint do not come together, so the larger of the two counts. How near this comes
to what a process really takes is measured in tests/training/test_memory_estimate.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from regard.model.attention import EXPLICIT_UP_TO
from regard.model.lora import adapted
from regard.model.spec import Spec, parameter_count
from regard.model.transformer import Transformer
from regard.training.compute import Compute
from regard.training.label_smoothing import PIECE

SINGLE, HALF = 4, 2  # bytes of a number
LOOSE = 1.3  # freed blocks lie between those in use: measured, a process takes so many times more


@dataclass(frozen=True)
class BatchShape:
    """Of a batch: rows, and positions of each on both sides."""

    rows: int
    source: int
    target: int


@dataclass(frozen=True)
class Learned:
    """How many numbers have a gradient, how many have moments, how many are kept a second time."""

    gradients: int
    moments: int
    copies: int = 0


def learned_by(spec: Spec, rank: int = 0, maps: Sequence[str] = ()) -> Learned:
    """All weights; or with LoRA the pairs beside `maps` and the head, if nothing else is new."""
    if not rank:
        return Learned(parameter_count(spec), parameter_count(spec))
    with torch.device("meta"):
        model = Transformer(spec, seed=None)
    weights = adapted(model, rank, maps).values()
    heads = [m for m in (model.pooler, model.classifier) if m is not None]
    head = sum(weight.numel() for module in heads for weight in module.parameters())
    copies = sum(weight.numel() for weight in weights)
    return Learned(copies + head, rank * sum(sum(w.shape) for w in weights) + head, copies)


@dataclass(frozen=True)
class Need:
    """Bytes, by what they are for."""

    weights: int
    adam: int
    gradients: int
    activations: int
    checkpoint: int

    @property
    def total(self) -> int:
        """The most that are in use at one moment."""
        step = self.gradients + self.activations
        return self.weights + self.adam + max(step, self.checkpoint)


def memory_need(
    spec: Spec,
    shape: BatchShape,
    compute: Compute,
    accumulate: int = 1,
    averaged: bool = False,
    learned: Learned | None = None,
) -> Need:
    """What training takes at its peak, if `shape` is the largest batch; all weights learn."""
    half = compute.precision == "bf16"
    size = HALF if half else SINGLE
    count = parameter_count(spec)
    learned = learned or learned_by(spec)
    with_gradient = learned.gradients
    matrix = 0 if learned.copies else spec.vocabulary * spec.d_model
    pieces = min(PIECE, SINGLE * shape.rows * shape.target * spec.vocabulary)
    workers = compute.workers
    # The loss makes the gradient of the output matrix on the way forward, the embeddings make
    # theirs at the end of the way back; where they are one matrix, both are there at once.
    own = workers * (SINGLE + size) * matrix
    return Need(
        weights=count * (SINGLE + (HALF * workers if half else 0))
        + SINGLE * (learned.copies + (with_gradient if averaged else 0)),
        adam=2 * SINGLE * learned.moments,
        gradients=workers * (2 if accumulate > 1 else 1) * size * with_gradient
        + (workers - 1) * SINGLE * with_gradient  # where worker processes hand them over
        + own
        + (SINGLE * with_gradient if half else 0),
        activations=int(LOOSE * size * activations(spec, shape, compute.kernels == "plain"))
        + workers * (size * joined_weights(spec) + 3 * pieces),
        checkpoint=SINGLE * (count + learned.copies + 3 * learned.moments),
    )


def joined_weights(spec: Spec) -> int:
    """W_Q, W_K and W_V of all layers side by side, kept until the way back."""
    d, inner, outer = spec.d_model, spec.heads * spec.k, spec.groups * spec.k
    own = d * (inner + 2 * outer)
    both = spec.encoder_layers > 0 and spec.decoder_layers > 0
    cross = 2 * d * outer * both
    return spec.encoder_layers * own + spec.decoder_layers * (own + cross)


def activations(spec: Spec, shape: BatchShape, plain: bool = False) -> int:
    """Numbers kept for the way back, of a batch of that shape.

    For one position of a layer, D wide each unless said otherwise:

        self-attention   its input, the norm of it, Q, K, V and the heads (H·K each), what dropout
                         kept, and a weight for each head and each key
        cross-attention  the same, but K and V for each position of the memory
        feed-forward     its input, the norm of it, the hidden layer (F), what dropout kept
    """
    d, inner = spec.d_model, spec.heads * spec.k
    source, target = shape.rows * shape.source, shape.rows * shape.target
    around = 2 * d + d * (spec.dropout > 0)  # input, norm, kept
    hidden = _hidden(spec)
    own = around + (6 if spec.positions == "rotary" else 4) * inner  # Q and K turned, too
    encoder = source * (own + _table(spec, shape.source, plain) + around + hidden)
    decoder = target * (own + _table(spec, shape.target, plain) + around + hidden)
    cross = target * (around + 2 * inner + _table(spec, shape.source, plain)) + source * 2 * inner
    ends = (source + target) * d * (1 + (spec.dropout > 0)) + 2 * target * d
    logits = 2 * target * spec.vocabulary if plain else 0
    layers = spec.encoder_layers * encoder + spec.decoder_layers * (decoder + cross)
    return layers + ends + logits + _passing(spec, shape)


def _hidden(spec: Spec) -> int:
    """Of the feed-forward network: what its activation and its gate keep for one position."""
    copies = 1 if spec.activation == "relu" else 2  # relu's result is all that it needs
    copies += 2 * spec.gated
    copies += 2 * (spec.ffn_dropout > 0)
    return copies * spec.ffn_size


def _table(spec: Spec, keys: int, plain: bool) -> int:
    """Attention weights of one position: a number for each head and key, more with dropout."""
    written = spec.attention_dropout > 0 or spec.positions == "relative" or plain
    if keys > EXPLICIT_UP_TO and not spec.attention_dropout:
        # torch's kernel keeps a sum for each head, and the bias that it was given
        return spec.heads * (keys if spec.positions == "relative" else 1)
    return spec.heads * keys * (1 + 2 * (spec.attention_dropout > 0) + written)


def _passing(spec: Spec, shape: BatchShape) -> int:
    """What lives for one operation only, at the widest place of a layer, with its gradient."""
    wide = max(spec.ffn_size * (2 if spec.gated else 1), 3 * spec.heads * spec.k)
    longest = max(shape.source, shape.target)
    table = spec.heads * min(longest, EXPLICIT_UP_TO)
    return 3 * shape.rows * longest * max(wide, table)
