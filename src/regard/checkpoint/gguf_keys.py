"""Keys of a GGUF file ↔ keys of a config.json, for Llama: no tensor is read, nothing imports torch.

A file says of each number only what llama.cpp asks for. What its keys do not say, its tensors do:
the vocabulary, whether the output matrix is one of its own, which maps have a bias.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from regard.checkpoint.headers.gguf import GgufHeader
from regard.errors import CheckpointError, shown

ARCHITECTURE = "llama"
SHAPED_LIKE = "Llama 1 to 3 and what has its shape: SmolLM, TinyLlama, Mistral 7B of 2023"
EMBEDDING, OUTPUT, STRETCH = "token_embd.weight", "output.weight", "rope_freqs.weight"
# theirs, after "llama." → a key of config.json
KEYS = {
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "context_length": "max_position_embeddings",
    # those below may be missing
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "rope.freq_base": "rope_theta",
}
NEEDED = tuple(KEYS)[:6]
SCALING, FACTOR = "rope.scaling.type", "rope.scaling.factor"
# keys that repeat another one or change no number
FURTHER = ("attention.value_length", "rope.dimension_count", "vocab_size", SCALING, FACTOR,
           "rope.scaling.original_context_length", "rope.scaling.finetuned", "tensor_data_layout",
           "expert_used_count")  # fmt: skip
# role → the tokenizer's key for its id; several may end a text
ROLES = {
    "bos": ("bos_token_id",),
    "eos": ("eos_token_id", "eot_token_id", "eom_token_id"),
    "pad": ("padding_token_id",),
    "unk": ("unknown_token_id",),
}


def config_of(header: GgufHeader, path: Path) -> dict[str, Any]:
    """What a config.json would say of the same model."""
    said = _said(header, path)
    rows = _rows(header, path)
    names = header.extents
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": rows,
        **{ours: said[theirs] for theirs, ours in KEYS.items() if theirs in said},
        "tie_word_embeddings": OUTPUT not in names,
        "attention_bias": "blk.0.attn_q.bias" in names,
        "mlp_bias": "blk.0.ffn_up.bias" in names,
        "rope_scaling": _stretched(said, path),
        **_ids(header, rows, path),
    }
    _check_repeats(config, said, path)
    return config


def _said(header: GgufHeader, path: Path) -> dict[str, Any]:
    """The keys of the architecture, which must be the one that there is; all of them are known."""
    values = header.values
    name = values.get("general.architecture")
    if name != ARCHITECTURE:
        raise CheckpointError(
            path, "the architecture of this GGUF file", got=name if name is not None else "none",
            expected=f"{ARCHITECTURE} ({SHAPED_LIKE})",
        )  # fmt: skip
    prefix = f"{ARCHITECTURE}."
    said = {key.removeprefix(prefix): v for key, v in values.items() if key.startswith(prefix)}
    for key in NEEDED:
        if key not in said:
            raise CheckpointError(path, f"key {prefix + key!r} is missing")
    unknown = [key for key in said if key not in (*KEYS, *FURTHER) and _asks(said[key])]
    if unknown:
        told = ", ".join(f"{prefix}{key} = {shown(said[key])}" for key in unknown[:5])
        raise CheckpointError(path, f"regard does not know what these keys ask for: {told}")
    for key, value in said.items():
        if not isinstance(value, bool | int | float | str):
            where = f"{path}: {prefix}{key}"
            raise CheckpointError(where, "a list, one for each layer", expected="one value")
        if isinstance(value, float):  # 1e-5 was written as the nearest of 32 bits
            said[key] = float(str(np.float32(value)))
    return said


def _asks(value: Any) -> bool:
    """Whether a key that nobody knows may change something."""
    return not isinstance(value, int | float) or value != 0


def _rows(header: GgufHeader, path: Path) -> int:
    """How many tokens the embedding has; the tokenizer may not know more."""
    embedding = header.extents.get(EMBEDDING)
    if embedding is None or len(embedding.shape) != 2:
        raise CheckpointError(path, f"tensor {EMBEDDING!r} is missing, or no table")
    rows = embedding.shape[0]
    tokens = header.values.get("tokenizer.ggml.tokens")
    if isinstance(tokens, list) and len(tokens) > rows:
        problem = f"the tokenizer knows {len(tokens)} tokens, the weights {rows}"
        raise CheckpointError(path, problem, advice="the file was put together of two models")
    return rows


def _check_repeats(config: Mapping[str, Any], said: Mapping[str, Any], path: Path) -> None:
    """Keys that repeat a size have that size."""
    heads, size = config["num_attention_heads"], config["hidden_size"]
    by_formula = size // heads if isinstance(heads, int) and heads and isinstance(size, int) else 0
    width = config.get("head_dim", by_formula)
    repeated = {
        "vocab_size": config["vocab_size"],
        "rope.dimension_count": width,
        "attention.value_length": width,
    }
    for key, value in repeated.items():
        if said.get(key, value) != value:
            where = f"{path}: {ARCHITECTURE}.{key}"
            raise CheckpointError(
                where, got=said[key], expected=f"{value}, as the rest of the file says"
            )


def _stretched(said: Mapping[str, Any], path: Path) -> dict[str, Any] | None:
    """How positions are stretched, as far as a key says it; a tensor may say it too."""
    kind = said.get(SCALING, "none")
    if kind not in ("none", "linear"):
        where = f"{path}: {ARCHITECTURE}.{SCALING}"
        raise CheckpointError(where, got=kind, expected="none or linear")
    return None if kind == "none" else {"rope_type": kind, "factor": said.get(FACTOR, 1.0)}


def _ids(header: GgufHeader, rows: int, path: Path) -> dict[str, Any]:
    """The ids of the roles; of several that end a text a list, the first of them the main one."""
    ids: dict[str, Any] = {}
    for role, keys in ROLES.items():
        found: list[int] = []
        for key in keys:
            value = header.values.get(f"tokenizer.ggml.{key}")
            if value is None or value in found:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < rows:
                where = f"{path}: tokenizer.ggml.{key}"
                raise CheckpointError(where, got=value, expected=f"an id, 0 to {rows - 1}")
            found.append(value)
        if found:
            ids[f"{role}_token_id"] = found[0] if len(found) == 1 else found
    return ids


def keys_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the architecture, for a config that a family's table has written."""
    keys = {theirs: config[ours] for theirs, ours in KEYS.items() if config.get(ours) is not None}
    width = config["head_dim"]
    keys |= {"attention.value_length": width, "rope.dimension_count": width}
    keys["vocab_size"] = config["vocab_size"]
    scaling = config.get("rope_scaling") or {}
    if scaling.get("rope_type") == "linear":
        keys |= {SCALING: "linear", FACTOR: scaling["factor"]}
    return keys
