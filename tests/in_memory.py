"""Models that lie in no folder: made by a test, with the tokenizer and search that it wants."""

from dataclasses import replace
from pathlib import Path

from regard.api.model import Model
from regard.bundle.bundle import Bundle
from regard.bundle.generation_settings import GenerationSettings
from regard.decode.options import DecodingOptions
from regard.engines.engines import EngineRequest
from regard.model.transformer import Transformer
from regard.runs.objectives import OBJECTIVES
from regard.text.tokenizer import Tokenizer


def with_settings(model: Model, settings: GenerationSettings) -> Model:
    """The same weights, whose folder would ask for other settings."""
    bundle = replace(model.bundle)
    vars(bundle).update(vars(model.bundle) | {"settings": settings})
    bundle.__dict__.pop("codec", None)
    other = replace(model, bundle=bundle)
    vars(other)["transformer"] = model.transformer
    return other


def model_of(transformer: Transformer, tokenizer: Tokenizer, search: DecodingOptions) -> Model:
    """As a run that translates would give it, on torch."""
    bundle = Bundle("run", Path("none"))
    vars(bundle).update(
        objective=OBJECTIVES["translate"],
        spec=transformer.spec,
        tokenizer=tokenizer,
        settings=GenerationSettings(search=search),
        obstacle="the model does not lie in the folder of a run",
    )
    model = Model(bundle, "cpu", EngineRequest("torch"))
    vars(model)["transformer"] = transformer
    return model
