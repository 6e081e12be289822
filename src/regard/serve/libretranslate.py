"""The dialect of LibreTranslate, whose clients need not know that they talk to another server.

    POST /translate            q: a text or several; source (or "auto"), target, alternatives
    GET  /languages            what there is a model for
    POST /translate_file       a .txt, .md, .html, .srt or .po file; all but its text stays
    POST /detect               which language a text is in
    GET  /frontend/settings    the limits, as a page of LibreTranslate reads them

Requests are JSON or forms.
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import UploadFile
from starlette.responses import Response

from regard.errors import MisuseError, RegardError
from regard.serve.asking import answer_headers, answered, ask, state_of
from regard.serve.files import KINDS, READERS, FileTexts, read_file, read_html
from regard.serve.guards import FORMS, JSON, kind_of
from regard.serve.languages import detect_language, language_name
from regard.serve.pool import ServedModel
from regard.serve.refusal import HttpRefusal, invalid, plain_json
from regard.serve.schemas import MOST_BEAM, LibreRefusal, OneOrMore, listed, refusals
from regard.serve.wire import WireMessage

router = APIRouter(tags=["LibreTranslate"], responses=refusals(LibreRefusal))
FORM, MULTIPART = FORMS
Shape = TypeVar("Shape", bound=BaseModel)


class LibreRequest(BaseModel):
    """What every request may have."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)
    api_key: str | None = Field(None, examples=[""], description="Where the server asks for keys.")


class LibreTranslate(LibreRequest):
    """POST /translate."""

    q: OneOrMore = Field(examples=["How are you?"])
    source: str = Field(examples=["en"], description='A code, or "auto".')
    target: str = Field(examples=["de"])
    format: Literal["text", "html"] = Field("text", description="html: tags stay.")
    alternatives: Annotated[int, Field(ge=0, lt=MOST_BEAM)] = 0


class LibreDetect(LibreRequest):
    """POST /detect."""

    q: str = Field(examples=["How are you?"])


class GuessedLanguage(BaseModel):
    """A language, and how sure that is, in percent."""

    language: str
    confidence: float


class LibreTranslated(BaseModel):
    """A text for a text, a list for a list."""

    translatedText: str | list[str]
    detectedLanguage: GuessedLanguage | list[GuessedLanguage] | None = None
    alternatives: list[str] | list[list[str]] | None = None


class LibreLanguage(BaseModel):
    """A source language, and the codes of what it is translated into."""

    code: str
    name: str
    targets: list[str]


def request_body(shape: type[BaseModel], required: bool = True) -> dict[str, Any]:
    """The schema of a body that is JSON or a form."""
    schema = shape.model_json_schema()
    content = {kind: {"schema": schema} for kind in (JSON, FORM)}
    return {"requestBody": {"required": required, "content": content}}


async def read(request: Request, shape: type[Shape]) -> Shape:
    """The body as this shape, whichever of the two it is."""
    try:
        if kind_of(request.headers.get("content-type", "")) == JSON:
            said: Any = json.loads(await request.body())
        else:
            said = _form(await request.form())
        return shape.model_validate(said)
    except ValidationError as error:
        raise HttpRefusal(400, invalid(error.errors(include_url=False), within=0)) from None
    except ValueError:
        raise HttpRefusal(400, MisuseError("body", "is no JSON")) from None


def _form(form: Any) -> dict[str, Any]:
    """Fields by name; one that is there several times is a list."""
    fields: dict[str, Any] = {}
    for name in form:
        values = [value for value in form.getlist(name) if not isinstance(value, UploadFile)]
        fields[name] = values[0] if len(values) == 1 else values
    return fields


@router.post(
    "/translate", response_model=LibreTranslated, openapi_extra=request_body(LibreTranslate)
)
async def translate(request: Request) -> Response:
    """Translate a text or several."""
    asked = await read(request, LibreTranslate)
    texts = listed(asked.q)
    pages = await asyncio.to_thread(_read_pages, texts) if asked.format == "html" else None
    inner = texts if pages is None else [text for page in pages for text in page.texts]
    shown = texts if pages is None else [" ".join(page.texts) for page in pages]
    model, guessed = await chosen(request, asked.source, asked.target, shown)
    options: dict[str, Any] = {"n_best": asked.alternatives + 1} if asked.alternatives else {}
    made = await ask(request, model, "translate", {"texts": inner, "options": options})
    if pages is not None:
        made["translations"] = await asyncio.to_thread(_pages, pages, made["translations"])
    return answered(model, made, _translated(asked, made, guessed))


def _read_pages(texts: list[str]) -> list[FileTexts]:
    return [read_html(text) for text in texts]


def _pages(pages: list[FileTexts], found: list[list[WireMessage]]) -> list[list[WireMessage]]:
    """Each page with the best of its texts, with the second best, and so on."""
    rows, begin = [], 0
    for page in pages:
        own = found[begin : begin + len(page.texts)]
        begin += len(page.texts)
        most = max(map(len, own), default=1)
        texts = [[row[min(n, len(row) - 1)]["text"] for row in own] for n in range(most)]
        rows.append([{"text": page.write(each)} for each in texts])
    return rows


