"""The keys of config.json that change what a model computes, from the classes of `transformers`.

    python tools/make_config_keys.py

Writes src/regard/checkpoint/families/config_keys.json (read by families/config_keys.py). A class
names its keys; which of them say nothing about the numbers is told here, and
tests/checkpoint/test_config_keys.py compares what gets through with `transformers` itself.
"""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto import modeling_auto as auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from regard.checkpoint.families.config import HARMLESS
from regard.checkpoint.published import FAMILIES

TARGET = Path("src/regard/checkpoint/families/config_keys.json")
# Classes that a family could be mistaken for: those for the same kind of input.
TEXT = (
    auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)
IMAGE = (auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,)
# Training, ids of tokens, losses, what is handed back: not the numbers of a forward pass.
NOT_COMPUTED = re.compile(
    r".*(drop|init|token_id|token_index|_index$|loss|label|coef$|_cache$|jitter|_std$|_prob$)"
    r".*|return_.*|output_\w+|mask_(time|feature)_.*|.*languages?|langs?|seed|hash_seed"
    r"|vocab_list|vocabulary_map|sampling_rate|train_size|onnx_export|num_logits_to_keep|bi_data"
    # left over from other families in files that all their readers pass over: sizes that the
    # tensors show, and a limit of windows that nothing opens
    r"|embedding_size|n_ctx|max_window_layers|max_seq_len"
)


def classes(mappings: tuple[Any, ...]) -> set[Any]:
    names = {name for mapping in mappings for name in mapping}
    return {CONFIG_MAPPING[name] for name in names & set(CONFIG_MAPPING.keys())}


def keys_of(kind: set[Any]) -> list[str]:
    """The keys of these classes that change a computation, and other names for them."""
    names = {field.name for one in kind for field in dataclasses.fields(one)}
    names |= {alias for one in kind for alias in one.attribute_map}
    return sorted(n for n in names - HARMLESS if not NOT_COMPUTED.fullmatch(n))


def table() -> dict[str, Any]:
    return {
        "transformers": transformers.__version__,
        "aliases": {n: a for n in FAMILIES if (a := dict(CONFIG_MAPPING[n].attribute_map))},
        "text": keys_of(classes(TEXT)),
        "image": keys_of(classes(IMAGE)),
        "generation": sorted(transformers.GenerationConfig().to_dict()),
    }


def main() -> None:
    TARGET.write_text(json.dumps(table(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
