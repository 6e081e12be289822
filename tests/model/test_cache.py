"""Decoding with a cache equals decoding without."""

import pytest
import torch

from regard.model.cache import KeyValues
from regard.model.presets import preset
from regard.model.transformer import Transformer

V = 23


@pytest.mark.parametrize(
    "changes",
    [{}, {"norm_order": "pre"}, {"positions": "learned", "max_length": 70}, {"kv_heads": 1}],
    ids=str,
)
@torch.no_grad()
def test_cached_equals_full(changes: dict[str, object]) -> None:
    model = Transformer(preset("tiny", V, **changes)).double().eval()
    source, target = torch.randint(0, V, (2, 6)), torch.randint(0, V, (2, 40))
    real = torch.arange(6)[None] < torch.tensor([[6], [3]])
    memory = model.encode(source, real)
    full = model.decode(target, memory, real)
    cache = model.new_cache()
    pieces = [1, 1, 3, 1, 20, 1, 13]  # one token at a time, and several
    start, steps = 0, []
    for width in pieces:
        assert cache.length == start
        steps.append(model.decode(target[:, start : start + width], memory, real, cache))
        start += width
    assert torch.allclose(torch.cat(steps, dim=1), full, atol=1e-12)


def test_the_buffer_grows_and_keeps_what_it_held() -> None:
    cache, parts = KeyValues(), [torch.randn(2, 3, n, 5) for n in (1, 1, 4, 1, 9)]
    for part in parts:
        keys, values = cache.append(part, 2 * part)
    assert torch.equal(keys, torch.cat(parts, dim=2))
    assert torch.equal(values, 2 * torch.cat(parts, dim=2))
