"""What a server says instead of an answer: a status, and a body in the dialect of the route.

    /v1/…       {"error": {"message": …, "type": …, "param": …, "code": …, …}}   as OpenAI has it
    the rest    {"error": "a sentence"}                                     as LibreTranslate has it

The message is the sentence of an error of ours, and says what, what was got, what was expected and
what to do; on /v1/ these are fields too (errors.py).
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.responses import Response
from starlette.types import Send as AsgiSend

from regard.errors import MisuseError, RegardError
from regard.serve.wire import WireMessage, refusal_of

TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "overloaded_error",
}
FIELDS = ("subject", "problem", "got", "expected", "advice")
LEFT = RegardError("client", "it left before there was an answer")
BROKEN = RegardError("server", "an error of its own", advice="its log says more")


class HttpRefusal(Exception):
    """Ends a request with a status."""

    def __init__(
        self, status: int, said: RegardError | WireMessage, code: str = "", **headers: str
    ) -> None:
        self.status, self.code = status, code
        self.said = refusal_of(said) if isinstance(said, RegardError) else said
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        super().__init__(self.said["message"])

    def body(self, path: str) -> dict[str, Any]:
        """In the dialect of the path."""
        message = str(self)
        if not path.startswith("/v1/"):
            return {"error": message}
        kind = TYPES.get(self.status, "invalid_request_error")
        param = self.said.get("subject") or None
        parts = {name: self.said.get(name) for name in FIELDS}
        code = self.code or None
        return {"error": {"message": message, "type": kind, "param": param, "code": code, **parts}}

    def response(self, path: str) -> Response:
        return plain_json(self.body(path), self.status, self.headers)


def plain_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON with its letters as they are, whatever a text holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    content = text.encode("utf-8", "replace")
    return Response(content, status, dict(headers or {}), "application/json")


def invalid(errors: Sequence[Any], within: int) -> MisuseError:
    """The first of pydantic's errors, in our words; what was sent is not repeated.

    `within`: how many parts of its place say where the body is, not what in it.
    """
    first: dict[str, Any] = errors[0]
    if first["type"] == "json_invalid":
        return MisuseError("body", "is no JSON")
    place = first["loc"][within:]
    parts = [*place[:1], *(part for part in place[1:] if isinstance(part, int))]
    problem = str(first["msg"])
    return MisuseError(".".join(map(str, parts)) or "body", problem[:1].lower() + problem[1:])


async def refuse(
    refusal: HttpRefusal,
    path: str,
    send: AsgiSend,
    rest: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Answer with it at once and end the connection; `rest` passes over what is still sent."""
    body = json.dumps(refusal.body(path), ensure_ascii=False).encode("utf-8", "replace")
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "connection": "close",
        **refusal.headers,
    }
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    if rest is not None:
        await rest()
    await send({"type": "http.response.body", "body": b"", "more_body": False})
