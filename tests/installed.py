"""regard as a stranger gets it: built, installed into an empty environment, run in an empty folder.

The environment borrows the libraries of the one that runs the tests, for torch alone takes a
gigabyte: a .pth file adds its folder after the own one. An editable regard over there is not seen,
because a folder that a .pth file adds is not searched for .pth files itself.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from regard import lock

HOME = "https://example.org/regard"  # where the package of the tests says that it is published
ABSENT = ("No matching distribution", "ConnectionError", "Temporary failure", "Max retries")
NOT_BUILT = shutil.ignore_patterns("__pycache__", "*.egg-info", ".venv", "site", ".*_cache")


def not_built(repository: Path) -> Callable[[str, list[str]], set[str]]:
    """What a build does not need; `runs` is a room of the package too, and stays there."""

    def ignored(folder: str, names: list[str]) -> set[str]:
        own = {"runs"} if Path(folder) == repository else set()
        return NOT_BUILT(folder, names) | own

    return ignored


@dataclass(frozen=True)
class Installed:
    """The archives and the environment that the wheel was installed into."""

    place: Path

    @property
    def wheel(self) -> Path:
        (wheel,) = (self.place / "dist").glob("*.whl")
        return wheel

    @property
    def source(self) -> Path:
        (archive,) = (self.place / "dist").glob("*.tar.gz")
        return archive

    @property
    def venv(self) -> Path:
        return self.place / "venv"

    @property
    def programs(self) -> Path:
        return self.venv / ("Scripts" if os.name == "nt" else "bin")

    def environment(self) -> dict[str, str]:
        """As of a shell in which the environment was activated: its programs go first."""
        inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
        path = os.pathsep.join([str(self.programs), inherited.get("PATH", "")])
        # Wide and without colours, whatever terminal the tests run in; one thread, as the tests.
        fixed = {"PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "VIRTUAL_ENV": str(self.venv)}
        return {"OMP_NUM_THREADS": "1", **inherited, **fixed}

    def run(
        self, command: str, folder: Path, timeout: float = 300
    ) -> "subprocess.CompletedProcess[str]":
        """A command line as a reader types it; what it prints on both streams is in `stdout`."""
        return subprocess.run(
            [shutil.which("bash") or "bash", "-c", command],
            cwd=folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=timeout,
        )


def installed(repository: Path, factory: pytest.TempPathFactory) -> Installed:
    """Built and installed once for all processes of a test run."""
    base = factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "wheel"
    place.mkdir(exist_ok=True)
    with lock.held(place / ".lock", wait=True):
        if not (place / "venv").exists():
            _build(repository, place)
            _install(Installed(place))
    return Installed(place)


def _build(repository: Path, place: Path) -> None:
    """A wheel by way of the source archive, from a copy: building writes beside what it builds."""
    shutil.copytree(repository, place / "source", ignore=not_built(repository), dirs_exist_ok=True)
    patience = {"PIP_RETRIES": "1", "PIP_DEFAULT_TIMEOUT": "15"}
    done = _called(
        [sys.executable, "-m", "build", "--outdir", str(place / "dist"), str(place / "source")],
        {**patience, "REGARD_HOME": HOME},
    )
    if done.returncode and any(words in done.stdout for words in ABSENT):
        pytest.skip("the package index, which the build takes setuptools from, cannot be reached")
    assert done.returncode == 0, done.stdout[-3000:]


def _install(made: Installed) -> None:
    create = [sys.executable, "-m", "venv", "--without-pip", str(made.venv)]
    assert _called(create).returncode == 0
    python = made.programs / ("python.exe" if os.name == "nt" else "python")
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    own = Path(_called(asked).stdout.strip())
    theirs = [path for path in sys.path if path.endswith("-packages")]
    (own / "borrowed.pth").write_text("".join(f"{path}\n" for path in theirs))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps"]
    done = _called([*pip, "--no-index", "--ignore-installed", str(made.wheel)])
    assert done.returncode == 0, done.stdout


def _called(
    command: list[str], more: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | dict(more or {})
    return subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
