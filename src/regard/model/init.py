"""How the weights start.

what                         distribution
linear maps                  Xavier uniform: U(±√(6 / (fan_in + fan_out))), biases 0
W_Q, W_K, W_V                the same times 1/√2, as if the three were one matrix
embeddings, output matrix    N(0, 1/d_model), so that × √d_model gives entries of size 1
learned positions, segments, class token, relative bias     N(0, 0.02²)
positions of patches, in a model with sinusoids             sinusoids of row and column
norms                        γ = 1, β = 0

Where scores are not divided by √d_k, W_Q is: so T5 begins. Where the output is divided by √d_model
instead of the embedding being multiplied by it, embeddings are N(0, 1). So is one that nothing
multiplies or normalises and that is not the output matrix too: its words must be as large as what
the first sub-layers add to them, or they are lost in it. Where it is the output matrix too, words
stay small, and so is what is added: the last map of each of the n sub-layers is divided by √n
(GPT-2: Radford et al. 2019, section 2.3).

The factor of W_Q and W_K halves the scores that attention begins with. Without it a post-norm model
at a high rate makes its weights sharp before they mean anything
(docs/decisions/0007-initial-weights.md).
"""

import math
from collections.abc import Collection

import torch
from torch import nn

from regard.model.attention import MultiHeadAttention
from regard.model.embedding import Embedding
from regard.model.feed_forward import FeedForward
from regard.model.output import Output
from regard.model.patches import Patches
from regard.model.positions import Positions, waves_of_patches
from regard.model.relative import RelativeBias


def initialise(model: nn.Module, seed: int, also_output: Collection[Embedding | None] = ()) -> None:
    """Fill every weight of the model, reproducibly for a seed, whatever was drawn before.

    Matrices are made one after this: `also_output` are embeddings that will be the output's too.
    """
    generator = torch.Generator().manual_seed(seed)
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    joined = {
        m for attention in attentions for m in (attention.query, attention.key, attention.value)
    }
    unscaled = {a.query: a.size**-0.5 for a in attentions if not a.scale}
    divided = any(m.scale != 1.0 for m in model.modules() if isinstance(m, Output))
    for module in model.modules():
        if isinstance(module, nn.Linear):
            gain = (2**-0.5 if module in joined else 1.0) * unscaled.get(module, 1.0)
            nn.init.xavier_uniform_(module.weight, gain, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, Embedding | Output):
            bare = isinstance(module, Embedding) and _is_bare(module)
            plain = divided or (bare and module not in also_output)
            std = 1.0 if plain else module.weight.shape[1] ** -0.5
            nn.init.normal_(module.weight, std=std, generator=generator)
        elif isinstance(module, nn.LayerNorm | nn.RMSNorm):
            module.reset_parameters()
        for table in _tables(module):
            nn.init.normal_(table, std=0.02, generator=generator)
        if isinstance(module, Patches) and module.begins_with_waves:
            side = math.isqrt(len(module.table) - 1)
            with torch.no_grad():
                module.table[1:] = waves_of_patches(side, module.table.shape[1])
    if any(embedding is not None and _is_bare(embedding) for embedding in also_output):
        _add_less(model)


def _is_bare(embedding: Embedding) -> bool:
    """Whether its rows go into the first layer as they are."""
    return embedding.scale == 1.0 and isinstance(embedding.norm, nn.Identity)


@torch.no_grad()
def _add_less(model: nn.Module) -> None:
    """Divide what sub-layers add to the residual sum by the root of how many there are."""
    writers = [
        module.output if isinstance(module, MultiHeadAttention) else module.outer
        for module in model.modules()
        if isinstance(module, MultiHeadAttention | FeedForward)
    ]
    for last in writers:
        last.weight /= len(writers) ** 0.5


def _tables(module: nn.Module) -> list[nn.Parameter]:
    """Learned vectors that are no matrix of words: positions, segments, a class token, a bias."""
    tables: list[nn.Parameter | None] = []
    if isinstance(module, Positions):
        tables = [module.table]
    elif isinstance(module, Embedding):
        tables = [module.segments]
    elif isinstance(module, Patches):
        tables = [module.token, module.table]
    elif isinstance(module, RelativeBias):
        tables = [module.weight]
    return [table for table in tables if table is not None]
