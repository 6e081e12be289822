"""regard's own dialect, for models that are given pictures, each as base64 of its file.

    /v1/see        labels of a picture
    /v1/caption    a sentence about it

POST, JSON. A list of pictures is answered with a list, one picture with a list of one.
"""

from base64 import b64decode
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from regard.errors import MisuseError
from regard.serve.own_reading import (
    ClassifyAnswer,
    NamedAnswer,
    NamedRequest,
    TopCount,
    asked_of,
)
from regard.serve.refusal import HttpRefusal
from regard.serve.schemas import MOST_BEAM, RefusedBody, listed, refusals

router = APIRouter(prefix="/v1", tags=["regard"], responses=refusals(RefusedBody))
MOST_PICTURES = 64  # of one request
PictureList = Annotated[list[str], Field(min_length=1, max_length=MOST_PICTURES)]
OneOrMorePictures = str | PictureList
# One red pixel, as PNG.
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"


def pictures_in(given: OneOrMorePictures) -> list[str]:
    """The base64 of each; what is none is refused here, what is no picture by the model."""
    pictures = listed(given)
    for number, text in enumerate(pictures, start=1):
        try:
            b64decode(text, validate=True)
        except ValueError:
            error = MisuseError("picture", f"number {number} is no base64", expected="of a file")
            raise HttpRefusal(400, error, "picture") from None
    return pictures


class SeeRequest(NamedRequest):
    """Pictures to be labelled."""

    picture: OneOrMorePictures = Field(
        examples=[DOT], description="A .png, .jpg, … file, as base64; or several."
    )
    top: TopCount | None = Field(None, examples=[3], description="Only so many labels.")


@router.post("/see", response_model=ClassifyAnswer)
async def see(request: Request, asked: SeeRequest) -> Response:
    """Label a picture or several."""
    wire = {"pictures": pictures_in(asked.picture), "top": asked.top}
    return await asked_of(request, asked.model, "see", wire, "labels")


class CaptionRequest(NamedRequest):
    """Pictures to be told in a sentence."""

    picture: OneOrMorePictures = Field(
        examples=[DOT], description="A .png, .jpg, … file, as base64; or several."
    )
    beam: Annotated[int, Field(ge=1, le=MOST_BEAM)] | None = Field(None, examples=[4])
    n: Annotated[int, Field(ge=1, le=MOST_BEAM)] = Field(
        1, description="So many captions of each picture."
    )


class WrittenCaption(BaseModel):
    """A sentence, and how sure of it the model is."""

    text: str = Field(examples=["two red circles above a blue square"])
    score: float
    log_probability: float
    finished: bool = Field(description="False: cut off at the length limit.")


class CaptionAnswer(NamedAnswer):
    """The captions of each picture, best first."""

    captions: list[list[WrittenCaption]]


@router.post("/caption", response_model=CaptionAnswer)
async def caption(request: Request, asked: CaptionRequest) -> Response:
    """Say what is in a picture or in several."""
    wire = {"pictures": pictures_in(asked.picture), "beam": asked.beam, "n": asked.n}
    return await asked_of(request, asked.model, "caption", wire, "captions")
