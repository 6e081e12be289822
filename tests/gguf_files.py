"""Small GGUF files, written by the `gguf` library from models of transformers.

Rows of W_Q and W_K are sorted as llama.cpp's converter sorts them, in NumPy: halves of a head
become neighbours.
"""

import io
import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import sentencepiece
import tokenizers
import torch
import transformers
import transformers.modeling_gguf_pytorch_utils
from numpy.typing import NDArray

import folders

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
Kind = gguf.GGMLQuantizationType
# where a block of these kinds has its scales of 16 bits, and what they are here
HALVES = {Kind.Q4_K: [(0, 3e-4), (2, 1e-3)], Kind.Q6_K: [(208, 5e-5)]}
_bytes = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
DIGITS = tokenizers.pre_tokenizers.Sequence([tokenizers.pre_tokenizers.Digits(True), _bytes])
TEXTS = (
    "The cat sat on the mat.",
    "  two  spaces, and\ttabs\n\nnew lines \n",
    "don't we'll I'M they'RE 's",
    "In 1984 there were 12,345,678 of 3.14159",
    "Grüße aus Köln, naïve café, Ωmega",
    "नमस्ते दुनिया 你好，世界 مرحبا 👋🏽 e\u0301",
    "def f(x):\n    return x**2  # !?!",
    "",
    " ",
)
WORDS = ["<s>", "</s>", "<unk>", *(f"word{i}" for i in range(400))]


def twin(vocabulary: int = 96, **more: Any) -> Any:
    """A small Llama of transformers, drawn with a seed; each norm is its own."""
    torch.manual_seed(5)
    usual = dict(
        vocab_size=vocabulary, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
        rms_norm_eps=1e-5, rope_theta=50_000.0, tie_word_embeddings=True,
    )  # fmt: skip
    if "rope_parameters" in more:
        del usual["rope_theta"]
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**(usual | more)))
    for name, parameter in model.named_parameters():
        if "norm" in name or "bias" in name:
            torch.nn.init.normal_(parameter, 1.0 if "norm" in name else 0.0, 0.3)
        else:
            torch.nn.init.normal_(parameter, 0.0, 0.15)
    return model.eval()


def opened_by_transformers(path: Path) -> Any:
    """The model that transformers makes of a file: its own names, its own order of rows."""
    read = transformers.modeling_gguf_pytorch_utils.load_gguf_checkpoint
    config = transformers.LlamaConfig(**read(str(path))["config"])
    model = transformers.LlamaForCausalLM(config)
    tensors = read(str(path), return_tensors=True, model_to_load=model)["tensors"]
    missing, surplus = model.load_state_dict(tensors, strict=False)
    assert not surplus and set(missing) <= {"lm_head.weight"}
    model.tie_weights()
    return model.float().eval()


