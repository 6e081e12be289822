"""`save` and `push_to_hub`, the latter against a stand-in that speaks the hub's HTTP interface."""

import base64
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import huggingface_hub
import pytest

import folders
import regard
from refusals import refused
from regard.checksums import sha256
from regard.errors import MisuseError, RegardError

pytestmark = pytest.mark.end_to_end
SHA = "1" * 40  # of its only commit


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
        elif self.path == "/api/validate-yaml":
            assert json.loads(body)["content"].startswith("---")
            self.answer(200, {"errors": [], "warnings": []})
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
            told = {
                "commitUrl": f"{self.place}/me/toy/commit/{SHA}",
                "commitOid": SHA,
                "hookOutput": "",
            }
            self.answer(200, told)
        else:
            self.answer(404, {"error": self.path})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        """What a repository holds, and each of its files."""
        if "/tree/" in self.path:
            entries = [
                {
                    "type": "file",
                    "path": name,
                    "size": len(data),
                    "oid": hashlib.sha1(data).hexdigest(),
                }
                for name, data in self.files.items()
            ]
            self.answer(200, entries)
            return
        if self.path.startswith("/api/models/me/"):
            names = [{"rfilename": name} for name in self.files]
            self.answer(200, {"id": "me/toy", "sha": SHA, "siblings": names})
            return
        data = self.files.get(self.path.removeprefix(f"/me/toy/resolve/{SHA}/"))
        if data is None:
            self.answer(404, {"error": self.path})
            return
        self.send_response(200)
        self.send_header("ETag", hashlib.sha256(data).hexdigest())
        self.send_header("X-Repo-Commit", SHA)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    @property
    def place(self) -> str:
        return f"http://{self.headers['Host']}"

    def answer(self, code: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: Any) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    Hub.repositories.clear()
    Hub.files.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)  # HF_ENDPOINT's effect
    yield address
    server.shutdown()
    server.server_close()


def test_a_saved_model_has_a_card(toy_run: Path, tmp_path: Path) -> None:
    model = regard.load(toy_run, "cpu", engine="torch", precision="fp32")
    folder = tmp_path / "native"
    model.save(folder)
    card = (folder / "README.md").read_text(encoding="utf-8")
    front, rest = card.removeprefix("---\n").split("---\n", 1)
    assert 'pipeline_tag: "translation"' in front
    assert "# native\n" in rest and "## Scores" in rest and "- loss " in rest
    assert "lines read, " in rest and sha256(folder / "golden.json") in rest
    assert f"{sum(p.numel() for p in model.transformer.parameters()):,} parameters" in rest
    assert str(tmp_path.parent) not in front
    again = regard.load(folder, "cpu", engine="torch", precision="fp32")
    assert again.translate("red cat") == model.translate("red cat")


def test_a_model_goes_to_the_hub_and_comes_back(hub: str, toy_run: Path, tmp_path: Path) -> None:
    model = regard.load(toy_run, "cpu", engine="torch", precision="fp32")
    address = model.push_to_hub("me/toy", token="good")
    assert address.endswith("/me/toy")
    assert Hub.repositories["me/toy"]["visibility"] == "private"
    assert {"README.md", "recipe.json", "model.safetensors", "golden.json"} <= set(Hub.files)
    words = ["translate", "me/toy", "red cat", "--engine", "torch", "--precision", "fp32"]
    own = {"HF_ENDPOINT": hub, "HF_HOME": str(tmp_path / "hf"), "HF_TOKEN": "good"}
    for _ in range(2):  # over the network, then from its cache
        done = subprocess.run(
            [sys.executable, "-m", "regard", *words, "--device", "cpu"],
            env=os.environ | own,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, model.translate("red cat") + "\n"), done.stderr
        Hub.files.clear()


def test_a_published_model_keeps_its_layout(hub: str, tmp_path: Path) -> None:
    folders.bert(tmp_path / "bert", "")
    regard.load(tmp_path / "bert", "cpu").push_to_hub("me/bert", token="good")
    assert {"README.md", "config.json", "model.safetensors"} <= set(Hub.files)
    assert "recipe.json" not in Hub.files
    assert b'pipeline_tag: "feature-extraction"' in Hub.files["README.md"]


def test_what_the_hub_refuses_is_told(hub: str, toy_run: Path) -> None:
    model = regard.load(toy_run, "cpu", engine="torch", precision="fp32")
    with refused(RegardError, subject="me/toy", problem="the hub does not take it:"):
        model.push_to_hub("me/toy", token="bad")
    with refused(MisuseError, expected="owner/name"):
        model.push_to_hub("me//toy", token="good")
    assert not Hub.files
