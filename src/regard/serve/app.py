"""The application: routes of all dialects, inside what every request passes.

    Observed ─▸ CORS (off unless --cors) ─▸ Guards ─▸ routes ─▸ a model's engine process

`make_app` starts no process by itself: the pool that it is given is started by serve/lifecycle.py.
The one of `self_starting_app` is started by whatever else runs an ASGI application.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse, Response

from regard.errors import MisuseError, RegardError
from regard.serve import (
    libretranslate,
    openai,
    own,
    own_explaining,
    own_pictures,
    own_reading,
    web_page,
)
from regard.serve.asking import ServerState, state_of
from regard.serve.guards import Guards
from regard.serve.keys import read_keys
from regard.serve.observed import Observed, ServeMetrics
from regard.serve.options import ServeOptions
from regard.serve.pool import ModelPool
from regard.serve.refusal import HttpRefusal, invalid, plain_json
from regard.serve.wire import refusal_of
from regard.version import __version__

ABOUT = """Translate, complete, chat, embed, label and explain, with models of `regard`.

The dialects of LibreTranslate and OpenAI are those that their clients speak. Send a key, where
one is needed, as `Authorization: Bearer KEY`. A request that takes longer than the deadline, or
that the server has no room for, ends with 503 or 429 and `Retry-After`.
"""
health = APIRouter(tags=["server"])


class HealthReport(BaseModel):
    """Whether the server is there, or takes requests."""

    status: str


@health.get("/healthz", response_model=HealthReport)
async def healthz() -> Response:
    """The server is there."""
    return plain_json({"status": "ok"})


@health.get(
    "/readyz",
    response_model=HealthReport,
    responses={503: {"model": HealthReport, "description": "It does not, for now."}},
)
async def readyz(request: Request) -> Response:
    """Every model answers, and new requests are taken."""
    ready = state_of(request).pool.is_ready
    return plain_json({"status": "ready" if ready else "not ready"}, 200 if ready else 503)


@health.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Counters for Prometheus."""
    text: bytes = request.app.state.metrics.text()
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


ROUTERS: Sequence[APIRouter] = (
    health,
    own.router,
    own_reading.router,
    own_explaining.router,
    own_pictures.router,
    openai.router,
    libretranslate.router,
    web_page.router,
)


def self_starting_app(options: ServeOptions) -> FastAPI:
    """The application with models of its own, from the server's startup to its shutdown."""
    pool = ModelPool(options)

    @asynccontextmanager
    async def with_models(app: FastAPI) -> AsyncIterator[None]:
        await pool.start()
        try:
            yield
        finally:
            pool.stop()

    return make_app(options, pool, with_models)


def make_app(options: ServeOptions, pool: ModelPool, lifespan: Any = None) -> FastAPI:
    """The ASGI application of a server; `lifespan`: what FastAPI does before and after."""
    counted = ServeMetrics(pool)
    keys = None if options.keys is None else read_keys(options.keys)
    layers = [Middleware(Observed, pool=pool, metrics=counted, log=options.log)]
    if options.cors:
        origins, methods = list(options.cors), ("GET", "POST")
        cors = Middleware(
            CORSMiddleware, allow_origins=origins, allow_methods=methods, allow_headers=("*",)
        )
        layers.append(cors)
    layers.append(Middleware(Guards, options=options, keys=keys))
    app = FastAPI(
        title="regard",
        version=__version__,
        description=ABOUT,
        docs_url=None,  # these pages would be fetched from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        middleware=layers,
        lifespan=lifespan,
    )
    app.state.server, app.state.metrics = ServerState(options, pool), counted
    for router in ROUTERS:
        app.include_router(router)
    app.add_exception_handler(HttpRefusal, _refused)
    app.add_exception_handler(RegardError, _wrong)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _elsewhere)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HttpRefusal)
    return error.response(request.url.path)


async def _wrong(request: Request, error: Exception) -> Response:
    """What was asked cannot be carried out: 400; what is our own fault: 500."""
    assert isinstance(error, RegardError)
    said = refusal_of(error)
    return HttpRefusal(said["status"], said).response(request.url.path)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    refusal = HttpRefusal(422, invalid(error.errors(), within=1), "invalid")
    return refusal.response(request.url.path)


async def _elsewhere(request: Request, error: Exception) -> Response:
    """No such route or method, or a body that is no JSON."""
    assert isinstance(error, HTTPException)
    said = MisuseError(f"{request.method} {request.url.path}"[:200], str(error.detail).lower())
    refusal = HttpRefusal(error.status_code, said)
    refusal.headers = dict(error.headers or {})
    return refusal.response(request.url.path)
