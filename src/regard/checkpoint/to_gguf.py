"""A decoder like Llama → a GGUF file, written by the library `gguf`.

Matrices are kept in the precision that is asked for: F32, F16, or Q8_0, where 32 numbers of a row
share a scale of 16 bits and have 8 bits each. Rows that are no multiple of 32 stay F16, and what is
no matrix stays F32, as llama.cpp has it.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.checkpoint.families.llama import LLAMA
from regard.checkpoint.gguf import gguf_name, is_turned, library
from regard.checkpoint.gguf_keys import ARCHITECTURE, STRETCH, keys_of
from regard.checkpoint.headers.gguf import KINDS
from regard.checkpoint.published import check_nothing_is_lost
from regard.checkpoint.reordered import to_neighbours
from regard.errors import MisuseError
from regard.model.rotary import frequencies
from regard.model.spec import Spec
from regard.model.transformer import Transformer

# ours → the library's name of a kind, and its number for a whole file of it
KIND_OF = {"fp32": ("F32", 0), "fp16": ("F16", 1), "int8": ("Q8_0", 7)}
BLOCK = 32
QUANTIZATION = 2  # the version of the layouts


def write_gguf(
    model: Transformer, path: Path, precision: str, tokenizer: Mapping[str, Any], name: str
) -> None:
    """Write the model with the keys of its tokenizer."""
    spec = model.spec
    config = like_llama(spec)
    kind, number = KIND_OF[precision]
    gguf = library()
    writer = gguf.GGUFWriter(path, ARCHITECTURE)
    writer.add_name(name)
    writer.add_file_type(number)
    writer.add_quantization_version(QUANTIZATION)
    for key, value in keys_of(config).items():
        _add(writer, f"{ARCHITECTURE}.{key}", value)
    for key, value in tokenizer.items():
        _add(writer, key, value)
    for key, tensor in _tensors(model):
        data, stored = _packed(tensor, kind)
        writer.add_tensor(key, data, raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def like_llama(spec: Spec) -> dict[str, Any]:
    """The config that Llama would have for this spec, or an error that says what it cannot say."""
    if spec.head != "tokens" or not spec.decoder_layers or spec.encoder_layers:
        raise MisuseError(
            "GGUF holds decoders like Llama", expected="a model that goes on with text"
        )
    config = LLAMA.config(spec)
    check_nothing_is_lost(spec, config, list(LLAMA.rows(spec)), LLAMA)
    return config


def _tensors(model: Transformer) -> Iterator[tuple[str, Tensor]]:
    """The tensors under their names, rows of W_Q and W_K sorted for neighbours."""
    spec, weights = model.spec, {n: p.detach() for n, p in model.named_parameters()}
    for row in LLAMA.rows(spec):
        tensor = row.to_theirs(weights)
        turned = to_neighbours(tensor, spec.k) if is_turned(row.theirs) else tensor
        yield gguf_name(row.theirs), turned
    if spec.rotary_scaling == "slow":
        plain = Spec(**(vars(spec) | {"rotary_scaling": "none"}))
        yield STRETCH, frequencies(plain) / frequencies(spec)


def _packed(tensor: Tensor, kind: str) -> tuple[Any, Any]:
    """The numbers as they are written, and the library's word for that."""
    if tensor.dim() < 2:
        kind = "F32"
    elif kind == "Q8_0" and tensor.shape[-1] % BLOCK:
        kind = "F16"
    gguf = library()
    number = next(number for number, known in KINDS.items() if known.name == kind)
    stored = gguf.GGMLQuantizationType(number)
    return gguf.quants.quantize(tensor.float().contiguous().numpy(), stored), stored


@torch.no_grad()
def rounded(model: Transformer, precision: str) -> Transformer:
    """The model with the numbers that a file of this precision can hold."""
    copy = deepcopy(model)
    for parameter in copy.parameters():
        data, stored = _packed(parameter.detach(), KIND_OF[precision][0])
        plain = library().quants.dequantize(data, stored)
        parameter.copy_(torch.from_numpy(np.ascontiguousarray(plain)).view(parameter.shape))
    return copy


def _add(writer: Any, key: str, value: Any) -> None:
    """A pair, its kind told by the value."""
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value.tolist() if isinstance(value, np.ndarray) else value)
