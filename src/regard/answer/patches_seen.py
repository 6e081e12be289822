"""Where the decoder looks in a picture while it writes: cross-attention over the patches, by words.

    weights    (words, side, side): of each word the row of the pass that predicts it, the mean of
               its pieces and of the heads of one layer; with the class token's share, which has no
               place in the picture, each row sums to 1

Of a picture that knows where things lie, `on_object` says whether a noun looks at what it means:
whether the patch that it looks at most, if that is not the class token, has its middle in a box.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray

from regard.answer.loaded import LoadedModel
from regard.data.picture import Colours
from regard.errors import MisuseError
from regard.model.trace import Trace

AT_ONCE = 64  # pictures of one pass
DIMMEST = 0.2  # how bright a patch is drawn that nobody looks at
Area = tuple[float, float, float, float]  # left, top, right, bottom in pixels; the last two outside


@dataclass(frozen=True, eq=False)
class WordsLooking:
    """The words of a caption, where each looked, and the share of the class token."""

    colours: Colours
    words: tuple[str, ...]
    weights: Float[np.ndarray, "words side side"]
    token: Float[np.ndarray, " words"]

    @property
    def caption(self) -> str:
        """The words in a row."""
        return " ".join(self.words)

    def lit(self, word: int) -> Colours:
        """The picture, each patch as bright as it was looked at."""
        grid = self.weights[word]
        share = DIMMEST + (1 - DIMMEST) * grid / max(float(grid.max()), 1e-12)
        patch = self.colours.shape[0] // len(share)
        mask = np.kron(share, np.ones((patch, patch)))[:, :, None]
        lit: Colours = np.rint(self.colours * mask).astype(np.uint8)
        return lit

    def on_object(self, word: int, boxes: Sequence[Area]) -> bool:
        """Whether a word looks most at a patch whose middle lies in one of these boxes."""
        grid = self.weights[word]
        if self.token[word] >= grid.max():
            return False
        row, column = np.unravel_index(int(grid.argmax()), grid.shape)
        patch = self.colours.shape[0] / len(grid)
        x, y = (column + 0.5) * patch, (row + 0.5) * patch
        return any(left <= x < right and top <= y < bottom for left, top, right, bottom in boxes)


def words_looking(
    model: LoadedModel,
    colours: Sequence[Colours],
    captions: Sequence[str],
    layer: int | None = None,
) -> list[WordsLooking]:
    """One traced pass over pictures and these captions; `layer` is counted from 1, None: the last.

    The pictures are as large as the model looks at.
    """
    model.demand("caption")
    layers = model.spec.decoder_layers
    if layer is not None and not 1 <= layer <= layers:
        raise MisuseError("layer", got=layer, expected=f"1 to {layers}")
    number = (layers if layer is None else layer) - 1
    rows = list[WordsLooking]()
    for start in range(0, len(colours), AT_ONCE):
        end = start + AT_ONCE
        rows += _traced(model, colours[start:end], captions[start:end], number)
    return rows


@torch.inference_mode()
def _traced(
    model: LoadedModel, colours: Sequence[Colours], captions: Sequence[str], layer: int
) -> list[WordsLooking]:
    network, codec, tokenizer = model.transformer, model.bundle.codec, model.bundle.own_tokenizer
    device = next(network.parameters()).device
    ids = [codec.encode_target(caption) for caption in captions]
    if not all(ids):
        raise MisuseError("caption", "one has no words", advice="nothing looked at the picture")
    longest = max(map(len, ids))
    # Each token is predicted from those before it, so the last is not fed in.
    fed = [[codec.frame.start, *row[:-1], *[codec.frame.pad] * (longest - len(row))] for row in ids]
    pixels = torch.from_numpy(model.bundle.pixels.numbers(np.stack(colours))).to(device)
    trace = Trace()
    network.decode(torch.tensor(fed, device=device), network.see(pixels), trace=trace)
    weights = trace[f"decoder.{layer}.cross.weights"].mean(dim=1).float().cpu().numpy()
    side = model.spec.image_size // model.spec.patch_size
    found = list[WordsLooking]()
    for picture, row, looked in zip(colours, ids, weights, strict=True):
        groups = tokenizer.word_groups(row)
        of_words: NDArray[np.float32] = np.stack(
            [looked[places].mean(axis=0) for _, places in groups]
        )
        grids = of_words[:, 1:].reshape(-1, side, side)
        words = tuple(word for word, _ in groups)
        found.append(WordsLooking(picture, words, grids, of_words[:, 0]))
    return found
