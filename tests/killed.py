"""`python killed.py MODEL TEXTS INDEX WORK`: kill an update of INDEX at each of its steps in turn.

A child does the update and stops itself before its n-th step on disk (sync, rename, removal); its
parent, which is this process, ends it with SIGKILL, and asks the index. Prints, as JSON, how often
it answered as before and as after; any other answer is an error.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import library
import regard
import regard.search.index

STEPS = ("fsync", "rename", "replace", "unlink", "rmdir", "mkdir")


def stop_at(number: int) -> None:
    """Let this process stop before the n-th of its steps on disk."""
    seen = 0

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGSTOP)
            return real(*given, **named)

        return step

    for name in STEPS:
        setattr(os, name, watched(vars(os)[name]))


def killed_at(number: int, texts: Path, index: Path, model: Any) -> bool:
    """Update in a child and kill it at that step; False if it had no such step."""
    child = os.fork()
    if child == 0:
        stop_at(number)
        regard.index_folder(texts, index, model)
        os._exit(0)
    _, status = os.waitpid(child, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        assert os.waitstatus_to_exitcode(status) == 0, "the update failed"
        return False
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def main() -> None:
    folder, texts, index, work = map(Path, sys.argv[1:])
    regard.search.index.CHUNK = 4  # so that there are vectors to keep
    model = regard.load(folder, "cpu")
    before = library.answers(index, model)
    library.change(texts)
    whole = Path(shutil.copytree(index, work / "whole"))
    regard.index_folder(texts, whole, model)
    after = library.answers(whole, model)
    assert not library.alike(before, after)
    counts, number = {"before": 0, "after": 0}, 1
    while True:
        copy = Path(shutil.copytree(index, work / f"index-{number}"))
        if not killed_at(number, texts, copy, model):
            break
        found = library.answers(copy, model)
        which = "before" if library.alike(found, before) else "after"
        assert which == "before" or library.alike(found, after), f"step {number}: {found}"
        counts[which] += 1
        if number % 5 == 0:  # and the next update repairs everything
            regard.index_folder(texts, copy, model)
            assert library.alike(library.answers(copy, model), after), f"step {number}"
            left = sorted(path.name for path in copy.iterdir())
            assert len(left) == 3, left  # lock, manifest, one generation
        shutil.rmtree(copy)
        number += 1
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
