"""The Llama in a GGUF file: a config from its keys, weights dequantised by the library `gguf`.

Order as for every file of a stranger: the header is walked by ourselves (headers/gguf.py), its keys
become a spec within bounds, names and shapes of the tensors are compared with that spec; only then
are numbers read, one tensor at a time, and handed to the library. Rows of W_Q and W_K are sorted
for rotations of neighbours (checkpoint/reordered.py).

All kinds become float32: four bits of the file take 32 in memory.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.checkpoint.families.config import Config
from regard.checkpoint.families.llama import LLAMA
from regard.checkpoint.gguf_keys import OUTPUT, STRETCH, config_of
from regard.checkpoint.guard import check_finite, check_size, weights_of
from regard.checkpoint.headers.gguf import KINDS, Extent, GgufHeader, read_gguf
from regard.checkpoint.names import RenameRow
from regard.checkpoint.reordered import to_halves
from regard.errors import CheckpointError, ConfigError, MisuseError, shown
from regard.model.rotary import frequencies
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.untrusted import opened

READ = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q4_K", "Q6_K")
# a name of a published folder → theirs; those of a layer follow blk.N.
ONCE = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
LAYER = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
TURNED = ("self_attn.q_proj", "self_attn.k_proj")
# Llama 3.1 and later: stretched by a tensor of factors, of which the keys say nothing.
LOW, HIGH, TRAINED = 1.0, 4.0, 8192
CLOSE = 1e-4  # of a factor


def library() -> Any:
    """The library, or one sentence that says how to get it."""
    try:
        import gguf  # an extra
    except ImportError:
        advice = "pip install 'regard[gguf]'"
        raise MisuseError("GGUF: the library `gguf` is not installed", advice=advice) from None
    return gguf


def gguf_name(published: str) -> str:
    """The name of a tensor of a published folder as llama.cpp has it."""
    layer = re.fullmatch(r"layers\.(\d+)\.(.+)\.(weight|bias)", published)
    if layer:
        return f"blk.{layer[1]}.{LAYER[layer[2]]}.{layer[3]}"
    name, _, part = published.rpartition(".")
    return f"{ONCE[name]}.{part}"


def is_turned(published: str) -> bool:
    """Whether the rows of this tensor are sorted for rotations."""
    return any(f".{name}." in published for name in TURNED)


@dataclass(frozen=True)
class CheckedGguf:
    """A file whose keys and tensors agree."""

    path: Path
    header: GgufHeader
    config: dict[str, Any]
    spec: Spec
    rows: list[RenameRow]


def check_gguf(path: Path) -> CheckedGguf:
    """Everything that can be checked before weights are read."""
    header = read_gguf(path)
    config = config_of(header, path)
    names = frozenset({"lm_head.weight"} if OUTPUT in header.extents else ())
    if STRETCH in header.extents:
        config["rope_scaling"] = _told_by_factors(header, config, names, path)
    spec = _spec(config, names, path)
    check_size(path, spec, sum(int(np.prod(e.shape)) for e in header.extents.values()))
    rows = list(LLAMA.rows(spec))
    _compare(path, header.extents, spec, rows)
    return CheckedGguf(path, header, config, spec, rows)


def _spec(config: Mapping[str, Any], names: frozenset[str], path: Path) -> Spec:
    try:
        return LLAMA.spec(Config(config, str(path)), names)
    except ConfigError as error:
        raise CheckpointError(f"{path}: {error}") from None


def _compare(path: Path, extents: Mapping[str, Extent], spec: Spec, rows: list[RenameRow]) -> None:
    """Every row has its tensor, in the right shape and a kind that is read; none is left over."""
    expected = weights_of(spec)
    for row in rows:
        name = gguf_name(row.theirs)
        if name not in extents:
            raise CheckpointError(path, f"tensor {name!r} is missing")
        held, wanted = extents[name], tuple(row.to_theirs(expected).shape)
        if held.shape != wanted:
            problem = f"{name} has shape {held.shape}, its keys ask for {wanted}"
            raise CheckpointError(path, problem)
        if held.kind not in READ:
            advice = "take a file in one of these, for example Q8_0 or Q4_K_M without Q5_K"
            raise CheckpointError(
                f"{path}: {name}",
                got=held.kind,
                expected=f"one of {', '.join(READ)}",
                advice=advice,
            )
    left = sorted(extents.keys() - {gguf_name(row.theirs) for row in rows} - {STRETCH})
    if left:
        first = ", ".join(shown(name) for name in left[:3])
        problem = f"{len(left):,} of its tensors belong to no part of this model: {first}"
        raise CheckpointError(path, problem)


def _told_by_factors(
    header: GgufHeader, config: Mapping[str, Any], names: frozenset[str], path: Path
) -> dict[str, Any]:
    """How positions are stretched, where a tensor of factors says it.

    The factors are those of Llama 3 with its usual numbers, or else the file is refused.
    """
    if config["rope_scaling"] is not None:
        raise CheckpointError(path, f"has {STRETCH} and a key that stretches", expected="one")
    plain = _spec(config, names, path)
    extent = header.extents[STRETCH]
    if extent.kind != "F32" or extent.shape != (plain.k // 2,):
        problem = f"{STRETCH} is {extent.kind} of shape {extent.shape}"
        raise CheckpointError(path, problem, expected=f"F32 of shape ({plain.k // 2},)")
    ((_, factors),) = _numbers(path, header, [STRETCH])
    said = {
        "rope_type": "llama3",
        "factor": round(float(factors.max()), 4),
        "low_freq_factor": LOW,
        "high_freq_factor": HIGH,
        "original_max_position_embeddings": TRAINED,
    }
    stretched = _spec({**config, "rope_scaling": said}, names, path)
    if not torch.allclose(frequencies(plain) / frequencies(stretched), factors, rtol=CLOSE):
        problem = f"{STRETCH} does not hold what Llama 3 stretches by"
        raise CheckpointError(path, problem, advice="regard computes it")
    return said


def load_gguf(path: Path, *, allow_nonfinite: bool = False) -> Transformer:
    """The model of a GGUF file, in single precision."""
    checked = check_gguf(path)
    model = Transformer(checked.spec, seed=None)
    parameters = dict(model.named_parameters())
    rows = {gguf_name(row.theirs): row for row in checked.rows}
    with torch.no_grad():
        for name, numbers in _numbers(path, checked.header, rows):
            if not allow_nonfinite:
                check_finite(path, name, numbers)
            if is_turned(rows[name].theirs):
                numbers = to_halves(numbers, checked.spec.k)
            for ours, part in rows[name].to_ours(numbers).items():
                parameters[ours].copy_(part)
    return model.eval()


def _numbers(
    path: Path, header: GgufHeader, names: Mapping[str, Any] | list[str]
) -> Iterator[tuple[str, Tensor]]:
    """Tensors as float32, one after the other in the order of the file."""
    kinds = {kind.name: number for number, kind in KINDS.items()}
    quants, numbered = library().quants, library().GGMLQuantizationType
    with opened(path) as file:
        for name in sorted(names, key=lambda name: header.extents[name].start):
            extent = header.extents[name]
            file.seek(extent.start)
            data = bytearray(file.read(extent.size))
            if len(data) != extent.size:
                raise CheckpointError(path, f"tensor {shown(name)} changed while it was read")
            width = extent.shape[-1] if extent.shape else 1
            rows = np.frombuffer(data, np.uint8).reshape(int(np.prod(extent.shape)) // width, -1)
            plain = quants.dequantize(rows, numbered(kinds[extent.kind]))
            yield name, torch.from_numpy(np.ascontiguousarray(plain)).view(extent.shape)
