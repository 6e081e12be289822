"""Beam search for a decoder-only model: k rows go on with one prompt.

The prompt but for its last token is computed once, in one pass; its last token is then what the
search starts from, as an encoder–decoder starts from its start token, so that decode/beam.py does
the rest.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from regard.decode.active_requests import QueuedSentence
from regard.decode.beam import BeamSearch
from regard.decode.fused import BLOCK
from regard.decode.hypothesis import Hypothesis
from regard.decode.options import NO_RULES, DecodingOptions, Rules
from regard.decode.sample import Session, prompt_constraints, room_after
from regard.model.transformer import Transformer


class PromptRows:
    """Rows that have been fed the same prompt, and what they have been fed since."""

    def __init__(self, model: Transformer, prompt: Sequence[int], width: int) -> None:
        device = next(model.parameters()).device
        self.width = width
        self.attention: Tensor | None = None  # there is no source
        self.ages = torch.zeros(1, dtype=torch.long, device=device)
        self.lengths = torch.ones_like(self.ages)
        self._session, self._fed = Session(model), self.ages.new_zeros(width, 0)
        if len(prompt) > 1:
            self._session.extend(torch.tensor([list(prompt[:-1])], device=device))
            self._session.reorder(self.ages.expand(width))

    def __len__(self) -> int:
        return 1

    def step(self, tokens: Int[Tensor, "1 w"], explain: bool = False) -> Tensor:
        """Feed one token to each row; the logits of what comes next, in whole blocks."""
        assert not explain, "there is no source to look at"
        self._fed = torch.cat((self._fed, tokens.T), dim=1)
        self.ages += 1
        logits = self._session.extend(tokens.T)
        missing = -logits.shape[1] % BLOCK
        return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf)

    def outputs(self) -> tuple[Int[Tensor, "1 w L"], Int[Tensor, " 1"]]:
        """The tokens that each row has put out, and how many they are."""
        return self._fed[None, :, 1:], self.ages - 1

    def output(self, slot: int, row: int) -> list[int]:
        """Those of one row."""
        ids: list[int] = self._fed[row, 1:].tolist()
        return ids

    def reorder(self, parents: Int[Tensor, "1 w"]) -> None:
        """Each row goes on with what the row `parents` has been fed."""
        self._fed = self._fed[parents[0]]
        self._session.reorder(parents[0])


@torch.inference_mode()
def best_continuations(
    model: Transformer,
    prompt: Sequence[int],
    ends: Sequence[int],
    decoding: DecodingOptions,
    rules: Rules = NO_RULES,
) -> list[Hypothesis]:
    """The best `n_best` outputs that follow the prompt, which is no part of them.

    `max_length` counts the tokens of the output; it is never more than the model has room for.
    """
    limit = decoding.limit(len(prompt), room_after(model, prompt))
    constraints = prompt_constraints(prompt, ends, decoding, rules)
    rows = PromptRows(model, prompt, decoding.beam)
    search = BeamSearch(rows, constraints, prompt[-1])
    search.admit([0], [QueuedSentence(0, tuple(prompt), limit)])
    while True:
        for _, _, hypotheses in search.step():
            return hypotheses
