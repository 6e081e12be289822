"""Slots: rows of a batch that are decoded together, though each may have begun at another time.

All rows write at the same column of one preallocated cache; a row that began later does not look at
the columns before its start:

    column      0  1  2  3  4  5
    row 0       I  like it  .              began at 0
    row 1             We are friends       began at 2, sees columns 2 … 5

So a row whose sentence is finished takes the next sentence at once, and every step is the same few
products for all rows. Distances between columns are distances between positions, which is all that
a relative bias needs. A sentence has `width` rows (a beam), which share its memory.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.prepared import Prepared, PreparedLayer, attend
from regard.model.relative import buckets
from regard.model.rotary import Rotation, rotated

COLUMNS = 64  # of a new cache; it doubles when one output needs more


class Slots:
    """The rows, `width` for each of `count` sentences, and what they have been fed."""

    def __init__(self, model: Prepared, count: int, width: int, longest: int) -> None:
        self.model, self.width = model, width
        heads = model.spec.heads
        n, size = len(model.decoder.layers), model.spec.k
        where = {"dtype": model.dtype, "device": model.device}
        rows = count * width
        self._past = torch.zeros(n, 2, rows, heads, COLUMNS, size, **where)  # type: ignore[call-overload]
        self._memory = torch.zeros(n, 2, count, heads, longest, size, **where)  # type: ignore[call-overload]
        self._unseen = torch.full((count, longest), -torch.inf, **where)  # type: ignore[call-overload]
        self.tokens = torch.zeros(rows, COLUMNS, dtype=torch.long, device=model.device)
        self.start = torch.zeros(rows, dtype=torch.long, device=model.device)
        self.lengths = torch.zeros(count, dtype=torch.long, device=model.device)
        self.column = 0
        self.attention: Tensor | None = None  # of the last layer's cross-attention, (R, S)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def ages(self) -> Int[Tensor, " R"]:
        """How many tokens each row has been fed."""
        return self.column - self.start

    def admit(
        self, slots: Int[Tensor, " n"], memory: Float[Tensor, "N 2 n H S K"], lengths: Tensor
    ) -> None:
        """Give these slots to new sentences, whose memory is projected already."""
        longest = memory.shape[4]
        if longest > self._memory.shape[4]:
            more = longest - self._memory.shape[4]
            self._memory = torch.nn.functional.pad(self._memory, (0, 0, 0, more))
            self._unseen = torch.nn.functional.pad(self._unseen, (0, more), value=-torch.inf)
        self._memory[:, :, slots, :, :longest] = memory
        self._unseen[slots] = -torch.inf
        real = torch.arange(longest, device=lengths.device) < lengths[:, None]
        seen = torch.full(real.shape, -torch.inf, device=real.device).masked_fill_(real, 0.0)
        self._unseen[slots, :longest] = seen.to(self._unseen.dtype)
        self.lengths[slots] = lengths
        self.start.view(len(self), self.width)[slots] = self.column

    def release(self, slots: Int[Tensor, " n"]) -> None:
        """Nobody waits for these slots any more: they see nothing of the past, until `keep`."""
        self.start.view(len(self), self.width)[slots] = self.column
        self.lengths[slots] = 1  # a softmax over nothing would be NaN

    def keep(self, slots: Int[Tensor, " n"]) -> None:
        """Go on with these sentences only."""
        places = torch.arange(self.width, device=slots.device)
        rows = (slots[:, None] * self.width + places).flatten()
        self._past, self.tokens = self._past[:, :, rows], self.tokens[rows]
        self.start = self.start[rows]
        self.lengths = self.lengths[slots]
        longest = int(self.lengths.max())
        self._memory = self._memory[:, :, slots, :, :longest]
        self._unseen = self._unseen[slots, :longest]

    def copy(self, to: Int[Tensor, " c"], origin: Int[Tensor, " c"]) -> None:
        """Rows `to` continue what rows `origin` have been fed."""
        used = slice(int(self.start[origin].min()), self.column)
        self._past[:, :, to, :, used] = self._past[:, :, origin, :, used]
        self.tokens[to, used] = self.tokens[origin, used]

    @torch.inference_mode()
    def step(self, tokens: Int[Tensor, " R"], explain: bool = False) -> Float[Tensor, "R filled"]:
        """Feed one token to each row; the logits of what comes next."""
        if self.column == self.tokens.shape[1]:
            self._make_room()
        self.tokens[:, self.column] = tokens
        x = self.model.target(tokens, self.ages)
        first = int(self.start.min())
        stack = self.model.decoder
        bias, rotation = self._bias(first), None
        if stack.rotary is not None:
            rotation = stack.rotary(self.ages[:, None])
        longest = int(self.lengths.max())
        for number, layer in enumerate(stack.layers):
            x = self._layer(x, layer, number, first, longest, bias, rotation, explain)
        self.column += 1
        return self.model.logits(stack.norm(x))

    def _layer(
        self,
        x: Float[Tensor, "R D"],
        layer: PreparedLayer,
        number: int,
        first: int,
        longest: int,
        bias: Tensor | None,
        rotation: Rotation | None,
        explain: bool,
    ) -> Float[Tensor, "R D"]:
        past, memory = self._past[number], self._memory[number]
        own, cross = layer.attention, layer.cross
        assert cross is not None and layer.cross_norm is not None

        def look_back(y: Tensor) -> Tensor:
            q, k, v = layer.projection(y).view(len(y), 3, own.heads, 1, own.size).unbind(1)
            if rotation is not None:
                q, k = rotated(q, rotation), rotated(k, rotation)
            past[0, :, :, self.column] = k[:, :, 0]
            past[1, :, :, self.column] = v[:, :, 0]
            seen = past[:, :, :, first : self.column + 1]
            return own.output(attend(q, seen[0], seen[1], bias)[0].flatten(1))

        def look_across(y: Tensor) -> Tensor:
            q = cross.query(y).view(len(self), self.width, cross.heads, cross.size).transpose(1, 2)
            unseen = self._unseen[:, None, None, :longest]
            seen = memory[:, :, :, :longest]
            heads, weights = attend(q, seen[0], seen[1], unseen)
            if explain:
                self.attention = weights.mean(dim=1).flatten(0, 1)
            return cross.output(heads.transpose(1, 2).reshape(len(y), -1))

        x = layer.around(x, layer.attention_norm, look_back)
        x = layer.around(x, layer.cross_norm, look_across)
        return layer.around(x, layer.feed_forward_norm, layer.feed_forward)

    def _bias(self, first: int) -> Float[Tensor, "#R #H 1 W"] | None:
        """-∞ at the columns before a row's start, and the relative bias if there is one."""
        columns = torch.arange(first, self.column + 1, device=self.start.device)
        bias: Tensor | None = None
        if int(self.start.max()) > first:
            early = columns < self.start[:, None]
            bias = torch.zeros(early.shape, dtype=self.model.dtype, device=early.device)
            bias = bias.masked_fill_(early, -torch.inf)[:, None, None]
        relative = self.model.decoder.relative
        if relative is not None:
            distance = (columns - self.column)[None]
            found = buckets(distance, relative.count, relative.farthest, both_ways=False)
            learned = relative.weight.detach()[found].permute(2, 0, 1)[None].to(self.model.dtype)
            bias = learned if bias is None else bias + learned
        return bias

    def _make_room(self) -> None:
        """Move what is still seen to the front; double the columns if that is not enough."""
        oldest, columns = int(self.start.min()), self.tokens.shape[1]
        used = self.column - oldest
        if used > columns // 2:
            self._past = torch.nn.functional.pad(self._past, (0, 0, 0, columns))
            self.tokens = torch.nn.functional.pad(self.tokens, (0, columns))
        if oldest:
            self._past[..., :used, :] = self._past[..., oldest : self.column, :].clone()
            self.tokens[:, :used] = self.tokens[:, oldest : self.column].clone()
        self.start -= oldest
        self.column = used
