"""Fast steps against plain ones: the same loss, gradients and dropout masks."""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Literal

import psutil
import pytest
import torch
from torch import Tensor

from regard.data.batch import Batch, make_batch
from regard.errors import TrainingError
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.text.special import Special
from regard.training import data_parallel, shared
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.label_smoothing import SummedLoss
from regard.training.losses import TranslationLoss
from regard.training.shared import SharedTensors
from regard.training.worker import MeanLoss

Precision = Literal["fp32", "bf16"]
LENGTHS = [(3, 4), (9, 2), (1, 1), (6, 7), (5, 5), (2, 8), (7, 3)]
KINDS = {
    "paper": {"norm_order": "post"},
    "pre-norm": {"norm_order": "pre", "tie": "none", "activation": "gelu"},
    "attention dropout": {"attention_dropout": 0.2, "ffn_dropout": 0.1},
    "grouped, rotary": {"kv_heads": 2, "positions": "rotary", "attention_bias": False},
    "relative": {"positions": "relative", "score_scale": False, "output_bias": True},
}


def pairs(count: int = len(LENGTHS)) -> list[tuple[list[int], list[int]]]:
    chance = torch.Generator().manual_seed(4)

    def row(length: int) -> list[int]:
        return [int(i) for i in torch.randint(4, 40, (length,), generator=chance)]

    return [(row(s), row(t)) for s, t in LENGTHS[:count]]


def batches() -> list[Batch]:
    rows = pairs()
    return [make_batch(rows[:4], Special()), make_batch(rows[4:], Special())]


def model(**changes: object) -> Transformer:
    return Transformer(preset("tiny", 40, **{"dropout": 0.3, **changes}), seed=2)


loss_of = TranslationLoss(0.1)


