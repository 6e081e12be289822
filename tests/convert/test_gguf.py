"""`regard convert` to and from GGUF: what is written opens elsewhere and answers the same."""

import json
from pathlib import Path

import gguf
import numpy as np
import pytest
import tokenizers
import torch
import transformers
from click.testing import CliRunner, Result

import folders
import gguf_files
import regard
from halting import go
from refusals import refused
from regard.checkpoint.gguf import load_gguf
from regard.cli.main import group
from regard.convert.convert import convert
from regard.convert.verify import verify
from regard.errors import DataError, MisuseError
from regard.fit.train import Request


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run like Llama, trained for a moment; its text is cut into bytes."""
    return trained(tmp_path_factory.mktemp("own"), "bytes")


def trained(folder: Path, kind: str) -> Path:
    """A run with a tokenizer of this kind."""
    (folder / "text.txt").write_text("\n".join(folders.LINES * 2))
    changes = (
        "model.preset=llama-tiny", "model.d_model=32", "model.decoder_layers=2", "model.heads=2",
        "model.ffn_size=64", f"tokenizer.kind={kind}", "tokenizer.size=300", "data.max_tokens=32",
        "train.schedule=constant", "train.rate=0.005", "train.warmup=1", "train.steps=40",
        "train.validate_every=40", "train.token_budget=256", "train.label_smoothing=0.0",
        "train.workers=1", "train.threads=1", "train.precision=fp32",
    )  # fmt: skip
    (folder / "own.toml").write_text(
        f'objective = "complete"\n[data]\ntexts = "{folder / "text.txt"}"\n'
    )
    go(Request(folder / "own.toml", assignments=changes, folder=folder / "run"))
    return folder / "run"


def logits(name: Path, ids: list[int], rounded_to: str = "F32") -> torch.Tensor:
    """Of a model; its matrices first rounded by the library alone, as a file of a kind has them."""
    model = regard.load(name)
    kind = gguf.GGMLQuantizationType[rounded_to]
    with torch.no_grad():
        for weight in model.transformer.parameters():
            if weight.dim() == 2:
                packed = gguf.quantize(weight.detach().numpy(), kind)
                weight.copy_(torch.tensor(gguf.dequantize(packed, kind)))
    return torch.tensor(np.array(model.logits([ids])))


def run(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(group, list(map(str, words)))
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize(
    ("precision", "kind"), [("fp16", "F16"), ("int8", "Q8_0"), ("fp32", "F32")]
)
def test_a_run_becomes_a_file_that_answers_as_it_does(
    precision: str, kind: str, own: Path, tmp_path: Path
) -> None:
    out = tmp_path / "own.gguf"
    made = convert(own, out, "gguf", precision=precision)
    assert made.same_bits == (precision == "fp32") and made.files[0] == "own.gguf"
    held = {tensor.name: tensor for tensor in gguf.GGUFReader(out).tensors}
    assert held["blk.1.ffn_up.weight"].tensor_type.name == kind
    ids = [1, *range(40, 60)]
    assert torch.allclose(logits(out, ids), logits(own, ids, kind), atol=1e-5)
    assert torch.equal(logits(own, ids), logits(own, ids, kind)) == (kind == "F32")
    one, other = regard.load(own), regard.load(out)
    for text in gguf_files.TEXTS:
        assert one.tokenizer.encode(text).ids == other.tokenizer.encode(text).ids
    assert verify(out).differences == ()
    words = "the cat sat on"
    if precision == "fp32":
        assert one.complete(words, max_tokens=12) == other.complete(words, max_tokens=12)


def test_a_run_that_cuts_as_gpt2_does_is_named_so(tmp_path: Path) -> None:
    """llama.cpp knows that name; ids are those of the tokenizers library with the file's tables."""
    out, run = tmp_path / "own.gguf", trained(tmp_path, "gpt2")
    convert(run, out, "gguf")
    reader = gguf.GGUFReader(out)
    held = {key.removeprefix("tokenizer.ggml."): field for key, field in reader.fields.items()}
    assert (held["model"].contents(), held["pre"].contents()) == ("gpt2", "gpt-2")
    vocabulary = {token: i for i, token in enumerate(held["tokens"].contents())}
    pairs = [tuple(pair.split(" ")) for pair in held["merges"].contents()]
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, pairs))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    ours = regard.load(run).tokenizer
    for text in gguf_files.TEXTS:
        assert list(ours.encode(text).ids) == [1, *theirs.encode(text).ids], text
    assert held["add_bos_token"].contents() is True


def test_the_numbers_of_a_file_are_those_of_the_library(own: Path, tmp_path: Path) -> None:
    """Q8_0 of the source's rows, by the library alone."""
    convert(own, tmp_path / "a.gguf", "gguf", precision="int8")
    weight = dict(regard.load(own).transformer.named_parameters())["target_embedding.weight"]
    kind = gguf.GGMLQuantizationType.Q8_0
    expected = gguf.dequantize(gguf.quantize(weight.detach().numpy(), kind), kind)
    got = dict(load_gguf(tmp_path / "a.gguf").named_parameters())["target_embedding.weight"]
    assert np.array_equal(got.detach().numpy(), expected)


