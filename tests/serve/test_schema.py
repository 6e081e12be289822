"""Whatever is sent, valid or not: no answer of 500 or more, and every answer is as described."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import folders
from http_server import RunningServer, serving

pytestmark = pytest.mark.end_to_end
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    root = tmp_path_factory.mktemp("schema")
    folders.gpt2(root / "gpt2")
    folders.bert(root / "classes", "SequenceClassification", id2label=folders.LABELS)
    models = [str(Path(root / name)) for name in ("gpt2", "classes")]
    with serving("demo-de", *models, "--engine", "torch", "--log", "off") as running:
        yield running


def examined(server: RunningServer, examples: int) -> int:
    """Ask every route for so many examples; how many requests that were."""
    schema = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
    count = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @_given(operation)
        def ask(case: schemathesis.Case) -> None:
            nonlocal count
            count += 1
            case.call_and_validate(checks=CHECKS, timeout=60)

        ask()
    return count


def _given(operation: object) -> object:
    from hypothesis import given

    modes = schemathesis.GenerationMode
    both = operation.as_strategy(generation_mode=modes.POSITIVE) | operation.as_strategy(  # type: ignore[attr-defined]
        generation_mode=modes.NEGATIVE
    )
    return given(case=both)


def test_no_request_makes_the_server_fail(server: RunningServer) -> None:
    assert examined(server, 6) > 60
    assert server.get("/readyz").status_code == 200 and not server.metric("engine_deaths")


def bodies_of(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every path that takes a body, and the body's schema."""
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                shape = content["application/json"]["schema"]
                name = shape.get("$ref", "").rpartition("/")[2]
                yield path, schema["components"]["schemas"][name] if name else shape


def test_the_examples_of_the_schema_can_be_sent(server: RunningServer) -> None:
    """Every field has one, unless it is on or off; the bodies that they make are understood."""
    seen = 0
    for path, shape in bodies_of(server.get("/openapi.json").json()):
        body = {}
        for name, field in shape["properties"].items():
            if field.get("type") != "boolean" and field.get("default") is None:
                assert field.get("examples"), f"{path}: {name}"
            if name in shape.get("required", ()):
                body[name] = field["examples"][0]
        answer = server.post(path, body)
        assert answer.status_code in (200, 404), (path, answer.text)
        seen += answer.status_code == 200
    assert seen >= 8


@pytest.mark.long
def test_no_request_of_any_phase_does(server: RunningServer, tmp_path: Path) -> None:
    """Schemathesis's own command: examples, coverage, fuzzing, sequences, valid and not."""
    command = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    assert command is not None
    phases = ("--phases", "examples,coverage,fuzzing,stateful", "--mode", "all")
    checks = ("--checks", ",".join(check.__name__ for check in CHECKS))
    address = f"{server.address}/openapi.json"
    more = ("--max-examples", "500", "--seed", "1", "--request-timeout", "120", "--warnings", "off")
    done = subprocess.run(
        [command, "run", address, *phases, *checks, *more],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    print(done.stdout[-3000:])
    assert done.returncode == 0, done.stdout[-10_000:]
    assert server.get("/readyz").status_code == 200 and not server.metric("engine_deaths")


@pytest.mark.long
def test_no_request_of_very_many_does(server: RunningServer) -> None:
    assert examined(server, 500) > 5000
    assert server.get("/readyz").status_code == 200 and not server.metric("engine_deaths")
