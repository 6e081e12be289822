"""A student learns from a teacher: the parts of its loss, its first weights, a run in seconds."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

import regard
from fit.test_classify_training import ask, fresh, texts
from halting import digest, go, go_with_halts
from regard.data.batch import text_batch
from regard.errors import ConfigError
from regard.fit.train import Request
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.runs.recipe import make_recipe
from regard.training.losses import (
    Classification,
    Distillation,
    encoded,
    hidden_loss,
    soft_loss,
)
from regard.training.teacher import save_teacher
from regard.training.worker_process import packed, unpacked


def test_soft_targets_are_torchs_divergence() -> None:
    mine, theirs = torch.randn(5, 3, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64)
    for temperature in (1.0, 2.5):
        expected = temperature**2 * F.kl_div(
            F.log_softmax(mine / temperature, dim=-1),
            F.log_softmax(theirs / temperature, dim=-1),
            reduction="sum",
            log_target=True,
        )
        torch.testing.assert_close(soft_loss(mine, theirs, temperature), expected)


def test_hidden_vectors_are_torchs_cosine_loss() -> None:
    mine, theirs = torch.randn(2, 4, 6, dtype=torch.float64), torch.randn(2, 4, 6).double()
    real = torch.tensor([[True] * 4, [True, True, False, False]])
    criterion = torch.nn.CosineEmbeddingLoss()
    rows = [
        criterion(mine[i][real[i]], theirs[i][real[i]], torch.ones(int(real[i].sum())))
        for i in range(2)
    ]
    torch.testing.assert_close(hidden_loss(mine, theirs, real), rows[0] + rows[1])


def encoder(layers: int, seed: int) -> Transformer:
    spec = preset(
        "tiny", 16, d_model=8, heads=2, ffn_size=12, encoder_layers=layers, decoder_layers=0,
        head="classes", classes=3, dropout=0.0,
    )  # fmt: skip
    return Transformer(spec, seed=seed)


def test_the_loss_is_the_sum_of_its_parts(tmp_path: Path) -> None:
    teacher, student = encoder(4, 1), encoder(2, 2)
    save_teacher(teacher, tmp_path / "teacher")
    batch = text_batch([[1, 7, 9, 2], [1, 8, 2]], [4, 3], pad=0)
    batch = batch.having(labels=torch.tensor([2, 0]))
    objective = Distillation(str(tmp_path / "teacher"), 3.0, labels=0.5, soft=2.0, hidden=0.25)
    assert unpacked(packed(objective)) == objective
    loss = objective(student, batch)
    hard = Classification()(student, batch)
    mine, theirs = encoded(student, batch), encoded(teacher.eval(), batch)
    soft = soft_loss(student.answer(mine), teacher.answer(theirs), 3.0)
    expected = (
        0.5 * hard.smoothed + 2.0 * soft + 0.25 * hidden_loss(mine, theirs, batch["text_real"])
    )
    torch.testing.assert_close(loss.smoothed, expected)
    torch.testing.assert_close(loss.plain, hard.plain)  # what validation measures too
    loss.smoothed.backward()
    assert all(weight.grad is None for weight in teacher.parameters())
    alone = Distillation(str(tmp_path / "teacher"))(teacher, batch)  # itself: nothing to learn
    torch.testing.assert_close(alone.smoothed, alone.plain, atol=1e-5, rtol=1e-5)


@pytest.fixture(scope="module")
def teachers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    root, folders = tmp_path_factory.mktemp("teachers"), dict[str, Path]()

    def teacher(family: str) -> Path:
        if family not in folders:
            start = fresh(root / family / "start", family)
            go(ask(root / family, f"train.start_from={start}"))
            folders[family] = root / family / "run"
        return folders[family]

    return teacher


def distil(folder: Path, teacher: Path, *changes: str) -> Request:
    request = ask(folder, f"train.start_from={teacher}", *changes)
    assert request.recipe is not None
    recipe = request.recipe.read_text().replace('"classify"', '"distil"', 1)
    request.recipe.write_text(recipe)
    return request


@pytest.mark.end_to_end
@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_a_student_has_half_the_layers_and_answers_as_its_teacher(
    family: str, teachers: Callable[[str], Path], tmp_path: Path
) -> None:
    teacher = teachers(family)
    go(distil(tmp_path, teacher, "train.steps=60", "train.validate_every=30"))
    student, other = (regard.load(p, device="cpu") for p in (tmp_path / "run", teacher))
    assert (student.spec.encoder_layers, other.spec.encoder_layers) == (1, 2)
    assert student.tasks == ("classify", "embed")
    sentences = [text for text, _ in texts(60, seed=7)]
    mine, theirs = (model.classify(sentences, top=1) for model in (student, other))
    same = [a[0].label == b[0].label for a, b in zip(mine, theirs, strict=True)]
    assert sum(same) / len(same) > 0.9


@pytest.mark.end_to_end
def test_it_begins_with_the_teachers_weights(
    teachers: Callable[[str], Path], tmp_path: Path
) -> None:
    teacher = teachers("bert")
    lines = go(distil(tmp_path, teacher, "train.steps=1", "train.rate=0.0"))
    student, other = (
        dict(regard.load(p, device="cpu").transformer.named_parameters())
        for p in (tmp_path / "run", teacher)
    )
    assert student and all(torch.equal(weight, other[name]) for name, weight in student.items())
    assert any(line.startswith(f"Start:      {len(student)} of {len(student)}") for line in lines)


@pytest.mark.end_to_end
def test_resume_is_exact(
    teachers: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ("train.steps=20", "train.validate_every=10")
    go(distil(tmp_path / "straight", teachers("bert"), *keys))
    go_with_halts(distil(tmp_path / "halted", teachers("bert"), *keys), [1, 13], monkeypatch)
    assert digest(tmp_path / "halted/run") == digest(tmp_path / "straight/run")


def test_what_cannot_teach_is_refused(tmp_path: Path) -> None:
    base = {"objective": "distil", "data": {"texts": "t.tsv"}}
    with pytest.raises(ConfigError, match="distil needs a teacher"):
        make_recipe(base, "r")
    with pytest.raises(ConfigError, match="are all 0"):
        nothing = {"labels": 0, "soft": 0, "hidden": 0}
        make_recipe(base | {"train": {"start_from": "x"}, "distil": nothing}, "r")
    with pytest.raises(ConfigError, match="has no classes to teach, its head is 'none'"):
        go(distil(tmp_path, fresh(tmp_path / "start", "bert")))
