"""What an output may not contain: decoding options and rules of the model, on the logits.

Options (minimum length, repetition penalty, no n-gram twice) change the logits before the softmax,
so that log p is that of the changed distribution; by the convention of transformers
(decode/options.py) they change log p where there is a beam, and see the `context` too. Rules (ids
never output, forced beginnings and ends) come after it: what they forbid keeps its share (unless
another rule shares it out), so that a score stays comparable with that of another library on the
same weights; a token that a *rule* forces counts as certain. A token of a given prefix comes
whatever the options and rules say, with the log p that the model gives it.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.best import log_sum_exp
from regard.decode.engine import NO_END
from regard.decode.options import DecodingOptions, Rules
from regard.decode.tree_mask import TreeWords

NO_PREFIX = -1


@dataclass(frozen=True)
class Constraints:
    """All that limits an output, whatever the search is."""

    decoding: DecodingOptions
    rules: Rules
    end: int
    context: tuple[int, ...] = ()  # tokens before every output, where these count as there already

    @property
    def ends(self) -> tuple[int, ...]:
        """Every id that ends an output."""
        return (self.end, *self.rules.also_ends)

    def apply(
        self,
        logits: Float[Tensor, "R V"],
        outputs: Int[Tensor, "R W"],
        real: Bool[Tensor, "R W"],
        limits: Int[Tensor, " R"],
        prefix: Int[Tensor, " R"] | None = None,
        prompts: Int[Tensor, "R P"] | None = None,
        trees: TreeWords | None = None,
    ) -> Float[Tensor, " R"]:
        """Change the logits in place; returns what to subtract from them to have log p.

        A row of `outputs` begins with its tokens, which are `real`; `limits` has the most tokens
        it may have, `prefix` the token that must come next, or NO_PREFIX. `prompts` has what each
        row goes on with, NO_PREFIX behind it, where the constraints see prompts; `trees` the words
        of its source, where the output is a tree over them.
        """
        decoding, rules = self.decoding, self.rules
        forced = None if prefix is None else prefix != NO_PREFIX
        untouched = None if forced is None else logits[forced]
        if decoding.changes_log_p:
            logits -= log_sum_exp(logits)[:, None]
        self._penalise(logits, outputs, real, prompts)
        lengths = real.sum(dim=1)
        if decoding.min_length:
            short = (lengths < decoding.min_length)[:, None]
            logits[:, list(self.ends)] = logits[:, list(self.ends)].masked_fill(short, -torch.inf)
        total = torch.zeros_like(logits[:, 0]) if decoding.changes_log_p else log_sum_exp(logits)
        if rules.never:
            logits[:, list(rules.never)] = -torch.inf
        if trees is not None:
            mask = trees.mask(outputs, real, limits, logits.shape[1])
            logits.masked_fill_(~mask, -torch.inf)
            total = torch.where(mask.sum(dim=1) == 1, logits.amax(dim=1), total)
        # when every token is used up, only the end is left
        if decoding.no_repeat_ngram and self.end != NO_END:
            stuck = logits.amax(dim=1) == -torch.inf
            _force(logits, stuck, self.end, total.masked_fill_(stuck, 0.0))
        if rules.first is not None:
            begins = lengths == 0
            if prompts is not None:  # more than one token, and the text has begun
                begins = begins & ((prompts != NO_PREFIX).sum(dim=1) <= 1)
            _force(logits, begins, rules.first, total)
        if rules.must_end:
            _force(logits, lengths + 1 == limits, self.end, total)
        if rules.shares_out:
            total = log_sum_exp(logits)
        if prefix is not None and forced is not None and untouched is not None:
            only, wanted = torch.full_like(untouched, -torch.inf), prefix[forced, None]
            logits[forced] = only.scatter_(1, wanted, untouched.gather(1, wanted))
            total[forced] = log_sum_exp(untouched)
        return total

    @property
    def see_prompts(self) -> bool:
        """Whether what an output goes on with makes a difference."""
        theirs = self.decoding.convention == "transformers" and self._penalises
        return theirs or self.rules.first is not None

    @property
    def _penalises(self) -> bool:
        return self.decoding.repetition_penalty != 1.0 or self.decoding.no_repeat_ngram > 0

    def _penalise(
        self, logits: Tensor, outputs: Tensor, real: Tensor, prompts: Tensor | None
    ) -> None:
        """What is there already becomes less likely, or cannot come."""
        decoding = self.decoding
        if decoding.convention == "transformers" and self._penalises:
            before = outputs.new_tensor(self.context).expand(len(outputs), -1)
            if prompts is not None and prompts.shape[1]:
                before = prompts
            outputs, real = _behind(before, outputs, real)
        if decoding.repetition_penalty != 1.0:
            _lower(logits, _counted(outputs, real, logits), decoding.repetition_penalty)
        if decoding.no_repeat_ngram:
            repeating = _repeating(outputs, real, decoding.no_repeat_ngram, logits)
            logits.masked_fill_(repeating, -torch.inf)

    def __bool__(self) -> bool:
        """Whether there are any, beside a prefix."""
        return bool(self._penalises or self.decoding.min_length or self.rules)


def _behind(
    before: Int[Tensor, "R P"], outputs: Int[Tensor, "R W"], real: Bool[Tensor, "R W"]
) -> tuple[Int[Tensor, "R both"], Bool[Tensor, "R both"]]:
    """Each row of outputs behind what was there before, without a gap."""
    both = torch.cat((before, outputs), dim=1)
    kept = torch.cat((before != NO_PREFIX, real), dim=1)
    order = torch.sort(~kept, dim=1, stable=True).indices
    return both.gather(1, order).clamp(min=0), kept.gather(1, order)


def _force(logits: Tensor, rows: Bool[Tensor, " R"], token: int, certain: Tensor) -> None:
    """Only this token, as if it were certain: logit - total = 0."""
    logits[rows] = -torch.inf
    logits[rows, token] = certain[rows]


def _counted(outputs: Tensor, real: Tensor, logits: Tensor) -> Bool[Tensor, "R V"]:
    """Which tokens each row has already."""
    return torch.zeros_like(logits).scatter_add_(1, outputs, real.to(logits.dtype)) > 0


def _lower(logits: Tensor, present: Bool[Tensor, "R V"], penalty: float) -> None:
    """Make what is present less likely: positive logits ÷ penalty, negative ones × penalty."""
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    logits.copy_(torch.where(present, lowered, logits))


def _repeating(
    outputs: Int[Tensor, "R W"], real: Bool[Tensor, "R W"], n: int, logits: Tensor
) -> Bool[Tensor, "R V"]:
    """The tokens that would complete n in a row that are there already."""
    forbidden = torch.zeros_like(logits)
    if outputs.shape[1] < n:
        return forbidden > 0
    windows, whole = outputs.unfold(1, n, 1), real.unfold(1, n, 1).all(dim=-1)
    ends = real.sum(dim=1, keepdim=True)
    last = torch.arange(1 - n, 0, device=outputs.device) + ends
    latest = outputs.gather(1, last.clamp(min=0))[:, None]
    again = whole & (windows[..., : n - 1] == latest).all(dim=-1)
    return forbidden.scatter_add_(1, windows[..., n - 1], again.to(logits.dtype)) > 0
