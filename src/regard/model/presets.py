"""Named sizes: the paper's base and big, every row of its Table 3, and two for ordinary machines.

Each is what differs from the base model (the defaults of `Spec`). In rows A and B the paper varies
the head size with the number of heads, or alone; rows whose parameters equal base's (D: dropout,
label smoothing ε) differ only in training, and ε is a key of the recipe, not of the model.
"""

from typing import Any

from regard.config import build
from regard.errors import ConfigError, nearest, shown
from regard.model.spec import Spec

_GPT = {
    "encoder_layers": 0,
    "norm_order": "pre",
    "activation": "gelu_tanh",
    "embedding_scale": False,
    "positions": "learned",
}
_LLAMA = {
    "encoder_layers": 0,
    "norm_order": "pre",
    "norm": "rms",
    "activation": "silu",
    "gated": True,
    "attention_bias": False,
    "ffn_bias": False,
    "embedding_scale": False,
    "positions": "rotary",
}
_T5 = {
    "norm_order": "pre",
    "norm": "rms",
    "norm_epsilon": 1e-6,
    "activation": "gelu_tanh",
    "gated": True,
    "score_scale": False,
    "attention_bias": False,
    "ffn_bias": False,
    "embedding_scale": False,
    "tie": "embeddings",
    "positions": "relative",
}
_VIT = {
    "decoder_layers": 0,
    "norm_order": "pre",
    "norm_epsilon": 1e-12,
    "activation": "gelu",
    "positions": "learned",
}
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"d_model": 128, "encoder_layers": 4, "decoder_layers": 4, "heads": 4, "ffn_size": 256},
    "small": {
        "d_model": 256,
        "encoder_layers": 3,
        "decoder_layers": 3,
        "heads": 4,
        "ffn_size": 1024,
    },
    "base": {},
    # Decoders: like GPT-2, and like Llama, in sizes for ordinary machines
    "gpt-tiny": {**_GPT, "d_model": 128, "decoder_layers": 4, "heads": 4, "ffn_size": 512},
    "gpt-small": {**_GPT, "d_model": 256, "decoder_layers": 6, "heads": 8, "ffn_size": 1024},
    "llama-tiny": {**_LLAMA, "d_model": 128, "decoder_layers": 4, "heads": 4, "ffn_size": 352},
    "llama-small": {**_LLAMA, "d_model": 256, "decoder_layers": 6, "heads": 8, "ffn_size": 704},
    # An encoder and a decoder like T5 1.1, whose output matrix is its own: the one matrix of T5 1.0
    # begins with entries of size 1, and Adam's small steps take long to move it
    "t5-tiny": {
        **_T5,
        "d_model": 128,
        "encoder_layers": 4,
        "decoder_layers": 4,
        "heads": 4,
        "ffn_size": 352,
    },
    "t5-small": {
        **_T5,
        "d_model": 256,
        "encoder_layers": 4,
        "decoder_layers": 4,
        "heads": 8,
        "ffn_size": 704,
    },
    # Encoders of pictures like ViT; image_size, patch_size and channels are those of the data
    "vit-tiny": {**_VIT, "d_model": 128, "encoder_layers": 4, "heads": 4, "ffn_size": 256},
    "vit-small": {**_VIT, "d_model": 192, "encoder_layers": 6, "heads": 6, "ffn_size": 768},
    "big": {"d_model": 1024, "ffn_size": 4096, "heads": 16, "dropout": 0.3},
    # Table 3 (A): number of heads at constant computation
    "paper-A-h1": {"heads": 1, "head_size": 512},
    "paper-A-h4": {"heads": 4, "head_size": 128},
    "paper-A-h16": {"heads": 16, "head_size": 32},
    "paper-A-h32": {"heads": 32, "head_size": 16},
    # Table 3 (B): key size alone
    "paper-B-dk16": {"head_size": 16},
    "paper-B-dk32": {"head_size": 32},
    # Table 3 (C): depth and width
    "paper-C-N2": {"encoder_layers": 2, "decoder_layers": 2},
    "paper-C-N4": {"encoder_layers": 4, "decoder_layers": 4},
    "paper-C-N8": {"encoder_layers": 8, "decoder_layers": 8},
    "paper-C-d256": {"d_model": 256, "head_size": 32},
    "paper-C-d1024": {"d_model": 1024, "head_size": 128},
    "paper-C-ff1024": {"ffn_size": 1024},
    "paper-C-ff4096": {"ffn_size": 4096},
    # Table 3 (D): dropout (label smoothing 0.0 and 0.2: `train.label_smoothing` of the recipe)
    "paper-D-P0.0": {"dropout": 0.0},
    "paper-D-P0.2": {"dropout": 0.2},
    "paper-D-e0.0": {},
    "paper-D-e0.2": {},
    # Table 3 (E): learned positions instead of sinusoids
    "paper-E-learned": {"positions": "learned"},
}


def preset(name: str, vocabulary: int, **changes: Any) -> Spec:
    """The spec of a named size with a vocabulary, and with single fields changed, all checked."""
    if name not in PRESETS:
        raise ConfigError("preset", f"unknown name {shown(name)}", advice=nearest(name, PRESETS))
    return build(Spec, {"vocabulary": vocabulary, **PRESETS[name], **changes}, f"preset {name}")
