"""Whatever a model offers can be shown: a command, the same in Python, a card."""

from itertools import product
from pathlib import Path

import pytest

import folders
import regard
from regard.bundle.bundle import open_bundle
from regard.bundle.doctor import examine
from regard.bundle.tasks import TASKS
from regard.checkpoint.published import FAMILIES
from regard.cli.main import COMMANDS
from regard.convert.card import model_card
from regard.model.spec import Spec
from regard.runs.objectives import OBJECTIVES

SHAPES = ({}, {"decoder_layers": 0}, {"encoder_layers": 0})
HEADS = ("tokens", "classes", "labels", "spans", "none")


def offered() -> set[str]:
    """By any run, and by any published model."""
    tasks = {task for row in OBJECTIVES.values() for task in row.offers}
    picture = {"vocabulary": 0, "image_size": 4, "patch_size": 2, "decoder_layers": 0}
    for family, head in product(FAMILIES.values(), HEADS):
        for shape in (*SHAPES, picture):
            values = {"vocabulary": 9, "head": head, "classes": 2, **shape}
            tasks |= {*family.tasks(Spec(**values))}
    return tasks


def test_every_task_has_a_row_a_command_and_a_method() -> None:
    assert TASKS.keys() == offered()
    for task, example in TASKS.items():
        assert example.command.startswith(f"regard {task} {{}} ") and task in COMMANDS
        assert example.python.startswith(f"model.{task}(")
        assert callable(getattr(regard.Model, task))


@pytest.mark.parametrize("head", ["QuestionAnswering", "TokenClassification", "MaskedLM"])
def test_the_card_and_the_doctor_show_the_first_task(head: str, tmp_path: Path) -> None:
    folders.bert(tmp_path / "m", head)
    bundle = open_bundle(tmp_path / "m")
    example = TASKS[bundle.tasks[0]]
    card = model_card(bundle, "me/mine")
    assert f'pipeline_tag: "{example.pipeline}"' in card and example.python in card
    assert examine(tmp_path / "m").how == example.command.format(tmp_path / "m")
