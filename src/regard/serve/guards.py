"""What every request passes before anything else happens, whatever its route is.

    Host            one of the server's own names, else 421: a page of another site whose name was
                    made to point here (DNS rebinding) is not answered
    Origin          a page of this server, or one that --cors names, else 403, for every method
    key             where keys are asked for, everywhere but on /healthz and /readyz, else 401; for
                    the page a browser asks its reader for a password, which is the key
    content type    JSON; forms for the routes of LibreTranslate, else 415: a page cannot send JSON
                    to another site without asking first
    body            not larger (413), deeper (400) or slower (408) than the limits allow

The head of a request is watched before that (serve/protocol.py).
"""

import asyncio
import contextlib
import ipaddress
import json
import re
from base64 import b64decode
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope
from starlette.types import Message as AsgiMessage
from starlette.types import Send as AsgiSend

from regard.errors import MisuseError, RegardError
from regard.serve.keys import Keys
from regard.serve.options import ServeOptions
from regard.serve.refusal import LEFT, HttpRefusal, refuse
from regard.serve.web_page import FILES as PAGE

OPEN = ("/healthz", "/readyz")  # these need no key
JSON = "application/json"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
# Clients of LibreTranslate post forms, and send their key in the body.
FORM_PATHS = ("/translate", "/translate_file", "/detect", "/languages", "/frontend/settings")
NAMED_ONCE = (b"host", b"origin", b"content-type", b"content-length", b"authorization")
# A text, also one without an end, or a bracket. Nothing is given back (*+): a body that was made to
# be hard to read takes no longer than another.
TEXT_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
MOST_HELD = 128  # bodies of the largest size that are in memory at once; then 429


class Guards:
    """Around the application."""

    def __init__(self, app: ASGIApp, options: ServeOptions, keys: Keys | None) -> None:
        self._app, self._options, self._keys = app, options, keys
        self._held = 0  # bytes of bodies

    async def __call__(self, scope: Scope, receive: Receive, send: AsgiSend) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, parts = scope["path"], list[bytes]()
        body: bytes | None = None
        try:
            headers = _headers(scope)
            kind = kind_of(headers.get("content-type", ""))
            self._check_host(headers)
            self._check_origin(headers)
            self._check_kind(headers, kind, path)
            owner = self._owner_by_headers(headers)
            in_body = self._keys is not None and path in FORM_PATHS
            if owner is None and path not in OPEN and not in_body:
                raise _no_key("Basic" if path in PAGE else "Bearer")
            body = await self._body(headers, receive, parts)
            if kind == JSON:
                check_depth(body, self._options.limits.depth)
            if owner is None and path not in OPEN:
                owner = await self._owner_by_body(scope, kind, body)
            scope["state"]["key"] = owner or ""
            await self._app(scope, _replayed(body, receive), send)
        except HttpRefusal as refusal:
            unread = body is None and refusal.status not in (408, 499)
            await refuse(refusal, path, send, lambda: self._pass_over(receive, unread))
        finally:
            self._held -= sum(map(len, parts))

    def _check_host(self, headers: dict[str, str]) -> None:
        names = self._options.hosts
        if names is None:
            return
        host = headers.get("host", "")
        name = re.sub(r":\d*$", "", host).lower()
        if name not in names and not (self._options.any_address and is_address(name)):
            error = MisuseError("Host", got=host, advice="--allow-host NAME lets it in")
            raise HttpRefusal(421, error, "host")

    def _check_origin(self, headers: dict[str, str]) -> None:
        origin = headers.get("origin")
        if origin is None or origin in self._options.cors:
            return
        its_host = origin.partition("://")[2].lower()  # "null" has none
        if not its_host or its_host != headers.get("host", "").lower():
            error = MisuseError("Origin", got=origin, advice="--cors ORIGIN lets its pages ask")
            raise HttpRefusal(403, error, "origin")

    def _check_kind(self, headers: dict[str, str], kind: str, path: str) -> None:
        """Whoever sends something says what it is."""
        empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        if empty and not kind:
            return
        allowed = (JSON, *FORMS) if path in FORM_PATHS else (JSON,)
        if kind not in allowed:
            error = MisuseError("Content-Type", got=kind, expected=f"one of {', '.join(allowed)}")
            raise HttpRefusal(415, error, "content_type")

    def _owner_by_headers(self, headers: dict[str, str]) -> str | None:
        if self._keys is None:
            return ""
        scheme, _, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and key:
            return self._keys.owner(key.strip())
        if scheme.lower() == "basic" and key:
            return self._keys.owner(_password(key))
        return self._keys.owner(headers["x-api-key"]) if "x-api-key" in headers else None

    async def _owner_by_body(self, scope: Scope, kind: str, body: bytes) -> str:
        """As clients of LibreTranslate send it: `api_key` in the form, the JSON or the query."""
        assert self._keys is not None
        key = parse_qs(scope["query_string"].decode("latin-1")).get("api_key", [""])[0]
        try:
            if kind == JSON:
                said = json.loads(body)
                key = str(said.get("api_key", key)) if isinstance(said, dict) else key
            elif kind and body:
                form = await Request(scope, _replayed(body, None)).form()
                key = str(form.get("api_key", key))
        except Exception:  # what is neither has no key
            raise _no_key() from None
        owner = self._keys.owner(key)
        if owner is None:
            raise _no_key()
        return owner

    async def _body(self, headers: dict[str, str], receive: Receive, parts: list[bytes]) -> bytes:
        """The whole body, part by part; what the others hold is counted too."""
        most, length = self._options.limits.body, headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:18]) > most:
            raise _too_large(most)
        size = 0
        try:
            async with asyncio.timeout(self._options.limits.slow):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise HttpRefusal(499, LEFT)
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    self._held += len(parts[-1])
                    if size > most:
                        raise _too_large(most)
                    if self._held > MOST_HELD * most:
                        error = RegardError("busy", "too many large requests at once")
                        raise HttpRefusal(429, error, "busy", retry_after="1")
                    if not message.get("more_body", False):
                        parts[:] = [b"".join(parts)]  # once in memory, not twice
                        return parts[0]
        except TimeoutError:
            problem = f"did not arrive within {self._options.limits.slow:g} s"
            raise HttpRefusal(408, MisuseError("body", problem), "slow") from None

    async def _pass_over(self, receive: Receive, unread: bool) -> None:
        """What is still sent of a refused body: whoever is cut off may never see the answer."""
        size = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._options.limits.slow):
                while unread and size <= self._options.limits.body:
                    message = await receive()
                    size += len(message.get("body", b""))
                    unread = bool(message.get("more_body", False))


