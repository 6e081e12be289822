"""`save` and `push_to_hub`, the latter against a stand-in that speaks the hub's HTTP interface."""

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import regard
from regard.errors import MisuseError, RegardError

pytestmark = pytest.mark.end_to_end


class Hub(BaseHTTPRequestHandler):
    """Makes repositories and takes commits of plain files; remembers both."""

    repositories: dict[str, dict[str, Any]] = {}
    files: dict[str, bytes] = {}

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != "Bearer good":
            self.answer(401, {"error": "Invalid credentials"})
        elif self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked.get('organization', 'me')}/{asked['name']}"
            self.repositories[name] = asked
            self.answer(200, {"url": f"{self.place}/{name}", "id": name})
        elif "/preupload/" in self.path:
            names = [file["path"] for file in json.loads(body)["files"]]
            modes = [
                {"path": name, "uploadMode": "regular", "shouldIgnore": False, "oid": None}
                for name in names
            ]
            self.answer(200, {"files": modes})
        elif "/commit/" in self.path:
            for line in body.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    value = entry["value"]
                    self.files[value["path"]] = base64.b64decode(value["content"])
            told = {"commitUrl": f"{self.place}/c/1", "commitOid": "1" * 40, "hookOutput": ""}
            self.answer(200, told)
        else:
            self.answer(404, {"error": self.path})

    @property
    def place(self) -> str:
        return f"http://{self.headers['Host']}"

    def answer(self, code: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: Any) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def hub() -> Iterator[str]:
    Hub.repositories.clear()
    Hub.files.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_saved_model_has_a_card(toy_run: Path, tmp_path: Path) -> None:
    model = regard.load(toy_run, "cpu", engine="torch", precision="fp32")
    model.save(tmp_path / "native")
    model.save(tmp_path / "hf", "hf")
    for folder in (tmp_path / "native", tmp_path / "hf"):
        card = (folder / "README.md").read_text(encoding="utf-8")
        front, rest = card.removeprefix("---\n").split("---\n", 1)
        assert 'pipeline_tag: "translation"' in front
        assert f"# {folder.name}\n" in rest and "## Scores" in rest and "- loss " in rest
        assert f"{sum(p.numel() for p in model.transformer.parameters()):,} parameters" in rest
        assert str(tmp_path.parent) not in front
        again = regard.load(folder, "cpu", engine="torch", precision="fp32")
        assert again.translate("red cat") == model.translate("red cat")


def test_a_model_goes_to_the_hub_and_comes_back(hub: str, toy_run: Path, tmp_path: Path) -> None:
    model = regard.load(toy_run, "cpu", engine="torch", precision="fp32")
    address = model.push_to_hub("me/toy", token="good", endpoint=hub)
    assert address.endswith("/me/toy")
    assert Hub.repositories["me/toy"]["private"] is True
    assert {"README.md", "config.json", "model.safetensors", "golden.json"} <= set(Hub.files)
    folder = tmp_path / "back"
    folder.mkdir()
    for name, data in Hub.files.items():
        (folder / name).write_bytes(data)
    again = regard.load(folder, "cpu", engine="torch", precision="fp32")
    assert again.translate("red cat") == model.translate("red cat")


def test_what_the_hub_refuses_is_told(hub: str, toy_run: Path) -> None:
    model = regard.load(toy_run, "cpu", engine="torch", precision="fp32")
    with pytest.raises(RegardError, match="me/toy: the hub does not take it: .*401"):
        model.push_to_hub("me/toy", token="bad", endpoint=hub)
    with pytest.raises(MisuseError, match="expected owner/name"):
        model.push_to_hub("me//toy", token="good", endpoint=hub)
    assert not Hub.files
