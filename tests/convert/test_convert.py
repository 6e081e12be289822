"""Conversion both ways: the other library opens what we write, with equal logits."""

import json
from pathlib import Path

import pytest
import torch
import transformers

import small_models
import toy
from regard.api.load import load
from regard.checkpoint.published import load_published
from regard.convert import convert as module
from regard.convert.convert import convert
from regard.convert.verify import verify
from regard.errors import CheckpointError, MisuseError
from regard.fit.train import Request, train


@pytest.mark.parametrize("family", small_models.MODELS)
def test_there_and_back_with_equal_logits(family: str, tmp_path: Path) -> None:
    theirs = small_models.save(family, tmp_path / "a")
    conversion = convert(tmp_path / "a", tmp_path / "native", "native")
    assert (conversion.family, conversion.same_bits) == (family, True)
    assert "weights.safetensors" in conversion.files and "model.safetensors" not in conversion.files
    back = convert(tmp_path / "native", tmp_path / "b", "hf")
    assert back.same_bits and "model.safetensors" in back.files
    again = type(theirs).from_pretrained(tmp_path / "b").eval()
    difference = small_models.logits(theirs, family) - small_models.logits(again, family)
    assert float(difference.abs().max()) < 1e-6  # the same bits, at another place in memory
    assert not verify(tmp_path / "b").differences and not verify(tmp_path / "native").differences


def test_a_native_folder_opens_like_the_published_one(tmp_path: Path) -> None:
    small_models.save("bert", tmp_path / "a")
    convert(tmp_path / "a", tmp_path / "native", "native")
    one, other = load(tmp_path / "a", "cpu"), load(tmp_path / "native", "cpu")
    assert one.tasks == other.tasks
    assert torch.equal(one.logits([[5, 6, 7]]), other.logits([[5, 6, 7]]))


def test_labels_special_ids_and_files_come_along(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    small_models.save("vit", folder)
    config = json.loads((folder / "config.json").read_text())
    names = {str(i): f"thing {i}" for i in range(11)}
    (folder / "config.json").write_text(json.dumps(config | {"id2label": names, "eos_token_id": 7}))
    (folder / "preprocessor_config.json").write_text("{}")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text("{}")
    (folder / "modeling_own.py").write_text("raise SystemExit")
    for to in ("hf", "native"):
        conversion = convert(folder, tmp_path / to, to)
        kept = json.loads((tmp_path / to / "config.json").read_text())
        assert kept["id2label"] == names and kept["eos_token_id"] == 7
        assert {"1_Pooling/config.json", "preprocessor_config.json"} <= set(conversion.files)
        assert "modeling_own.py" not in conversion.files


def test_a_link_out_of_the_folder_is_not_copied(tmp_path: Path) -> None:
    small_models.save("bert", tmp_path / "a")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "a/vocab.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(CheckpointError, match="leads out of the folder"):
        convert(tmp_path / "a", tmp_path / "b", "hf")
    assert not (tmp_path / "b").exists()


def test_nothing_is_overwritten_and_nothing_half_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_models.save("bert", tmp_path / "a")
    (tmp_path / "there").mkdir()
    with pytest.raises(MisuseError, match="never overwrites"):
        convert(tmp_path / "a", tmp_path / "there", "hf")

    def wrong(source: object, folder: Path, to: object) -> object:
        model = load_published(tmp_path / "a")
        with torch.no_grad():
            model.source_embedding.weight[11 * 7919 % 101] += 1.0
        return model

    monkeypatch.setattr(module, "_write_published", wrong)
    with pytest.raises(CheckpointError, match="answers differently"):
        convert(tmp_path / "a", tmp_path / "b", "hf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "there"]


def test_pickled_weights_become_safe_ones_only_when_asked(tmp_path: Path) -> None:
    theirs = small_models.save("gpt2", tmp_path / "a")
    (tmp_path / "a/model.safetensors").unlink()
    torch.save(theirs.state_dict(), tmp_path / "a/pytorch_model.bin")
    with pytest.raises(CheckpointError, match="allow-pickle"):
        convert(tmp_path / "a", tmp_path / "b", "hf")
    convert(tmp_path / "a", tmp_path / "b", "hf", allow_pickle=True)
    again = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "b").eval()
    difference = small_models.logits(theirs, "gpt2") - small_models.logits(again, "gpt2")
    assert float(difference.abs().max()) == 0


def test_a_damaged_native_folder_is_refused(tmp_path: Path) -> None:
    small_models.save("bert", tmp_path / "a")
    convert(tmp_path / "a", tmp_path / "b", "native")
    weights = tmp_path / "b/weights.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(CheckpointError, match="differs from its checksum"):
        load_published(tmp_path / "b")


@pytest.fixture(scope="module")
def post_norm_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("post")
    source, target = toy.write(folder, 120)
    changes = (*toy.SMALL, "train.steps=8", "train.validate_every=4", "model.norm_order=post")
    request = Request(source=source, target=target, assignments=changes, folder=folder / "run")
    train(request, lambda line: None)
    return folder / "run"


def test_a_run_becomes_marian_and_translates_the_same(post_norm_run: Path, tmp_path: Path) -> None:
    conversion = convert(post_norm_run, tmp_path / "m", "hf")
    assert conversion.family == "marian"
    ours = load(post_norm_run, "cpu", engine="torch").transformer
    theirs = transformers.MarianMTModel.from_pretrained(tmp_path / "m").eval()
    source, target = torch.randint(4, 300, (2, 6)), torch.randint(4, 300, (2, 5))
    with torch.no_grad():
        expected = ours(source, target)
        got = theirs(source, decoder_input_ids=target).logits
    assert float((expected - got).abs().max()) < 1e-5
    model = load(tmp_path / "m", "cpu")
    greedy = {"beam": 1, "max_length": 8}
    texts = ["red cat", "two blue birds"]
    expected_texts = load(post_norm_run, "cpu", engine="torch").translate(texts, **greedy)
    assert model.translate(texts, **greedy) == expected_texts
    again = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path / "m")
    assert again("red cat")["input_ids"][-1] == 2


