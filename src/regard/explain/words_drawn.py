"""Which patches of a drawing looked at which word of its caption: cross-attention, word by word.

A drawing is fed to the decoder as it was drawn (teacher forcing), so what is recorded are the
weights with which each patch was chosen. Row r of the weights belongs to the patch that is chosen
at place r:

    weights[w, r] = mean over heads of softmax(q_r · k_w / √d_k), last layer    Σ_w = 1
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from regard.answer.draw import Drawing
from regard.answer.loaded import LoadedModel
from regard.answer.text_inputs import row_of
from regard.model.trace import Trace


@dataclass(frozen=True, eq=False)
class WordDrawn:
    """A word, and how much each patch looked at it: (rows, columns)."""

    word: str
    weights: Float[np.ndarray, "rows columns"]


@torch.inference_mode()
def words_drawn(model: LoadedModel, drawing: Drawing) -> Sequence[WordDrawn]:
    """For each piece of the caption; what the patches look at the end is left out."""
    codec, network, trace = model.bundle.picture_codec, model.transformer, Trace()
    source = codec.source(drawing.caption)
    (codes,) = codec.codebook.codes([drawing.colours])
    target = [codec.frame.start, *codec.target(codes.tolist())]
    network(row_of(network, source), row_of(network, target), trace=trace)
    last = model.spec.decoder_layers - 1
    weights = (
        trace[f"decoder.{last}.cross.weights"][0]
        .mean(dim=0)[: codec.codebook.places]
        .float()
        .cpu()
        .numpy()
    )
    grid = weights.T.reshape(-1, codec.codebook.rows, codec.codebook.columns)
    pieces = codec.tokenizer.pieces(source)
    return [WordDrawn(piece, grid[place]) for place, piece in enumerate(pieces[:-1])]
