"""Captions → pictures: a decoder draws the patches of a picture, row by row, from its caption.

A caption does not say everything, so there are many pictures of it. Each patch is drawn by chance
(temperature above 0), and so each picture is another one; with the same seed it is the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from regard import atomic
from regard.answer.answers import Answers
from regard.answer.loaded import LoadedModel
from regard.bundle.picture_codec import PictureCodec
from regard.bundle.pixels import as_image
from regard.data.picture import Colours
from regard.decode.engine import Hypothesis, Layout
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import DecodingOptions
from regard.errors import MisuseError
from regard.model.transformer import Transformer

if TYPE_CHECKING:
    from PIL.Image import Image

AT_ONCE = 64  # captions between two signs of progress


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture for a caption; `log_probability` is that of all its patches."""

    caption: str
    colours: Colours  # (height, width, channels)
    log_probability: float

    @property
    def image(self) -> "Image":
        """As Pillow has it."""
        return as_image(self.colours)

    def save(self, path: str | Path) -> None:
        """Write it as a PNG, pixel by pixel."""
        save_png(Path(path), self.colours)


def save_png(path: Path, colours: Colours) -> None:
    """These pixels as a file, whole or not at all."""
    stream = BytesIO()
    as_image(colours).save(stream, format="PNG")
    atomic.write_bytes(path, stream.getvalue())


def draw_texts(
    model: LoadedModel,
    captions: Sequence[str],
    n: int = 1,
    seed: int | None = None,
    temperature: float | None = None,
    advance: Callable[[int], None] = lambda count: None,
) -> list[Answers[Drawing]]:
    """`n` pictures of each caption, the likeliest first; temperature 0 has one only.

    For each picture the recipe may have several drawn (decode.n_best), of which the likeliest are
    taken: most of what goes wrong is unlikely.
    """
    codec = model.bundle.picture_codec
    captions = [codec.as_learned(caption) for caption in captions]
    for number, caption in enumerate(captions, start=1):
        codec.check_caption(caption, "the caption" if len(captions) == 1 else f"caption {number}")
    usual = model.bundle.settings.search
    degree = usual.temperature if temperature is None else temperature
    if degree == 0 and n > 1:
        advice = "give a temperature above 0, for example 1"
        raise MisuseError("n", "at temperature 0 there is one picture only", got=n, advice=advice)
    drawn = {"seed": usual.seed if seed is None else seed} if degree else {"seed": None}
    many = n * usual.n_best if degree else 1
    decoding = replace(usual, temperature=degree, n_best=many, **drawn)
    drawings = draw_captions(model.transformer, codec, captions, decoding, advance)
    return [Answers(some[:n]) for some in drawings]


def draw_captions(
    transformer: Transformer,
    codec: PictureCodec,
    captions: Sequence[str],
    decoding: DecodingOptions,
    advance: Callable[[int], None] = lambda count: None,
) -> list[Answers[Drawing]]:
    """The pictures of each caption, in order."""
    layout = Layout(threads=torch.get_num_threads())
    engine = TorchEngine(transformer, codec.frame, codec.rules, layout)
    search, drawings = codec.search(decoding), list[Answers[Drawing]]()
    try:
        for start in range(0, len(captions), AT_ONCE):
            some = captions[start : start + AT_ONCE]
            found = engine.submit([codec.source(caption) for caption in some], search)()
            for caption, outputs in zip(some, found, strict=True):
                drawings.append(Answers(_drawing(codec, caption, one) for one in outputs))
            advance(len(some))
    finally:
        engine.close()
    return drawings


def _drawing(codec: PictureCodec, caption: str, output: Hypothesis) -> Drawing:
    return Drawing(caption, codec.picture(output.ids), output.log_probability)
