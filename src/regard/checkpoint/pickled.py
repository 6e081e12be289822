"""Pickled weights (.bin, .pt), read only when the caller allows it, and as plain tensors only.

A pickle is a program. Before anything runs it, its instructions are walked through as data
(headers/pickled.py): only those that describe a dictionary of tensors may occur, in the form that
torch.save writes. This gives the same header as a safetensors file has, checked against the
storages in the archive. The numbers then come from `torch.load(weights_only=True)`, with no
fallback.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

import torch
from torch import Tensor

from regard.checkpoint.guard import check_unchanged
from regard.checkpoint.headers.contents import Header, header
from regard.checkpoint.headers.pickled import look_torch_zip
from regard.errors import CheckpointError


def read_header(path: Path) -> Header:
    """The tensors that a pickled file describes, found to lie within their storages."""
    return header(look_torch_zip, path)


def read_numbers(
    path: Path, header: Header, names: Collection[str]
) -> Iterator[tuple[str, Tensor]]:
    """The tensors of these names; the file is mapped, so they take no memory until copied."""
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # whatever torch objects to ends here: there is no second try
        reason = str(error).partition("\n")[0][:200]
        raise CheckpointError(path, f"torch refuses it: {reason}") from None
    for name in names:
        tensor = loaded[name].detach()
        check_unchanged(path, name, tensor, header[name])
        yield name, tensor
