"""An image file → labels with probabilities."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.answer.labels import Label, best_labels
from regard.answer.loaded import LoadedModel
from regard.bundle.pixels import Preparation
from regard.errors import DataError, MisuseError
from regard.model.spec import Spec

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 80_000_000  # of a file that is opened: above a camera's, below a bomb's
CHANNELS = {1: "L", 3: "RGB"}


@torch.inference_mode()
def see_file(model: LoadedModel, file: Path, top: int | None) -> list[Label]:
    """What the model sees in the image, likeliest first."""
    model.demand("see")
    pixels = read_pixels(file, model.bundle.pixels, model.spec)
    network = model.transformer
    memory = network.see(pixels.to(next(network.parameters()).device))
    return best_labels(model.bundle.labels, network.answer(memory)[0], top)


def read_pixels(
    file: Path, preparation: Preparation, spec: Spec
) -> Float[Tensor, "1 C height width"]:
    """The prepared pixels of an image file."""
    image = _open(file, spec.channels)
    if preparation.resize:
        width, height = preparation.width, preparation.height
        if preparation.shortest is not None:
            ratio = preparation.shortest / min(image.size)
            width, height = (int(side * ratio) for side in image.size)
        image = image.resize((width, height), preparation.method)
    if preparation.crop is not None:
        height, width = preparation.crop
        left, top = (image.width - width) // 2, (image.height - height) // 2
        image = image.crop((left, top, left + width, top + height))
    values = torch.from_numpy(np.array(image, np.float32)).view(image.height, image.width, -1)
    mean, std = torch.tensor(preparation.mean), torch.tensor(preparation.std)
    prepared = (values * preparation.factor - mean) / std
    return prepared.permute(2, 0, 1)[None].contiguous()


def _open(file: Path, channels: int) -> "Image":
    """The file as an image of so many channels."""
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise MisuseError("see", "images need Pillow", advice="install `regard[images]`") from None
    if channels not in CHANNELS:
        raise MisuseError("see", f"this model reads {channels} channels, files have 1 or 3")
    try:
        with Image.open(file) as image:
            if image.width * image.height > MAX_PIXELS:
                problem = f"{image.width} × {image.height} pixels"
                expected = f"at most {MAX_PIXELS:,} in all"
                raise DataError(file, problem, expected=expected, advice="make it smaller")
            upright = ImageOps.exif_transpose(image)  # a camera may write it lying on its side
            return upright.convert(CHANNELS[channels])
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(file, "no such file") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(file, f"not an image that Pillow can read: {error}") from None
