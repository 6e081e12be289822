"""The page at /: three files of this package, which ask this server and nobody else.

A browser is told so too: the policy (Content-Security-Policy) lets nothing run, load or be framed
but what comes from here.
"""

from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

router = APIRouter(include_in_schema=False)
FOLDER = Path(__file__).parent / "page"
# path → file and what it is
FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {"content-security-policy": POLICY, "referrer-policy": "no-referrer"}


async def page(request: Request) -> Response:
    """One of the files."""
    name, kind = FILES[request.url.path]
    return Response((FOLDER / name).read_bytes(), media_type=kind, headers=HEADERS)


for path in FILES:
    router.add_api_route(path, page, methods=["GET", "HEAD"])
