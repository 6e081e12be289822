"""An image file → labels with probabilities."""

from pathlib import Path

import torch

from regard.bundle.labels import Label, Labels
from regard.bundle.pixels import Preparation, read_pixels
from regard.model.transformer import Transformer


@torch.inference_mode()
def see_file(
    model: Transformer, labels: Labels, preparation: Preparation, file: Path, top: int | None
) -> list[Label]:
    """What the model sees in the image, likeliest first."""
    pixels = read_pixels(file, preparation, model.spec)
    memory = model.see(pixels.to(next(model.parameters()).device))
    return labels.best(model.answer(memory)[0], top)
