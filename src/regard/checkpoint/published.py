"""Published folders: config.json + *.safetensors → a model, and a model → such a folder.

Order, so that nothing is allocated for a file that lies: the config, strictly read, becomes a spec
within bounds; the spec says which tensors there must be and in which shapes; the headers are
compared with that; only then are numbers read.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from regard import atomic
from regard.checkpoint.converted import is_converted, load_converted
from regard.checkpoint.ctranslate2_info import refuse_ctranslate2
from regard.checkpoint.families.bert import BERT
from regard.checkpoint.families.config import Config, refuse_code
from regard.checkpoint.families.distilbert import DISTILBERT
from regard.checkpoint.families.family import Family
from regard.checkpoint.families.gpt2 import GPT2
from regard.checkpoint.families.llama import LLAMA
from regard.checkpoint.families.marian import MARIAN
from regard.checkpoint.families.t5 import T5
from regard.checkpoint.families.vit import VIT
from regard.checkpoint.guard import DTYPES, check_finite
from regard.checkpoint.headers.contents import Stored
from regard.checkpoint.names import RenameRow, rename, rename_back
from regard.checkpoint.shards import Weights, find_weights
from regard.errors import CheckpointError, ConfigError, MisuseError, nearest
from regard.model.spec import Spec, parameter_count
from regard.model.transformer import Transformer
from regard.untrusted import member, read_json, shown

FAMILIES = {family.name: family for family in (BERT, DISTILBERT, VIT, GPT2, LLAMA, T5, MARIAN)}
MAX_CONFIG = 4 * 1024 * 1024
# Any of these makes text out of ids.
TOKENIZERS = ("tokenizer.json", "vocab.txt", "tokenizer.model", "spiece.model", "source.spm",
              "sentencepiece.bpe.model", "merges.txt")  # fmt: skip


def read_config(folder: Path) -> Config:
    """The folder's config.json, as strict JSON that asks for no code."""
    refuse_ctranslate2(folder)
    path = member(folder, "config.json")
    values = read_json(path, MAX_CONFIG)
    refuse_code(values, str(path))
    return Config(values, str(path))


def family_of(config: Config) -> Family:
    """The family that the config names."""
    name = config.text("model_type")
    if name not in FAMILIES:
        listed = ", ".join(sorted(FAMILIES))
        raise CheckpointError(
            f"{config.where}: model_type {shown(name)} is none of {listed}"
            f"{nearest(name[:40], FAMILIES)}"
        )
    return FAMILIES[name]


def load_published(
    folder: Path, *, allow_pickle: bool = False, allow_nonfinite: bool = False
) -> Transformer:
    """The model of a published folder, in single precision.

    `allow_pickle` also reads .bin and .pt files, as plain tensors; `allow_nonfinite` accepts
    weights that are NaN or infinite.
    """
    refuse_ctranslate2(folder)
    if is_converted(folder):
        return load_converted(folder)
    checked = check_published(folder, allow_pickle=allow_pickle)
    family, spec, weights, names = checked.family, checked.spec, checked.weights, checked.names
    rows = list(family.rows(spec))
    _check_dropped(folder, weights, names, rows, spec, family)
    model = Transformer(spec, seed=None)
    _fill(model, weights, {names[row.theirs]: row for row in rows}, allow_nonfinite)
    return model.eval()


@dataclass(frozen=True)
class CheckedFolder:
    """A folder whose config and headers agree; `names`: as in the table → as in the file."""

    family: Family
    spec: Spec
    weights: Weights
    names: dict[str, str]


def check_published(folder: Path, *, allow_pickle: bool = False) -> CheckedFolder:
    """Everything that can be checked before a number is read."""
    config = read_config(folder)
    family = family_of(config)
    weights = find_weights(folder, allow_pickle)
    stored = weights.stored()
    names = {family.table_name(name): name for name in stored}
    if len(names) != len(stored):
        raise CheckpointError(f"{folder}: a tensor stands in it twice, with and without its prefix")
    spec = _spec(config, family, frozenset(names))
    rows = list(family.rows(spec))
    for row in rows:
        if row.theirs not in names:
            raise CheckpointError(f"{folder}: tensor {row.theirs!r} is missing")
    _check_size(folder, spec, sum(tensor.count for tensor in stored.values()))
    expected = weights_of(spec)
    _compare(
        folder, rows, {name: stored[actual] for name, actual in names.items()}, expected, family
    )
    return CheckedFolder(family, spec, weights, names)


def _spec(config: Config, family: Family, names: frozenset[str]) -> Spec:
    try:
        spec = family.spec(config, names)
    except ConfigError as error:
        raise CheckpointError(f"{config.where}: {error}") from None
    config.refuse_the_rest(family.harmless)
    return spec


def _check_size(folder: Path, spec: Spec, stored: int) -> None:
    """Nothing is built for a config that asks for many more weights than there are, or than fit.

    Where they are a few too many, `_compare` can say which.
    """
    needed = parameter_count(spec)
    if needed > 2 * stored:
        raise CheckpointError(
            f"{folder}: the config asks for {needed:,} weights, the files hold {stored:,}"
        )
    if 4 * needed > memory():
        raise CheckpointError(
            f"{folder}: {needed:,} weights take {4 * needed / 2**30:,.1f} GB in single precision, "
            f"this machine has {memory() / 2**30:,.1f}"
        )