def test_transformers_opens_what_was_written(tmp_path: Path) -> None:
    twin = folders.llama(tmp_path / "llama")
    convert(tmp_path / "llama", tmp_path / "a.gguf", "gguf", precision="fp32")
    other = gguf_files.opened_by_transformers(tmp_path / "a.gguf")
    ids = torch.tensor([[1, 7, 9, 30, 31, 12]])
    with torch.no_grad():
        assert torch.allclose(other(ids).logits, twin.eval()(ids).logits, atol=1e-5)
    one, two = regard.load(tmp_path / "llama"), regard.load(tmp_path / "a.gguf")
    assert one.tokenizer.encode("the cat sat").ids == two.tokenizer.encode("the cat sat").ids
    assert two.bundle.settings.ends == (2, 5)


@pytest.mark.parametrize("to", ["hf", "native"])
def test_a_file_becomes_a_folder(to: str, tmp_path: Path) -> None:
    _, tables = gguf_files.spm(tmp_path)
    count = len(tables["tokens"])
    twin = gguf_files.twin(vocabulary=count)
    path = gguf_files.write(tmp_path / "a.gguf", twin, gguf_files.Kind.Q8_0, tables)
    made = convert(path, tmp_path / "out", to)  # type: ignore[arg-type]
    assert made.same_bits and "tokenizer.model" in made.files
    ids = [1, 40, 41, 42, 9]
    assert torch.allclose(logits(tmp_path / "out", ids), logits(path, ids), atol=1e-5)
    one, two = regard.load(path), regard.load(tmp_path / "out")
    for text in gguf_files.TEXTS:
        assert one.tokenizer.encode(text).ids == two.tokenizer.encode(text).ids
    if to == "hf":
        other = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "out").eval()
        with torch.no_grad():
            expected = other(torch.tensor([ids])).logits
        assert torch.allclose(logits(path, ids), expected, atol=1e-5)


def test_byte_pairs_become_a_tokenizer_json_that_transformers_reads(tmp_path: Path) -> None:
    backend, tables = gguf_files.bpe(gguf_files.DIGITS, ["<|im_start|>", "<|im_end|>"])
    twin = gguf_files.twin(vocabulary=backend.get_vocab_size())
    path = gguf_files.write(tmp_path / "a.gguf", twin, tokens={**tables, "pre": "smollm"})
    convert(path, tmp_path / "out", "hf")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    ours = regard.load(path).tokenizer
    for text in gguf_files.TEXTS:
        assert list(ours.encode(text).ids) == theirs.encode(text) == backend.encode(text).ids


def test_a_file_in_another_precision(tmp_path: Path) -> None:
    path = gguf_files.write(tmp_path / "a.gguf", gguf_files.twin())
    convert(path, tmp_path / "b.gguf", "gguf", precision="int8")
    other = logits(tmp_path / "b.gguf", [3, 4])
    assert torch.allclose(other, logits(path, [3, 4], "Q8_0"), atol=1e-5)
    one, two = (regard.load(tmp_path / name).tokenizer for name in ("a.gguf", "b.gguf"))
    assert one.codec.tokens == two.codec.tokens and one.roles == two.roles


def test_commands(own: Path, tmp_path: Path) -> None:
    out = tmp_path / "own.gguf"
    written = run("convert", own, out, "--to", "gguf")
    assert "its logits are at most" in written.stderr and "own.gguf.golden.json" in written.stderr
    assert run("complete", out, "the cat", "--max-tokens", "4").stdout.startswith("the cat")
    assert run("chat", out, "the cat", "--max-tokens", "4").stdout
    report = json.loads(run("doctor", out, "--json").stdout)
    assert report["runs"] and report["family"] == "llama" and report["dtypes"] == ["F16", "F32"]
    assert run("doctor", tmp_path, code=1).stdout.rstrip().endswith(f"regard complete {out}")
    assert run("walk", out, "the cat").stdout and run("explain", out, "the cat").stdout
    texts = tmp_path / "some.txt"
    texts.write_text("the cat sat on the mat.\n" * 20)
    assert "perplexity" in run("evaluate", out, "--file", texts).output
    with refused(MisuseError, subject="own.gguf", problem="already there"):
        convert(own, out, "gguf")


def test_what_has_no_form_in_gguf(own: Path, tmp_path: Path) -> None:
    with refused(MisuseError, subject="--precision", got="bf16", expected="fp16"):
        convert(own, tmp_path / "a.gguf", "gguf", precision="bf16")
    with refused(MisuseError, subject="--precision", got="int8", expected="none without"):
        convert(own, tmp_path / "a", "native", precision="int8")
    with refused(MisuseError, subject="a.bin", expected="ends with .gguf"):
        convert(own, tmp_path / "a.bin", "gguf")
    folders.gpt2(tmp_path / "gpt2")
    with pytest.raises(MisuseError, match="the family llama only knows"):
        convert(tmp_path / "gpt2", tmp_path / "a.gguf", "gguf")
    folders.bert(tmp_path / "bert", "MaskedLM")
    with pytest.raises(MisuseError, match="decoders like Llama"):
        convert(tmp_path / "bert", tmp_path / "a.gguf", "gguf")
    path = gguf_files.write(tmp_path / "b.gguf", gguf_files.twin(), tokens={})
    with refused(DataError, problem="has no tokenizer"):
        convert(path, tmp_path / "a.gguf", "gguf")
    with pytest.raises(MisuseError, match="has its own tokenizer"):
        convert(path, tmp_path / "a", "hf", tokenizer=path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["b.gguf", "bert", "gpt2"]
