"""Golden outputs: equal where nothing changed, and the first difference where something did."""

import hashlib
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import small_models
from halting import go
from regard.checkpoint.published import load_published
from regard.convert.convert import convert
from regard.convert.golden import answers, golden_of, make_probe, weights_digest
from regard.convert.verify import compare, read_golden, then_and_now, verify, write_golden
from regard.errors import CheckpointError, MisuseError
from regard.fit.train import Request


@pytest.mark.parametrize("family", small_models.MODELS)
def test_every_family_is_verified_and_one_changed_tensor_is_found(
    family: str, tmp_path: Path
) -> None:
    small_models.save(family, tmp_path)
    assert verify(tmp_path, write=True).written
    assert verify(tmp_path).differences == ()
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    last = max(name for name in tensors if name.endswith("weight") and tensors[name].dim() > 1)
    tensors[last] = tensors[last] * 1.1
    save_file(tensors, file, {"format": "pt"})
    first, *rest = verify(tmp_path).differences
    assert "weights: SHA-256" in first and any("output [" in line for line in rest)


def test_a_run_is_verified(toy_run: Path, tmp_path: Path) -> None:
    golden = tmp_path / "golden.json"
    verify(toy_run, golden, write=True)
    assert verify(toy_run, golden).differences == ()
    assert len(json.loads(golden.read_text())["greedy"]) == 12


def test_the_numbers_are_those_of_the_other_library(tmp_path: Path) -> None:
    theirs = small_models.save("gpt2", tmp_path)
    model = load_published(tmp_path)
    golden, probe = golden_of(model), make_probe(model.spec)
    with torch.no_grad():
        logits = theirs(probe.source, attention_mask=probe.real.long()).logits
        output = theirs.generate(
            probe.source[:1], max_new_tokens=12, do_sample=False, eos_token_id=None, pad_token_id=0
        )
    flat = logits[probe.real].flatten()
    expected = flat[:: golden["every"]][: len(golden["values"])]
    assert golden["values"] == pytest.approx(expected.tolist(), abs=1e-5)
    assert golden["mean"] == pytest.approx(float(flat.mean()), abs=1e-5)
    assert golden["greedy"] == output[0, probe.source.shape[1] :].tolist()


def test_padding_does_not_reach_the_answers(tmp_path: Path) -> None:
    small_models.save("bert", tmp_path)
    model = load_published(tmp_path)
    probe = make_probe(model.spec)
    before = answers(model, probe)
    probe.source[~probe.real] = 50
    assert torch.allclose(before, answers(model, probe), atol=1e-6)


def test_the_digest_is_one_of_names_shapes_and_bytes(tmp_path: Path) -> None:
    small_models.save("bert", tmp_path)
    model = load_published(tmp_path)
    digest = hashlib.sha256()
    for name, p in sorted(model.named_parameters()):
        digest.update(f"{name}{list(p.shape)}".encode() + p.detach().numpy().tobytes())
    assert weights_digest(model) == digest.hexdigest()


def golden(**changes: object) -> dict[str, object]:
    values = dict(weights="a" * 64, inputs={}, shape=[2, 3], every=2, values=[1.0, 2.0, 3.0])
    values |= dict(mean=2.0, deviation=1.0, largest=3.0, greedy=[4, 5, 6], leads=[1.0, 1e-5, 1.0])
    return values | changes


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"values": [1.0, 2.0002, 3.0]}, []),  # within 1e-4 of the largest, 3
        ({"values": [1.0, 2.0, 3.1]}, ["output [1, 1]: expected 3.000000, got 3.100000"]),
        ({"values": [1.0, float("nan"), 3.0]}, ["output [0, 2]: expected 2.000000, got nan"]),
        ({"mean": 2.1}, ["mean of the outputs: expected 2.0, got 2.1"]),
        ({"greedy": [9, 5, 6]}, ["greedy token 0: expected 4, got 9"]),
        ({"greedy": [4, 9, 9]}, []),  # the second token led by less than the tolerance: a tie
        ({"shape": [6]}, ["shape: expected [2, 3], got [6]"]),
        ({"weights": "b" * 64}, ["weights: SHA-256 aaaaaaaaaaaa… expected, bbbbbbbbbbbb… got"]),
    ],
)
def test_what_is_a_difference(changes: dict[str, object], told: list[str]) -> None:
    differences = compare(golden(), golden(**changes))
    assert len(differences) == len(told)
    assert all(line.startswith(start) for line, start in zip(differences, told, strict=True))


def test_then_and_now() -> None:
    line = then_and_now({"versions": {"regard": "0.0.1", "torch": torch.__version__}})
    assert "regard 0.0.1 → " in line and f"torch {torch.__version__}," in line


def test_a_file_that_differs_is_not_replaced(tmp_path: Path) -> None:
    small_models.save("bert", tmp_path)
    with pytest.raises(MisuseError, match="--update"):
        verify(tmp_path)
    verify(tmp_path, write=True)
    verify(tmp_path, write=True)
    file = tmp_path / "golden.json"
    stated = read_golden(file)
    stated["values"][0] += 1
    write_golden(file, stated)
    with pytest.raises(MisuseError, match="delete the file"):
        verify(tmp_path, write=True)
    for broken in ("{", "[]", "{}", json.dumps(stated | {"values": ["x"]})):
        file.write_text(broken)
        with pytest.raises(CheckpointError, match=r"golden\.json"):
            verify(tmp_path)


@pytest.mark.end_to_end
def test_an_encoder_of_our_own_shape_is_verified_too(tmp_path: Path) -> None:
    """It has no form as a published folder, and needs none for this."""
    (tmp_path / "t.txt").write_text("".join(f"the {n} sat on the {n + 1}\n" for n in range(90)))
    (tmp_path / "r.toml").write_text(
        f'objective = "fill"\n[data]\ntexts = "{tmp_path}/t.txt"\nvalidation = 9\n'
        '[tokenizer]\nsize = 320\n[model]\npreset = "tiny"\nd_model = 32\nencoder_layers = 1\n'
        "heads = 2\nffn_size = 64\n[train]\nsteps = 1\nthreads = 1\nworkers = 1\n"
        'token_budget = 200\nschedule = "constant"\nprecision = "fp32"\n'
    )
    go(Request(recipe=tmp_path / "r.toml", assignments=(), folder=tmp_path / "run"))
    assert verify(tmp_path / "run", write=True).written
    assert not verify(tmp_path / "run").differences
    with pytest.raises(MisuseError, match="a shape of regard's own"):
        convert(tmp_path / "run", tmp_path / "hf", "hf")
    assert not (tmp_path / "hf").exists()
