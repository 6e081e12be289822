"""Pictures → captions. In: what answer/see.py reads. Out: sentences, the likeliest first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from regard.answer.loaded import LoadedModel
from regard.answer.see import colours_of
from regard.bundle.codec import Codec
from regard.bundle.pixels import Preparation
from regard.data.picture import Colours
from regard.decode.engine import Layout, best_of
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import DecodingOptions
from regard.model.transformer import Transformer

if TYPE_CHECKING:
    from regard.answer.see import Seen

AT_ONCE = 256  # pictures between two signs of progress


@dataclass(frozen=True)
class Caption:
    """What is said of a picture; `finished` is False where it was cut off."""

    text: str
    score: float
    log_probability: float
    finished: bool = True
    ids: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.text


def caption_pictures(
    model: LoadedModel,
    pictures: "Sequence[Seen]",
    beam: int | None = None,
    n: int = 1,
    advance: Callable[[int], None] = lambda count: None,
) -> list[list[Caption]]:
    """What the model says of each, the best first."""
    model.demand("caption")
    colours = [colours_of(model, one) for one in pictures]
    return caption_of_colours(model, colours, beam, n, advance)


def caption_of_colours(
    model: LoadedModel,
    colours: Sequence[Colours],
    beam: int | None = None,
    n: int = 1,
    advance: Callable[[int], None] = lambda count: None,
) -> list[list[Caption]]:
    """The same of pictures as `colours_of` gives them."""
    bundle = model.bundle
    usual = bundle.settings.search
    wide = max(usual.beam, n) if beam is None else beam
    # Short captions end first; a search that stops with the first ones loses a likelier longer one.
    search = replace(usual, beam=wide, n_best=n, stop="exact")
    return caption_colours(model.transformer, bundle.codec, bundle.pixels, colours, search, advance)


def caption_colours(
    transformer: Transformer,
    codec: Codec,
    preparation: Preparation,
    colours: Sequence[Colours],
    search: DecodingOptions,
    advance: Callable[[int], None] = lambda count: None,
) -> list[list[Caption]]:
    """What a model says of pictures that are as large as it looks at."""
    engine = TorchEngine(transformer, codec.frame, layout=Layout(threads=torch.get_num_threads()))
    answers = list[list[Caption]]()
    try:
        for start in range(0, len(colours), AT_ONCE):
            some = preparation.numbers(np.stack(colours[start : start + AT_ONCE]))
            rows = [one.ravel().tolist() for one in some]
            for found in engine.submit(rows, search)():
                texts = codec.decode([one.ids for one in found])
                best_of(found)  # or an error: there is none
                answers.append(
                    [
                        Caption(text, one.score, one.log_probability, one.finished, one.ids)
                        for text, one in zip(texts, found, strict=True)
                    ]
                )
            advance(len(some))
    finally:
        engine.close()
    return answers
