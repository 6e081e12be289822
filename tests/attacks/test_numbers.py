"""Line 3: weights that are no numbers, and tables that do not fit the vocabulary."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from attacks.craft import BIAS, WORDS, config, good, pickled, refused, tensors
from regard.checkpoint.published import load_published


@pytest.mark.parametrize(
    "number", [float("nan"), float("inf"), float("-inf")], ids=["nan", "inf", "-inf"]
)
@pytest.mark.parametrize("as_pickle", [False, True])
def test_not_finite(number: float, as_pickle: bool, tmp_path: Path) -> None:
    folder = good(tmp_path / "m")
    found = tensors(folder)
    found[WORDS][30, 11] = number
    if as_pickle:
        pickled(folder, found)
    else:
        save_file(found, folder / "model.safetensors")
    refused(folder, "NaN or infinity.*allow_nonfinite=True", allow_pickle=as_pickle)
    model = load_published(folder, allow_pickle=as_pickle, allow_nonfinite=True)
    assert torch.isfinite(dict(model.named_parameters())["source_embedding.weight"]).sum() == 371


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_not_finite_in_half_precision(dtype: torch.dtype, tmp_path: Path) -> None:
    folder = good(tmp_path / "m")
    found = {name: tensor.to(dtype) for name, tensor in tensors(folder).items()}
    save_file(found, folder / "model.safetensors")
    load_published(folder)
    found[BIAS][3] = float("inf")
    save_file(found, folder / "model.safetensors")
    refused(folder, "NaN or infinity")


def test_a_double_that_single_precision_cannot_hold(tmp_path: Path) -> None:
    folder = good(tmp_path / "m")
    found = {name: tensor.double() for name, tensor in tensors(folder).items()}
    found[BIAS][0] = 1e300
    save_file(found, folder / "model.safetensors")
    refused(folder, "NaN or infinity")


@pytest.mark.parametrize("size", [30, 32, 61])
def test_a_vocabulary_of_another_size(size: int, tmp_path: Path) -> None:
    config(good(tmp_path / "m"), vocab_size=size)
    refused(tmp_path / "m", rf"has shape \(31, 12\), the config asks for \({size}, 12\)")
