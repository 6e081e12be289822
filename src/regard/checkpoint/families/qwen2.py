"""Qwen 2 and 2.5: Llama whose queries, keys and values have a bias; no sliding windows."""

from dataclasses import replace
from typing import Any

from regard.checkpoint.families.config import Config
from regard.checkpoint.families.family import ReadFields
from regard.checkpoint.families.llama import FIXED, LLAMA, WITHOUT_BIASES, head_and_positions
from regard.model.spec import Spec

ARCHITECTURES = {"tokens": "Qwen2ForCausalLM", "none": "Qwen2Model"}
WINDOWS = "use_sliding_window"


def _computed(config: Config, names: frozenset[str], read: ReadFields) -> dict[str, Any]:
    config.expect("layer_types", ["full_attention"] * read["decoder_layers"])
    return head_and_positions(config, names, read, ARCHITECTURES["none"])


def _written(spec: Spec) -> dict[str, Any]:
    return {**LLAMA.written(spec), WINDOWS: False}


QWEN2 = replace(
    LLAMA,
    name="qwen2",
    architectures=ARCHITECTURES,
    sign=r"layers\.\d+\.self_attn\.q_proj\.bias",
    never=r"layers\.\d+\.self_attn\.o_proj\.bias",  # a Llama with all four
    fields=WITHOUT_BIASES,
    fixed={**FIXED, "attention_bias": True, "o_bias": False, "ffn_bias": False},
    computed=_computed,
    written=_written,
    expected={WINDOWS: False},
    harmless=("sliding_window", "max_window_layers"),  # of windows that are not used
)
