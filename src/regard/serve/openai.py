"""The dialect of OpenAI, whose clients need not know that they talk to another server.

    GET  /v1/models              the models of this server
    POST /v1/completions         a text goes on, whole or piece by piece
    POST /v1/chat/completions    the answer to a conversation, the same
    POST /v1/embeddings          texts as vectors, as numbers or as base64

Fields that are not known are passed over, as OpenAI does; those that would change the answer and
that regard does not have are refused by name. Without a temperature it is 1, as there; with 0 the
likeliest token is taken, and `n` are the best of a beam.
"""

import time
import uuid
from array import array
from base64 import b64decode
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from regard.answer.chat import MOST_TOKENS
from regard.errors import MisuseError
from regard.serve.asking import answered, ask, state_of, stream
from regard.serve.pool import ServedModel
from regard.serve.refusal import HttpRefusal, plain_json
from regard.serve.schemas import (
    MOST_LENGTH,
    MOST_TEXTS,
    STREAMED,
    RefusedBody,
    TextList,
    refusals,
)
from regard.serve.wire import WireMessage

router = APIRouter(prefix="/v1", tags=["OpenAI"], responses=refusals(RefusedBody))
FEW = 16  # tokens of a completion, unless one says otherwise: as OpenAI has it
TokenCount = Annotated[int, Field(ge=1, le=MOST_LENGTH)]
PromptIds = Annotated[list[int], Field(min_length=1, max_length=100_000)]
TokenRows = Annotated[list[PromptIds], Field(min_length=1, max_length=MOST_TEXTS)]


class OpenAIRequest(BaseModel):
    """What every request has."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)
    model: str = Field(examples=["gpt2"])
    user: str | None = Field(None, examples=["ada"])


class StreamOptions(BaseModel):
    """Of a stream."""

    model_config = ConfigDict(extra="ignore", strict=True)
    include_usage: bool = False


class DrawnRequest(OpenAIRequest):
    """How each next token is chosen."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = Field(None, examples=[0.0])
    top_p: Annotated[float, Field(gt=0, le=1)] | None = Field(None, examples=[0.9])
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(None, examples=[7])
    n: Annotated[int, Field(ge=1, le=16)] | None = Field(None, examples=[1])
    stop: str | Annotated[list[str], Field(max_length=8)] | None = Field(None, examples=["."])
    stream: bool | None = Field(None, examples=[False])
    stream_options: StreamOptions | None = Field(None, examples=[{"include_usage": True}])
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = Field(None, examples=[0.0])
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = Field(None, examples=[0.0])
    logit_bias: dict[str, float] | None = Field(None, examples=[{}])

    def sampling(self, most: int) -> WireMessage:
        """The options of `complete`, as answer/complete.py has them."""
        for name in ("presence_penalty", "frequency_penalty", "logit_bias"):
            if vars(self)[name]:
                raise _not_offered(name)
        warm = 1.0 if self.temperature is None else self.temperature
        chosen: WireMessage = {"temperature": warm, "max_tokens": most, "n": self.n or 1}
        if warm:
            narrow = {"top_p": self.top_p, "seed": self.seed}
            chosen |= {name: value for name, value in narrow.items() if value is not None}
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return chosen | ({"stop_text": [text for text in stops if text]} if any(stops) else {})


class CompletionRequest(DrawnRequest):
    """A text, or several, that each go on."""

    prompt: str | TextList | PromptIds | TokenRows = Field(examples=["The cat sat on"])
    max_tokens: TokenCount | None = Field(None, examples=[12])
    echo: bool | None = Field(None, examples=[False])
    suffix: str | None = Field(None, examples=[""])
    logprobs: Annotated[int, Field(ge=0, le=5)] | None = Field(None, examples=[0])


class ContentPart(BaseModel):
    """A part of a message; only texts are read."""

    model_config = ConfigDict(extra="ignore", strict=True)
    type: str
    text: str | None = None


class ChatMessage(BaseModel):
    """Who says what."""

    model_config = ConfigDict(extra="ignore", strict=True)
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[ContentPart]


