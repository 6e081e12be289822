"""What a careful loader checks before it believes a safetensors file.

Order: the header by itself (headers/safetensors.py); then names, shapes and dtypes equal to those
of the model that the validated spec describes; only then is anything allocated. After reading,
every number must be finite.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from regard.checkpoint.headers.contents import Header, Stored, header
from regard.checkpoint.headers.safetensors import look_safetensors
from regard.errors import CheckpointError, shown
from regard.model.spec import Spec, parameter_count
from regard.model.transformer import Transformer

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def read_header(path: Path) -> Header:
    """The tensors that a safetensors file declares, each found to lie where it says."""
    return header(look_safetensors, path)


def read_numbers(
    path: Path, header: Header, names: Collection[str]
) -> Iterator[tuple[str, Tensor]]:
    """The tensors of these names, one after the other, so that one at a time takes memory."""
    try:
        with safe_open(path, framework="pt") as file:
            for name in names:
                tensor = file.get_tensor(name)
                check_unchanged(path, name, tensor, header[name])
                yield name, tensor
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        if "Cannot allocate memory" in str(error):  # nothing is wrong with the file
            raise MemoryError(f"{path}: {error}") from None
        raise CheckpointError(path, f"not a valid safetensors file: {error}") from None


def check_unchanged(path: Path, name: str, tensor: Tensor, stored: Stored) -> None:
    """What was read is what the header promised: the file has not changed in between."""
    if tuple(tensor.shape) != stored.shape or tensor.dtype != DTYPES[stored.dtype]:
        raise CheckpointError(path, f"tensor {shown(name)} changed while it was read")


def check_finite(path: Path, name: str, tensor: Tensor, hint: str = "") -> None:
    """Refuse NaN and infinity; the extremes show both, and take no memory."""
    if not tensor.is_floating_point() or not tensor.numel():
        return
    if not all(torch.isfinite(extreme) for extreme in torch.aminmax(tensor)):
        advice = f"choose another checkpoint{hint}"
        raise CheckpointError(path, f"{shown(name)} holds NaN or infinity", advice=advice)


def read_tensors(path: Path, expected: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """The tensors of a file; with `expected`, only if names, shapes and dtypes agree with it."""
    header = read_header(path)
    if expected is not None:
        compare(path, header, expected)
    tensors = dict(read_numbers(path, header, header))
    for name, tensor in tensors.items():
        check_finite(path, name, tensor)
    return tensors


def check_size(where: Path, spec: Spec, stored: int) -> None:
    """Nothing is built for a spec that asks for many more weights than there are, or than fit.

    Where they are a few too many, a comparison of names can say which.
    """
    needed = parameter_count(spec)
    if needed > 2 * stored:
        problem = f"the config asks for {needed:,} weights, the files hold {stored:,}"
        raise CheckpointError(where, problem)
    if 4 * needed > memory():
        raise CheckpointError(
            f"{where}: {needed:,} weights take {4 * needed / 2**30:,.1f} GB in single precision, "
            f"this machine has {memory() / 2**30:,.1f}"
        )


def memory() -> int:
    """Bytes of memory of this machine, where it tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2**63


def weights_of(spec: Spec) -> dict[str, Tensor]:
    """Name → an empty tensor of the right shape, for every weight of a model; takes no memory."""
    with torch.device("meta"):
        return dict(Transformer(spec, seed=None).named_parameters())


@torch.no_grad()
def load_into(model: Transformer, weights: Mapping[str, Tensor]) -> None:
    """Copy named weights into a model."""
    for name, parameter in model.named_parameters():
        parameter.copy_(weights[name])


def compare(path: Path, header: Header, expected: Mapping[str, Tensor]) -> None:
    """Names, shapes and dtypes of a file are those of a spec."""
    missing, surplus = sorted(set(expected) - set(header)), sorted(set(header) - set(expected))
    if missing or surplus:
        raise CheckpointError(
            f"{path}: weights do not belong to this spec: {len(missing)} missing "
            f"{missing[:3]}, {len(surplus)} unknown {surplus[:3]}"
        )
    for name, tensor in expected.items():
        stored = header[name]
        if stored.shape != tuple(tensor.shape):
            raise CheckpointError(
                path,
                f"{name} has shape {list(stored.shape)}, the spec expects {list(tensor.shape)}",
            )
        if DTYPES[stored.dtype] != tensor.dtype:
            problem = f"{name} is {DTYPES[stored.dtype]}, the spec expects {tensor.dtype}"
            raise CheckpointError(path, problem)
