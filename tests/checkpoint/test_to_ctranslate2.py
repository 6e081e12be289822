"""A folder of the ctranslate2 library: log p there and here, for every kind of model it holds."""

from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import torch

from refusals import refused
from regard.checkpoint.ctranslate2_info import INFO, is_fresh, read_info, read_pieces
from regard.checkpoint.to_ctranslate2 import ROWS, write_ctranslate2
from regard.checksums import NAME as CHECKSUMS
from regard.errors import CheckpointError, DamageError, MisuseError
from regard.model.spec import Spec
from regard.model.transformer import Transformer

pytestmark = pytest.mark.needs("ctranslate2")
SIZE = 29
PIECES = ["<pad>", "<s>", "</s>", "<unk>", *(f"p{i}" for i in range(4, SIZE))]
FRAME = {"start": 1, "end": 2}
SOURCES = [[5, 6, 7, 8, 2], [9, 10, 2], [4] * 20 + [2]]
TARGETS = [[4, 5, 6], [*range(20, 28), *[5] * 20], [7]]
RELATIVE = {"positions": "relative", "relative_buckets": 8, "relative_distance": 16}
SPECS: dict[str, dict[str, Any]] = {
    "the paper": {},
    "pre-norm": {"norm_order": "pre"},
    "untied, with a bias": {"tie": "none", "output_bias": True},
    "tied target": {"tie": "target"},
    "tied embeddings": {"tie": "embeddings"},
    "gelu": {"activation": "gelu"},
    "gelu_tanh": {"activation": "gelu_tanh"},
    "gated": {"gated": True, "activation": "silu"},
    "learned": {"positions": "learned"},
    "halves": {"positions": "halves"},
    "rotary": {"positions": "rotary", "norm_order": "pre"},
    "relative": RELATIVE,
    "shared keys": {"kv_heads": 2},
    "large heads": {"head_size": 10},
    "rms, post": {"norm": "rms"},
    "no bias": {"attention_bias": False, "ffn_bias": False},
    "no bias on q, k, v": {"qkv_bias": False},
    "no bias on the output": {"o_bias": False},
    "large epsilon": {"norm_epsilon": 0.1},
    "embedding norm": {"embedding_norm": True, "embedding_scale": False},
    "T5": RELATIVE
    | {"norm": "rms", "norm_order": "pre", "head_size": 7, "score_scale": False}
    | {"attention_bias": False, "ffn_bias": False, "gated": True, "activation": "gelu_tanh"}
    | {"output_scale": True, "embedding_scale": False},
}


