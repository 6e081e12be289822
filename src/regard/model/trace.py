"""A trace: the numbers of one forward pass, by name, for those who want to look.

    trace = Trace()
    model(..., trace=trace)
    trace["decoder.0.cross.weights"]        # (B, H, L, S)

A trace is an argument; a module never keeps numbers of a pass on itself. `within` names a part, so
that each module only knows its own names. Giving a trace selects the explicit attention path.
"""

from collections.abc import Iterator

from torch import Tensor


class Trace:
    """Named tensors, in the order in which the pass made them."""

    def __init__(self, store: dict[str, Tensor] | None = None, prefix: str = "") -> None:
        self._store: dict[str, Tensor] = {} if store is None else store
        self._prefix = prefix

    def within(self, part: str) -> "Trace":
        """The same trace, recording under `part.`"""
        return Trace(self._store, f"{self._prefix}{part}.")

    def record(self, name: str, value: Tensor) -> None:
        self._store[self._prefix + name] = value.detach()

    def __getitem__(self, name: str) -> Tensor:
        return self._store[self._prefix + name]

    def __contains__(self, name: object) -> bool:
        return f"{self._prefix}{name}" in self._store

    def __iter__(self) -> Iterator[str]:
        return iter(self._store)


def within(trace: Trace | None, part: str | int) -> Trace | None:
    """`trace.within(part)` where there is a trace."""
    return None if trace is None else trace.within(str(part))
