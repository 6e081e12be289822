"""Pictures → labels with probabilities. In: files, folders of them, bytes, images, arrays."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.answer.labels import Label, best_labels
from regard.answer.loaded import LoadedModel
from regard.data.picture import (
    SUFFIXES,
    Colours,
    check_size,
    colours_of_image,
    colours_of_numbers,
    read_picture,
)
from regard.errors import DataError, MisuseError
from regard.printable import Advance, unheard

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image

    Seen = str | Path | bytes | Image | NDArray[Any]

TOGETHER = 4096  # patches in one pass


def see_pictures(
    model: LoadedModel,
    pictures: "Sequence[Seen]",
    top: int | None = None,
    advance: Advance = unheard,
) -> list[list[Label]]:
    """What the model sees in each, likeliest first."""
    model.demand("see")
    answers = list[list[Label]]()
    for start in range(0, len(pictures), rows := _rows(model)):
        some = pictures[start : start + rows]
        answers += see_colours(model, [colours_of(model, one) for one in some], top)
        advance(len(some))
    return answers


def see_colours(
    model: LoadedModel, colours: Sequence[Colours], top: int | None = None
) -> list[list[Label]]:
    """The same of pictures as `colours_of` gives them, all in one pass."""
    logits = logits_of(model, np.stack(colours))
    return [best_labels(model.bundle.labels, row, top) for row in logits]


def is_one(pictures: "Seen | Iterable[Seen]") -> "TypeGuard[Seen]":
    """Whether it is one picture, not several."""
    if isinstance(pictures, str | Path | bytes | bytearray | memoryview | np.ndarray):
        return True
    return type(pictures).__module__.startswith("PIL.")


def _rows(model: LoadedModel) -> int:
    return max(1, TOGETHER // (model.spec.patches + 1))


@torch.inference_mode()
def logits_of(model: LoadedModel, colours: Colours) -> Float[Tensor, "B C"]:
    """What the model answers to (B, height, width, channels) as `colours_of` gives them."""
    network = model.transformer
    pixels = torch.from_numpy(model.bundle.pixels.numbers(colours))
    logits: Tensor = network.answer(network.see(pixels.to(next(network.parameters()).device)))
    return logits.float().cpu()


def probabilities_of(
    model: LoadedModel,
    colours: Sequence[Colours],
    advance: Advance = unheard,
) -> "NDArray[np.float32]":
    """(pictures, classes), a batch at a time."""
    parts = []
    for start in range(0, len(colours), rows := _rows(model)):
        some = np.stack(colours[start : start + rows])
        parts.append(logits_of(model, some).softmax(dim=-1).numpy())
        advance(len(some))
    return np.concatenate(parts)


def colours_of(model: LoadedModel, picture: "Seen") -> Colours:
    """A picture of any kind, as large as the model looks at."""
    channels, preparation = model.spec.channels, model.bundle.pixels
    if isinstance(picture, str | Path):
        file = Path(picture)
        return preparation.fitted(read_picture(file, channels), str(file))
    if isinstance(picture, bytes | bytearray | memoryview):
        return preparation.fitted(read_picture(bytes(picture), channels))
    if isinstance(picture, np.ndarray):
        return preparation.fitted(colours_of_numbers(picture, channels))
    if type(picture).__module__.startswith("PIL."):
        check_size(picture.width, picture.height, "picture")
        return preparation.fitted(colours_of_image(picture, channels))
    expected = "a file, bytes, an image of Pillow, or an array (height, width[, channels])"
    raise MisuseError("see", got=type(picture), expected=expected)


def readable_colours(
    model: LoadedModel, files: Sequence[Path], alone: bool, say: Callable[[str], None]
) -> dict[Path, Colours]:
    """Those of each file; `say` hears of one that cannot be read, which is an error if it is the
    only one."""
    colours = {}
    for path in files:
        try:
            colours[path] = colours_of(model, path)
        except DataError as error:
            if alone:
                raise
            say(str(error))
    return colours


def picture_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Files as they are given; of a folder all pictures in it, in order."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = [
            file
            for file in sorted(path.rglob("*"))
            if file.suffix.lower() in SUFFIXES and file.is_file()
        ]
        if not inside:
            expected = f"files that end in {', '.join(SUFFIXES)}"
            raise DataError(path, "a folder without pictures", expected=expected)
        yield from inside
