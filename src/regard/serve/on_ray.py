"""The same application as a deployment of Ray Serve: replicas on the machines of a cluster.

    Ray's proxy ─▸ one of its replicas: the application of serve/app.py with engine processes

Ray starts replicas, asks whether they are well, replaces them, lets them answer what they have
before they end, and adds some while many requests are under way. What a request may be, who may
ask and how much is taken on is decided by the application, as anywhere else. Every machine of the
cluster has regard, and finds the models and the keys where they are said to be.
"""

import os
import signal
import threading
from dataclasses import replace
from typing import Any

from regard.errors import MisuseError, RegardError
from regard.serve.app import self_starting_app
from regard.serve.lifecycle import SIGNALS, SayWhere, address_of
from regard.serve.options import ReplicaRange, ServeOptions

NAME = "regard"  # of the application in its cluster
BUSY = 16  # requests under way of each replica, beyond which Ray adds one
WELL = 5.0  # seconds between two questions whether a replica is well
ENDING = 2.0  # seconds that a replica may take longer to end than its requests


def run_on_ray(options: ServeOptions, replicas: ReplicaRange, say: SayWhere) -> None:
    """Serve until a signal comes; `say` hears where, when the replicas are ready.

    A cluster that is there is joined (RAY_ADDRESS, or one of this machine); else one is started.
    """
    if not options.port:
        raise MisuseError("port", got=0, expected="a number: replicas come and go behind it")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers
    serve, over = _serve(), threading.Event()
    for number in SIGNALS:
        signal.signal(number, lambda *_: over.set())
    import ray

    ray.init(include_dashboard=False, log_to_driver=False, logging_level="warning")
    try:
        serve.start(
            proxy_location="HeadOnly",
            http_options={
                "host": options.host,
                "port": options.port,
                "ssl_certfile": _text(options.tls_certificate),
                "ssl_keyfile": _text(options.tls_key),
            },
        )
        try:
            serve.run(deployed(options, replicas), name=NAME)
        except RuntimeError as error:
            raise RegardError("ray", f"the replicas did not begin: {error}") from None
        names = ", ".join(model.name for model in options.models)
        address = address_of(options, options.port)
        say(address, f"Serving {names} on Ray, {replicas} replicas, at {address} (Ctrl-C ends)")
        over.wait()
        serve.delete(NAME)
    finally:
        ray.shutdown()


def deployed(options: ServeOptions, replicas: ReplicaRange) -> Any:
    """The application, as `serve.run` takes it; a replica has as many cores as its engines use."""
    serve = _serve()
    workers, threads = options.engine.workers or 1, options.engine.threads or 1
    own = replace(options, engine=replace(options.engine, workers=workers, threads=threads))

    def application() -> Any:  # made where a replica is
        return self_starting_app(own)

    several: dict[str, Any] = {"num_replicas": replicas.least}
    if replicas.most > replicas.least:
        several = {
            "autoscaling_config": {
                "min_replicas": replicas.least,
                "max_replicas": replicas.most,
                "target_ongoing_requests": BUSY,
            }
        }
    limits = options.limits
    deployment = serve.deployment(
        serve.ingress(application)(Replica),
        name=NAME,
        ray_actor_options={"num_cpus": workers * threads * len(options.models)},
        max_ongoing_requests=limits.requests,
        max_queued_requests=limits.requests,  # which wait in Ray's proxy
        backpressure_config={"status_code": 429, "retry_after_s": 1},
        graceful_shutdown_timeout_s=limits.drain + ENDING,
        health_check_period_s=WELL,
        **several,
    )
    return deployment.bind()


class Replica:
    """What Ray asks a replica, beside the requests that its application answers."""

    app: Any  # Ray's wrapper sets it

    def check_health(self) -> None:
        """Raise while a model does not answer: of three times Ray puts another in its place."""
        if not self.app.state.server.pool.is_ready:
            raise RuntimeError("a model has no engine process")


def _serve() -> Any:
    try:
        from ray import serve  # an extra of its own, and large
    except ImportError:
        advice = 'install it: pip install "regard[serve,ray]"'
        raise MisuseError("ray", "Ray Serve is not installed", advice=advice) from None
    return serve


def _text(path: object) -> str | None:
    return None if path is None else str(path)
