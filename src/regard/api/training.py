"""`regard.train`: a recipe, files or rows in, a trained run out.

run = regard.train("demo", train={"steps": 500})
run = regard.train(frame, columns={"source": "english", "target": "german"}, minutes=30)
run = regard.train(source="train.en", target="train.de", minutes=30)
run.model.translate("How are you?")
"""

import inspect
import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, ParamSpec

from regard.api.rows import check_roles, write_rows
from regard.api.trained import Run
from regard.data.column_names import known_places, language_places
from regard.errors import MisuseError, nearest
from regard.fit.request import Request
from regard.fit.signals import StopRequest
from regard.fit.train import train as carry_out
from regard.runs.columns import KEYS
from regard.runs.objectives import OBJECTIVES

# of a recipe; an objective's own section has its name
SECTIONS = ("objective", "data", "tokenizer", "model", "train", "decode", "lora", *OBJECTIVES)
P = ParamSpec("P")
OnRecord = Callable[[dict[str, Any]], bool | None]


def train(
    data: object = None,
    /,
    *,
    source: str | Path | None = None,
    target: str | Path | None = None,
    texts: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    minutes: float | None = None,
    run: str | Path | None = None,
    resume: str | Path | None = None,
    force: bool = False,
    on_record: OnRecord | None = None,
    quiet: bool = False,
    **sections: Mapping[str, Any] | str,
) -> Run:
    """Train, and give back the run: its model, its history, its curve.

    `data` is the name of a recipe (`regard recipe`), a TOML file, the same as a dict, or rows:
    pairs to translate, or texts with labels (api/rows.py). Own files go to `source` and `target`,
    or to `texts`. `columns` names columns by their role: source, target, text, pair, label.

    `run` is the folder to make, `resume` one to go on with. Keys of the recipe are changed by their
    section: `train={"steps": 500}, model={"dropout": 0.2}`. `quiet` keeps the terminal clean.

    `on_record` hears each record of the log as it is written; if it gives back False, the training
    saves and stops. So does Ctrl-C, and what there is comes back.
    """
    stop, out, notes = StopRequest(), sys.stdout, sys.stderr

    def hear(record: dict[str, Any]) -> None:
        if on_record is None:
            return
        with redirect_stdout(out), redirect_stderr(notes):  # `quiet` does not hide what it prints
            goes_on = on_record(record)
        if goes_on is False and stop.signal is None:
            stop.signal = int(signal.SIGINT)

    with TemporaryDirectory(prefix="regard-") as place, _silence(quiet):
        files = {"source": _path(source), "target": _path(target), "texts": _path(texts)}
        request = Request(
            assignments=(*_assignments(sections), *_column_keys(columns or {})),
            minutes=minutes,
            folder=_path(run),
            resume=_path(resume),
            force=force,
            **_origin(data, files, columns or {}, Path(place)),
        )
        outcome = carry_out(request, print, hear, stop)
    return Run(outcome.folder)


class Records(Iterator[dict[str, Any]]):
    """The records of a training while it runs in a thread; `run` is there once it has ended.

    Leaving a `with` block, or `close`, asks it to save and stop.
    """

    def __init__(self, start: Callable[[OnRecord], Run]) -> None:
        self.run: Run | None = None
        self._failure: BaseException | None = None
        self._closed = False
        self._queue: Queue[dict[str, Any] | None] = Queue()
        self._thread = Thread(target=self._train, args=(start,), name="regard.train")
        self._thread.start()

    def _train(self, start: Callable[[OnRecord], Run]) -> None:
        try:
            self.run = start(self._hear)
        except BaseException as failure:  # raised where the records are read
            self._failure = failure
        self._queue.put(None)

    def _hear(self, record: dict[str, Any]) -> bool:
        self._queue.put(record)
        return not self._closed

    def __next__(self) -> dict[str, Any]:
        record = self._queue.get()
        if record is not None:
            return record
        self._queue.put(None)  # for whoever asks again
        if self._failure is not None:
            raise self._failure
        raise StopIteration

    def close(self) -> None:
        """Stop at the next record, saved; and wait for that."""
        self._closed = True
        self._thread.join()

    def __enter__(self) -> "Records":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _recorded(training: Callable[P, Run]) -> Callable[P, Records]:
    """The same function, which gives back the records one by one."""

    def start(*data: P.args, **options: P.kwargs) -> Records:
        def begin(hear: OnRecord) -> Run:
            return training(*data, **(options | {"on_record": hear}))  # type: ignore[arg-type]

        return Records(begin)

    vars(start)["__signature__"] = inspect.signature(training)
    start.__doc__ = "As `train`, but gives back the records one by one, and the run at their end."
    return start


train_records = _recorded(train)


@contextmanager
def _silence(quiet: bool) -> Iterator[None]:
    """What is said, and progress bars, go nowhere; errors are raised all the same."""
    if not quiet:
        yield
        return
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        yield


def _path(name: str | Path | None) -> Path | None:
    return None if name is None else Path(name)


def _origin(
    data: object, files: dict[str, Path | None], columns: Mapping[str, str], place: Path
) -> dict[str, Any]:
    """What is trained on, as fields of a request."""
    if data is None:
        return files
    if any(files.values()):
        raise MisuseError("train", "got data and files", expected="one of them")
    if isinstance(data, str | Path):
        return {"recipe": Path(data)}
    if isinstance(data, Mapping) and _is_recipe(data):
        return {"tables": dict(data)}
    file = place / "rows.jsonl"
    names = write_rows(data, file, "train", columns)
    labelled = _are_labelled(names) if not columns else bool({"text", "label"} & set(columns))
    return {"texts" if labelled else "source": file}


def _are_labelled(names: Sequence[str]) -> bool:
    """Whether columns of these names are texts with labels, not pairs to translate."""
    if known_places("label", names) and known_places("text", names):
        return True
    are_pairs = known_places("target", names) or len(language_places(names)) > 1
    return len(names) > 2 and not are_pairs  # which column is which shows by what is in it


def _is_recipe(data: Mapping[Any, Any]) -> bool:
    """A dict of sections, not of columns."""
    return "data" in data and all(
        isinstance(value, Mapping | str) and key in SECTIONS for key, value in data.items()
    )


def _assignments(sections: Mapping[str, Mapping[str, Any] | str]) -> list[str]:
    """Sections given by keyword, as `regard train` takes them: train.steps=500."""
    words: list[str] = []
    for name, value in sections.items():
        if name not in SECTIONS:
            raise MisuseError("train", f"unknown option {name!r}", advice=nearest(name, SECTIONS))
        if isinstance(value, Mapping):
            words += [f"{name}.{key}={_toml(each)}" for key, each in value.items()]
        else:
            words.append(f"{name}={_toml(value)}")
    return words


def _toml(value: object) -> str:
    """A value as TOML spells it, which JSON does too but for nothing at all: ""."""
    return json.dumps("" if value is None else str(value) if isinstance(value, Path) else value)


def _column_keys(columns: Mapping[str, str]) -> list[str]:
    check_roles(columns, "train")
    return [f"data.{KEYS[role]}={json.dumps(name)}" for role, name in columns.items()]
