"""Published folders: config.json + *.safetensors → a model, and a model → such a folder.

Order, so that nothing is allocated for a file that lies: the config becomes a spec within bounds;
the spec says which tensors there must be and in which shapes; the headers are compared with that;
only then are numbers read. A key of the config that nobody knows is named, and let pass because
every tensor fits.
"""

import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from regard import atomic
from regard.checkpoint.converted import load_converted
from regard.checkpoint.ctranslate2_info import refuse_ctranslate2
from regard.checkpoint.families.bart import BART
from regard.checkpoint.families.bert import BERT
from regard.checkpoint.families.config import Config, listed, refuse_code
from regard.checkpoint.families.config_keys import config_keys
from regard.checkpoint.families.distilbert import DISTILBERT
from regard.checkpoint.families.family import Family
from regard.checkpoint.families.gpt2 import GPT2
from regard.checkpoint.families.llama import LLAMA
from regard.checkpoint.families.marian import MARIAN
from regard.checkpoint.families.mistral import MISTRAL
from regard.checkpoint.families.qwen2 import QWEN2
from regard.checkpoint.families.roberta import ROBERTA, XLM_ROBERTA
from regard.checkpoint.families.t5 import T5
from regard.checkpoint.families.vit import VIT
from regard.checkpoint.files import is_converted, read_config_file
from regard.checkpoint.guard import DTYPES, check_finite, check_size, weights_of
from regard.checkpoint.headers.contents import Stored
from regard.checkpoint.names import RenameRow
from regard.checkpoint.shards import Weights, find_weights
from regard.errors import CheckpointError, ConfigError, MisuseError, shown
from regard.model.spec import Spec
from regard.model.transformer import Transformer

# Where a file does not name its family, the first whose sign it has: the special before the plain.
_ALL = (BERT, DISTILBERT, ROBERTA, XLM_ROBERTA, VIT, GPT2, QWEN2, LLAMA, MISTRAL, T5, MARIAN, BART)
FAMILIES = {family.name: family for family in _ALL}
# Any of these makes text out of ids.
TOKENIZERS = ("tokenizer.json", "vocab.txt", "tokenizer.model", "spiece.model", "source.spm",
              "merges.txt")  # fmt: skip


def read_config(folder: Path) -> Config:
    """The folder's config.json, as strict JSON that asks for no code."""
    refuse_ctranslate2(folder)
    values, where = read_config_file(folder), str(folder / "config.json")
    refuse_code(values, where)
    return Config(values, where)


def family_of(config: Config, names: Collection[str] = ()) -> Family:
    """The family that the config names; of 2018 and 2019 few do, and the tensors' names tell."""
    if not config.has("model_type"):
        return _unnamed_family(config, names)
    name = config.text("model_type")
    if name not in FAMILIES:
        raise CheckpointError(
            f"{config.where}: model_type {shown(name)} is none of the families that regard has: "
            f"{', '.join(sorted(FAMILIES))}"
        )
    return FAMILIES[name]


def _unnamed_family(config: Config, names: Collection[str]) -> Family:
    """The only family whose files have such tensors, and such keys where there are several."""
    like = [family for family in FAMILIES.values() if family.is_told_by(names)]
    if len({family.rows for family in like}) > 1:
        like = [family for family in like if config.agrees(family.told_by)] or like
    if len({family.rows for family in like}) != 1:
        families = ", ".join(family.name for family in like or FAMILIES.values())
        problem = "key 'model_type' is missing, and the names of the tensors do not tell the family"
        advice = f"add the key if it is one of {families}"
        raise CheckpointError(config.where, problem, advice=advice)
    return like[0]


def load_published(
    folder: Path,
    *,
    allow_pickle: bool = False,
    allow_nonfinite: bool = False,
    strict: bool = False,
) -> Transformer:
    """The model of a published folder, in single precision.

    `allow_pickle` also reads .bin and .pt files, as plain tensors; `allow_nonfinite` accepts
    weights that are NaN or infinite; `strict` refuses keys of the config that nobody knows, which
    are only named on standard error otherwise.
    """
    refuse_ctranslate2(folder)
    if is_converted(folder):
        return load_converted(folder)
    checked = check_published(folder, allow_pickle=allow_pickle, strict=strict)
    if checked.unknown:
        print(f"Warning: {checked.warning}", file=sys.stderr)
    _check_dropped(folder, checked)
    model = Transformer(checked.spec, seed=None)
    rows = {checked.names[row.theirs]: row for row in checked.rows}
    _fill(model, checked.weights, rows, allow_nonfinite)
    return model.eval()


@dataclass(frozen=True)
class CheckedFolder:
    """A folder whose config and headers agree; `names`: as in the table → as in the file."""

    family: Family
    spec: Spec
    rows: list[RenameRow]
    weights: Weights
    names: dict[str, str]
    unknown: tuple[str, ...] = ()  # keys of the config that nobody knows, with their values

    @property
    def warning(self) -> str:
        """A sentence about the keys that nobody knows."""
        keys = listed(self.unknown)
        return f"config.json has keys that regard does not know, and passes over: {keys}"

    @property
    def unused(self) -> set[str]:
        """Tensors of the files that no row reads."""
        return self.names.keys() - {row.theirs for row in self.rows}


