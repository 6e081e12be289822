"""Raw logits of any model: ids, or pixels, in; numbers out. Needs no tokenizer."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import MisuseError
from regard.model.transformer import Transformer


@torch.inference_mode()
def raw_logits(
    model: Transformer,
    ids: Any = None,
    mask: Any = None,
    target: Any = None,
    pixels: Any = None,
    segments: Any = None,
) -> Float[Tensor, "B *L V"]:
    """The logits for a batch of ids (with target ids) or of pixels."""
    spec = model.spec
    device = next(model.parameters()).device
    if spec.image_size:
        if pixels is None or ids is not None:
            raise MisuseError("logits", "this model reads images: give pixels=…, and no ids")
        image = _image(pixels, device)
        memory = model.see(image if image.dim() == 4 else image[None])
        if not spec.decoder_layers:
            return model.answer(memory)
        if target is None:
            raise _no_target()
        output = _ids(target, spec.vocabulary, "target", device)
        return model.token_logits(model.decode(output, memory))
    if ids is None or pixels is not None:
        raise MisuseError("logits", "this model reads text: give ids, and no pixels")
    source = _ids(ids, spec.vocabulary, "ids", device)
    real = _real(mask, source)
    if spec.encoder_layers and spec.decoder_layers:
        if target is None:
            raise _no_target()
        output = _ids(target, spec.vocabulary, "target", device)
        memory = model.encode(source, real)
        return model.token_logits(model.decode(output, memory, real))
    if target is not None:
        raise MisuseError("logits", "target is for models with an encoder and a decoder")
    if spec.decoder_layers:
        positions = None if real is None else (real.long().cumsum(dim=1) - 1).clamp(min=0)
        return model.token_logits(model.decode(source, real=real, positions=positions))
    kinds = None if segments is None else _ids(segments, spec.segments, "segments", device)
    return model.answer(model.encode(source, real, segments=kinds))


def _no_target() -> MisuseError:
    return MisuseError(
        "logits: this model has an encoder and a decoder: give target=… too, the ids "
        "that the output begins with"
    )


def _image(pixels: Any, device: torch.device) -> Tensor:
    """Numbers of prepared images; the model looks at their shape."""
    try:
        return torch.as_tensor(pixels, dtype=torch.float32, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise MisuseError(f"logits: pixels: expected an array of numbers: {error}") from None


def _ids(values: Any, size: int, name: str, device: torch.device) -> Int[Tensor, "B L"]:
    """Whole numbers below `size`, as a batch; a single row becomes a batch of one."""
    try:
        ids = torch.as_tensor(values, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        expected = f"rows of whole numbers, all of one length: {error}"
        raise MisuseError(f"logits: {name}", expected=expected) from None
    ids = ids[None] if ids.dim() == 1 else ids
    if ids.dim() != 2 or not ids.numel() or ids.is_floating_point():
        problem = f"got shape {tuple(ids.shape)} of {ids.dtype}"
        expected = "rows of whole numbers (batch, length)"
        raise MisuseError(f"logits: {name}", problem, expected=expected)
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high >= size:
        problem = f"got numbers from {low} to {high}"
        raise MisuseError(f"logits: {name}", problem, expected=f"0 to {size - 1}")
    return ids.long()


def _real(mask: Any, ids: Tensor) -> Bool[Tensor, "B L"] | None:
    if mask is None:
        return None
    try:
        real = torch.as_tensor(mask, device=ids.device).bool()
    except (TypeError, ValueError, RuntimeError) as error:
        raise MisuseError(f"logits: mask: expected rows of 0 and 1: {error}") from None
    real = real[None] if real.dim() == 1 else real
    if real.shape != ids.shape:
        expected = f"that of ids {tuple(ids.shape)}"
        raise MisuseError("logits: mask", f"got shape {tuple(real.shape)}", expected=expected)
    return real
