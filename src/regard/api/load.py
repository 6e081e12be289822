"""`regard.load`: a folder or a name → its model, ready to be asked."""

from pathlib import Path

from regard.api.model import Model
from regard.bundle.bundle import open_bundle
from regard.engines.engines import EngineRequest


def load(
    path: str | Path,
    device: str = "auto",
    *,
    engine: str = "auto",
    precision: str = "auto",
    workers: int | None = None,
    threads: int | None = None,
    shortlist: bool = False,
    allow_pickle: bool = False,
    allow_nonfinite: bool = False,
    strict: bool = False,
) -> Model:
    """The model of a run folder, of a published folder, of a GGUF file, of a short name
    (bundle/named.py) or of a name of the hub like "owner/name".

    `engine` is auto, torch or ctranslate2, `precision` auto, fp32, bf16 or int8: they are for
    translations and continuations (engines/engines.py); `embed` has auto, fp32, int16 and bf16. A
    published folder may be allowed to hold its weights in .bin or .pt files, read as plain tensors,
    or NaN and infinity among them. A key of its config.json that regard does not know is named on
    standard error; `strict` refuses it.
    """
    request = EngineRequest(engine, precision, workers, threads, shortlist)
    bundle = open_bundle(path, allow_pickle=allow_pickle, strict=strict)
    model = Model(bundle, device, request, allow_nonfinite)
    _ = bundle.tokenizer, bundle.settings, model.transformer  # what is wrong is said now
    return model
