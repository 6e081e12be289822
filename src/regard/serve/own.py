"""regard's own dialect: everything that a model says, with its numbers. POST, JSON.

/v1/translate   n-best translations with scores, alignments, or line by line as they are done
"""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from regard.errors import MisuseError
from regard.serve.asking import answered, ask, state_of, stream
from regard.serve.pool import ServedModel
from regard.serve.refusal import HttpRefusal
from regard.serve.schemas import (
    MOST_BEAM,
    MOST_LENGTH,
    STREAMED,
    OneOrMore,
    RefusedBody,
    StrictModel,
    listed,
    refusals,
)
from regard.serve.wire import WireMessage

router = APIRouter(prefix="/v1", tags=["regard"], responses=refusals(RefusedBody))

Count = Annotated[int, Field(ge=1, le=MOST_BEAM)]
OutputLength = Annotated[int, Field(ge=1, le=MOST_LENGTH)]
# Options of /v1/translate that are handed to the model as they are.
DECODING = (
    "beam", "n_best", "alpha", "max_length", "min_length", "no_repeat_ngram", "repetition_penalty",
    "temperature", "top_k", "top_p", "seed", "prefix", "split", "language",
)  # fmt: skip


class TranslateRequest(StrictModel):
    """A text or several, and how they are to be searched; what is left out is the model's own."""

    text: OneOrMore = Field(examples=["How are you?"])
    model: str | None = Field(
        None, examples=["demo-de"], description="Its name; else by its languages, else the first."
    )
    source: str | None = Field(None, examples=["en"])
    target: str | None = Field(None, examples=["de"])
    beam: Count | None = Field(None, examples=[4], description="Beam size; 1 is greedy.")
    n_best: Count | None = Field(
        None, examples=[2], description="So many translations of each text."
    )
    alpha: Annotated[float, Field(ge=-10, le=10)] | None = Field(None, examples=[0.6])
    max_length: OutputLength | None = Field(
        None, examples=[64], description="Most output tokens of a sentence."
    )
    min_length: Annotated[int, Field(ge=0, lt=MOST_LENGTH)] | None = Field(None, examples=[2])
    no_repeat_ngram: Annotated[int, Field(ge=0, le=100)] | None = Field(None, examples=[3])
    repetition_penalty: Annotated[float, Field(gt=0, le=100)] | None = Field(None, examples=[1.1])
    temperature: Annotated[float, Field(ge=0, le=100)] | None = Field(None, examples=[0.8])
    top_k: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(None, examples=[40])
    top_p: Annotated[float, Field(gt=0, le=1)] | None = Field(None, examples=[0.9])
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(None, examples=[7])
    prefix: str | None = Field(None, examples=["Wie"], description="What each output begins with.")
    split: bool | None = Field(
        None, examples=[True], description="False: lines are not split into sentences."
    )
    language: str | None = Field(None, examples=["en"], description="Of the source, for splitting.")
    alignments: bool = Field(False, description="Which word looked at which (imports torch).")
    stream: bool = Field(False, description="Server-sent events, one for each text.")


class TranslationCandidate(BaseModel):
    """One translation of a text."""

    text: str
    score: float
    log_probability: float
    finished: bool = Field(description="False: cut off at the length limit.")


class AlignmentWeights(BaseModel):
    """Rows are words of the translation, columns words of the text; a row sums to 1."""

    rows: list[str]
    columns: list[str]
    weights: list[list[float]]


class TranslatedText(BaseModel):
    """A text's translations, best first."""

    index: int
    translations: list[TranslationCandidate]
    alignment: AlignmentWeights | None = None


class TokenUsage(BaseModel):
    """Tokens that were read and written."""

    input: int
    output: int


class TranslateAnswer(BaseModel):
    """One row for each text, in order."""

    model: str
    texts: list[TranslatedText]
    usage: TokenUsage


def translator_for(
    request: Request, name: str | None, source: str | None, target: str | None
) -> ServedModel:
    """The model of this name, or one between these languages."""
    pool = state_of(request).pool
    if name is not None or (source is None and target is None):
        return pool.named(name, "translations")
    pool.named(None, "translate")
    return pool.between(source, target)


@router.post("/translate", response_model=TranslateAnswer, responses=STREAMED)
async def translate(request: Request, asked: TranslateRequest) -> Response:
    """Translate a text or several."""
    model = translator_for(request, asked.model, asked.source, asked.target)
    texts = listed(asked.text)
    given = asked.model_dump(exclude_none=True)
    options = {name: given[name] for name in DECODING if name in given}
    wire: WireMessage = {"texts": texts, "options": options}
    if asked.stream and asked.alignments:
        error = MisuseError("alignments", "a stream has none", advice="leave out stream")
        raise HttpRefusal(400, error, "not_offered")
    if asked.stream:
        return await stream(request, model, "translate", wire | {"stream": True}, _line_event)
    made = await ask(request, model, "translate", wire)
    rows: list[dict[str, Any]] = [
        {"index": number, "translations": row} for number, row in enumerate(made["translations"])
    ]
    if asked.alignments:
        for text, row in zip(texts, rows, strict=True):
            row["alignment"] = await _alignment(request, model, text, row["translations"][0])
    return answered(model, made, {"model": model.name, "texts": rows, "usage": made["usage"]})


def _line_event(message: WireMessage) -> list[WireMessage]:
    if "piece" in message:
        return [message["piece"]]
    return [{"usage": message["answer"]["usage"]}]


async def _alignment(
    request: Request, model: ServedModel, text: str, best: WireMessage
) -> WireMessage | None:
    """The last layer's cross-attention, mean of all heads; None for a text it cannot be traced of.

    The text is looked at as a whole, with its translation as it was given.
    """
    options = {"answer": best["text"], "words": False}
    try:
        made = await ask(request, model, "explain", {"text": text, "options": options})
    except HttpRefusal as refusal:
        if refusal.status != 400:
            raise
        return None
    return {name: made[name] for name in ("rows", "columns", "weights")}
