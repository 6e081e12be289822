"""Who is let in: keys on every route, hosts, origins, content types, sizes, slow clients."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from libretranslatepy import LibreTranslateAPI

from http_server import RunningServer, serving
from refusals import refused
from regard.errors import DataError, MisuseError
from regard.serve.guards import check_depth
from regard.serve.keys import add_key, read_keys
from regard.serve.options import ServeLimits, ServeOptions, model_to_serve
from regard.serve.refusal import HttpRefusal

MODEL = (model_to_serve("demo-de"),)


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("keys") / "keys.txt"
    return path, add_key(path, "ada")


@pytest.fixture(scope="module")
def server(key_file: tuple[Path, str]) -> Iterator[RunningServer]:
    with serving("demo-de", "--engine", "torch", "--keys", str(key_file[0])) as running:
        yield running


@pytest.fixture(scope="module")
def key(key_file: tuple[Path, str]) -> dict[str, str]:
    return {"Authorization": f"Bearer {key_file[1]}"}


@pytest.mark.end_to_end
def test_every_route_asks_for_a_key_but_those_of_health(
    server: RunningServer, key: dict[str, str]
) -> None:
    paths = server.get("/openapi.json", headers=key).json()["paths"]
    assert len(paths) > 6
    for path, methods in {**paths, "/openapi.json": {"get": {}}, "/": {"get": {}}}.items():
        for method in methods:
            call = getattr(requests, method)
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"X-API-Key": "wrong"}):
                answer = call(server.address + path, headers=headers, timeout=60)
                open_one = path in ("/healthz", "/readyz")
                assert answer.status_code == (200 if open_one else 401), (method, path)
    for method in ("DELETE", "PUT", "OPTIONS", "HEAD"):
        assert requests.request(method, server.address + "/v1/translate", timeout=60).status_code


@pytest.mark.end_to_end
def test_a_key_may_be_sent_in_each_of_its_places(
    server: RunningServer, key: dict[str, str]
) -> None:
    word = key["Authorization"].split()[1]
    asked = {"q": "Thank you.", "source": "en", "target": "de"}
    assert server.post("/translate", asked, headers=key).status_code == 200
    assert server.post("/translate", asked, headers={"X-API-Key": word}).status_code == 200
    assert server.post("/translate", asked | {"api_key": word}).status_code == 200
    assert server.post("/translate", asked | {"api_key": "wrong"}).status_code == 401
    client = LibreTranslateAPI(server.address, word)
    assert client.translate("Thank you.", "en", "de") == "Danke."
    assert client.languages()[0]["code"] == "de" and client.detect("Hello there")
    text = server.get("/metrics", headers=key).text
    assert word not in text and "ada" not in text and word not in "".join(server.errors)


@pytest.mark.end_to_end
def test_pages_of_others_are_not_answered(server: RunningServer, key: dict[str, str]) -> None:
    for method in ("GET", "POST", "DELETE", "OPTIONS"):
        for origin in ("http://evil.example", "null"):
            headers = key | {"Origin": origin}
            answer = requests.request(method, server.address + "/languages", headers=headers)
            assert answer.status_code == 403
            assert "access-control-allow-origin" not in answer.headers
        answer = requests.request(
            method, server.address + "/languages", headers=key | {"Host": "evil.example:80"}
        )
        assert answer.status_code == 421
    own = key | {"Origin": server.address}
    assert requests.get(server.address + "/languages", headers=own).status_code == 200


@pytest.mark.end_to_end
def test_bodies_of_another_kind_or_too_large_are_not_read(
    server: RunningServer, key: dict[str, str]
) -> None:
    plain = key | {"Content-Type": "text/plain"}
    assert server.post("/v1/translate", data='{"text": "a"}', headers=plain).status_code == 415
    form = key | {"Content-Type": "application/x-www-form-urlencoded"}
    assert server.post("/v1/translate", data="text=a", headers=form).status_code == 415
    deep = '{"text": ' + "[" * 5000 + "]" * 5000 + "}"
    json_kind = key | {"Content-Type": "application/json"}
    assert server.post("/v1/translate", data=deep, headers=json_kind).status_code == 400
    host, port = server.address.removeprefix("http://").split(":")
    head = (
        f"POST /v1/translate HTTP/1.1\r\nHost: {host}\r\nAuthorization: {key['Authorization']}\r\n"
    )
    head += "Content-Type: application/json\r\n"
    with socket.create_connection((host, int(port)), 10) as line:
        line.sendall(f"{head}Content-Length: 3000000\r\n\r\n".encode())
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")  # and not a byte of it was sent
    with socket.create_connection((host, int(port)), 10) as line:  # without a length
        line.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        with pytest.raises(OSError):  # it ends the connection when it has enough
            for _ in range(400):
                line.sendall(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
                time.sleep(0.001)
    with socket.create_connection((host, int(port)), 10) as line:
        line.sendall(b"GET /languages HTTP/1.1\r\nHost: " + b"a" * 70_000)
        assert line.recv(100).startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))


@pytest.mark.end_to_end
@pytest.mark.long
def test_slow_clients_are_let_go(server: RunningServer, key: dict[str, str]) -> None:
    host, port = server.address.removeprefix("http://").split(":")
    head = (
        f"POST /v1/translate HTTP/1.1\r\nHost: {host}\r\nAuthorization: {key['Authorization']}\r\n"
    )
    whole = f"{head}Content-Type: application/json\r\nContent-Length: 30\r\n\r\n"
    for sent, expected in ((head, b""), (whole, b"HTTP/1.1 408 ")):
        with socket.create_connection((host, int(port)), 30) as line:
            line.sendall(sent.encode())
            assert line.recv(100).startswith(expected) if expected else not line.recv(100)


def test_a_key_is_kept_as_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"
    first, second = add_key(path, "ada"), add_key(path, "grace")
    text = path.read_text()
    assert first not in text and second not in text and path.stat().st_mode & 0o077 == 0
    keys = read_keys(path)
    assert (keys.owner(first), keys.owner(second)) == ("ada", "grace")
    assert (
        keys.owner("") is None and keys.owner(first + "x") is None and keys.owner("\ud800") is None
    )
    path.write_text(text.rstrip("\n"))  # as an editor may leave it
    third = add_key(path, "mary")
    assert read_keys(path).owner(third) == "mary" and read_keys(path).owner(second) == "grace"
    with refused(MisuseError, subject="new-key", got="a b"):
        add_key(path, "a b")
    path.write_text(f"{text}short ada\n")
    with refused(DataError, subject="line 4", expected="a SHA-256"):
        read_keys(path)
    path.write_text("# nothing\n")
    with refused(DataError, problem="has no keys"):
        read_keys(path)
    with refused(MisuseError, subject="keys", advice="--new-key"):
        read_keys(tmp_path / "gone.txt")


def test_beyond_this_machine_only_with_keys_or_if_told_twice(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with refused(MisuseError, subject="host", advice="--keys FILE"):
            ServeOptions(MODEL, host=host)
        assert ServeOptions(MODEL, host=host, keys=tmp_path / "keys").hosts is None
        opened = ServeOptions(MODEL, host=host, open_to_everyone=True)
        assert opened.hosts is not None and "localhost" in opened.hosts
    for host in ("127.0.0.1", "localhost", "::1", "127.9.9.9"):
        assert ServeOptions(MODEL, host=host).is_local


def test_options_that_cannot_be() -> None:
    with refused(MisuseError, subject="models"):
        ServeOptions(())
    with refused(MisuseError, subject="name", problem="two models"):
        ServeOptions((*MODEL, *MODEL))
    with refused(MisuseError, subject="tls"):
        ServeOptions(MODEL, tls_key=Path("key.pem"))
    for origin in ("*", "https://a.example/", "a.example"):
        with refused(MisuseError, subject="cors", got=origin):
            ServeOptions(MODEL, cors=(origin,))
    with refused(MisuseError, subject="index"):
        ServeOptions(MODEL, index=Path("nowhere"))
    with refused(MisuseError, subject="deadline", got=0):
        ServeLimits(deadline=0)


def test_depth_is_that_of_brackets_outside_of_texts() -> None:
    check_depth(b'{"a": "' + b"[" * 100 + b'\\"[["}', 32)
    check_depth(b"[" * 32 + b"]" * 32, 32)
    check_depth(b"[]," * 1000, 32)
    with pytest.raises(HttpRefusal):
        check_depth(b"[" * 33 + b"]" * 33, 32)
    with pytest.raises(HttpRefusal):
        check_depth(b'["\\\n", ' * 33, 32)
    # A text without an end took its length squared: of this one, days.
    check_depth(b"[]" * 33 + b'"' + b'\\"' * 1_000_000, 32)
