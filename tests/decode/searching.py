"""Small models of every kind, and ways to search with them that tests share."""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.decode.engine import Frame, Hypothesis, Layout
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import NO_RULES, DecodingOptions, Rules
from regard.model.presets import preset
from regard.model.transformer import Transformer

PAD, START, END = 0, 1, 2
FRAME = Frame(PAD, START, END)
SIZE = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 2, "heads": 4, "ffn_size": 24}

# What differs from the paper's model; vocabularies that fill whole blocks of 64 and that do not.
KINDS = {
    "post": {},
    "pre": {"norm_order": "pre", "vocabulary": 64},
    "rotary": {"positions": "rotary", "encoder_layers": 2},
    "t5": {
        "positions": "relative",
        "norm": "rms",
        "norm_order": "pre",
        "gated": True,
        "activation": "gelu_tanh",
        "attention_bias": False,
        "ffn_bias": False,
        "score_scale": False,
        "head_size": 3,
        "output_scale": True,
        "vocabulary": 128,
    },
    "grouped": {"positions": "learned", "max_length": 40, "kv_heads": 2, "decoder_layers": 1},
    "marian": {"positions": "halves", "output_bias": True, "activation": "silu"},
    "tied": {"tie": "all", "positions": "learned", "embedding_norm": True},
    "bert-like": {"output_transform": True, "output_bias": True, "qkv_bias": False},
}
# Seeds whose outputs differ from sentence to sentence and end at many lengths.
SEEDS = {"post": 27, "pre": 36, "rotary": 16, "t5": 8, "grouped": 1, "marian": 0, "tied": 38}


def make(kind: str = "post", seed: int | None = None, **changes: object) -> Transformer:
    """A model of this kind, random but lively: no flat distributions, outputs vary and end."""
    spec = {"vocabulary": 71, "tie": "none", **SIZE, **KINDS[kind], **changes}
    vocabulary = spec.pop("vocabulary")
    model = Transformer(preset("tiny", vocabulary, **spec))
    generator = torch.Generator().manual_seed(SEEDS.get(kind, 30) if seed is None else seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:
                parameter.add_(0.1 * noise)
            else:  # all directions alike: what comes next depends on what came, not on a bias
                parameter.copy_(2 * noise / parameter.shape[1] ** 0.5)
        model.output.weight[END] *= 3  # so that the end comes sooner or later
    return model.double().eval()


def sentences(count: int, vocabulary: int, longest: int = 14, seed: int = 0) -> list[list[int]]:
    """Random sources of mixed lengths, each with its end token."""
    chance = random.Random(seed)
    return [
        [*(chance.randrange(3, vocabulary) for _ in range(chance.randrange(longest))), END]
        for _ in range(count)
    ]


def search_with(
    model: Transformer,
    rows: Sequence[Sequence[int]],
    search: DecodingOptions,
    rules: Rules = NO_RULES,
    layout: Layout | None = None,
    prefixes: Sequence[Sequence[int]] = (),
    frame: Frame = FRAME,
) -> list[list[Hypothesis]]:
    """What the torch engine finds for these rows."""
    engine = TorchEngine(model, frame, rules, layout)
    try:
        return engine.submit(rows, search, prefixes)()
    finally:
        engine.close()


def search_rows(
    model: Transformer,
    source: Tensor,
    real: Tensor,
    start: int,
    end: int,
    search: DecodingOptions,
    rules: Rules = NO_RULES,
) -> list[list[Hypothesis]]:
    """The same for a padded batch: `real` says which of the ids in `source` are tokens."""
    rows = [ids[kept].tolist() for ids, kept in zip(source, real, strict=True)]
    return search_with(model, rows, search, rules, frame=Frame(PAD, start, end))
