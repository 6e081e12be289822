"""The trial of the ctranslate2 library: a small model, scored by it and by ours in float64.

Runs in a child process (processor/child.py), which the library's kernels may end.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from regard.checkpoint.to_ctranslate2 import write_ctranslate2
from regard.decode.engine import Frame, Layout
from regard.decode.engines.ctranslate2 import CTranslate2Engine
from regard.decode.options import DecodingOptions
from regard.decode.score import score_pairs
from regard.model.spec import Spec
from regard.model.transformer import Transformer

Doubles = NDArray[np.float64]
FRAME = Frame(pad=0, start=1, end=2)
SPEC = Spec(d_model=128, heads=4, encoder_layers=1, decoder_layers=1, ffn_size=256, vocabulary=96)
ROWS = [[3 + (7 * i + j) % 90 for j in range(4 + i % 9)] for i in range(24)]


def fp32() -> tuple[Doubles, Doubles]:
    """What the library computes in single precision, and what is right."""
    return _both("fp32")


def int8() -> tuple[Doubles, Doubles]:
    """The same in 8-bit integers."""
    return _both("int8")


def _both(precision: str) -> tuple[Doubles, Doubles]:
    model = Transformer(SPEC, seed=1).eval()
    sources = [[*row, FRAME.end] for row in ROWS]
    with TemporaryDirectory(prefix="regard-trial-") as folder:
        pieces = ["<pad>", "<s>", "</s>", *(f"p{i}" for i in range(3, SPEC.vocabulary))]
        write_ctranslate2(
            model, Path(folder), pieces, start=FRAME.start, end=FRAME.end, precision=precision
        )
        engine = CTranslate2Engine(Path(folder), FRAME, layout=Layout(precision))
        got = engine.score(sources, ROWS[::-1])
        # Also a search: it has kernels of its own.
        engine.submit(sources, DecodingOptions(beam=2, max_length=8))()
        engine.close()
    right = score_pairs(model.double(), sources, ROWS[::-1], FRAME)
    return np.concatenate(got).astype(np.float64), np.concatenate(right).astype(np.float64)