def theirs(model: Any) -> dict[str, NDArray[np.float32]]:
    """The tensors as llama.cpp names and sorts them."""
    config, tensors = model.config, {}
    for name, parameter in model.named_parameters():
        numbers = parameter.detach().numpy()
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
        for part, count in heads.items():
            if f".{part}." in name:
                split = numbers.reshape(count, 2, len(numbers) // count // 2, *numbers.shape[1:])
                numbers = split.swapaxes(1, 2).reshape(numbers.shape)
        for ours, other in NAMES.items():
            name = name.replace(ours, other)
        tensors[name.replace("model.layers.", "blk.")] = numbers
    return tensors


def write(
    path: Path,
    model: Any,
    kind: Kind = Kind.F32,
    tokens: dict[str, Any] | None = None,
    arch: str = "llama",
    further: dict[str, NDArray[np.float32]] | None = None,
    **changes: Any,
) -> Path:
    """A file of a model; `tokens` are keys of a tokenizer, `changes` keys of the architecture."""
    writer = gguf.GGUFWriter(path, arch)
    config = model.config
    keys = {
        "block_count": config.num_hidden_layers,
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": config.num_key_value_heads,
        "attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        "rope.freq_base": float(config.rope_parameters["rope_theta"]),
        "rope.dimension_count": config.head_dim,
        "vocab_size": config.vocab_size,
    } | changes
    for key, value in keys.items():
        if value is not None:
            _add(writer, f"{arch}.{key}", value)
    for key, value in (word_keys(config.vocab_size) if tokens is None else tokens).items():
        _add(writer, f"tokenizer.ggml.{key}", value)
    for name, numbers in {**theirs(model), **(further or {})}.items():
        this = Kind.F32 if numbers.ndim < 2 else kind
        data = blocks(numbers, this) if this in HALVES else gguf.quantize(numbers, this)
        writer.add_tensor(name, data, raw_dtype=this)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def blocks(numbers: NDArray[np.float32], kind: Kind) -> NDArray[np.uint8]:
    """Rows of as many numbers in a kind that the library does not write: drawn, with small scales.

    What they mean is what the library reads.
    """
    block, size = gguf.GGML_QUANT_SIZES[kind]
    shape = (len(numbers), numbers.shape[1] // block, size)
    drawn = np.random.default_rng(7).integers(0, 256, shape, np.uint8)
    for place, scale in HALVES[kind]:
        drawn[..., place : place + 2] = np.array([scale], np.float16).view(np.uint8)
    return drawn.reshape(len(numbers), -1)


def _add(writer: Any, key: str, value: Any) -> None:
    way = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32}
    way |= {str: writer.add_string, list: writer.add_array}
    way[type(value)](key, value)


def word_keys(count: int) -> dict[str, Any]:
    """Byte-level pieces without merges, for files whose text does not matter."""
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokens = [*WORDS[:3], *letters, *WORDS[3:]][:count]
    types = [3, 3, 3] + [1] * (count - 3)
    ids = {"bos_token_id": 0, "eos_token_id": 1, "unknown_token_id": 2}
    return {"model": "gpt2", "pre": "gpt-2", "tokens": tokens, "token_type": types, "merges": [],
            **ids}  # fmt: skip


def spm(folder: Path, size: int = 400) -> tuple[Any, dict[str, Any]]:
    """A SentencePiece model with bytes for the unknown, and its tables as keys."""
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(folders.LINES * 3), model_writer=made, vocab_size=size,
        model_type="bpe", byte_fallback=True, hard_vocab_limit=False, minloglevel=2,
        normalization_rule_name="identity", remove_extra_whitespaces=False,
    )  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_proto=made.getvalue())
    (folder / "tokenizer.model").write_bytes(made.getvalue())
    ids = range(model.get_piece_size())
    types = [
        2 if model.is_unknown(i) else 3 if model.is_control(i) else 6 if model.is_byte(i) else 1
        for i in ids
    ]
    return model, {
        "model": "llama",
        "pre": "default",
        "tokens": [model.id_to_piece(i) for i in ids],
        "scores": [float(model.get_score(i)) for i in ids],
        "token_type": types,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
    }


def bpe(pre_tokenizer: Any, special: list[str], size: int = 400) -> tuple[Any, dict[str, Any]]:
    """Byte-level BPE of the tokenizers library, cut by `pre_tokenizer`, and its tables as keys."""
    backend = tokenizers.Tokenizer(tokenizers.models.BPE())
    backend.pre_tokenizer = pre_tokenizer
    backend.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    backend.train_from_iterator([*folders.LINES, "in 1984 we'd 12 of 3,456"] * 3, trainer)
    merges = json.loads(backend.to_str())["model"]["merges"]
    tokens = [backend.id_to_token(i) for i in range(backend.get_vocab_size())]
    return backend, {
        "model": "gpt2",
        "tokens": tokens,
        "token_type": [3 if token in special else 1 for token in tokens],
        "merges": [pair if isinstance(pair, str) else " ".join(pair) for pair in merges],
        "bos_token_id": 0,
        "eos_token_id": 1,
    }