def check_published(
    folder: Path, *, allow_pickle: bool = False, strict: bool = False
) -> CheckedFolder:
    """Everything that can be checked before a number is read."""
    config = read_config(folder)
    if config.has("model_type"):
        family_of(config)  # said before anything about weights
    weights = find_weights(folder, allow_pickle)
    stored = weights.stored()
    family = family_of(config, stored)
    names = {family.table_name(name): name for name in stored}
    if len(names) != len(stored):
        raise CheckpointError(folder, "a tensor stands in it twice, with and without its prefix")
    spec, unknown = _read_spec(config, family, frozenset(names), strict)
    try:
        rows = _rows_in(folder, family, spec, names)
        check_size(folder, spec, sum(tensor.count for tensor in stored.values()))
        checked = CheckedFolder(family, spec, rows, weights, names, unknown)
        _compare(folder, checked, stored)
    except CheckpointError as error:
        if not unknown:
            raise
        # They may be the reason: what nobody knows passes only where every tensor fits.
        keys = f"regard does not know what these keys ask for: {listed(unknown)}"
        raise CheckpointError(f"{error}; {keys}") from None
    return checked


def _rows_in(folder: Path, family: Family, spec: Spec, names: Mapping[str, str]) -> list[RenameRow]:
    """The rows of the family's table, each with its tensor in the file."""
    rows = list(family.rows(spec))
    for row in rows:
        if row.theirs not in names:
            raise CheckpointError(folder, f"tensor {row.theirs!r} is missing")
    return rows


def _read_spec(
    config: Config, family: Family, names: frozenset[str], strict: bool
) -> tuple[Spec, tuple[str, ...]]:
    """The spec, and the keys that nobody knows."""
    table = config_keys()
    config.use_names(table.aliases.get(family.name, {}))
    try:
        spec = family.spec(config, names)
    except ConfigError as error:
        raise CheckpointError(f"{config.where}: {error}") from None
    changing = table.image if family.reads_images else table.text
    unknown = config.unknown((*family.harmless, *table.generation), changing)
    if strict:
        config.refuse(unknown, "regard does not know what these keys ask for")
    return spec, config.told(unknown)


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
            for ours, part in row.to_ours(numbers).items():
                parameters[ours].copy_(part.reshape(parameters[ours].shape))


def _compare(folder: Path, checked: CheckedFolder, stored: Mapping[str, Stored]) -> None:
    """Every row has its tensor in the right shape, and no tensor is left over undeclared."""
    family, rows, expected = checked.family, checked.rows, weights_of(checked.spec)
    ours = {name for row in rows for name in row.names}
    if ours != expected.keys():
        raise CheckpointError(
            f"{folder}: this config is outside of the family {family.name}, whose table does not "
            f"fit its weights: {sorted(ours ^ expected.keys())[:3]}"
        )
    for row in rows:
        held, wanted = stored[checked.names[row.theirs]], tuple(row.to_theirs(expected).shape)
        if held.shape != wanted:
            problem = f"{row.theirs} has shape {held.shape}, the config asks for {wanted}"
            raise CheckpointError(folder, problem)
        dtype = DTYPES[held.dtype]
        if not dtype.is_floating_point:
            raise CheckpointError(folder, f"{row.theirs} is {dtype}", expected="real numbers")
    dropped = "|".join(f"(?:{pattern})" for pattern in family.dropped)
    left = [name for name in checked.unused if not (dropped and re.fullmatch(dropped, name))]
    if left:
        first = ", ".join(shown(name) for name in sorted(left)[:3])
        problem = f"{len(left):,} of its tensors belong to no part of this model: {first}"
        raise CheckpointError(folder, problem)


def _check_dropped(folder: Path, checked: CheckedFolder) -> None:
    """A tensor that is dropped as a copy of another, or as a formula's table, really is one."""
    family, weights, names = checked.family, checked.weights, checked.names
    for copy, origin in family.copies.items():
        both = copy in checked.unused and origin in names
        if both and not _are_equal(weights, names[copy], names[origin]):
            advice = "regard runs models where both are one"
            raise CheckpointError(folder, f"{copy} differs from {origin}", advice=advice)
    for name in checked.unused & family.formulas.keys():
        ((_, _, table),) = weights.read([names[name]])
        if not family.formulas[name](table.float(), checked.spec):
            problem = f"{name} does not hold what the formula gives"
            raise CheckpointError(folder, problem, advice="regard computes it")


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
    check_nothing_is_lost(spec, config, rows, family)
    weights = {name: p.detach() for name, p in model.named_parameters()}
    tensors = {row.theirs: row.to_theirs(weights).contiguous() for row in rows}
    named = {family.published_name(name, spec): t for name, t in tensors.items()}
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write_json(folder / "config.json", config)
    atomic.write_bytes(folder / "model.safetensors", save(named, metadata={"format": "pt"}))


def check_nothing_is_lost(
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
