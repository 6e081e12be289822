"""The key–value cache: what attention has projected before is kept, not computed again.

`Cache` is handed to the decoder as an argument and holds, for each layer, the keys and values of
the output so far (growing by one position a step) and those of the memory (projected once). (The
torch engine, whose rows change places, has a cache of its own: decode/slots.py.)
"""

from jaxtyping import Float, Int
from torch import Tensor


class KeyValues:
    """Keys and values of one attention, in a buffer that doubles when it is full."""

    def __init__(self) -> None:
        self._keys: Tensor | None = None
        self._values: Tensor | None = None
        self.length = 0

    def append(
        self, keys: Float[Tensor, "B G L K"], values: Float[Tensor, "B G L K"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S K"]]:
        """All keys and values so far, with these at the end."""
        end = self.length + keys.shape[2]
        if self._keys is None or self._values is None:
            self._keys, self._values = keys, values
        elif end > self._keys.shape[2]:
            self._keys = _grown(self._keys, self.length, 2 * end)
            self._values = _grown(self._values, self.length, 2 * end)
        if self.length:
            self._keys[:, :, self.length : end] = keys
            self._values[:, :, self.length : end] = values
        self.length = end
        return self.all()

    def all(self) -> tuple[Tensor, Tensor]:
        assert self._keys is not None and self._values is not None
        return self._keys[:, :, : self.length], self._values[:, :, : self.length]

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Row i goes on with what row `rows[i]` holds."""
        if self._keys is not None and self._values is not None:
            self._keys, self._values = self._keys[rows], self._values[rows]


def _grown(buffer: Tensor, used: int, capacity: int) -> Tensor:
    batch, groups, _, size = buffer.shape
    larger = buffer.new_empty(batch, groups, capacity, size)
    larger[:, :, :used] = buffer[:, :, :used]
    return larger


class LayerCache:
    """One decoder layer's two caches: of its own output so far, and of the memory."""

    def __init__(self) -> None:
        self.past = KeyValues()
        self.memory = KeyValues()


class Cache:
    """The caches of all decoder layers; `length` positions have been decoded."""

    def __init__(self, layers: int) -> None:
        self.layers = [LayerCache() for _ in range(layers)]

    @property
    def length(self) -> int:
        return self.layers[0].past.length

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Row i goes on with what row `rows[i]` has decoded; there may be more rows than before."""
        for layer in self.layers:
            layer.past.reorder(rows)
            layer.memory.reorder(rows)