def memory() -> int:
    """Bytes of memory of this machine, where it tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2**63


def _fill(
    model: Transformer, weights: Weights, rows: Mapping[str, RenameRow], allow_nonfinite: bool
) -> None:
    """Copy the numbers into the model, one tensor at a time."""
    parameters = dict(model.named_parameters())
    hint = ", or load it in Python with regard.load(…, allow_nonfinite=True)"
    with torch.no_grad():
        for path, name, tensor in weights.read(rows.keys()):
            numbers, row = tensor.float(), rows[name]
            if not allow_nonfinite:  # after float(): 1e300 is finite, in double precision only
                check_finite(path, name, numbers, hint)
            for ours, part in rename({row.theirs: numbers}, [row], parameters, str(path)).items():
                parameters[ours].copy_(part)


def weights_of(spec: Spec) -> dict[str, Tensor]:
    """Name → an empty tensor of the right shape, for every weight of a model; takes no memory."""
    with torch.device("meta"):
        return dict(Transformer(spec, seed=None).named_parameters())


def _compare(
    folder: Path,
    rows: list[RenameRow],
    stored: Mapping[str, Stored],
    expected: Mapping[str, Tensor],
    family: Family,
) -> None:
    """Every row has its tensor in the right shape, and no tensor is left over undeclared."""
    ours = {name for row in rows for name in row.names}
    if ours != expected.keys():
        raise CheckpointError(
            f"{folder}: this config is outside of the family {family.name}, whose table does not "
            f"fit its weights: {sorted(ours ^ expected.keys())[:3]}"
        )
    for row in rows:
        held, wanted = stored[row.theirs], tuple(row.to_theirs(expected).shape)
        if held.shape != wanted:
            raise CheckpointError(
                f"{folder}: {row.theirs} has shape {held.shape}, the config asks for {wanted}"
            )
        dtype = DTYPES[held.dtype]
        if not dtype.is_floating_point:
            raise CheckpointError(f"{folder}: {row.theirs} is {dtype}, expected real numbers")
    used = {row.theirs for row in rows}
    left = [n for n in stored if n not in used and not _is_dropped(n, family)]
    if left:
        listed = ", ".join(shown(name) for name in sorted(left)[:3])
        raise CheckpointError(
            f"{folder}: {len(left):,} of its tensors belong to no part of this model: {listed}"
        )


def _check_dropped(
    folder: Path,
    weights: Weights,
    names: Mapping[str, str],
    rows: list[RenameRow],
    spec: Spec,
    family: Family,
) -> None:
    """A tensor that is dropped as a copy of another, or as a formula's table, really is one."""
    unused = names.keys() - {row.theirs for row in rows}
    for copy, origin in family.copies.items():
        both = copy in unused and origin in names
        if both and not _are_equal(weights, names[copy], names[origin]):
            raise CheckpointError(
                f"{folder}: {copy} differs from {origin}; regard runs models where both are one"
            )
    for name in unused & family.formulas.keys():
        ((_, _, table),) = weights.read([names[name]])
        if not family.formulas[name](table.float(), spec):
            raise CheckpointError(
                f"{folder}: {name} does not hold what the formula gives; regard computes it"
            )


def _are_equal(weights: Weights, one: str, other: str) -> bool:
    tensors = {name: tensor for _, name, tensor in weights.read([one, other])}
    return torch.equal(tensors[one], tensors[other])


def save_published(
    model: Transformer, family: Family, folder: Path, changes: Mapping[str, Any] | None = None
) -> None:
    """Write a model as a published folder of a family: config.json and model.safetensors.

    `changes` are config keys that no spec knows, such as token ids.
    """
    model = family.exported(model)
    spec = model.spec
    config, rows = {**family.config(spec), **(changes or {})}, list(family.rows(spec))
    _check_nothing_is_lost(spec, config, rows, family)
    weights = {name: p.detach() for name, p in model.named_parameters()}
    tensors = rename_back(weights, rows)
    named = {family.published_name(name, spec): t for name, t in tensors.items()}
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config, indent=2, ensure_ascii=False)
    atomic.write_text(folder / "config.json", text + "\n")
    atomic.write_bytes(folder / "model.safetensors", save(named, metadata={"format": "pt"}))


def _check_nothing_is_lost(
    spec: Spec, config: Mapping[str, Any], rows: list[RenameRow], family: Family
) -> None:
    """The spec that one would read back is the spec; a family cannot say everything."""
    names = frozenset(row.theirs for row in rows)
    again = family.spec(Config(config, f"a {family.name} folder"), names)
    for name, value in _said(spec).items():
        if _said(again)[name] != value:
            raise MisuseError(
                f"{name}: this model has {value!r}, the family {family.name} only knows "
                f"{_said(again)[name]!r}; choose a family that has both, or keep it native"
            )


def _said(spec: Spec) -> dict[str, Any]:
    """What a spec says about the numbers that come out (dropout is training's)."""
    values = vars(spec) | {"kv_heads": spec.groups, "head_size": spec.k}
    return {name: value for name, value in values.items() if "dropout" not in name}


def _is_dropped(name: str, family: Family) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in family.dropped)
