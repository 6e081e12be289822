"""Captions over HTTP: what the model says from Python, and what is said of what is no picture."""

import base64
from pathlib import Path

import pytest

import captioned
import regard
from halting import go
from http_server import serving
from regard.fit.train import Request

pytestmark = pytest.mark.end_to_end


def test_a_picture_is_told_as_from_python(tmp_path: Path) -> None:
    captioned.write_folder(tmp_path / "pictures", 40)
    made = captioned.recipe(tmp_path, f'images = "{tmp_path}/pictures"\nvalidation = 8', 20)
    go(Request(recipe=made, assignments=captioned.MODEL, folder=tmp_path / "run"))
    files = [(tmp_path / f"pictures/00{n}.png").read_bytes() for n in range(2)]
    best = regard.load(tmp_path / "run", "cpu").caption(files)
    sent = [base64.b64encode(file).decode() for file in files]
    with serving(str(tmp_path / "run")) as server:
        told = server.post("/v1/caption", {"picture": sent}).json()
        assert [row[0]["text"] for row in told["captions"]] == [one.text for one in best]
        several = server.post("/v1/caption", {"picture": sent[0], "n": 2, "beam": 3}).json()
        assert [len(row) for row in several["captions"]] == [2]
        for wrong in ("no base64!", base64.b64encode(b"no picture").decode()):
            assert server.post("/v1/caption", {"picture": wrong}).status_code == 400
        other = server.post("/v1/see", {"picture": sent[0]})
        assert other.status_code == 404 and server.get("/readyz").status_code == 200
