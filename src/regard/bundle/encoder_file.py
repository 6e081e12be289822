"""encoder.json: what a run of an encoder is, beside its spec. It reads small files, and no torch.

family    of the folder that training began with, or regard for a shape of our own
labels    the names of its classes, in the order of its logits
kind      whether one of them holds, or several; words as config.json of published folders has;
          of a model that answers questions, whether each one of its training had an answer
limit     tokens of a text that training saw, special ones too; longer ones were cut
"""

from dataclasses import dataclass
from pathlib import Path

from regard.checkpoint.files import read_own_json
from regard.config import build, to_tables
from regard.runs.folder import write_own_json

NAME = "encoder.json"
ANSWERED = "always_answered"
ONE, SEVERAL = "single_label_classification", "multi_label_classification"


@dataclass(frozen=True)
class EncoderFile:
    """Its content."""

    family: str
    limit: int
    labels: tuple[str, ...] = ()
    kind: str = ""

    @property
    def several(self) -> bool:
        """Whether a text may have any number of labels."""
        return self.kind == SEVERAL

    def write(self, folder: Path) -> None:
        write_own_json(folder / NAME, to_tables(self))


def read_encoder_file(folder: Path) -> EncoderFile:
    """That of a run."""
    return build(EncoderFile, read_own_json(folder / NAME), str(folder / NAME))