class ChatRequest(DrawnRequest):
    """A conversation, whose last message is answered."""

    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=1000)] = Field(
        examples=[[{"role": "user", "content": "Hello."}]]
    )
    max_tokens: TokenCount | None = Field(None, examples=[12])
    max_completion_tokens: TokenCount | None = Field(None, examples=[12])
    tools: list[dict[str, Any]] | None = Field(None, examples=[[]])
    logprobs: bool | None = Field(None, examples=[False])


class EmbeddingRequest(OpenAIRequest):
    """Texts to be vectors."""

    input: str | TextList | PromptIds | TokenRows = Field(examples=["A cat sleeps."])
    encoding_format: Literal["float", "base64"] | None = Field(None, examples=["float"])
    dimensions: Annotated[int, Field(ge=1)] | None = Field(None, examples=[384])


class OpenAIUsage(BaseModel):
    """Tokens that were read and written."""

    prompt_tokens: int
    total_tokens: int
    completion_tokens: int | None = None


class CompletionChoice(BaseModel):
    """One continuation."""

    index: int
    text: str
    finish_reason: str | None
    logprobs: None = None


class CompletionAnswer(BaseModel):
    """The whole answer; a piece of a stream looks the same."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: OpenAIUsage


class AnsweredMessage(BaseModel):
    """What the model says."""

    role: Literal["assistant"]
    content: str


class ChatChoice(BaseModel):
    """One answer."""

    index: int
    message: AnsweredMessage
    finish_reason: str | None
    logprobs: None = None


class ChatAnswer(BaseModel):
    """The whole answer."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    usage: OpenAIUsage


class EmbeddingRow(BaseModel):
    """A vector."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingAnswer(BaseModel):
    """One row for each text, in order."""

    object: Literal["list"]
    model: str
    data: list[EmbeddingRow]
    usage: OpenAIUsage


class ListedModel(BaseModel):
    """A model of this server, and what it offers."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    tasks: list[str]
    engine: str
    exact: bool
    languages: list[str] = Field(description="From and to, of a model that translates.")


class ModelList(BaseModel):
    """All of them."""

    object: Literal["list"]
    data: list[ListedModel]


def _not_offered(name: str) -> HttpRefusal:
    error = MisuseError(name, "regard does not offer it", advice="leave it out")
    return HttpRefusal(400, error, "not_offered")


def _texts(given: Any, name: str) -> list[str]:
    """One text or several; ids of another tokenizer mean nothing to a model."""
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts[0], str):
        error = MisuseError(name, "got tokens", expected="texts", advice="send the text itself")
        raise HttpRefusal(400, error, "tokens")
    return list(texts)


def _usage(made: WireMessage) -> WireMessage:
    read, written = made["usage"]["input"], made["usage"]["output"]
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
    }


def _begun(kind: str, prefix: str, model: ServedModel) -> WireMessage:
    made = {"id": f"{prefix}-{uuid.uuid4().hex}", "object": kind, "created": int(time.time())}
    return made | {"model": model.name}


@router.post("/completions", response_model=CompletionAnswer, responses=STREAMED)
async def completions(request: Request, asked: CompletionRequest) -> Response:
    """Go on with a text, or with several."""
    model = state_of(request).pool.named(asked.model, "complete")
    for name in ("echo", "suffix", "logprobs"):
        if vars(asked)[name]:
            raise _not_offered(name)
    prompts = _texts(asked.prompt, "prompt")
    options = asked.sampling(asked.max_tokens or FEW)
    wire = {"prompts": prompts, "options": options, "stream": bool(asked.stream)}
    about = _begun("text_completion", "cmpl", model)

    if asked.stream:
        events = _chunks(about, _continuation, asked)
        return await stream(request, model, "complete", wire, events)
    made = await ask(request, model, "complete", wire)
    choices = [_continuation(one) for one in made["choices"]]
    return answered(model, made, about | {"choices": choices, "usage": _usage(made)})


def _continuation(piece: WireMessage) -> WireMessage:
    reason = {"finish_reason": piece.get("finish_reason"), "logprobs": None}
    return {"index": piece["index"], "text": piece["text"], **reason}


