"""An address → a file: in parts, resumed where it was cut off, never waiting for ever.

What has come so far lies in `part`; beside it `part.mark` says which version of the file it belongs
to. A later call asks for the rest only, and begins again if the file has changed meanwhile.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from regard.errors import DataError, MisuseError

CHUNK = 1 << 16
TIMEOUT = 30.0  # seconds without a byte
TRIES = 3
PAUSE = 1.0  # seconds before the next try
MOST = 500_000_000  # bytes; no set of the table is near it

ReportProgress = Callable[[int, int | None], None]  # bytes that are here, of how many


def fetch(
    address: str,
    part: Path,
    report: ReportProgress = lambda have, total: None,
    *,
    timeout: float = TIMEOUT,
    pause: float = PAUSE,
) -> None:
    """The bytes at `address` into `part`, all of them, or a DataError."""
    if urlsplit(address).scheme not in ("http", "https"):
        raise MisuseError(address, expected="an address that begins with https:// or http://")
    part.parent.mkdir(parents=True, exist_ok=True)
    trouble = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(pause)
        try:
            _go_on(address, part, report, timeout)
            return
        except HTTPError as error:
            error.close()
            if error.code == 416:  # the rest of what is here does not exist: begin again
                forget(part)
            elif error.code < 500 and error.code not in (408, 429):
                raise DataError(
                    f"{address}: the server answers {error.code} ({error.reason}): the file may "
                    "have moved; where you have it, `regard data NAME --from FOLDER` takes it"
                ) from None
            trouble = f"the server answers {error.code} ({error.reason})"
        except (OSError, HTTPException) as error:  # no network, or one that ended
            trouble = _trouble(error, timeout)
    advice = "try again with a network, or take it from a folder with --from"
    if part.is_file():
        kept = f"{part.stat().st_size:,} bytes are kept"
        advice = f"{kept}, the same command goes on from there"
    raise DataError(address, trouble, advice=advice)


def _trouble(error: Exception, timeout: float) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return f"no byte came for {timeout:g} seconds"
    return str(reason) or type(reason).__name__


def forget(part: Path) -> None:
    """Remove what has come so far."""
    part.unlink(missing_ok=True)
    _mark_of(part).unlink(missing_ok=True)


def _mark_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.mark")


def _go_on(address: str, part: Path, report: ReportProgress, timeout: float) -> None:
    """One connection: ask for what is missing, write what comes."""
    marked = _mark_of(part).read_text("utf-8") if _mark_of(part).is_file() else ""
    have = part.stat().st_size if marked and part.is_file() else 0
    if have and marked.startswith(f"{have} "):
        return  # all of it came, but the program ended before it was used
    headers = {"User-Agent": "regard", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = Request(address, headers=headers)
    with build_opener(_Redirects).open(request, timeout=timeout) as answer:
        total = _total(answer)
        mark = f"{total} {answer.headers.get('ETag') or answer.headers.get('Last-Modified', '')}"
        if answer.status == 206 and not (_starts_at(answer, have) and mark == marked):
            forget(part)
            raise ConnectionError("the file has changed since its first part was fetched")
        if answer.status != 206:
            have = 0
        _refuse_too_much(address, total or 0)
        with _disk(part):
            _mark_of(part).write_text(mark, encoding="utf-8")
            file = part.open("ab" if have else "wb")
        try:
            report(have, total)
            while chunk := answer.read1(CHUNK):
                have += len(chunk)
                _refuse_too_much(address, have)
                with _disk(part):
                    file.write(chunk)
                report(have, total)
        finally:
            with _disk(part):
                file.close()
    if total is not None and have < total:
        raise ConnectionError(f"the connection ended after {have:,} of {total:,} bytes")


@contextmanager
def _disk(part: Path) -> Iterator[None]:
    """An error of the disk is none of the network: another try would not help."""
    try:
        yield
    except OSError as error:
        advice = "what has come is kept, the same command goes on from there"
        raise DataError(part, f"{error.strerror or error}", advice=advice) from None


def _total(answer: HTTPResponse) -> int | None:
    """How long the whole file is, where the server says it."""
    said = answer.headers.get("Content-Length")
    if answer.status == 206:
        said = answer.headers.get("Content-Range", "").rpartition("/")[2]
    return int(said) if said and said.isdigit() else None


def _starts_at(answer: HTTPResponse, have: int) -> bool:
    return answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")


def _refuse_too_much(address: str, count: int) -> None:
    if count > MOST:
        advice = "no set of regard is so large"
        raise DataError(address, f"sends over {MOST:,} bytes", advice=advice)


class _Redirects(HTTPRedirectHandler):
    """Follows a server to other addresses of the web; never from https to plain http."""

    def redirect_request(
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> Request | None:
        old, new = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if new not in ("http", "https") or (old == "https" and new == "http"):
            problem = f"leads on to {newurl}, which is not safe to follow"
            advice = "where you have the file, `regard data NAME --from FOLDER` takes it"
            raise DataError(req.full_url, problem, advice=advice)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