def test_a_run_without_its_training_still_translates(toy_run: Path, tmp_path: Path) -> None:
    conversion = convert(toy_run, tmp_path / "small", "native")
    assert conversion.same_bits and not any("checkpoints" in name for name in conversion.files)
    answers = [
        load(path, "cpu", engine="torch").translate("red cat")
        for path in (toy_run, tmp_path / "small")
    ]
    assert answers[0] == answers[1]


def test_a_pre_norm_run_is_no_marian(toy_run: Path, tmp_path: Path) -> None:
    spec = json.loads((toy_run / "spec.json").read_text())
    assert spec["norm_order"] == "pre"
    with pytest.raises(MisuseError, match="norm_order"):
        convert(toy_run, tmp_path / "m", "hf")
    assert not (tmp_path / "m").exists()


def test_a_llama2c_file(tmp_path: Path) -> None:
    """A file written here by the format's description; its rotations turn neighbours."""
    import struct

    import numpy as np

    d, f, n, h, g, v, length = 16, 20, 2, 4, 2, 31, 8
    kv, k = g * (d // h), d // h
    rows = [v * d, n * d, n * d * d, n * kv * d, n * kv * d, n * d * d, n * d]
    rows += [n * f * d, n * d * f, n * f * d, d, length * k // 2, length * k // 2]
    numbers = np.random.default_rng(0).standard_normal(sum(rows)).astype("<f4") * 0.3
    file = tmp_path / "tiny.bin"
    file.write_bytes(struct.pack("<7i", d, f, n, h, g, v, length) + numbers.tobytes())
    (tmp_path / "tok31.model").write_bytes(b"pieces")
    conversion = convert(file, tmp_path / "out", "hf")
    assert conversion.family == "llama" and "tokenizer.model" in conversion.files
    theirs = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "out").eval()
    ids = torch.tensor([[1, 5, 9, 30]])
    with torch.no_grad():
        ours = load_published(tmp_path / "out")
        got = ours.token_logits(ours.decode(ids))
        assert float((theirs(ids).logits - got).abs().max()) < 1e-5
    assert torch.equal(ours.target_embedding.weight, torch.tensor(numbers[: v * d]).view(v, d))


def test_other_single_files_are_named(tmp_path: Path) -> None:
    torch.save({}, tmp_path / "a.pt")
    with pytest.raises(MisuseError, match="regard doctor"):
        convert(tmp_path / "a.pt", tmp_path / "b", "hf")