@router.post("/chat/completions", response_model=ChatAnswer, responses=STREAMED)
async def chat_completions(request: Request, asked: ChatRequest) -> Response:
    """Answer a conversation."""
    model = state_of(request).pool.named(asked.model, "complete")
    for name in ("tools", "logprobs"):
        if vars(asked)[name]:
            raise _not_offered(name)
    options = asked.sampling(asked.max_completion_tokens or asked.max_tokens or MOST_TOKENS)
    messages = [_message(message) for message in asked.messages]
    wire = {"messages": messages, "options": options, "stream": bool(asked.stream)}
    if asked.stream:
        about = _begun("chat.completion.chunk", "chatcmpl", model)
        events = _chunks(about, _delta, asked)
        return await stream(request, model, "chat", wire, events)
    made = await ask(request, model, "chat", wire)
    choices = [
        {
            "index": one["index"],
            "message": {"role": "assistant", "content": one["text"]},
            "finish_reason": one["finish_reason"],
            "logprobs": None,
        }
        for one in made["choices"]
    ]
    body = _begun("chat.completion", "chatcmpl", model)
    return answered(model, made, body | {"choices": choices, "usage": _usage(made)})


def _message(message: ChatMessage) -> WireMessage:
    role = "system" if message.role == "developer" else message.role
    if isinstance(message.content, str):
        return {"role": role, "content": message.content}
    for part in message.content:
        if part.type != "text" or part.text is None:
            error = MisuseError("messages", f"a part is {part.type[:40]!r}", expected="text")
            raise HttpRefusal(400, error, "content")
    return {"role": role, "content": "".join(part.text or "" for part in message.content)}


def _delta(piece: WireMessage) -> WireMessage:
    """What is new of an answer; the last one is empty and says why it ended."""
    reason = piece.get("finish_reason")
    delta = {} if reason else {"role": "assistant", "content": piece["text"]}
    return {"index": piece["index"], "delta": delta, "finish_reason": reason, "logprobs": None}


def _chunks(
    about: WireMessage, choice: Callable[[WireMessage], WireMessage], asked: DrawnRequest
) -> Callable[[WireMessage], list[WireMessage]]:
    """Messages of the engine as chunks; the last has the usage, if that was asked for."""
    counted = asked.stream_options is not None and asked.stream_options.include_usage

    def events(message: WireMessage) -> list[WireMessage]:
        if "piece" in message:
            return [about | {"choices": [choice(message["piece"])]}]
        return [about | {"choices": [], "usage": _usage(message["answer"])}] if counted else []

    return events


@router.post("/embeddings", response_model=EmbeddingAnswer)
async def embeddings(request: Request, asked: EmbeddingRequest) -> Response:
    """Texts as vectors."""
    model = state_of(request).pool.named(asked.model, "embed")
    if asked.dimensions is not None and asked.dimensions != model.facts["size"]:
        size = model.facts["size"]
        raise HttpRefusal(
            400, MisuseError("dimensions", got=asked.dimensions, expected=f"{size}"), "dimensions"
        )
    texts = _texts(asked.input, "input")
    made = await ask(request, model, "embed", {"texts": texts})
    rows = made["vectors"]
    if asked.encoding_format != "base64":
        rows = [array("f", b64decode(row)).tolist() for row in rows]
    data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]
    tokens = sum(made["tokens"])
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    body = {"object": "list", "model": model.name, "data": data, "usage": usage}
    return answered(model, made, body)


def _listed(request: Request, model: ServedModel) -> WireMessage:
    facts = model.facts
    about = {"id": model.name, "object": "model", "created": model.begun, "owned_by": "regard"}
    searches = state_of(request).options.index is not None and model.offers("embed")
    languages = [facts["source"], facts["target"]] if "translate" in facts["tasks"] else []
    return about | {
        "tasks": [*facts["tasks"], *(["search"] if searches else [])],
        "engine": facts["engine"],
        "exact": facts["exact"],
        "languages": languages,
    }


@router.get("/models", response_model=ModelList)
async def models(request: Request) -> Response:
    """The models of this server."""
    there = state_of(request).pool.models.values()
    return plain_json({"object": "list", "data": [_listed(request, m) for m in there if m.facts]})


@router.get("/models/{name}", response_model=ListedModel)
async def model(request: Request, name: str) -> Response:
    """One of them."""
    found = state_of(request).pool.models.get(name)
    if found is None or not found.facts:
        error = MisuseError("model", got=name, expected="one of /v1/models")
        raise HttpRefusal(404, error, "model_not_found")
    return plain_json(_listed(request, found))
