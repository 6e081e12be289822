"""The application on Ray Serve: its options, and a cluster of two nodes that loses one under load.

Ray is an extra of its own, and large: without it these tests are skipped.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from http_server import PATIENCE, free_port
from refusals import refused
from regard.errors import MisuseError
from regard.serve.options import ReplicaRange, ServeOptions, model_to_serve, read_replicas
from steady_clients import SteadyClients

MODEL = (model_to_serve("demo-de"),)
CLEAN = {200, 429, 500, 503}  # whole answers; 500 is what Ray says of a node that is gone


def test_replicas_are_a_number_or_two() -> None:
    assert read_replicas("2") == ReplicaRange(2, 2) and str(read_replicas("2")) == "2"
    assert read_replicas("1-4") == ReplicaRange(1, 4) and str(read_replicas("1-4")) == "1-4"
    for text in ("", "0", "4-1", "-1", "two", "1-", "1-4-8", "1001"):
        with refused(MisuseError, subject="replicas", got=text):
            read_replicas(text)


def test_a_replica_needs_a_port_that_stays() -> None:
    from regard.serve.on_ray import run_on_ray

    with refused(MisuseError, subject="port"):
        run_on_ray(ServeOptions(MODEL, port=0), ReplicaRange(1, 1), lambda address, line: None)


def test_a_deployment_has_the_limits_of_the_server() -> None:
    pytest.importorskip("ray.serve", reason="Ray is not installed")
    from regard.serve.on_ray import BUSY, deployed

    def made(replicas: str) -> Any:
        return deployed(ServeOptions(MODEL), read_replicas(replicas))._bound_deployment

    always, growing = made("2"), made("1-4")
    assert always.num_replicas == 2 and always.max_ongoing_requests == 512
    assert always.ray_actor_options["num_cpus"] == 1
    scaling = growing._deployment_config.autoscaling_config
    assert (scaling.min_replicas, scaling.max_replicas) == (1, 4)
    assert scaling.target_ongoing_requests == BUSY


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of this machine, each with a core of its own; the first one leads."""
    pytest.importorskip("ray.serve", reason="Ray is not installed")
    from ray.cluster_utils import Cluster

    # What nodes start looks for its modules where this test does.
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield made
    made.shutdown()


@pytest.mark.long
@pytest.mark.end_to_end
def test_a_node_that_is_killed_under_load_loses_no_request(cluster: Any) -> None:
    """Every request is answered, or refused with a status; afterwards all are answered again."""
    lost = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes(PATIENCE)
    port = free_port()
    command = [sys.executable, "-m", "regard", "serve", "demo-de", "--engine", "torch"]
    command += ["--ray", "--replicas", "2", "--port", str(port)]
    environment = os.environ | {"RAY_ADDRESS": cluster.address, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert f"on Ray, 2 replicas, at http://127.0.0.1:{port}" in line, process.stderr.read()
        address = f"http://127.0.0.1:{port}"
        assert requests.get(f"{address}/readyz", timeout=PATIENCE).status_code == 200
        with SteadyClients(address, 8) as clients:
            clients.wait_for(200, 200)
            assert set(clients.heard) == {200}
            cluster.remove_node(lost, allow_graceful=False)
            clients.wait_for(200, 400)
        assert set(clients.heard) <= CLEAN, dict(clients.heard)
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
