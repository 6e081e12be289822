"""Slots: sentences that are decoded together, though each may have begun at another time.

Every sentence writes at its own place of one preallocated cache, and looks no further than that:

    place          0    1    2    3
    sentence 0     <s>  I    like it        has been fed 4 tokens
    sentence 1     <s>  We                  began later, has been fed 2

So a slot whose sentence is finished takes the next sentence at once, and every step is the same few
products for all slots. A sentence has `width` rows (a beam), which share its memory. What a row has
been fed may stand in the cache of other rows of its sentence: `origin` says in whose, place by
place. When a beam changes, only those numbers change, no keys and values are copied; attention
looks at the keys of all rows, with all but the right ones hidden. A decoder-only model has a prompt
instead of a memory: what it leaves to look back at lies in the same place, and is looked at
together with the output.

The same sentence, the same numbers: a row never depends on other sentences, but kernels may add in
another order when a product has another shape. Measured on torch's CPU kernels, they do not if a
product has FEW rows or more and attends to a multiple of STRIDE places, at least LEAST
(docs/decisions/0005-decoding.md); so rows are filled up, and places rounded up, to that.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.fused import FEW, FusedLayer, FusedModel, attend, attend_both, rounded
from regard.model.masks import additive
from regard.model.relative import buckets
from regard.model.rotary import Rotation, rotated

PLACES = 32  # of a new cache; it doubles when an output needs more


class Slots:
    """`count` sentences with `width` rows each, and what they have been fed."""

    def __init__(self, model: FusedModel, count: int, width: int, longest: int) -> None:
        self.model, self.width = model, width
        heads, n, size = model.spec.heads, len(model.decoder.layers), model.spec.k
        like = torch.zeros(0, dtype=model.dtype, device=model.device)
        self._past = like.new_zeros(n, 2, count, heads, PLACES, width, size)
        self._memory = like.new_zeros(n, 2, count, heads, rounded(longest), size)
        self._unseen = like.new_zeros(count, rounded(longest))
        self.ages = torch.zeros(count, dtype=torch.long, device=model.device)  # tokens fed
        self.lengths = self.ages.new_zeros(count)  # of the sources, or of prompts without `start`
        self._tokens = self.ages.new_zeros(count, width, PLACES)
        self._origin = self.ages.new_zeros(count, width, PLACES)
        self._each = torch.arange(count, device=model.device)
        self.attention: Tensor | None = None  # of the last layer's cross-attention, (B, w, S)

    def __len__(self) -> int:
        return len(self.lengths)

    def outputs(self) -> tuple[Int[Tensor, "B w P"], Int[Tensor, " B"]]:
        """The tokens that each row has put out and been fed again, and how many they are."""
        used = slice(1, int(self.ages.max()))
        return self._tokens[..., used].gather(1, self._origin[..., used]), self.ages - 1

    def output(self, slot: int, row: int) -> list[int]:
        """Those of one row."""
        used = slice(1, int(self.ages[slot]))
        tokens = self._tokens[slot, :, used].gather(0, self._origin[slot, row : row + 1, used])
        ids: list[int] = tokens[0].tolist()
        return ids

    def admit(
        self, slots: Int[Tensor, " n"], memory: Float[Tensor, "N 2 n H S K"], lengths: Tensor
    ) -> None:
        """Give these slots to new sentences, whose memory is projected already."""
        longest = memory.shape[4]
        more = longest - self._memory.shape[4]
        if more > 0:
            self._memory = torch.nn.functional.pad(self._memory, (0, 0, 0, more))
            # Behind the sources that are there already, where nothing is to be seen.
            self._unseen = torch.nn.functional.pad(self._unseen, (0, more), value=-torch.inf)
        self._memory[:, :, slots, :, :longest] = memory
        places = torch.arange(self._unseen.shape[1], device=lengths.device)
        self._unseen[slots] = additive(places < lengths[:, None], self.model.dtype)
        self.lengths[slots] = lengths
        self.ages[slots] = 0

    def release(self, slots: Int[Tensor, " n"]) -> None:
        """Nobody waits for these slots any more; they go on as short ones, until `keep`."""
        self.ages[slots] = 0
        self.lengths[slots] = 0

    def keep(self, slots: Int[Tensor, " n"]) -> None:
        """Go on with these sentences only."""
        self._past, self._memory = self._past[:, :, slots], self._memory[:, :, slots]
        self._unseen, self.ages, self.lengths = (
            x[slots] for x in (self._unseen, self.ages, self.lengths)
        )
        self._tokens, self._origin = self._tokens[slots], self._origin[slots]

    def reorder(self, parents: Int[Tensor, "B w"]) -> None:
        """Each row goes on with what the row `parents` of its sentence has been fed."""
        self._origin = self._origin.gather(1, parents[:, :, None].expand_as(self._origin))

    @torch.inference_mode()
    def step(self, tokens: Int[Tensor, "B w"], explain: bool = False) -> Float[Tensor, "R filled"]:
        """Feed one token to each row; the logits of what comes next, R = B · w of them."""
        seen = rounded(int(self.ages.max()) + 1)
        if seen > self._tokens.shape[2]:
            self._past = torch.nn.functional.pad(self._past, (0, 0, 0, 0, 0, seen))
            self._tokens, self._origin = (
                torch.nn.functional.pad(x, (0, seen)) for x in (self._tokens, self._origin)
            )
        self._each = torch.arange(len(self), device=tokens.device)
        self._tokens[self._each, :, self.ages] = tokens
        self._origin[self._each, :, self.ages] = torch.arange(self.width, device=tokens.device)
        ages = self.ages if self.model.memory is not None else self.ages + self.lengths
        positions = ages.repeat_interleave(self.width)
        stack = self.model.decoder
        bias = self._bias(seen)
        rotation = None if stack.rotary is None else stack.rotary(positions[:, None])
        x = _filled_up(self.model.target(tokens.flatten(), positions))
        for number, layer in enumerate(stack.layers):
            x = self._layer(x, layer, number, bias, rotation, explain)
        self.ages += 1
        return self.model.logits(stack.norm(x))[: tokens.numel()]

    def _layer(
        self,
        x: Float[Tensor, "filled D"],
        layer: FusedLayer,
        number: int,
        bias: Float[Tensor, "B #H w Pw"],
        rotation: Rotation | None,
        explain: bool,
    ) -> Float[Tensor, "filled D"]:
        past, memory = self._past[number], self._memory[number]
        own, cross = layer.attention, layer.cross
        count, w = len(self), self.width
        longest = rounded(int(self.lengths.max()))
        rows, seen = count * w, bias.shape[-1] // w

        # Shapes are in words here: as types they would be built again at every step.
        def split(y: Tensor) -> Tensor:
            """(filled, H·K) → (B, H, w, K)"""
            return y[:rows].view(count, w, -1, own.size).transpose(1, 2)

        def merged(heads: Tensor) -> Tensor:
            """(B, H, w, K) → (filled, H·K)"""
            return _filled_up(heads.transpose(1, 2).reshape(rows, -1))

        def look_back(y: Tensor) -> Tensor:
            q, k, v = layer.projection(y)[:rows].view(rows, 3, -1, 1, own.size).unbind(1)
            if rotation is not None:
                q, k = rotated(q, rotation), rotated(k, rotation)
            new = torch.stack((k, v)).view(2, count, w, -1, own.size).transpose(2, 3)
            past[:, self._each, :, self.ages] = new.transpose(0, 1)
            keys, values = past[:, :, :, :seen].flatten(3, 4)
            if cross is None:
                first = (*memory[:, :, :, :longest], self._prompt_bias(longest))
                heads = attend_both(split(q.flatten(1)), first, (keys, values, bias))
            else:
                heads, _ = attend(split(q.flatten(1)), keys, values, bias)
            return own.output(merged(heads))

        def look_across(y: Tensor) -> Tensor:
            assert cross is not None
            keys, values = memory[:, :, :, :longest]
            unseen = self._unseen[:, None, None, :longest]
            heads, weights = attend(split(cross.query(y)), keys, values, unseen)
            if explain:
                self.attention = weights.mean(dim=1)
            return cross.output(merged(heads))

        x = layer.around(x, layer.attention_norm, look_back)
        if layer.cross_norm is not None:
            x = layer.around(x, layer.cross_norm, look_across)
        return layer.around(x, layer.feed_forward_norm, layer.feed_forward)

    def _bias(self, seen: int) -> Float[Tensor, "B #H w Pw"]:
        """-∞ at places not come to yet and at those of other rows, plus a relative bias if any."""
        places = torch.arange(seen, device=self.ages.device)
        real = (places <= self.ages[:, None])[:, None, :, None]
        if self.width > 1:
            rows = torch.arange(self.width, device=places.device)
            real = real & (self._origin[:, :, :seen, None] == rows)
        bias = additive(real, self.model.dtype)[:, None]  # (B, 1, w, P, w)
        if self.model.decoder.relative is not None:
            bias = bias + self._relative(places - self.ages[:, None])[:, :, None, :, None]
        return bias.flatten(3)

    def _prompt_bias(self, longest: int) -> Float[Tensor, "B #H 1 S"]:
        """-∞ behind each prompt, plus a relative bias if any."""
        bias = self._unseen[:, None, None, :longest]
        if self.model.decoder.relative is None:
            return bias
        places = torch.arange(longest, device=self.ages.device)
        return bias + self._relative(places - (self.lengths + self.ages)[:, None])[:, :, None]

    def _relative(self, distance: Int[Tensor, "B P"]) -> Float[Tensor, "B H P"]:
        relative = self.model.decoder.relative
        assert relative is not None
        bucket = buckets(distance, relative.count, relative.farthest, both_ways=False)
        return relative.weight.detach()[bucket].permute(0, 2, 1).to(self.model.dtype)


def _filled_up(x: Float[Tensor, "R D"]) -> Float[Tensor, "filled D"]:
    """At least FEW rows."""
    missing = FEW - len(x)
    return x if missing <= 0 else torch.nn.functional.pad(x, (0, 0, 0, missing))
