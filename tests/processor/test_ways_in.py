"""Every way into regard survives a processor that survives nothing but fp32, and says so.

While REGARD_SIMULATE is set, what it names raises where it is computed: a way round fails here.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import torch

import regard
import toy
from folders import bert
from regard.api.load import load
from regard.convert.convert import convert
from regard.decode.engine import Frame, Layout
from regard.decode.engines.ctranslate2_trial import int8
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import DecodingOptions
from regard.errors import MisuseError
from regard.fit.autotune import bf16_is_faster
from regard.fit.train import Request, train
from regard.model.fast.int16 import Int16Weight, is_offered
from regard.model.fast.packed import PackedEncoder, precisions
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.processor import survives
from regard.processor.simulate import SimulatedDeathError, dies_as_simulated
from regard.runs.folder import RunFolder
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.losses import TranslationLoss
from regard.training.worker import Worker

pytestmark = pytest.mark.end_to_end
SPEC = Spec(vocabulary=31, d_model=32, heads=2, encoder_layers=1, decoder_layers=1, ffn_size=64)


@pytest.fixture(scope="module")
def dying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.MonkeyPatch]:
    """A machine on which all but fp32 is deadly; what is found out about it is kept once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("REGARD_SIMULATE", "all")
        yield patch


@pytest.fixture(scope="module")
def run(dying: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was trained there for a moment."""
    folder = tmp_path_factory.mktemp("toy")
    source, target = toy.write(folder, 120)
    changes = (*toy.SMALL, "train.steps=4", "train.validate_every=2")
    request = Request(source=source, target=target, assignments=changes, folder=folder / "run")
    assert train(request, lambda line: None).step == 4
    return folder / "run"


def test_training_takes_fp32(run: Path) -> None:
    assert RunFolder(run).read_info()["compute"]["precision"] == "fp32"
    assert not bf16_is_faster(torch.device("cpu"))


def test_training_in_bf16_is_refused(run: Path) -> None:
    changes = ["train.precision=bf16", "train.steps=6"]
    source = run.parent / "a.en"
    request = Request(
        source=source,
        target=run.parent / "a.de",
        assignments=(*toy.SMALL, *changes),
        folder=run.parent / "other",
    )
    with pytest.raises(MisuseError, match='train.precision: .*survive bf16: .*SIGILL.*use "fp32"'):
        train(request, lambda line: None)


def test_translating_takes_torch_and_says_why(run: Path) -> None:
    model = load(run, "cpu")
    assert isinstance(model.translate("red cat", beam=1), str)
    assert "torch, because this machine does not survive ctranslate2" in model.engines.notes[0]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"engine": "ctranslate2"}, "engine: this machine does not survive ctranslate2: .*SIGILL"),
        (
            {"precision": "int8"},
            "engine: torch does not offer precision int8 .*survive ctranslate2",
        ),
        ({"engine": "torch", "precision": "bf16"}, "precision: this machine .* bf16: .*use fp32"),
    ],
)
def test_what_is_deadly_is_refused_by_name(run: Path, asked: dict[str, str], words: str) -> None:
    with pytest.raises(MisuseError, match=words):
        load(run, "cpu", **asked).translate("red cat")


def test_converting_is_done_and_not_read_back(run: Path, tmp_path: Path) -> None:
    converted = convert(run, tmp_path / "fast", "ctranslate2", precision="int8")
    assert "model.bin" in converted.files and "does not survive int8" in converted.unread


def test_embedding_and_classifying_take_fp32(dying: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tmp_path /= "bert"
    bert(tmp_path, "SequenceClassification")
    model = regard.load(tmp_path, "cpu")
    assert np.isfinite(model.embed(["the river", "a bank"])).all()
    assert model.classify("the river")
    with pytest.raises(MisuseError, match="precision: this machine does not survive bf16"):
        regard.load(tmp_path, "cpu", precision="bf16").embed(["the river"])
    with pytest.raises(MisuseError, match="precision: got int16"):
        regard.load(tmp_path, "cpu", precision="int16").embed(["the river"])
    assert not is_offered() and precisions(SPEC) == ("fp32", "bf16")


def test_ways_round_are_seen(dying: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the question, each of them computes what is deadly, and that fails."""
    monkeypatch.setattr(survives, "ruled_out", lambda feature: "")
    model = Transformer(SPEC).eval()
    frame = Frame(0, 1, 2)
    with pytest.raises(SimulatedDeathError, match="int16"):
        Int16Weight(torch.randn(16, 16))
    with pytest.raises(SimulatedDeathError, match="bf16"):
        PackedEncoder(model, "bf16")(torch.tensor([3, 4, 5]), [3])
    with (
        closing(TorchEngine(model, frame, layout=Layout("bf16"))) as engine,
        pytest.raises(SimulatedDeathError, match="bf16"),
    ):
        engine.submit([[3, 4, 2]], DecodingOptions(beam=1))()
    with pytest.raises(SimulatedDeathError, match="int8"):
        int8()


def test_one_thread_watches_at_a_time(dying: pytest.MonkeyPatch) -> None:
    """Two that make torch look operations up for Python at once would end the process (SIGSEGV)."""
    order: list[str] = []

    def other() -> None:
        with dies_as_simulated():
            order.append("other")

    with dies_as_simulated():
        second = Thread(target=other)
        second.start()
        second.join(timeout=0.2)
        order.append("this")
    second.join()
    assert order == ["this", "other"]


def test_a_worker_is_watched(dying: pytest.MonkeyPatch) -> None:
    from regard.data.batch import make_batch
    from regard.text.special import Special
    from regard.training.parts import parts_of
    from regard.training.worker import Share

    batch = make_batch([([5, 6, 7], [8, 9])] * 4, Special())
    share = Share(1, batch.targets, parts_of([batch], 1))
    worker = Worker(Transformer(SPEC), TranslationLoss(0.1), Compute("bf16"), seed=1)
    with pytest.raises(SimulatedDeathError, match="bf16"):
        worker.gradients(share)
    with pytest.raises(MisuseError, match="train.precision"):
        DataParallel(Transformer(SPEC), TranslationLoss(0.1), Compute("bf16"), seed=1)


def test_int8_alone_leaves_the_engine(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_SIMULATE", "int8=garbage")
    if survives.ruled_out("ctranslate2"):
        pytest.skip("this machine does not survive ctranslate2 at all")
    model = load(run, "cpu", engine="ctranslate2")
    assert isinstance(model.translate("red cat", beam=1), str)
    assert "ctranslate2 fp32" in model.engines.notes[-1]
    with pytest.raises(MisuseError, match="int8: .*its numbers were wrong"):
        load(run, "cpu", engine="ctranslate2", precision="int8").translate("red cat", beam=1)


CAPPED = """
import os, regard
regard.load                                    # the door: torch is not there yet
from contextlib import closing
from regard.data.batch import make_batch
from regard.model.device import choose_device
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.text.special import Special
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.losses import TranslationLoss
choose_device("cpu")
assert os.environ["ONEDNN_MAX_CPU_ISA"] == "AVX512_CORE_BF16"
spec = Spec(vocabulary=31, d_model=32, heads=2, encoder_layers=1, decoder_layers=1, ffn_size=64)
batch = make_batch([([5, 6, 7], [8, 9])] * 4, Special())
compute = Compute("bf16", workers=2)
with closing(DataParallel(Transformer(spec), TranslationLoss(0.1), compute, 1)) as workers:
    print(workers.gradients(1, [batch]).smoothed)
"""
LATE = """
import torch, regard
regard.load
from regard.processor.survives import get_ready, ruled_out
get_ready()                                    # fp32 is as it was
print(ruled_out("bf16"))
"""


def test_a_cap_is_set_in_time_or_bf16_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AMX is broken: with a cap bf16 works, also in worker processes; too late, it is not used."""
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    monkeypatch.setenv("REGARD_SIMULATE", "amx=SIGILL")
    for name in ("ONEDNN_MAX_CPU_ISA", "REGARD_CAPS"):
        monkeypatch.delenv(name, raising=False)
    capped, late = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        for code in (CAPPED, LATE)
    )
    assert capped.returncode == 0, capped.stderr
    assert 1 < float(capped.stdout) < 6
    assert (
        "bf16 works on this machine with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 only" in capped.stderr
    )
    assert late.returncode == 0 and late.stderr == ""  # it was said once
    assert "torch was imported before regard" in late.stdout
