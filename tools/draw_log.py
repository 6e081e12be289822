"""The loss curve of a run that is no more, from the log that was kept of it.

python tools/draw_log.py docs/logs/multi30k-quick.jsonl TITLE docs/images/multi30k-quick.png
"""

import json
import sys
from pathlib import Path

from regard.draw.figure.loss_curve import loss_curve_png
from regard.runs.curves import points_of_log
from regard.runs.objectives import OBJECTIVES


def draw(log: Path, title: str, picture: Path) -> None:
    """As `regard train` draws it at its end; the log's name stands for the folder's."""
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    steps = [row for row in rows if row["kind"] == "train"]
    checks = [row for row in rows if row["kind"] == "validation"]
    translate = OBJECTIVES["translate"]
    score = translate.score_in(checks)
    loss_curve_png(
        picture,
        [row["step"] for row in steps],
        [row["plain_loss"] for row in steps],
        [(row["step"], row["loss"]) for row in checks],
        points_of_log(checks, score.key) if score else (),
        [row["learning_rate"] for row in steps],
        title=title,
        name=log.stem,
        score_name=score.name if score else "",
        unit=translate.unit,
    )


if __name__ == "__main__":
    draw(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
