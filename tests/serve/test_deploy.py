"""What lies in deploy/: each file is read by a parser of its kind, and nginx's is tried."""

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from configparser import RawConfigParser
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
import pytest

from http_server import PATIENCE, RunningServer, free_port, serving
from regard.cli.serve import command
from steady_clients import SteadyClients

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
ANALYZE = shutil.which("systemd-analyze")
# Imports what a server imports, where only the packages that are named can be found.
IMPORTS = """
import importlib.metadata, re, sys
there = {"regard", *sys.argv[1:]}
of = importlib.metadata.packages_distributions()

class Elsewhere:
    def find_spec(self, name, path=None, target=None):
        owners = {re.sub("[-_.]+", "-", d).lower() for d in of.get(name.partition(".")[0], ())}
        if owners and not owners & there:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Elsewhere())
import regard.cli.main, regard.cli.serve, regard.serve.lifecycle, regard.serve.worker
import regard.decode.engines.ctranslate2, ctranslate2, uvloop, httptools, bs4, markdown_it, polib
import srt, sentencex, sentencepiece, tokenizers, py3langid.langid, rich.console, yaml
"""


@pytest.fixture(scope="module")
def deploy(repository: Path) -> Path:
    return repository / "deploy"


def options_of(words: list[str]) -> dict[str, object]:
    """The options of a `regard serve` command line, as the command itself reads them."""
    at = words.index("serve")
    assert Path(words[at - 1]).name == "regard"
    with command.make_context("serve", words[at + 1 :]) as context:
        return dict(context.params)


def same_name(name: str) -> str:
    """As package indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required(path: Path) -> list[str]:
    """The packages of a requirements file."""
    lines = [line.partition("#")[0].strip() for line in path.read_text().splitlines()]
    return [same_name(re.split(r"[=<>;\[]", line)[0]) for line in lines if line]


def test_the_unit_of_systemd(deploy: Path, tmp_path: Path) -> None:
    unit = RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(deploy / "regard@.service")
    assert unit.sections() == ["Unit", "Service", "Install"]
    service = dict(unit["Service"])
    line = service["ExecStart"].replace("%i", "8001")
    options = options_of(shlex.split(line))
    assert options["port"] == 8001 and options["models"] == ("demo-de",) and options["keys"]
    assert int(service["TimeoutStopSec"]) > 30 and service["KillMode"] == "mixed"  # it drains
    assert service["DynamicUser"] == service["NoNewPrivileges"] == "yes"
    if ANALYZE is not None:
        copy = tmp_path / "regard@8001.service"
        text = (deploy / "regard@.service").read_text()
        copy.write_text(text.replace("/opt/regard/bin/regard", sys.executable))
        done = subprocess.run([ANALYZE, "verify", str(copy)], capture_output=True, text=True)
        wrong = [x for x in done.stderr.splitlines() if "regard@" in x and "/man/" not in x]
        assert not wrong, done.stderr


def test_the_container_file(deploy: Path, repository: Path) -> None:
    reader = pytest.importorskip("dockerfile_parse", reason="dockerfile-parse is not installed")
    text = io.BytesIO((deploy / "Containerfile").read_bytes())
    steps = reader.DockerfileParser(fileobj=text).structure
    words = [step["instruction"] for step in steps if step["instruction"] != "COMMENT"]
    assert words[0] == "FROM" and words[-1] == "CMD" and set(words) <= {
        "FROM", "COPY", "RUN", "USER", "ENV", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "CMD",
    }  # fmt: skip
    said = {step["instruction"]: step["value"] for step in steps}
    assert said["USER"] == "regard"
    options = options_of(json.loads(said["CMD"]))
    assert options["host"] == "0.0.0.0" and options["keys"] == Path("/keys.txt")
    assert str(options["port"]) == said["EXPOSE"]
    for step in steps:
        if step["instruction"] == "COPY":
            *sources, _ = step["value"].split()
            assert all((repository / source).exists() for source in sources)


def test_slim_has_no_torch_and_all_that_a_server_imports(deploy: Path, repository: Path) -> None:
    slim, pinned = (
        required(deploy / "requirements-slim.txt"),
        required(repository / "constraints.txt"),
    )
    assert "torch" not in slim and set(slim) <= set(pinned) | {"colorama"}
    done = subprocess.run([sys.executable, "-c", IMPORTS, *slim], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_configuration_of_nginx_is_one(deploy: Path, tmp_path: Path) -> None:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    file = configured(deploy, tmp_path, free_port(), [free_port(), free_port()])
    done = subprocess.run([NGINX, "-t", "-q", "-c", str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def configured(deploy: Path, folder: Path, port: int, servers: list[int]) -> Path:
    """nginx.conf with other ports, and with files of its own where nginx is not root."""
    text = (deploy / "nginx.conf").read_text()
    places = {
        "/run/nginx.pid": str(folder / "nginx.pid"),
        "/var/log/nginx/error.log": str(folder / "error.log"),
        "127.0.0.1:8080": f"127.0.0.1:{port}",
        "127.0.0.1:8001": f"127.0.0.1:{servers[0]}",
        "127.0.0.1:8002": f"127.0.0.1:{servers[1]}",
    }
    code = "\n".join(line.partition("#")[0] for line in text.splitlines())
    for before, after in places.items():
        assert code.count(before) == 1, before
        code = code.replace(before, after)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    own = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    file = folder / "nginx.conf"
    file.write_text(code.replace("http {", "http {\n" + own, 1))
    return file


@contextmanager
def in_front(file: Path) -> Iterator[None]:
    """nginx with this configuration."""
    assert NGINX is not None
    process = subprocess.Popen([NGINX, "-c", str(file), "-g", "daemon off;"])
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.mark.end_to_end
@pytest.mark.long
def test_restarts_behind_nginx_lose_no_request(deploy: Path, tmp_path: Path) -> None:
    """Two servers, each restarted again and again, while ten thousand requests are answered."""
    if NGINX is None:
        pytest.skip("nginx is not installed")

    def begun(port: int) -> tuple[ExitStack, RunningServer]:
        stack = ExitStack()
        options = ("--engine", "torch", "--port", str(port), "--log", "off")
        return stack, stack.enter_context(serving("demo-de", *options))

    front, ports = free_port(), [free_port(), free_port()]
    running = [begun(port) for port in ports]
    restarts = 0
    try:
        with (
            in_front(configured(deploy, tmp_path, front, ports)),
            SteadyClients(f"http://127.0.0.1:{front}", 8) as clients,
        ):
            while clients.heard[200] < 10_000 or restarts < 4:
                clients.wait_for(200, 500)
                which = restarts % 2
                stack, server = running[which]
                assert server.stop() == 0
                stack.close()
                running[which] = begun(ports[which])
                restarts += 1
        assert set(clients.heard) == {200}, dict(clients.heard)
        print(f"{clients.heard[200]:,} answers, {restarts} restarts")
    finally:
        for stack, _ in running:
            stack.close()


def test_a_wrong_option_in_a_command_line_is_noticed() -> None:
    """The reader of the tests above is the command's own."""
    with pytest.raises(click.UsageError):
        options_of(shlex.split("regard serve demo-de --prot 8001"))
