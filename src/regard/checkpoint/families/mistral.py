"""Mistral: a Llama without biases; models that look at all that was said, not through a window."""

from dataclasses import replace
from typing import Any

from regard.checkpoint.families.config import Config
from regard.checkpoint.families.family import ReadFields
from regard.checkpoint.families.fields import Field
from regard.checkpoint.families.llama import FIXED, LLAMA, WITHOUT_BIASES, head_and_positions
from regard.model.spec import Spec

ARCHITECTURES = {"tokens": "MistralForCausalLM", "none": "MistralModel"}
WINDOW = "sliding_window"


def _computed(config: Config, names: frozenset[str], read: ReadFields) -> dict[str, Any]:
    config.expect_null(WINDOW)  # left out, it is 4,096 tokens
    return head_and_positions(config, names, read, ARCHITECTURES["none"])


def _written(spec: Spec) -> dict[str, Any]:
    return {**LLAMA.written(spec), WINDOW: None}


MISTRAL = replace(
    LLAMA,
    name="mistral",
    architectures=ARCHITECTURES,
    fields={
        **WITHOUT_BIASES,
        "num_key_value_heads": Field("kv_heads", int, 8),
        "max_position_embeddings": Field("max_length", int, 131_072),
    },
    fixed={**FIXED, "attention_bias": False, "ffn_bias": False},
    computed=_computed,
    written=_written,
    expected={},
    harmless=(),
)