def gradients(
    model: Transformer, compute: Compute, group: Sequence[Batch], step: int = 3
) -> tuple[MeanLoss, dict[str, Tensor]]:
    with closing(DataParallel(model, loss_of, compute, seed=7)) as workers:
        means = workers.gradients(step, group)
    return means, {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def farthest(a: dict[str, Tensor], b: dict[str, Tensor]) -> float:
    """The largest difference of two sets of gradients, beside the largest gradient."""
    assert a.keys() == b.keys()
    highest = max(float(g.abs().max()) for g in b.values())
    return max(float((a[n].double() - b[n].double()).abs().max()) for n in a) / highest


@pytest.mark.parametrize("kind", KINDS)
def test_fast_equals_plain_in_double_precision(kind: str) -> None:
    """Dropout is 0.3: only the same masks give the same numbers."""
    one = model(**KINDS[kind]).double()
    fast, quick = gradients(one, Compute(kernels="fast"), batches())
    plain, slow = gradients(one, Compute(kernels="plain"), batches())
    assert fast.smoothed == pytest.approx(plain.smoothed, rel=1e-12)
    assert fast.plain == pytest.approx(plain.plain, rel=1e-12)
    assert farthest(quick, slow) < 1e-12


@pytest.mark.parametrize(
    ("precision", "bound"),
    [("fp32", 1e-5), pytest.param("bf16", 0.1, marks=pytest.mark.needs("bf16"))],
)
def test_fast_is_as_near_to_double_precision_as_plain(precision: Precision, bound: float) -> None:
    """Both round, in different places; neither may be further from the truth than the other."""
    one = model()
    fast, quick = gradients(one, Compute(precision, kernels="fast"), batches())
    plain, slow = gradients(one, Compute(precision, kernels="plain"), batches())
    exact, truth = gradients(one.double(), Compute(kernels="plain"), batches())
    assert fast.smoothed == pytest.approx(exact.smoothed, rel=bound / 10)
    assert plain.smoothed == pytest.approx(exact.smoothed, rel=bound / 10)
    assert farthest(quick, truth) < min(bound, 2 * farthest(slow, truth))
    assert all(gradient.dtype == torch.float32 for gradient in quick.values())


@pytest.mark.needs("bf16")
def test_bf16_is_near_fp32_and_keeps_the_weights_in_fp32() -> None:
    one = model()
    single, exact = gradients(one, Compute("fp32"), batches())
    half, rough = gradients(one, Compute("bf16"), batches())
    assert half.smoothed == pytest.approx(single.smoothed, rel=0.01)
    assert 1e-5 < farthest(rough, exact) < 0.1
    assert all(weight.dtype == torch.float32 for weight in one.parameters())


@pytest.mark.needs("bf16")
def test_bf16_sees_what_the_optimizer_changed() -> None:
    one = model(dropout=0.0)
    with closing(DataParallel(one, loss_of, Compute("bf16"), seed=1)) as workers:
        before = workers.gradients(1, batches())
        with torch.no_grad():
            for weight in one.parameters():
                weight.mul_(1.5)
        after = workers.gradients(1, batches())
    assert after.smoothed != pytest.approx(before.smoothed, rel=0.001)


def test_workers_share_a_step_without_changing_it() -> None:
    """Without dropout, whose masks belong to the parts, the sum over parts is the whole."""
    one = model(dropout=0.0).double()
    alone, whole = gradients(one, Compute(workers=1), batches())
    shared, parts = gradients(one, Compute(workers=3), batches())
    assert shared.smoothed == pytest.approx(alone.smoothed, rel=1e-12)
    assert farthest(parts, whole) < 1e-12


@pytest.mark.parametrize("count", [1, 2])
def test_a_step_depends_on_its_number_and_on_nothing_before(count: int) -> None:
    one, by_step = model(), []
    with closing(DataParallel(one, loss_of, Compute(workers=count), seed=7)) as workers:
        for step in (5, 6, 5):
            torch.rand(17)  # somebody else draws
            workers.gradients(step, batches())
            by_step.append(
                {n: p.grad.clone() for n, p in one.named_parameters() if p.grad is not None}
            )
    first, other, again = by_step
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert farthest(other, first) > 0.01


def test_an_error_in_a_worker_is_not_lost() -> None:
    def broken(model: Transformer, batch: Batch) -> SummedLoss:
        raise ZeroDivisionError("no loss today")

    with (
        closing(DataParallel(model(), broken, Compute(), seed=1)) as workers,
        pytest.raises(ZeroDivisionError, match="no loss today"),
    ):
        workers.gradients(1, batches())


def test_the_error_of_a_worker_process_reaches_us_and_work_can_go_on() -> None:
    """A token that the vocabulary does not have, in the second half of the batch only."""
    good = make_batch(pairs(), Special())
    bad = make_batch([*pairs()[:-1], ([5], [39999])], Special())
    with closing(DataParallel(model(), loss_of, Compute(workers=2), seed=1)) as workers:
        with pytest.raises(TrainingError, match="IndexError"):
            workers.gradients(1, [bad])
        assert workers.gradients(1, [good]).plain > 0


def test_after_an_error_of_ours_no_old_answer_is_taken() -> None:
    """The token beyond the vocabulary is in our half; the other process answers all the same."""
    good = make_batch(pairs(), Special())
    bad = make_batch([([39999], [5]), *pairs()[1:]], Special())
    one = model()
    with closing(DataParallel(one, loss_of, Compute(workers=2), seed=7)) as workers:
        with pytest.raises(IndexError):
            workers.gradients(1, [bad])
        after = workers.gradients(3, [good])
    assert after == gradients(one, Compute(workers=2), [good], step=3)[0]


def test_a_worker_process_that_was_killed_is_named() -> None:
    one, before = model(), set(psutil.Process().children())  # other tests may leave some
    with closing(DataParallel(one, loss_of, Compute(workers=2), seed=1)) as workers:
        workers.gradients(1, batches())
        (child,) = set(psutil.Process().children()) - before
        child.kill()
        with pytest.raises(TrainingError, match="worker process ended with code -9"):
            workers.gradients(2, batches())
    assert not set(psutil.Process().children()) - before


def test_after_closing_the_weights_are_our_own() -> None:
    one = model()
    before = [weight.detach().clone() for weight in one.parameters()]
    with closing(DataParallel(one, loss_of, Compute(workers=2), seed=1)) as workers:
        workers.gradients(1, batches())
    assert all(torch.equal(a, b) for a, b in zip(before, one.parameters(), strict=True))
    for weight in one.parameters():
        weight.data.add_(1)  # would fail in memory that is gone


DIES = """
import os, signal, sys
sys.path[:0] = {path!r}
from regard.data.batch import make_batch
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.text.special import Special
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.losses import TranslationLoss
import psutil
one = Transformer(preset("tiny", 40))
workers = DataParallel(one, TranslationLoss(), Compute(workers=2), seed=1)
batch = make_batch([([5, 6], [7, 8])] * 4, Special())
assert workers.gradients(1, [batch]).plain > 0
print(psutil.Process().children()[0].pid, flush=True)
sys.stdin.read()
"""


def test_worker_processes_end_when_we_are_killed(tmp_path: Path) -> None:
    """Started by a script without `if __name__ == "__main__"`, which must run once only."""
    script = tmp_path / "script.py"
    script.write_text(DIES.format(path=[p for p in sys.path if p]), encoding="utf-8")
    ours = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert ours.stdout is not None
    other = psutil.Process(int(ours.stdout.readline()))
    ours.kill()
    ours.wait()
    psutil.wait_procs([other], timeout=30)
    assert not other.is_running() or other.status() == psutil.STATUS_ZOMBIE


SERVES = """
from regard.training import worker_process
worker_process.die_with_parent = lambda: False
worker_process.serve{files}
"""


@pytest.mark.skipif(os.name != "posix", reason="workers are processes that share memory")
def test_without_the_systems_help_the_end_of_the_line_ends_a_worker_process() -> None:
    ours, theirs = socket.socketpair()
    memory = SharedTensors([torch.zeros(1)])
    files = (memory.descriptor, memory.descriptor, theirs.fileno())
    process = subprocess.Popen(
        [sys.executable, "-c", SERVES.format(files=files)],
        pass_fds=files,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    theirs.close()
    ours.close()
    assert process.wait(timeout=60) == 0
    memory.close()


@pytest.mark.parametrize("without", ["can_memfd", "can_share"])
def test_shares_in_other_memory_or_in_turn_are_the_same_bits(
    without: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = model()
    usual, theirs = gradients(one, Compute(workers=2), batches())
    monkeypatch.setattr(shared if without == "can_memfd" else data_parallel, without, lambda: False)
    plain, ours = gradients(one, Compute(workers=2), batches())
    assert plain == usual
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 20])
def test_split_keeps_every_pair_and_shares_the_tokens(parts: int) -> None:
    whole = make_batch(pairs(), Special(), range(len(LENGTHS)))
    split = whole.split(parts)
    assert len(split) <= parts
    assert [i for part in split for i in part.examples] == list(range(len(LENGTHS)))
    assert sum(part.tokens for part in split) == whole.tokens
    for part in split:
        assert bool(part["source_real"].any(dim=0).all()) and bool(
            part["target_real"].any(dim=0).all()
        )
        alone = make_batch([pairs()[i] for i in part.examples], Special())
        for name in ("source", "source_real", "target_in", "target_out", "target_real"):
            assert torch.equal(part[name], alone[name])
    longest = max(s + t + 2 for s, t in LENGTHS)
    ends = [0]
    for part in split:
        ends.append(ends[-1] + part.tokens)
    for (start, end), number in zip(pairwise(ends), range(len(split)), strict=True):
        if len(split) == parts:
            assert abs(end - whole.tokens * (number + 1) / parts) <= longest
            assert end > start


LONG = """
import resource, sys, torch
from contextlib import closing
sys.path[:0] = {path!r}
from regard.data.batch import make_batch
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.text.special import Special
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.losses import translation_loss

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

one = Transformer(preset("tiny", 40, d_model=32, heads=8, ffn_size=32,
                         encoder_layers=1, decoder_layers=1))
loss = lambda m, b: translation_loss(m, b, 0.1)
with closing(DataParallel(one, loss, Compute(), seed=1)) as workers:
    workers.gradients(1, [make_batch([([5] * 60, [6] * 60)], Special())])
    before = peak()
    workers.gradients(2, [make_batch([([5] * 4095, [6] * 4095)], Special())])
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_long_sequences_train_without_a_table_of_all_pairs() -> None:
    """The scores of 8 heads at 4,096 × 4,096 would be 512 MB for each of the three attentions."""
    code = LONG.format(path=[p for p in sys.path if p])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert float(done.stdout) < 256  # MB
