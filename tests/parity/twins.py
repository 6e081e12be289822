"""Twins: tiny models of the `transformers` library, every number redrawn, saved as folders."""

from pathlib import Path

import torch
from torch import Tensor, nn


def redraw(model: nn.Module, seed: int = 0) -> None:
    """Draw everything that a file holds anew: fresh numbers are constants that hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    saved = model.state_dict()
    drawn_too = [b for n, b in model.named_buffers() if n in saved and b.is_floating_point()]
    learned = [p for p in model.parameters() if p.requires_grad]  # the rest is a formula's table
    with torch.no_grad():
        for parameter in learned + drawn_too:
            spread = 0.3 if parameter.dim() == 1 else parameter.shape[-1] ** -0.5
            drawn = torch.randn(parameter.shape, generator=generator) * spread
            parameter.copy_(drawn + (parameter.dim() == 1) * 0.5)


def center(model: nn.Module) -> None:
    """Make biases small and embeddings large, or every output is one word again and again."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.mul_(0.1 if name.endswith("bias") else 8 if "embed" in name else 1)


def save_twin(model: nn.Module, folder: Path) -> Path:
    """Redraw the twin and write it with its own library."""
    redraw(model)
    model.eval()
    model.save_pretrained(folder)  # type: ignore[operator]
    return folder


def closest(one: Tensor, other: Tensor, real: Tensor | None = None) -> float:
    """The largest difference at real positions."""
    difference = (one - other).detach().abs()
    if real is not None:
        difference = difference[real]
    return float(difference.max())


def ids_and_mask(vocabulary: int, lengths: tuple[int, ...] = (7, 4, 1)) -> tuple[Tensor, Tensor]:
    """Random ids, padded on the right, and the mask of the real ones."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, vocabulary, (len(lengths), max(lengths)), generator=generator)
    real = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    return ids, real
