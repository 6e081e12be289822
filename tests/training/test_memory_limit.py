"""Running out of memory is an error that can be caught, and a batch in halves is the same batch."""

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import toy
from regard.checkpoint.guard import read_tensors
from regard.data.batch import Batch, make_batch
from regard.errors import OutOfMemoryError
from regard.fit.preflight import FIRST_USE
from regard.model.dropout import drawing_from, dropout
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.processor.machine import sizes_in
from regard.runs.log import read_log
from regard.text.special import Special
from regard.training import worker as worker_module
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.label_smoothing import SummedLoss
from regard.training.losses import TranslationLoss, translation_loss
from regard.training.memory_limit import (
    free_memory,
    is_out_of_memory,
    memory_limit,
    peak_memory,
    room,
    used_memory,
)
from regard.training.parts import parts_of
from regard.training.worker import MeanLoss

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
TOO_MUCH = RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate …")


def batch(rows: int = 7) -> Batch:
    chance = torch.Generator().manual_seed(4)

    def row(length: int) -> list[int]:
        return [int(i) for i in torch.randint(4, 40, (length,), generator=chance)]

    return make_batch([(row(2 + i % 4), row(1 + i % 3)) for i in range(rows)], Special())


def model(**changes: object) -> Transformer:
    kinds = {"dropout": 0.3, "attention_dropout": 0.2, "ffn_dropout": 0.1, **changes}
    return Transformer(preset("tiny", 40, **kinds), seed=2).double()


class Memory:
    """A loss for which parts with more cells than `most` are too large."""

    def __init__(self, most: int) -> None:
        self.most, self.computed = most, []

    def __call__(self, model: Transformer, part: Batch) -> SummedLoss:
        cells = part["source"].numel() + part["target_in"].numel()
        if cells > self.most:
            raise TOO_MUCH
        self.computed.append(len(part))
        return translation_loss(model, part, 0.1)


def steps(
    model: Transformer, memory: Memory, group: Sequence[Batch], count: int = 1
) -> tuple[list[MeanLoss], dict[str, Tensor], int]:
    with closing(DataParallel(model, memory, Compute(), seed=7)) as workers:
        means = [workers.gradients(3, group) for _ in range(count)]
        halved = workers.halved
    return means, {n: p.grad for n, p in model.named_parameters() if p.grad is not None}, halved


@pytest.mark.parametrize("most", [25, pytest.param(11, marks=pytest.mark.long)])
def test_halves_give_the_gradient_of_the_whole(most: int) -> None:
    """Three kinds of dropout: only the same masks give the same numbers."""
    one, group = model(), [batch(), batch(5)]
    (whole,), expected, none = steps(one, Memory(10**6), group)
    memory = Memory(most)
    (means,), got, halved = steps(one, memory, group)
    assert none == 0 and halved > 0 and sum(memory.computed) == 12
    assert means.smoothed == pytest.approx(whole.smoothed, rel=1e-12)
    assert means.plain == pytest.approx(whole.plain, rel=1e-12)
    highest = max(float(g.abs().max()) for g in expected.values())
    for name, gradient in expected.items():
        assert float((got[name] - gradient).abs().max()) < 1e-12 * highest, name


@LINUX
def test_halves_by_two_processes() -> None:
    """Whichever process computes which half, the masks and the sum are those of the whole."""
    one, group, gradients = model(), [batch(), batch(5)], []
    for most in (None, 15):
        loss_of, compute = TranslationLoss(0.1), Compute(workers=2)
        with closing(DataParallel(one, loss_of, compute, seed=7, most=most)) as workers:
            workers.gradients(3, group)
        gradients.append([w.grad.clone() for w in one.parameters() if w.grad is not None])
    highest = max(float(g.abs().max()) for g in gradients[0])
    for whole, halves in zip(*gradients, strict=True):
        assert float((halves - whole).abs().max()) < 1e-12 * highest


