"""A folder for a new run: held before anything else is done, given back if nothing comes of it.

From the first look at the corpus to the first step may be an hour. So the folder is made and its
lock taken at once, and run.json says "preparing", with the words that the training was begun with:

    another training    finds the lock taken, and is refused or takes the next name
    an error, Ctrl-C    removes what the preparation made, and the folders that it had to make
    SIGKILL             leaves all that; who trains there again takes the place over
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from regard import atomic, lock
from regard.checkpoint.files import COPIED, MODULE
from regard.errors import MisuseError
from regard.runs.folder import LOCK, PREPARING, RunFolder, typed
from regard.version import __version__

MADE = (
    "run.json",
    "recipe.json",
    "spec.json",
    "tokenizer.json",
    "encoder.json",
    "data",
    "checksums.json",
)


@dataclass
class Claim:
    """A folder that this process holds; once `ready`, what is in it stays whatever happens."""

    run: RunFolder
    taken_over: bool = False  # from a preparation that was killed
    ready: bool = False


@contextmanager
def claimed(folder: Path, words: Sequence[str]) -> Iterator[Claim]:
    """Hold this folder, which is absent, empty or left by a preparation that was killed."""
    with ExitStack() as stack:
        stack.callback(_remove_empty, _make(folder))
        yield stack.enter_context(_held(folder, words))


@contextmanager
def claimed_free(parent: Path, name: str, words: Sequence[str]) -> Iterator[Claim]:
    """Hold `parent/name`, or `parent/name-2`, `-3` … where others are or were."""
    with ExitStack() as stack:
        stack.callback(_remove_empty, _make(parent))
        for folder in names(parent, name):
            is_new, run = _is_made(folder), RunFolder(folder)
            if is_new:
                stack.callback(_remove_empty, [folder])
            if is_new or (run.is_preparing() and not run.is_held()):  # one was killed here
                try:
                    claim = stack.enter_context(_held(folder, words))
                except MisuseError:  # another was quicker
                    continue
                break
        yield claim


def free_folder(parent: Path, name: str) -> Path:
    """Make `parent/name`, or the next name that nobody has: making it is what says so."""
    return next(folder for folder in names(parent, name) if _is_made(folder, parents=True))


def names(parent: Path, name: str) -> Iterator[Path]:
    """`parent/name`, `parent/name-2`, `parent/name-3` …"""
    yield parent / name
    yield from (parent / f"{name}-{number}" for number in count(2))


@contextmanager
def _held(folder: Path, words: Sequence[str]) -> Iterator[Claim]:
    run = RunFolder(folder)
    _refuse_if_used(run)  # before a file of ours lies among somebody's own
    with ExitStack() as stack:
        try:
            held = _locked(folder, stack)
        except lock.Taken:
            advice = "choose another folder with --run"
            raise MisuseError(folder, "another process is training there", advice=advice) from None
        _refuse_if_used(run)  # by whoever had the lock until now
        claim = Claim(run, taken_over=run.is_preparing())
        try:
            forget(run)
            begun = {"state": PREPARING, "regard": __version__, "begun_with": list(words)}
            run.update_info(**begun)
            yield claim
        except BaseException:  # Ctrl-C too: half a corpus is of no use to anyone
            if not claim.ready:
                with suppress(OSError):  # the error that brought us here says more
                    forget(run)
                held.discard = not run.info.exists()
            raise


def _locked(folder: Path, stack: ExitStack) -> lock.HeldLock:
    """Its lock; who had it may have given it back together with the folder just now."""
    try:
        return stack.enter_context(lock.held(folder / LOCK))
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        return stack.enter_context(lock.held(folder / LOCK))


def _refuse_if_used(run: RunFolder) -> None:
    """Anything but the beginnings of a preparation stays as it is."""
    if run.is_preparing() or run.is_blank():
        return
    resume = f"continue it with `regard train --resume {typed(run.folder)}`"
    go_on = resume if run.info.is_file() else "delete it"
    advice = f"{go_on}, or choose another folder with --run"
    raise MisuseError(run.folder, "already there", advice=advice)


def forget(run: RunFolder) -> None:
    """Remove what a preparation makes, and nothing else; run.json last, which says that it is one.

    A preparation is nobody's work: it comes out the same when it is made again.
    """
    for path in sorted(run.folder.iterdir(), key=lambda path: path.name == run.info.name):
        if path.name in MADE or COPIED.fullmatch(path.name) or path.name.startswith(atomic.PREFIX):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        elif MODULE.fullmatch(path.name):
            (path / "config.json").unlink(missing_ok=True)
            _remove_empty([path])


def _make(folder: Path) -> list[Path]:
    """Make a folder with those above it; what had to be made, the innermost first."""
    try:
        str(folder).encode("utf-8")
    except UnicodeEncodeError:  # else it is found out when the final weights are read
        problem = "its name is not UTF-8, and the library for files of weights opens no others"
        raise MisuseError(folder, problem, advice="choose another folder with --run") from None
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        advice = "delete it, or choose another with --run"
        raise MisuseError(folder, "already there, and no folder", advice=advice) from None
    return missing


def _is_made(folder: Path, parents: bool = False) -> bool:
    """Whether this process made it just now."""
    try:
        folder.mkdir(parents=parents)
    except FileExistsError:
        return False
    return True


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # no longer empty, or gone
            folder.rmdir()