def make(**changes: Any) -> Transformer:
    """A small model, every number redrawn: norms and biases too."""
    shape: dict[str, Any] = dict(d_model=24, heads=4, ffn_size=37, max_length=64)
    model = Transformer(Spec(SIZE, encoder_layers=2, decoder_layers=3, **(shape | changes)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    return model.eval()


def theirs(folder: Path, precision: str = "float32") -> list[list[float]]:
    """log p of the targets by the library alone."""
    translator = ctranslate2.Translator(str(folder), compute_type=precision, intra_threads=1)
    spelled = ([[PIECES[i] for i in row] for row in rows] for rows in (SOURCES, TARGETS))
    return [each.log_probs for each in translator.score_batch(*spelled, max_input_length=0)]


@torch.no_grad()
def ours(model: Transformer) -> list[list[float]]:
    """The same by full passes, one pair at a time."""
    scores = []
    for source, target in zip(SOURCES, TARGETS, strict=True):
        logits = model(torch.tensor([source]), torch.tensor([[1, *target]]))[0]
        log_p = logits.log_softmax(dim=-1)
        scores.append([float(log_p[n, i]) for n, i in enumerate([*target, 2])])
    return scores


@pytest.mark.parametrize("name", SPECS)
def test_the_same_log_p(name: str, tmp_path: Path) -> None:
    model = make(**SPECS[name])
    write_ctranslate2(model, tmp_path / "m", PIECES, **FRAME)
    for got, expected in zip(theirs(tmp_path / "m"), ours(model), strict=True):
        assert got == pytest.approx(expected, abs=1e-4)


@pytest.mark.needs("int8")
def test_int8_is_near_and_leaves_the_model_alone(tmp_path: Path) -> None:
    model = make()
    expected = ours(model)
    for precision in ("fp32", "int8"):
        write_ctranslate2(model, tmp_path / precision, PIECES, **FRAME, precision=precision)
    assert ours(model) == expected
    sizes = {p: (tmp_path / p / "model.bin").stat().st_size for p in ("fp32", "int8")}
    table = ROWS * 24 * 4  # positions stay as they are
    assert sizes["int8"] - table < (sizes["fp32"] - table) / 2
    for got, wanted in zip(theirs(tmp_path / "int8", "int8"), expected, strict=True):
        assert got == pytest.approx(wanted, abs=0.5) and got != pytest.approx(wanted, abs=1e-6)


def test_pieces_that_are_never_output(tmp_path: Path) -> None:
    """The others share their probability: p / (1 - p of those that are never output)."""
    model = make()
    write_ctranslate2(model, tmp_path / "m", PIECES, **FRAME, never=(0, 20))
    with torch.no_grad():
        logits = model(torch.tensor([SOURCES[0]]), torch.tensor([[1, *TARGETS[0]]]))[0]
    p = logits.softmax(dim=-1)
    p = p / (1 - p[:, 0] - p[:, 20])[:, None]
    expected = [float(p[n, i].log()) for n, i in enumerate([*TARGETS[0], 2])]
    got = theirs(tmp_path / "m")
    assert got[0] == pytest.approx(expected, abs=1e-4)
    assert got[1][0] < -1e8  # the second target begins with 20


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"encoder_layers": 0}, "only one of encoder and decoder"),
        ({"decoder_layers": 0}, "only one of encoder and decoder"),
        ({"segments": 2}, "segments = 2"),
        ({"output_transform": True}, "output_transform = True"),
        ({"positions": "rotary", "rotary_scaling": "slow"}, "rotary_scaling = slow"),
    ],
)
def test_what_the_library_cannot_hold(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    spec = Spec(**({"vocabulary": SIZE, "d_model": 24, "heads": 4, "ffn_size": 37} | changes))
    with pytest.raises(CheckpointError, match=f"{words}.*use the torch engine"):
        write_ctranslate2(Transformer(spec), tmp_path / "m", PIECES, **FRAME)
    assert not (tmp_path / "m").exists()


def test_wrong_pieces_and_precisions_leave_what_is_there(tmp_path: Path) -> None:
    model = make()
    folder = tmp_path / "m"
    write_ctranslate2(model, folder, PIECES, **FRAME)
    for wrong in (PIECES[:-1], [*PIECES[:-1], PIECES[5]]):
        with refused(CheckpointError, problem="28 different ones", expected="29"):
            write_ctranslate2(model, folder, wrong, **FRAME)
    with refused(MisuseError, got="int4", expected="one of fp32, bf16, int8"):
        write_ctranslate2(model, folder, PIECES, **FRAME, precision="int4")
    assert len(theirs(folder)) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_what_the_folder_says_about_itself(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    assert not is_fresh(folder, "abc", "fp32")
    write_ctranslate2(make(), folder, PIECES, **FRAME, never=(7,), weights="abc")
    info = read_info(folder)
    assert (info.weights, info.positions, info.start, info.end) == ("abc", ROWS, 1, 2)
    assert info.ctranslate2 == ctranslate2.__version__
    assert read_pieces(folder) == PIECES
    assert is_fresh(folder, "abc", "fp32", (7,))
    for other in (("abd", "fp32", (7,)), ("abc", "int8", (7,)), ("abc", "fp32", ())):
        assert not is_fresh(folder, *other)
    (folder / INFO).write_text('{"format": 1, "kind": "ctranslate2", "weights": "abc"}')
    with refused(DamageError, subject="regard.json", problem="differs from its checksum"):
        is_fresh(folder, "abc", "fp32", (7,))
    (folder / CHECKSUMS).unlink()  # an earlier version wrote none: such a folder is made again
    assert not is_fresh(folder, "abc", "fp32", (7,))
    with refused(CheckpointError, advice="convert the model again"):
        read_info(folder)


def test_learned_positions_end_where_the_table_ends(tmp_path: Path) -> None:
    info = write_ctranslate2(make(positions="learned"), tmp_path / "m", PIECES, **FRAME)
    assert info.positions == 64