@LINUX
def test_a_worker_process_that_runs_out_of_memory_says_so_and_we_do_its_part() -> None:
    """Real want of memory in the other process, which gets half of what its share takes."""
    import resource

    one = Transformer(preset("tiny", 40, dropout=0.3, ffn_size=2048), seed=2)
    gradients, halved, data = [], [], []
    for limited in (False, True):
        loss_of, compute = TranslationLoss(0.1), Compute(workers=2)
        with closing(DataParallel(one, loss_of, compute, seed=7)) as workers:
            workers.gradients(1, [batch(4)])
            pid = workers._processes[0]._process.pid
            if limited:
                half = (data[0] + data[1]) // 2
                resource.prlimit(pid, resource.RLIMIT_DATA, (half, resource.RLIM_INFINITY))
            data.append(sizes_in(Path(f"/proc/{pid}/status"))["VmData"])
            workers.gradients(3, [batch(400)])
            data.append(sizes_in(Path(f"/proc/{pid}/status"))["VmData"])
        gradients.append([w.grad.clone() for w in one.parameters() if w.grad is not None])
        halved.append(workers.halved)
    assert data[1] > data[0] + 50_000_000  # there was something to limit
    assert halved[0] == 0 < halved[1]
    highest = max(float(g.abs().max()) for g in gradients[0])
    for whole, halves in zip(*gradients, strict=True):
        assert float((halves - whole).abs().max()) < 1e-5 * highest


def test_what_failed_once_is_not_tried_whole_again() -> None:
    memory = Memory(25)
    _, _, halved = steps(model(), memory, [batch()], count=3)
    _, _, once = steps(model(), Memory(25), [batch()], count=1)
    assert halved == once > 0


def test_a_single_pair_that_does_not_fit_ends_training() -> None:
    with pytest.raises(OutOfMemoryError, match="not even one pair of 5 and 4 tokens fits"):
        steps(model(), Memory(1), [batch(3)])


def test_other_errors_are_not_taken_for_memory() -> None:
    def broken(model: Transformer, part: Batch) -> SummedLoss:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with (
        closing(DataParallel(model(), broken, Compute(), 7)) as workers,
        pytest.raises(RuntimeError),
    ):
        workers.gradients(1, [batch()])


def test_masks_of_rows_are_rows_of_the_mask() -> None:
    x = torch.ones(7, 5, 3)
    with drawing_from(torch.Generator().manual_seed(1)):
        whole = dropout(x, 0.4, training=True)
    parts = []
    for start, end in ((0, 3), (3, 7)):
        with drawing_from(torch.Generator().manual_seed(1), 7, start):
            parts.append(dropout(x[start:end], 0.4, training=True))
    assert torch.equal(torch.cat(parts), whole)
    assert 0 < int((whole == 0).sum()) < x.numel()


def test_parts_within_some_cells() -> None:
    (part,) = parts_of([batch()], 1)
    smaller = part.within(25)
    assert [p.start for p in smaller] == sorted(p.start for p in smaller)
    assert sum(len(p.batch) for p in smaller) == 7
    assert all(p.cells <= 25 and p.rows == 7 and p.number == 0 for p in smaller)
    assert torch.equal(torch.cat([p.batch["source"] for p in smaller]), part.batch["source"])


@LINUX
def test_what_the_system_says() -> None:
    free, used, peak = free_memory(), used_memory(), peak_memory()
    assert free and used and peak
    assert peak >= used > 10_000_000
    assert room(None) == pytest.approx(0.95 * free, rel=0.2)
    assert room(1) == 0


