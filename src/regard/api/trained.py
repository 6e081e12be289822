"""A run as a program holds it: its model, what was logged, its curve, how good it is."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Unpack

from regard.api.load import load
from regard.api.model import Model
from regard.api.options import EvaluateOptions, completes
from regard.draw.notebook.table import html_table
from regard.runs.curves import draw_curve
from regard.runs.folder import RunFolder
from regard.runs.log import read_log

if TYPE_CHECKING:
    from regard.api.evaluation import AnyScores


class History(list[dict[str, Any]]):
    """The records of a log, in order; `of` picks those of a kind."""

    def of(self, kind: str) -> "History":
        """Those of "train" or of "validation"."""
        return History(record for record in self if record["kind"] == kind)

    def _repr_html_(self) -> str:
        """The validations, which are few; the training steps are in the list."""
        checks = self.of("validation")
        names = list(dict.fromkeys(key for record in checks for key in record))
        shown = [name for name in names if name not in ("kind", "seconds")]
        return html_table(shown, [[record.get(name) for name in shown] for record in checks])


@dataclass(frozen=True)
class Plot:
    """A picture that a notebook shows; `save` writes it into a file."""

    png: bytes

    def _repr_png_(self) -> bytes:
        return self.png

    def save(self, path: str | Path) -> None:
        """Write the PNG."""
        Path(path).write_bytes(self.png)


@dataclass(frozen=True)
class Run:
    """What `regard.train` gives back; `Run("runs/demo")` opens one that was made before."""

    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))

    @property
    def state(self) -> str:
        """training, stopped or finished."""
        return str(RunFolder(self.folder).read_info().get("state", ""))

    @cached_property
    def model(self) -> Model:
        """The trained model, with its best weights."""
        return load(self.folder)

    @property
    def history(self) -> History:
        """Every record of the log: losses, rates, validations."""
        return History(read_log(RunFolder(self.folder).log))

    def plot(self) -> Plot:
        """Loss, score and learning rate over the steps."""
        with TemporaryDirectory(prefix="regard-") as place:
            file = Path(place) / "loss.png"
            draw_curve(RunFolder(self.folder), file)
            return Plot(file.read_bytes())

    @completes(EvaluateOptions)
    def evaluate(self, data: object = None, **options: Unpack[EvaluateOptions]) -> "AnyScores":
        """How good the model is (api/evaluation.py)."""
        return self.model.evaluate(data, **options)

    def __repr__(self) -> str:
        return f"<regard.Run {str(self.folder)!r}: {self.state}>"
