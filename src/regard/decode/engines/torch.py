"""The torch engine: the reference, for every family, device and option."""

from collections.abc import Sequence

import torch

from regard.decode.beam import beam_search
from regard.decode.engine import Frame, Layout, Pending, Row
from regard.decode.greedy import greedy
from regard.decode.hypothesis import Hypothesis, Search
from regard.decode.rules import NO_RULES, Rules
from regard.model.transformer import Transformer


class TorchEngine:
    """Searches with a model of ours."""

    name = "torch"

    def __init__(
        self,
        model: Transformer,
        frame: Frame,
        rules: Rules = NO_RULES,
        layout: Layout | None = None,
    ) -> None:
        self.layout = layout or Layout()
        self._model, self._frame, self._rules = model, frame, rules

    def refusal(self, search: Search, prefixed: bool = False) -> str | None:
        return None

    def submit(
        self, sources: Sequence[Row], search: Search, prefixes: Sequence[Row] = ()
    ) -> Pending:
        find = greedy if search.beam == 1 else beam_search
        order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
        answers: list[list[Hypothesis]] = [[] for _ in sources]
        device = next(self._model.parameters()).device
        for first in range(0, len(order), self.layout.batch):
            rows = order[first : first + self.layout.batch]
            longest = max(len(sources[i]) for i in rows)
            ids = torch.full((len(rows), longest), self._frame.pad)
            for n, i in enumerate(rows):
                ids[n, : len(sources[i])] = torch.tensor(list(sources[i]))
            lengths = torch.tensor([len(sources[i]) for i in rows])
            real = torch.arange(longest) < lengths[:, None]
            f = self._frame
            found = find(
                self._model, ids.to(device), real.to(device), f.start, f.end, search, self._rules
            )
            for i, hypotheses in zip(rows, found, strict=True):
                answers[i] = hypotheses
        return lambda: answers

    def score(self, sources: Sequence[Row], targets: Sequence[Row]) -> list[list[float]]:
        raise NotImplementedError

    def close(self) -> None:
        pass
