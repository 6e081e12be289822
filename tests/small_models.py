"""One tiny twin of the `transformers` library for each family, every number redrawn."""

from pathlib import Path

import torch
import transformers as t

import parity.twins as twins
from regard.model.transformer import Transformer

MODELS = {
    "bert": lambda: t.BertForMaskedLM(
        t.BertConfig(
            vocab_size=101,
            hidden_size=20,
            num_attention_heads=5,
            num_hidden_layers=2,
            intermediate_size=37,
            max_position_embeddings=23,
            type_vocab_size=3,
        )
    ),
    "distilbert": lambda: t.DistilBertForMaskedLM(
        t.DistilBertConfig(
            vocab_size=101, dim=20, n_heads=5, n_layers=2, hidden_dim=37, max_position_embeddings=23
        )
    ),
    "roberta": lambda: t.RobertaForMaskedLM(
        t.RobertaConfig(
            vocab_size=101,
            hidden_size=20,
            num_attention_heads=5,
            num_hidden_layers=2,
            intermediate_size=37,
            max_position_embeddings=23,
            type_vocab_size=1,
        )
    ),
    "vit": lambda: t.ViTForImageClassification(
        t.ViTConfig(
            hidden_size=20,
            num_attention_heads=5,
            num_hidden_layers=2,
            intermediate_size=37,
            image_size=14,
            patch_size=7,
            num_labels=11,
        )
    ),
    "gpt2": lambda: t.GPT2LMHeadModel(
        t.GPT2Config(vocab_size=101, n_embd=20, n_head=5, n_layer=2, n_positions=23)
    ),
    "llama": lambda: t.LlamaForCausalLM(
        t.LlamaConfig(
            vocab_size=101,
            hidden_size=24,
            num_attention_heads=6,
            num_key_value_heads=3,
            num_hidden_layers=2,
            intermediate_size=37,
            max_position_embeddings=64,
        )
    ),
    "qwen2": lambda: t.Qwen2ForCausalLM(
        t.Qwen2Config(
            vocab_size=101,
            hidden_size=24,
            num_attention_heads=6,
            num_key_value_heads=3,
            num_hidden_layers=2,
            intermediate_size=37,
            max_position_embeddings=64,
        )
    ),
    "mistral": lambda: t.MistralForCausalLM(
        t.MistralConfig(
            vocab_size=101,
            hidden_size=24,
            num_attention_heads=6,
            num_key_value_heads=3,
            num_hidden_layers=2,
            intermediate_size=37,
            max_position_embeddings=64,
            sliding_window=None,
        )
    ),
    "t5": lambda: t.T5ForConditionalGeneration(
        t.T5Config(
            vocab_size=101,
            d_model=20,
            d_kv=3,
            num_heads=5,
            num_layers=2,
            d_ff=37,
            decoder_start_token_id=0,
        )
    ),
    "marian": lambda: t.MarianMTModel(
        t.MarianConfig(
            vocab_size=101,
            decoder_vocab_size=101,
            d_model=20,
            encoder_attention_heads=5,
            decoder_attention_heads=5,
            encoder_layers=2,
            decoder_layers=2,
            encoder_ffn_dim=37,
            decoder_ffn_dim=37,
            max_position_embeddings=23,
            pad_token_id=100,
            decoder_start_token_id=100,
        )
    ),
    "bart": lambda: t.BartForConditionalGeneration(
        t.BartConfig(
            vocab_size=101,
            d_model=20,
            encoder_attention_heads=5,
            decoder_attention_heads=5,
            encoder_layers=2,
            decoder_layers=2,
            encoder_ffn_dim=37,
            decoder_ffn_dim=37,
            max_position_embeddings=23,
        )
    ),
}
ALIKE = {"mistral": "llama"}  # tensors of the same names: only `model_type` tells them apart
BOTH = ("t5", "marian", "bart")  # those with an encoder and a decoder


def save(family: str, folder: Path) -> torch.nn.Module:
    """The twin of a family, written by its own library; and the twin."""
    torch.manual_seed(0)
    model = MODELS[family]()
    twins.save_twin(model, folder)
    return model


def logits(model: torch.nn.Module, family: str) -> torch.Tensor:
    """What the other library answers to a fixed input."""
    with torch.no_grad():
        if family == "vit":
            return model(_pixels()).logits
        ids = _ids()
        if family in BOTH:
            return model(ids, decoder_input_ids=ids[:, :4]).logits
        return model(ids).logits


def ours(model: Transformer, family: str) -> torch.Tensor:
    """What a model of ours answers to the same input."""
    with torch.no_grad():
        if family == "vit":
            return model.answer(model.see(_pixels()))
        ids = _ids()
        if family in BOTH:
            return model(ids, ids[:, :4])
        if not model.spec.encoder_layers:
            return model.token_logits(model.decode(ids))
        return model.answer(model.encode(ids))


def _pixels() -> torch.Tensor:
    return torch.randn(1, 3, 14, 14, generator=torch.Generator().manual_seed(7))


def _ids() -> torch.Tensor:
    return torch.randint(3, 100, (2, 7), generator=torch.Generator().manual_seed(7))
