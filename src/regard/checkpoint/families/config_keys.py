"""Which keys of a config.json change what a model computes: a table, made from `transformers`.

tools/make_config_keys.py writes config_keys.json from the configuration classes of the version
that the tests run with. A key of any class for text (or for images) may change a model for that;
one that its family does not read is refused. A key of no class is unknown.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# What no class lists any more, and files have: weights in another form, parts cut out or shared.
OLDER = {
    "quantization_config", "compression_config", "pruned_heads", "tie_encoder_decoder",
    "rotary_pct", "rotary_emb_base",
}  # fmt: skip


@dataclass(frozen=True)
class ConfigKeys:
    """The table."""

    aliases: dict[str, dict[str, str]]  # family → another name of a key → the key
    text: frozenset[str]
    image: frozenset[str]
    generation: frozenset[str]  # how text is made: older files have it in config.json


@cache
def config_keys() -> ConfigKeys:
    """The table that lies beside this file."""
    table = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return ConfigKeys(
        table["aliases"],
        frozenset(table["text"]) | OLDER,
        frozenset(table["image"]) | OLDER,
        frozenset(table["generation"]),
    )