@LINUX
def test_an_allocation_beyond_the_limit_fails_and_later_ones_do_not() -> None:
    used = used_memory()
    assert used is not None
    with memory_limit(used // 10**6 + 200) as limited:
        assert limited
        with pytest.raises((RuntimeError, MemoryError)) as caught:
            torch.empty(400_000_000, dtype=torch.uint8)
        assert is_out_of_memory(caught.value)
        with pytest.raises(MemoryError) as also:
            np.empty(400_000_000, dtype=np.uint8)
        assert is_out_of_memory(also.value)
        assert len(torch.ones(1_000_000)) == 1_000_000
    assert len(torch.empty(400_000_000, dtype=torch.uint8)) == 400_000_000


@LINUX
def test_a_file_that_finds_no_room_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    save_file({"weight": torch.zeros(25_000_000)}, path)
    used = used_memory()
    assert used is not None
    with memory_limit(used // 10**6 + 20), pytest.raises(MemoryError) as caught:
        read_tensors(path)
    assert is_out_of_memory(caught.value)
    assert "not a valid" not in str(caught.value)


SCRIPT = """
import json, sys
from pathlib import Path
from regard.fit.train import Request, train
from regard.training.memory_limit import peak_memory
source, target, folder, *assignments = sys.argv[1:]
files = {"source": Path(source), "target": Path(target), "folder": Path(folder)}
train(Request(**files, assignments=assignments, force=True), print)
print(json.dumps(peak_memory()))
"""


@LINUX
@pytest.mark.long
@pytest.mark.end_to_end
def test_a_training_in_little_memory_ends_with_the_same_weights(tmp_path: Path) -> None:
    """One process has all memory, the other half of what its batches take."""
    source, target = toy.write(tmp_path, 4000)
    changes = [
        *(a for a in toy.SMALL if "budget" not in a), "train.token_budget=16384",
        "model.d_model=64", "model.ffn_size=512", "model.dropout=0.2", "train.steps=4",
        "train.validate_every=4", "train.bleu_sentences=0", "train.precision=fp32",
        "train.average=1", "model.encoder_layers=3", "model.decoder_layers=3",
    ]  # fmt: skip

    def trained(name: str, *more: str) -> tuple[dict[str, Tensor], int, str]:
        files = [str(source), str(target), str(tmp_path / name)]
        command = [sys.executable, "-c", SCRIPT, *files, *changes, *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        peak = json.loads(done.stdout.splitlines()[-1])
        weights = load_file(tmp_path / name / "checkpoints/step-00000004/weights.safetensors")
        return weights, peak, done.stderr

    expected, much, quiet = trained("free")
    base = used_by_torch() + FIRST_USE
    limit = base + (much - base) // 2
    got, little, said = trained("tight", f"train.memory={limit // 10**6}")
    assert little < base + 0.8 * (much - base)
    assert said.count("memory is too small for a whole batch") == 1
    assert "too small" not in quiet
    records = [r for r in read_log(tmp_path / "tight/log.jsonl") if r["kind"] == "memory"]
    assert records and records[0]["halved"] >= 1
    start = untrained(changes)
    moved = max(float((expected[name] - weight).abs().max()) for name, weight in start.items())
    for name, weight in expected.items():
        if "key.bias" in name:  # softmax ignores it: its gradient is rounding, which Adam scales up
            continue
        assert float((got[name] - weight).abs().max()) < 5e-3 * moved, name


def used_by_torch() -> int:
    """What a process holds that has imported everything and trained nothing."""
    code = (
        "import regard.fit.train; from regard.training.memory_limit import used_memory;"
        "print(used_memory())"
    )
    return int(subprocess.check_output([sys.executable, "-c", code], text=True))


def untrained(changes: Sequence[str]) -> dict[str, Tensor]:
    from regard.config import override
    from regard.runs.sections import spec_of

    tables = override({"model": {"preset": "tiny", "norm_order": "pre"}}, changes)
    model = Transformer(spec_of(tables["model"], 320), seed=1)
    return {name: weight.detach() for name, weight in model.named_parameters()}


def test_the_workers_forget_nothing_between_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that was not released after an error would make the next half fail too."""
    collected: list[int] = []
    monkeypatch.setattr(worker_module.gc, "collect", lambda: collected.append(1))
    steps(model(), Memory(25), [batch()])
    assert collected
