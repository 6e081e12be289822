"""How the vectors of a text's tokens become one: what a folder says about it.

A folder in the layout of sentence-transformers says how; without it, the mean.

    modules.json                       Transformer, Pooling, Normalize: which steps there are
    1_Pooling/config.json              mean, cls (the first token) or max; several: side by side
    sentence_bert_config.json          the most tokens of a text; lower case
    config_sentence_transformers.json  a prompt that stands before each text

    normalise v / |v|; how v is made, model/pool.py
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.checkpoint.files import MAX_CONFIG, read_config_file
from regard.errors import CheckpointError, shown
from regard.untrusted import member, read_small_file, strict_json

MODES = ("mean", "cls", "max")  # those that model/pool.py computes
STEPS = ("Transformer", "Pooling", "Normalize")
# what 1_Pooling/config.json of older folders says → the mode; the vectors stand in this order
OLDER_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


@dataclass(frozen=True)
class Pooling:
    """How the vectors of a text's tokens become one."""

    modes: tuple[str, ...] = ("mean",)
    normalise: bool = False
    limit: int | None = None  # tokens of a text, special ones included
    lower_case: bool = False
    prompt: str = ""


def read_pooling(folder: Path) -> Pooling:
    """The pooling of a folder; the mean of all tokens where it has no modules.json."""
    if not (folder / "modules.json").is_file():
        return Pooling()
    path = member(folder, "modules.json")
    modes: tuple[str, ...] = ()
    steps = list(_steps(path, strict_json(read_small_file(path, MAX_CONFIG), str(path))))
    for step, place in steps:
        if step == "Pooling":
            modes = _modes(folder, place)
        elif step == "Transformer" and place:
            advice = "load that folder, or move its files"
            raise CheckpointError(path, f"the weights lie in {shown(place)}", advice=advice)
    if [step for step, _ in steps][:2] != ["Transformer", "Pooling"] or len(steps) > 3:
        names = ", ".join(step for step, _ in steps)
        raise CheckpointError(path, f"got the steps {names}", expected=", ".join(STEPS))
    settings = _optional(folder, "sentence_bert_config.json")
    prompts = _optional(folder, "config_sentence_transformers.json")
    limit = settings.get("max_seq_length")
    if limit is not None and (not isinstance(limit, int) or not 2 < limit < 2**31):
        raise CheckpointError(f"{folder}: max_seq_length", got=limit, expected="3 or more")
    named = prompts.get("default_prompt_name")
    table = prompts.get("prompts")
    prompt = table.get(named, "") if isinstance(table, dict) and isinstance(named, str) else ""
    return Pooling(
        modes,
        normalise="Normalize" in [step for step, _ in steps],
        limit=limit,
        lower_case=settings.get("do_lower_case") is True,
        prompt=str(prompt),
    )


def _steps(path: Path, values: Any) -> Iterator[tuple[str, str]]:
    """(name, folder) of each step. The names choose among those we know and nothing else."""
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise CheckpointError(path, expected="a list of steps")
    for value in values:
        name = str(value.get("type", "")).rsplit(".", 1)[-1]
        if name not in STEPS:
            problem = f"the step {shown(name)} is none of {', '.join(STEPS)}, which regard has"
            raise CheckpointError(path, problem)
        yield name, str(value.get("path") or "")


def _modes(folder: Path, place: str) -> tuple[str, ...]:
    config = read_config_file(member(folder, place))
    older = [mode for key, mode in OLDER_MODES.items() if config.get(key) is True]
    stated = config.get("pooling_mode", older or "mean")
    modes = tuple(stated) if isinstance(stated, list) else (stated,)
    for mode in modes:
        if mode not in MODES:
            problem = f"pooling {shown(mode)} is none of {', '.join(MODES)}"
            raise CheckpointError(folder / place, problem)
    return modes


def _optional(folder: Path, name: str) -> dict[str, Any]:
    return read_config_file(folder, name) if (folder / name).is_file() else {}
