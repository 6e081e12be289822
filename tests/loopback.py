"""A web server on this machine, for tests: files with resuming, and ways in which servers fail."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What the server has, and how it misbehaves; each answer takes one of `cuts` off the list."""

    files: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)  # end the connection after so many bytes
    statuses: list[int] = field(default_factory=list)  # answer with these first
    hangs: bool = False
    ranges: bool = True
    tag: str = '"v1"'
    address: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)  # path, Range


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    """The site at `site.address` until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            site.asked.append((self.path, asked))
            if site.hangs:
                time.sleep(3)
            if site.statuses:
                self._bare(site.statuses.pop(0))
            elif self.path in site.redirects:
                self._bare(302, site.redirects[self.path])
            elif self.path not in site.files:
                self._bare(404)
            else:
                self._file(site.files[self.path], asked)

        def _bare(self, status: int, location: str = "") -> None:
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _file(self, body: bytes, asked: str) -> None:
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
            if start and not site.ranges:
                start = 0
            if start >= len(body) > 0:
                self._bare(416)
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            self.send_header("Content-Length", str(len(body) - start))
            self.send_header("ETag", site.tag)
            self.end_headers()
            self.wfile.write(body[start:][: site.cuts.pop(0)] if site.cuts else body[start:])
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the test says what went wrong."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    site.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
