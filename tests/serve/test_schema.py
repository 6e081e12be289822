"""Whatever is sent, valid or not: no answer of 500 or more, and every answer is as described."""

from collections.abc import Iterator
from pathlib import Path

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


@pytest.mark.long
def test_no_request_of_very_many_does(server: RunningServer) -> None:
    assert examined(server, 500) > 5000
    assert server.get("/readyz").status_code == 200 and not server.metric("engine_deaths")
