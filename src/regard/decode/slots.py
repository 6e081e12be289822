"""Slots: rows of a batch that are decoded together, though each may have begun at another time.

Every row writes at its own place of one preallocated cache, and looks no further than that:

    place       0    1     2   3
    row 0       <s>  I     like it         has been fed 4 tokens
    row 1       <s>  We                    began later, has been fed 2

So a row whose sentence is finished takes the next sentence at once, and every step is the same few
products for all rows. A sentence has `width` rows (a beam), which share its memory.

The same sentence, the same numbers: a row never depends on its neighbours, but kernels may add in
another order when a product has another shape. Measured on this library's CPU kernels, they do not
if a product has FEW rows or more and attends to a multiple of STRIDE places, at least LEAST
(docs/decisions/0006-decoding.md); so rows are filled up, and places rounded up, to that.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.prepared import FEW, Prepared, PreparedLayer, attend, hidden, rounded
from regard.model.relative import buckets
from regard.model.rotary import Rotation, rotated

PLACES = 64  # of a new cache; it doubles when an output needs more


class Slots:
    """The rows, `width` for each of `count` sentences, and what they have been fed."""

    def __init__(self, model: Prepared, count: int, width: int, longest: int) -> None:
        self.model, self.width = model, width
        heads, n, size = model.spec.heads, len(model.decoder.layers), model.spec.k
        like = torch.zeros(0, dtype=model.dtype, device=model.device)
        self._past = like.new_zeros(n, 2, count * width, heads, PLACES, size)
        self._memory = like.new_zeros(n, 2, count, heads, rounded(longest), size)
        self._unseen = like.new_zeros(count, rounded(longest))
        self.ages = torch.zeros(count * width, dtype=torch.long, device=model.device)
        self.lengths = self.ages.new_ones(count)  # of the sources
        self._tokens = self.ages.new_zeros(count * width, PLACES)
        self.attention: Tensor | None = None  # of the last layer's cross-attention, (R, S)

    def __len__(self) -> int:
        return len(self.lengths)

    def outputs(self) -> tuple[Int[Tensor, "R W"], Int[Tensor, " R"]]:
        """The tokens that each row has put out and been fed again, and how many they are."""
        return self._tokens[:, 1 : int(self.ages.max())], self.ages - 1

    def output(self, row: int) -> list[int]:
        """Those of one row."""
        found: list[int] = self._tokens[row, 1 : int(self.ages[row])].tolist()
        return found

    def admit(
        self, slots: Int[Tensor, " n"], memory: Float[Tensor, "N 2 n H S K"], lengths: Tensor
    ) -> None:
        """Give these slots to new sentences, whose memory is projected already."""
        longest = memory.shape[4]
        more = longest - self._memory.shape[4]
        if more > 0:
            self._memory = torch.nn.functional.pad(self._memory, (0, 0, 0, more))
            self._unseen = torch.nn.functional.pad(self._unseen, (0, more))
        self._memory[:, :, slots, :, :longest] = memory
        places = torch.arange(self._unseen.shape[1], device=lengths.device)
        self._unseen[slots] = hidden(places < lengths[:, None], self.model.dtype)
        self.lengths[slots] = lengths
        self.ages.view(len(self), self.width)[slots] = 0

    def release(self, slots: Int[Tensor, " n"]) -> None:
        """Nobody waits for these slots any more; they go on as short ones, until `keep`."""
        self.ages.view(len(self), self.width)[slots] = 0
        self.lengths[slots] = 1

    def keep(self, slots: Int[Tensor, " n"]) -> None:
        """Go on with these sentences only."""
        places = torch.arange(self.width, device=slots.device)
        rows = (slots[:, None] * self.width + places).flatten()
        self._past, self._tokens = self._past[:, :, rows], self._tokens[rows]
        self.ages, self.lengths = self.ages[rows], self.lengths[slots]
        self._memory, self._unseen = self._memory[:, :, slots], self._unseen[slots]

    def copy(self, to: Int[Tensor, " c"], origin: Int[Tensor, " c"]) -> None:
        """Rows `to` continue what rows `origin` have been fed."""
        used = int(self.ages[origin].max())
        self._past[:, :, to, :, :used] = self._past[:, :, origin, :, :used]
        self._tokens[to, :used] = self._tokens[origin, :used]

    @torch.inference_mode()
    def step(self, tokens: Int[Tensor, " R"], explain: bool = False) -> Float[Tensor, "R filled"]:
        """Feed one token to each row; the logits of what comes next."""
        seen = rounded(int(self.ages.max()) + 1)
        if seen > self._tokens.shape[1]:
            self._past = torch.nn.functional.pad(self._past, (0, 0, 0, seen))
            self._tokens = torch.nn.functional.pad(self._tokens, (0, seen))
        self._tokens[torch.arange(len(tokens), device=tokens.device), self.ages] = tokens
        stack = self.model.decoder
        bias = self._bias(seen)
        rotation = None if stack.rotary is None else stack.rotary(self.ages[:, None])
        x = _filled_up(self.model.target(tokens, self.ages))
        for number, layer in enumerate(stack.layers):
            x = self._layer(x, layer, number, bias, rotation, explain)
        self.ages += 1
        return self.model.logits(stack.norm(x))[: len(tokens)]

    def _layer(
        self,
        x: Float[Tensor, "filled D"],
        layer: PreparedLayer,
        number: int,
        bias: Float[Tensor, "R #H 1 W"],
        rotation: Rotation | None,
        explain: bool,
    ) -> Float[Tensor, "filled D"]:
        past, memory = self._past[number], self._memory[number]
        own, cross = layer.attention, layer.cross
        assert cross is not None and layer.cross_norm is not None
        rows, seen = len(self.ages), bias.shape[-1]

        def look_back(y: Tensor) -> Tensor:
            q, k, v = layer.projection(y)[:rows].view(rows, 3, own.heads, 1, own.size).unbind(1)
            if rotation is not None:
                q, k = rotated(q, rotation), rotated(k, rotation)
            each = torch.arange(rows, device=y.device)
            past[0, each, :, self.ages] = k[:, :, 0]
            past[1, each, :, self.ages] = v[:, :, 0]
            heads, _ = attend(q, past[0, :, :, :seen], past[1, :, :, :seen], bias)
            return own.output(_filled_up(heads.flatten(1)))

        def look_across(y: Tensor) -> Tensor:
            q = cross.query(y)[:rows].view(len(self), self.width, cross.heads, cross.size)
            longest = rounded(int(self.lengths.max()))
            unseen = self._unseen[:, None, None, :longest]
            heads, weights = attend(
                q.transpose(1, 2), memory[0, :, :, :longest], memory[1, :, :, :longest], unseen
            )
            if explain:
                self.attention = weights.mean(dim=1).flatten(0, 1)
            return cross.output(_filled_up(heads.transpose(1, 2).reshape(rows, -1)))

        x = layer.around(x, layer.attention_norm, look_back)
        x = layer.around(x, layer.cross_norm, look_across)
        return layer.around(x, layer.feed_forward_norm, layer.feed_forward)

    def _bias(self, seen: int) -> Float[Tensor, "R #H 1 W"]:
        """-∞ at the places that a row has not come to yet, plus the relative bias if any."""
        places = torch.arange(seen, device=self.ages.device)
        bias = hidden(places <= self.ages[:, None], self.model.dtype)[:, None, None]
        relative = self.model.decoder.relative
        if relative is None:
            return bias
        distance = places - self.ages[:, None]
        found = buckets(distance, relative.count, relative.farthest, both_ways=False)
        learned = relative.weight.detach()[found].permute(0, 2, 1)[:, :, None]
        return bias + learned.to(self.model.dtype)


def _filled_up(x: Float[Tensor, "R D"]) -> Float[Tensor, "filled D"]:
    """At least FEW rows."""
    missing = FEW - len(x)
    return x if missing <= 0 else torch.nn.functional.pad(x, (0, 0, 0, missing))