def _translated(
    asked: LibreTranslate, made: WireMessage, guessed: list[WireMessage] | None
) -> WireMessage:
    """In the shape of the question: one for one, a list for a list."""

    def shaped(rows: list[Any]) -> Any:
        return rows[0] if isinstance(asked.q, str) else rows

    rows = made["translations"]
    body = {"translatedText": shaped([row[0]["text"] for row in rows])}
    if guessed is not None:
        body["detectedLanguage"] = shaped(guessed)
    if asked.alternatives:
        body["alternatives"] = shaped([[one["text"] for one in row[1:]] for row in rows])
    return body


async def chosen(
    request: Request, source: str, target: str, texts: list[str]
) -> tuple[ServedModel, list[WireMessage] | None]:
    """The model between two languages; the source may have to be guessed."""
    pool = state_of(request).pool
    pool.named(None, "translate")  # is there any, and does the server take requests?
    if source != "auto":
        return pool.between(source, target), None
    sources = {m.facts["source"] for m in pool.translators() if m.facts["target"] == target}
    if not sources:
        return pool.between(None, target), None
    guessed = [guess[0] for guess in await _guesses(texts, sources)]
    return pool.between(guessed[0]["language"], target), guessed


async def _guesses(texts: list[str], among: Collection[str] = ()) -> list[list[WireMessage]]:
    try:
        return await asyncio.to_thread(lambda: [detect_language(text, among) for text in texts])
    except ImportError:
        error = RegardError("detect", "py3langid is missing", advice="pip install 'regard[serve]'")
        raise HttpRefusal(503, error, "not_installed") from None


class LibreFile(BaseModel):
    """A form with a file."""

    file: str = Field(json_schema_extra={"format": "binary"})
    source: str = Field(examples=["en"])
    target: str = Field(examples=["de"])
    api_key: str | None = None


class LibreFileTranslated(BaseModel):
    """Where the file is: in the address itself (data:), since this server keeps nothing."""

    translatedFileUrl: str


@router.post(
    "/translate_file",
    response_model=LibreFileTranslated,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {MULTIPART: {"schema": LibreFile.model_json_schema()}},
        }
    },
)
async def translate_file(request: Request) -> Response:
    """Translate a file; who accepts application/octet-stream is sent the file itself."""
    form = await request.form() if request.headers.get("content-type", "") else {}
    file, source, target = (form.get(name) for name in ("file", "source", "target"))
    if not isinstance(file, UploadFile) or not isinstance(source, str):
        raise HttpRefusal(400, MisuseError("form", expected="file, source and target"))
    if not isinstance(target, str):
        raise HttpRefusal(400, MisuseError("target", "is missing", expected="a language"))
    name, content = file.filename or "", await file.read()
    found = await asyncio.to_thread(read_file, name, content)
    model, _ = await chosen(request, source, target, [" ".join(found.texts)[:2000]])
    made = await ask(request, model, "translate", {"texts": found.texts, "options": {}})
    texts = [row[0]["text"] for row in made["translations"]]
    written = (await asyncio.to_thread(found.write, texts)).encode("utf-8", "replace")
    kind = KINDS.get(PurePosixPath(name).suffix.lower(), "text/plain")
    if "application/octet-stream" in request.headers.get("accept", ""):
        return Response(written, headers=answer_headers(model, made), media_type=kind)
    address = f"data:{kind};charset=utf-8;base64,{b64encode(written).decode('ascii')}"
    return answered(model, made, {"translatedFileUrl": address})


@router.post(
    "/detect", response_model=list[GuessedLanguage], openapi_extra=request_body(LibreDetect)
)
async def detect(request: Request) -> Response:
    """Which language a text is in, the likeliest first."""
    asked = await read(request, LibreDetect)
    return plain_json((await _guesses([asked.q]))[0])


@router.get(
    "/languages",
    response_model=list[LibreLanguage],
    openapi_extra=request_body(LibreRequest, required=False),
)
async def languages(request: Request) -> Response:
    """The languages that there is a model for."""
    return plain_json(_languages(state_of(request).pool.translators()))


def _languages(models: list[ServedModel]) -> list[WireMessage]:
    targets: dict[str, list[str]] = {}
    for model in models:
        targets.setdefault(model.facts["source"], []).append(model.facts["target"])
        targets.setdefault(model.facts["target"], [])
    rows = sorted(targets.items())
    return [{"code": c, "name": language_name(c), "targets": sorted(set(t))} for c, t in rows]


class LibreSettings(BaseModel):
    """What a page of LibreTranslate asks before it shows itself."""

    apiKeys: bool
    charLimit: int
    frontendTimeout: int
    keyRequired: bool
    language: dict[str, Any]
    suggestions: bool
    supportedFilesFormat: list[str]


@router.get("/frontend/settings", response_model=LibreSettings)
async def settings(request: Request) -> Response:
    """Limits, and which language is shown first."""
    state = state_of(request)
    models = state.pool.translators()
    first = models[0].facts if models else {"source": "", "target": ""}
    needs_key = state.options.keys is not None
    return plain_json(
        {
            "apiKeys": needs_key,
            "charLimit": state.options.limits.body // 4,
            "frontendTimeout": 500,
            "keyRequired": needs_key,
            "language": {
                side: {"code": first[side], "name": language_name(first[side])}
                for side in ("source", "target")
            },
            "suggestions": False,
            "supportedFilesFormat": list(READERS),
        }
    )
