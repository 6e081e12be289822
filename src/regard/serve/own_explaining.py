"""regard's own dialect: what an answer rests on, as the numbers that the pictures are drawn from.

    /v1/explain    attention between words, or what each word adds to the answer

POST, JSON. The fields of a request are the options of `regard explain`.
"""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from regard.serve.asking import answered, ask, state_of
from regard.serve.own_reading import NamedAnswer, NamedRequest
from regard.serve.schemas import RefusedBody, refusals

router = APIRouter(prefix="/v1", tags=["regard"], responses=refusals(RefusedBody))


class ExplainRequest(NamedRequest):
    """A text, and which view of its answer; the fields are the options of `regard explain`."""

    text: str = Field(examples=["How are you?"])
    answer: str | None = Field(
        None,
        examples=["Wie geht es dir?"],
        description="Explain this output instead of the model's own.",
    )
    words: bool | None = Field(
        None, examples=[False], description="What each word adds, instead of attention."
    )
    word: str | None = Field(None, examples=["you?"])
    pieces: bool = False
    pair: str | None = Field(None, examples=["It is slow."])
    match: str | None = Field(None, examples=["A kitten naps."])
    label: str | None = Field(None, examples=["positive"])
    points: Annotated[int, Field(ge=1, le=1024)] | None = Field(None, examples=[32])
    max_tokens: Annotated[int, Field(ge=1, le=64)] | None = Field(None, examples=[8])
    kind: Literal["cross", "encoder", "decoder"] | None = Field(None, examples=["cross"])
    layer: Annotated[int, Field(ge=1, le=1000)] | None = Field(None, examples=[1])
    head: Annotated[int, Field(ge=1, le=1000)] | None = Field(None, examples=[1])


class AttentionView(NamedAnswer):
    """Attention of one layer: each row sums to 1; without a head, the mean of all."""

    view: Literal["attention"]
    text: str
    output: str
    kind: str
    layer: int
    head: int | None
    rows: list[str]
    columns: list[str]
    weights: list[list[float]]


class WordsView(NamedAnswer):
    """What each word adds to the answer, and how much it was looked at."""

    view: Literal["words"]
    text: str
    answer: str
    quantity: str
    words: list[str]
    gradients: list[float]
    attention: list[float]
    verdict: str


@router.post("/explain", response_model=AttentionView | WordsView)
async def explain(request: Request, asked: ExplainRequest) -> Response:
    """What an answer rests on."""
    model = state_of(request).pool.named(asked.model, "explain")
    names = ("answer", "words", "word", "pieces", "pair", "match", "label", "max_tokens")
    options: dict[str, Any] = {name: vars(asked)[name] for name in names}
    wire = {
        "text": asked.text,
        "options": options | {"steps": asked.points},
        "kind": asked.kind,
        "layer": asked.layer,
        "head": asked.head,
    }
    made = await ask(request, model, "explain", wire)
    shown = {name: value for name, value in made.items() if name != "exact"}  # that is a header
    return answered(model, made, {"model": model.name} | shown)
