"""Everything that a server may be told, as data; what cannot be is refused before a model is read.

A server listens on this machine alone unless it is told otherwise, and beyond it only with keys
(serve/keys.py), or if it is told twice: `--host 0.0.0.0 --open-to-everyone`.
"""

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path

from regard.engines.engines import EngineRequest
from regard.errors import MisuseError

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
ORIGIN = re.compile(r"https?://[^/\s*]+")
REPLICAS = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)
MOST_REPLICAS = 1000


@dataclass(frozen=True)
class ModelToServe:
    """A model, and the name that requests call it by."""

    name: str
    place: str


@dataclass(frozen=True)
class ServeLimits:
    """How much is taken on, and how long anybody waits."""

    requests: int = 512  # of one model, waiting and under way; beyond it 429
    tokens: int = 131_072  # of their texts, about; the same
    deadline: float = 30.0  # seconds that a request may take
    body: int = 2_000_000  # bytes of a request
    depth: int = 32  # of lists and objects inside each other
    headers: int = 65_536  # bytes of a request's head
    slow: float = 10.0  # seconds for the head of a request, and for its body
    drain: float = 30.0  # seconds that requests under way have when the server is told to end
    slots: int | None = None  # sentences of a worker at once; None: as the engine was measured

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not 0 < value < 1e12:
                raise MisuseError(name, got=value, expected="more than 0")


@dataclass(frozen=True)
class ServeOptions:
    """One server."""

    models: tuple[ModelToServe, ...]
    host: str = "127.0.0.1"
    port: int = 8000
    keys: Path | None = None  # hashed, as `--new-key` writes them
    open_to_everyone: bool = False  # beyond this machine without keys
    allow_hosts: tuple[str, ...] = ()  # names that clients may call it by, beside its own
    cors: tuple[str, ...] = ()  # origins whose pages may ask it
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    exact: bool = False  # only answers that are byte for byte those of a single request
    index: Path | None = None  # what /v1/search searches
    device: str = "auto"
    engine: EngineRequest = field(default_factory=EngineRequest)
    limits: ServeLimits = field(default_factory=ServeLimits)
    log: str = "text"  # of requests, which never has texts: text, json or off

    def __post_init__(self) -> None:
        self._check_models()
        if not self.is_local and self.keys is None and not self.open_to_everyone:
            problem = f"{self.host} can be reached from other machines, and no keys are asked for"
            advice = "give --keys FILE, or --open-to-everyone if that is what you want"
            raise MisuseError("host", problem, advice=advice)
        if (self.tls_certificate is None) != (self.tls_key is None):
            expected = "a certificate and its key, or neither"
            raise MisuseError("tls", expected=expected, advice="give --tls-cert and --tls-key")
        for origin in self.cors:
            if not ORIGIN.fullmatch(origin):  # browsers say it so, and it is compared as a whole
                expected = "scheme://host, as in https://example.org"
                raise MisuseError("cors", got=origin, expected=expected)
        if self.index is not None and not self.index.is_dir():
            advice = "`regard index FOLDER` makes one"
            raise MisuseError("index", f"there is no folder {self.index}", advice=advice)
        if self.exact and self.engine.engine == "ctranslate2":
            problem = "ctranslate2 answers 99.5 % alike in other company, not all"
            raise MisuseError("exact", problem, advice="leave out --engine ctranslate2")
        if self.exact and self.engine.precision not in ("auto", "fp32"):
            raise MisuseError("exact", got=self.engine.precision, expected="precision fp32")

    def _check_models(self) -> None:
        if not self.models:
            raise MisuseError("models", "none was named", expected="a model, for example demo-de")
        seen: set[str] = set()
        for model in self.models:
            if model.name in seen:
                problem = f"two models are called {model.name!r}"
                raise MisuseError("name", problem, advice="give another with --name NAME=MODEL")
            seen.add(model.name)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """The names that a request may call this server by; None: any, since it needs a key."""
        if not (self.is_local or self.open_to_everyone or self.allow_hosts):
            return None
        host = f"[{self.host}]" if ":" in self.host and "[" not in self.host else self.host
        own = () if self.host in ("0.0.0.0", "::", "[::]") else (host,)
        return tuple(name.lower() for name in (*LOCAL_NAMES, *own, *self.allow_hosts))

    @property
    def any_address(self) -> bool:
        """Whether it may be called by any address: an open server has several, and no names."""
        return not self.is_local and self.open_to_everyone

    @property
    def scheme(self) -> str:
        return "https" if self.tls_certificate else "http"


@dataclass(frozen=True)
class ReplicaRange:
    """How many replicas a cluster has: always so many, or some more while many requests come."""

    least: int
    most: int

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most <= MOST_REPLICAS:
            expected = f"from 1 to {MOST_REPLICAS:,}, the smaller number first"
            raise MisuseError("replicas", got=str(self), expected=expected)

    def __str__(self) -> str:
        return str(self.least) if self.least == self.most else f"{self.least}-{self.most}"


def read_replicas(text: str) -> ReplicaRange:
    """`2`, or `1-4`."""
    found = REPLICAS.fullmatch(text)
    if found is None:
        raise MisuseError("replicas", got=text, expected="a number, or two: 2, 1-4")
    return ReplicaRange(int(found[1]), int(found[2] or found[1]))


def model_to_serve(place: str, name: str = "") -> ModelToServe:
    """A model by its place; without a name it is called as its folder is."""
    return ModelToServe(name or Path(place).name or place, place)


def engine_request(options: ServeOptions) -> EngineRequest:
    """What engines are asked for: of a server that answers exactly, torch in fp32."""
    if not options.exact:
        return options.engine
    asked = options.engine
    return EngineRequest("torch", "fp32", asked.workers, asked.threads)
