"""A server that answers one request at a time around CTranslate2, as LibreTranslate does.

Its model is the folder that regard converted and its own threads are the library's, as installed;
only the way of answering is LibreTranslate's: a thread for each connection, no batches.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

import regard


def main() -> None:
    folder, beam = Path(sys.argv[1]), int(sys.argv[2])
    model = regard.load(folder, engine="ctranslate2", workers=1)
    turn = Lock()
    model.translate("warm", beam=beam)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with turn:
                text = model.translate(asked["text"], beam=beam)
            body = json.dumps({"translatedText": text}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"Serving at http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
