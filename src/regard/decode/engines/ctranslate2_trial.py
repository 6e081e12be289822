"""The trial of the ctranslate2 library: small models, scored by it and by ours in float64.

A translator, and a decoder with the kernels that only such have: rotary positions, RMS norm, gates.

Runs in a child process (processor/child.py), which the library's kernels may end.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from regard.checkpoint.to_ctranslate2 import write_ctranslate2, write_decoder
from regard.decode.engine import Frame, Layout
from regard.decode.engines.ctranslate2 import CTranslate2Engine
from regard.decode.engines.ctranslate2_decoder import CTranslate2Decoder
from regard.decode.options import DecodingOptions
from regard.decode.score import score_continuations, score_pairs
from regard.model.spec import Spec
from regard.model.transformer import Transformer

Doubles = NDArray[np.float64]
FRAME = Frame(pad=0, start=1, end=2)
SPEC = Spec(d_model=128, heads=4, encoder_layers=1, decoder_layers=1, ffn_size=256, vocabulary=96)
DECODER = Spec(
    d_model=128, heads=4, kv_heads=2, encoder_layers=0, decoder_layers=1, ffn_size=256,
    vocabulary=96, positions="rotary", norm="rms", norm_order="pre", gated=True, activation="silu",
)  # fmt: skip
PIECES = ["<pad>", "<s>", "</s>", *(f"p{i}" for i in range(3, SPEC.vocabulary))]
ROWS = [[3 + (7 * i + j) % 90 for j in range(4 + i % 9)] for i in range(24)]


def fp32() -> tuple[Doubles, Doubles]:
    """What the library computes in single precision, and what is right."""
    return _both("fp32")


def int8() -> tuple[Doubles, Doubles]:
    """The same in 8-bit integers."""
    return _both("int8")


def _both(precision: str) -> tuple[Doubles, Doubles]:
    pairs = (_translated(precision), _continued(precision))
    got, right = ([row for rows in side for row in rows] for side in zip(*pairs, strict=True))
    return np.concatenate(got).astype(np.float64), np.concatenate(right).astype(np.float64)


def _translated(precision: str) -> tuple[list[list[float]], list[list[float]]]:
    model = Transformer(SPEC, seed=1).eval()
    sources = [[*row, FRAME.end] for row in ROWS]
    with TemporaryDirectory(prefix="regard-trial-") as folder:
        write_ctranslate2(
            model, Path(folder), PIECES, start=FRAME.start, end=FRAME.end, precision=precision
        )
        engine = CTranslate2Engine(Path(folder), FRAME, layout=Layout(precision))
        got = engine.score(sources, ROWS[::-1])
        # Also a search: it has kernels of its own.
        engine.submit(sources, DecodingOptions(beam=2, max_length=8))()
        engine.close()
    return got, score_pairs(model.double(), sources, ROWS[::-1], FRAME)


def _continued(precision: str) -> tuple[list[list[float]], list[list[float]]]:
    model = Transformer(DECODER, seed=1).eval()
    with TemporaryDirectory(prefix="regard-trial-") as folder:
        write_decoder(model, Path(folder), PIECES, end=FRAME.end, precision=precision)
        engine = CTranslate2Decoder(Path(folder), [FRAME.end], layout=Layout(precision))
        got = engine.score(ROWS, ROWS[::-1])
        engine.submit(ROWS, DecodingOptions(beam=1, max_length=8))()
        engine.close()
    return got, score_continuations(model.double(), ROWS, ROWS[::-1])
