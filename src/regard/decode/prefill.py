"""Prompts of a decoder-only model, read in one pass: keys and values of every self-attention.

A pass has several prompts of similar length, the shorter ones filled up; the look-ahead mask hides
what fills them up. Attention goes over a prompt in blocks of queries, each of which looks no
further than its end: long prompts take half the time, and memory that grows with their length only.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regard.decode.fused import FEW, FusedLayer, FusedModel, attend, rounded
from regard.model.masks import additive, padded
from regard.model.rotary import rotated

TOKENS = 4096  # of one pass, if that is not a single prompt
QUERIES = 128  # of one block


@torch.inference_mode()
def read_prompts(
    model: FusedModel, prompts: Sequence[Sequence[int]], pad: int
) -> tuple[Float[Tensor, "N 2 B H S K"], Int[Tensor, " B"]]:
    """What each prompt leaves to look back at, and how long it is; a prompt may be empty."""
    spec, longest = model.spec, max(FEW, *map(len, prompts), 0)
    like = torch.zeros(0, dtype=model.dtype, device=model.device)
    shape = (len(model.decoder.layers), 2, len(prompts), spec.heads, longest, spec.k)
    kept = like.new_zeros(shape)
    first = 0
    while first < len(prompts):
        width, last = max(FEW, len(prompts[first])), first + 1
        while last < len(prompts):
            wider = max(width, len(prompts[last]))
            if wider * (last + 1 - first) > TOKENS:
                break
            width, last = wider, last + 1
        rows, _ = padded([*prompts[first:last], [pad] * width], pad, model.device)
        _read(model, rows[:-1], kept[:, :, first:last, :, :width])
        first = last
    return kept, torch.tensor([len(prompt) for prompt in prompts], device=model.device)


def _read(model: FusedModel, rows: Int[Tensor, "B L"], kept: Float[Tensor, "N 2 B H L K"]) -> None:
    """Fill `kept`; the last layer is not computed further than its keys and values."""
    stack, length = model.decoder, rows.shape[1]
    x = model.embedded(model.target_embedding, rows, None)
    rotation = None
    if stack.rotary is not None:
        rotation = stack.rotary(torch.arange(length, device=rows.device)[None])
    relative = None if stack.relative is None else stack.relative(length, length).to(model.dtype)
    for layer, own in zip(stack.layers, kept, strict=True):

        def look_back(y: Tensor, layer: FusedLayer = layer, own: Tensor = own) -> Tensor:
            q, k, v = layer.attention.split(layer.projection(y)).chunk(3, dim=1)
            if rotation is not None:
                q, k = rotated(q, rotation), rotated(k, rotation)
            own[0], own[1] = k, v
            if layer is stack.layers[-1]:
                return y
            return layer.attention.output(_attended(q, k, v, relative).transpose(1, 2).flatten(2))

        x = layer.around(x, layer.attention_norm, look_back)
        if layer is not stack.layers[-1]:
            x = layer.around(x, layer.feed_forward_norm, layer.feed_forward)


def _attended(
    q: Float[Tensor, "B H L K"],
    k: Float[Tensor, "B H L K"],
    v: Float[Tensor, "B H L K"],
    relative: Float[Tensor, "1 H L L"] | None,
) -> Float[Tensor, "B H L K"]:
    """Each query looks at the keys up to its own place."""
    length, blocks = q.shape[2], []
    hides = rounded(length) - length
    k, v = F.pad(k, (0, 0, 0, hides)), F.pad(v, (0, 0, 0, hides))
    places = torch.arange(length + hides, device=q.device)
    for begin in range(0, length, QUERIES):
        end = min(begin + QUERIES, length)
        seen = rounded(end)
        bias = additive(places[:seen] <= places[begin:end, None], q.dtype)
        if relative is not None:
            bias = bias + F.pad(relative, (0, hides))[:, :, begin:end, :seen]
        blocks.append(attend(q[:, :, begin:end], k[:, :, :seen], v[:, :, :seen], bias)[0])
    return torch.cat(blocks, dim=2)