def kind_of(content_type: str) -> str:
    """The content type without its parameters, as it is compared."""
    return content_type.split(";")[0].strip().lower()


def is_address(name: str) -> bool:
    """Whether a host is an address: no name that could have been made to point here."""
    try:
        return bool(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return False


def _headers(scope: Scope) -> dict[str, str]:
    """By name; those that must not be there twice are not."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        if name in NAMED_ONCE and name.decode("latin-1") in headers:
            raise HttpRefusal(400, MisuseError(name.decode("latin-1"), "is there twice"), "header")
        headers[name.decode("latin-1")] = value.decode("latin-1")
    return headers


def _password(word: str) -> str:
    """Of `name:password` in base64; a browser asks for both, the key is the password."""
    try:
        return b64decode(word, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _no_key(scheme: str = "Bearer") -> HttpRefusal:
    advice = "send it as `Authorization: Bearer KEY`, or as `api_key` in the body"
    error = MisuseError("key", "this server asks for one", advice=advice)
    return HttpRefusal(401, error, "invalid_api_key", www_authenticate=f'{scheme} realm="regard"')


def _too_large(most: int) -> HttpRefusal:
    problem = f"a request may have {most:,} bytes"
    return HttpRefusal(413, MisuseError("body", problem, advice="divide it"), "too_large")


def check_depth(body: bytes, most: int) -> None:
    """Refuse JSON whose lists and objects lie deeper inside each other than `most`."""
    if body.count(b"[") + body.count(b"{") <= most:
        return
    depth = 0
    for found in TEXT_OR_BRACKET.finditer(body):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(found[0], 0)
        if depth > most:
            problem = f"lists and objects lie more than {most} deep"
            raise HttpRefusal(400, MisuseError("body", problem), "too_deep")


def _replayed(body: bytes, receive: Receive | None) -> Receive:
    """The body that was read, then whatever the client does."""
    told = False

    async def next_message() -> AsgiMessage:
        nonlocal told
        if not told:
            told = True
            return {"type": "http.request", "body": body, "more_body": False}
        if receive is None:
            return {"type": "http.disconnect"}
        return await receive()

    return next_message
