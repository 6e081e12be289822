"""A run or a published encoder–decoder model → a folder of the ctranslate2 library.

What was written is opened by the library, which must find fixed outputs as likely as the model
does: in fp32 up to rounding, in the other precisions up to what they cost.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from regard.checkpoint.ctranslate2_info import PRECISIONS, library
from regard.checkpoint.to_ctranslate2 import check_spec
from regard.convert.golden import weights_digest
from regard.convert.source import Source
from regard.decode.engine import Frame, Layout
from regard.decode.engines.ctranslate2 import CTranslate2Engine
from regard.decode.options import Rules
from regard.engines.converted import add_shortlist
from regard.engines.work import Translating
from regard.errors import CheckpointError, DataError, MisuseError
from regard.model.transformer import Transformer
from regard.processor.survives import ruled_out
from regard.runs.folder import RunFolder

# The mean difference of a token's log p that is rounding, or the price of the precision.
CLOSE = {"fp32": 1e-3, "bf16": 0.25, "int8": 0.5}


def fill_folder(source: Source, folder: Path, precision: str, shortlist: bool) -> str:
    """Write what the library reads, and ask it; why it could not be asked here, if so."""
    model = source.model
    check_spec(model.spec)
    if shortlist and source.family is not None:
        problem = f"{source.path} has no corpus to learn it from"
        raise MisuseError("--shortlist", problem, advice="only runs of `regard train` have")
    if source.bundle.tokenizer is None:
        advice = "ctranslate2 knows a model by its pieces, add them"
        raise DataError(source.path, "has no tokenizer files", advice=advice)
    Translating(source.bundle).write(model, folder, weights_digest(model), precision)
    if shortlist:
        add_shortlist(folder, RunFolder(source.path).data / "train")
    if PRECISIONS[precision] not in library().get_supported_compute_types("cpu"):
        return f"ctranslate2 does not compute in {precision} on this machine"
    deadly = ruled_out("int8" if precision == "int8" else "ctranslate2")
    if deadly:
        return f"this machine does not survive {deadly}"
    frame, rules = source.bundle.codec.frame, source.bundle.settings.rules
    _compare(model, folder, frame, rules, precision)
    return ""


def _compare(model: Transformer, folder: Path, frame: Frame, rules: Rules, precision: str) -> None:
    """Score fixed rows with both; a difference is an error, and nothing is kept."""
    rows, outputs = _probe(model.spec.vocabulary, frame, rules)
    engine = CTranslate2Engine(folder, frame, rules, Layout(precision))
    got = np.concatenate(engine.score(rows, outputs))
    engine.close()
    pairs = zip(rows, outputs, strict=True)
    expected = np.concatenate([_log_p(model, *pair, frame, rules) for pair in pairs])
    difference = float(np.abs(got - expected).mean())
    if not difference <= CLOSE[precision]:  # NaN fails too
        raise CheckpointError(
            f"ctranslate2: log p of the converted model differs by {difference:.2g} on average, "
            f"expected at most {CLOSE[precision]}; nothing was written. Use the torch engine, and "
            "please report this"
        )


def _probe(size: int, frame: Frame, rules: Rules) -> tuple[list[list[int]], list[list[int]]]:
    """Rows of ids from all over the vocabulary, the same each time."""
    special = {frame.pad, frame.start, frame.end, *rules.never}
    usual = np.array([i for i in range(size) if i not in special])
    chance = np.random.default_rng(1)
    drawn = [chance.choice(usual, length).tolist() for length in (3, 17, 9, 5, 2, 11)]
    return [[*row, frame.end] for row in drawn[:3]], drawn[3:]


@torch.inference_mode()
def _log_p(
    model: Transformer, source: Sequence[int], output: Sequence[int], frame: Frame, rules: Rules
) -> list[float]:
    logits = model(torch.tensor([source]), torch.tensor([[frame.start, *output]]))[0]
    logits[:, list(rules.never)] = -torch.inf
    log_p = logits.log_softmax(dim=-1)
    return [float(log_p[n, i]) for n, i in enumerate([*output, frame.end])]
