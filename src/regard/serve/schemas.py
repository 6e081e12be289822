"""Shapes that the dialects share: texts, refusals, and which statuses every route may have."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

MOST_BEAM, MOST_TEXTS, MOST_LENGTH = 32, 1024, 4096
TextList = Annotated[list[str], Field(min_length=1, max_length=MOST_TEXTS)]
OneOrMore = str | TextList


def listed(texts: OneOrMore) -> list[str]:
    """One text as a list of one."""
    return [texts] if isinstance(texts, str) else texts


class StrictModel(BaseModel):
    """A request of regard's own dialect: what is not known is refused, a text is no number."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Refused(BaseModel):
    """What went wrong, in the words of the error and in its parts."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None
    subject: str | None = None
    problem: str | None = None
    got: Any = None
    expected: str | None = None
    advice: str | None = None


class RefusedBody(BaseModel):
    """The body of every answer of /v1/ that is none."""

    error: Refused


class LibreRefusal(BaseModel):
    """The body of the other routes, as LibreTranslate has it."""

    error: str = Field(examples=["target: got 'fr', expected one of de"])


STATUSES = {
    400: "The request cannot be carried out as it is.",
    401: "A key is needed.",
    403: "The page's origin is not allowed.",
    404: "There is no such model, or it does not offer this.",
    408: "The request came too slowly.",
    413: "The request is too large.",
    415: "The content type is another.",
    421: "The server is not called by this name.",
    422: "A field is missing or of another kind.",
    429: "The server is busy; Retry-After says when to try again.",
    500: "The model failed.",
    503: "The deadline has passed, the engine ended, or the server is about to end.",
}


# Of a route that may also answer piece by piece.
STREAMED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


def refusals(body: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """The statuses of a route, for its schema."""
    return {status: {"model": body, "description": words} for status, words in STATUSES.items()}
