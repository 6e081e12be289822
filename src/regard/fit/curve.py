"""The curve of one run, drawn from its log."""

from pathlib import Path

from regard.draw.figure.loss_curve import loss_curve_png
from regard.runs.curves import points_of_log, title_of
from regard.runs.folder import RunFolder
from regard.runs.log import read_log
from regard.runs.objectives import objective_of, score_of


def draw_curve(run: RunFolder, path: Path) -> None:
    """Loss, score and learning rate of a run as a PNG file."""
    records = read_log(run.log)
    keys = ("plain_loss", "learning_rate")  # a record without them was not written by regard
    steps = [
        r for r in records if r["kind"] == "train" and all(points_of_log([r], k) for k in keys)
    ]
    checks = [r for r in records if r["kind"] == "validation"]
    score = score_of(run, checks)
    loss_curve_png(
        path,
        [r["step"] for r in steps],
        [r["plain_loss"] for r in steps],
        points_of_log(checks, "loss"),
        points_of_log(checks, score.key) if score else (),
        [r["learning_rate"] for r in steps],
        title=title_of(run),
        name=run.folder.name,
        score_name=score.name if score else "",
        less_is_better=score is not None and score.less_is_better,
        unit=objective_of(run).unit,
    )
