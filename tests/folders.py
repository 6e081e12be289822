"""Tiny published folders: twins of the `transformers` library with tokenizers made here."""

import io
import json
import re
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import parity.twins as twins

TEXT = "the cat dog bird sat on mat red blue one two three house tree sea is a not good bad"
WORDS = TEXT.split(" ")
LINES = [f"{a} {b} sat on the {c} mat." for a in WORDS for b in WORDS[:6] for c in WORDS[5:9]]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
LABELS = {0: "sad", 1: "glad", 2: "neither"}


def save_lively(twin: Any, folder: Path, end: int | None = None) -> None:
    """Save a twin whose output changes from token to token and, with `end`, comes to an end.

    A twin with tied embeddings would repeat its last token for ever: its own embedding fits it
    best. Strong layers on a weak embedding make it forget that. To let it end, the end token
    changes places with one that it likes to write.
    """
    twins.redraw(twin)
    twin.eval()
    with torch.no_grad():
        for name, parameter in twin.named_parameters():
            if not parameter.requires_grad:
                continue  # a formula's table
            if name.endswith("bias"):
                parameter *= 0.1  # or the last one would say the same at every step
            elif parameter.dim() == 2:
                weak = re.search("shared|wte|embed_tokens", name)
                cross = re.search("encoder_attn|EncDecAttention", name)
                parameter *= 0.6 if weak else 0.3 if cross else 3.0
        if end is not None:
            source = torch.arange(5, 12)[None]
            liked = int(twin.generate(source, max_length=9, num_beams=1, do_sample=False)[0, 5])
            rows = twin.get_input_embeddings().weight
            rows[[liked, end]] = rows[[end, liked]].clone()
    twin.save_pretrained(folder)


def write_words(folder: Path) -> int:
    """A vocab.txt; how many pieces it has."""
    letters = [chr(97 + n) for n in range(26)]
    pieces = [*SPECIAL, *WORDS, ".", *letters, *(f"##{c}" for c in letters)]
    pieces = list(dict.fromkeys(pieces))
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    return len(pieces)


def bert(folder: Path, head: str, family: str = "bert", **more: Any) -> Any:
    """A BERT or DistilBERT with that head, and its twin."""
    folder.mkdir(parents=True)
    size = write_words(folder)
    if family == "bert":
        shape = dict(
            hidden_size=20,
            num_attention_heads=5,
            num_hidden_layers=2,
            intermediate_size=37,
            max_position_embeddings=23,
        )
        config: Any = transformers.BertConfig(vocab_size=size, **shape, **more)
        name = "Bert"
    else:
        shape = dict(dim=20, n_heads=5, n_layers=2, hidden_dim=37, max_position_embeddings=23)
        config = transformers.DistilBertConfig(vocab_size=size, **shape, **more)
        name = "DistilBert"
    theirs = getattr(transformers, f"{name}For{head}" if head else f"{name}Model")
    twin = theirs(config)
    twins.save_twin(twin, folder)
    return twin


def fresh(folder: Path, family: str, layers: int = 2, head: str = "Model") -> Path:
    """A tiny BERT, DistilBERT or RoBERTa as `transformers` draws one, untrained, with a vocabulary.

    Each has 23 positions for tokens.
    """
    folder.mkdir(parents=True)
    size = write_bytes(folder, ROBERTA_SPECIAL) if family == "roberta" else write_words(folder)
    torch.manual_seed(0)
    shape = dict(hidden_size=32, num_attention_heads=4, num_hidden_layers=layers)
    if family == "bert":
        more: Any = dict(intermediate_size=64, max_position_embeddings=23)
        config: Any = transformers.BertConfig(vocab_size=size, **shape, **more)
    elif family == "roberta":
        more = dict(intermediate_size=64, max_position_embeddings=25, type_vocab_size=1)
        config = transformers.RobertaConfig(vocab_size=size, **shape, **more)
    else:
        config = transformers.DistilBertConfig(
            vocab_size=size, dim=32, n_heads=4, n_layers=layers, hidden_dim=64,
            max_position_embeddings=23,
        )  # fmt: skip
    prefix = {"bert": "Bert", "distilbert": "DistilBert", "roberta": "Roberta"}[family]
    getattr(transformers, prefix + head)(config).save_pretrained(folder)
    return folder


def write_bytes(folder: Path, special: list[str]) -> int:
    """vocab.json and merges.txt of byte-level BPE, as GPT-2 and RoBERTa have them."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=special,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    backend.train_from_iterator(LINES, trainer)
    backend.model.save(str(folder))
    return backend.get_vocab_size()


def gpt2(folder: Path) -> Any:
    """A GPT-2 and its twin."""
    folder.mkdir(parents=True)
    size = write_bytes(folder, ["<|endoftext|>"])
    config = transformers.GPT2Config(
        vocab_size=size,
        n_embd=24,
        n_head=3,
        n_layer=2,
        n_positions=61,
        bos_token_id=0,
        eos_token_id=0,
    )
    twin = transformers.GPT2LMHeadModel(config)
    save_lively(twin, folder)
    return twin


def pieces(size: int = 110, **ids: int) -> bytes:
    """A SentencePiece model."""
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=made,
        vocab_size=size,
        model_type="bpe",
        hard_vocab_limit=False,
        byte_fallback=False,
        minloglevel=2,
        **ids,
    )
    return made.getvalue()


def llama(folder: Path) -> Any:
    """A Llama and its twin."""
    folder.mkdir(parents=True)
    model = pieces(unk_id=0, bos_id=1, eos_id=2, pad_id=-1)
    (folder / "tokenizer.model").write_bytes(model)
    config = transformers.LlamaConfig(
        vocab_size=sentencepiece.SentencePieceProcessor(model_proto=model).get_piece_size(),
        hidden_size=24,
        num_attention_heads=6,
        num_key_value_heads=2,
        num_hidden_layers=2,
        intermediate_size=31,
        bos_token_id=1,
        eos_token_id=[2, 5],
        tie_word_embeddings=False,
    )
    twin = transformers.LlamaForCausalLM(config)
    save_lively(twin, folder)
    return twin


def t5(folder: Path, **more: Any) -> Any:
    """A T5 1.0 with 7 rows more than its tokenizer has tokens, and its twin; `more` of its config
    makes it a 1.1."""
    folder.mkdir(parents=True)
    model = pieces(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    (folder / "spiece.model").write_bytes(model)
    size = sentencepiece.SentencePieceProcessor(model_proto=model).get_piece_size()
    (folder / "tokenizer_config.json").write_text(json.dumps({"extra_ids": 3}))
    config = transformers.T5Config(
        vocab_size=size + 10,
        d_model=20,
        d_kv=7,
        d_ff=37,
        num_layers=2,
        num_heads=3,
        decoder_start_token_id=0,
        eos_token_id=1,
        pad_token_id=0,
        **more,
    )
    twin = transformers.T5ForConditionalGeneration(config)
    save_lively(twin, folder, end=1)
    return twin


def marian(folder: Path, **generation: Any) -> Any:
    """A Marian whose output starts from pad and never holds it, and its twin."""
    folder.mkdir(parents=True)
    model = pieces(unk_id=0, bos_id=-1, eos_id=1, pad_id=-1)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    names = [processor.id_to_piece(i) for i in range(processor.get_piece_size())]
    names = ["</s>", "<unk>", *(n for n in names if n not in ("</s>", "<unk>")), "<pad>"]
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(model)
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    pad = len(names) - 1
    config = transformers.MarianConfig(
        vocab_size=len(names),
        d_model=20,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=5,
        decoder_attention_heads=5,
        encoder_ffn_dim=31,
        decoder_ffn_dim=31,
        max_position_embeddings=64,
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=pad,
        forced_eos_token_id=0,
    )
    twin = transformers.MarianMTModel(config)
    settings = dict(
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=pad,
        forced_eos_token_id=0,
        bad_words_ids=[[pad]],
        max_length=24,
    )
    twin.generation_config = transformers.GenerationConfig(**settings, **generation)
    save_lively(twin, folder, end=0)
    return twin


def bart(folder: Path) -> Any:
    """A BART with byte-level BPE, whose output starts from its end token, and its twin."""
    folder.mkdir(parents=True)
    size = write_bytes(folder, ROBERTA_SPECIAL)
    config = transformers.BartConfig(
        vocab_size=size,
        d_model=20,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=5,
        decoder_attention_heads=5,
        encoder_ffn_dim=31,
        decoder_ffn_dim=31,
        max_position_embeddings=64,
    )
    twin = transformers.BartForConditionalGeneration(config)
    save_lively(twin, folder)
    return twin


def vit(folder: Path) -> Any:
    """A Vision Transformer with three labels, and its twin."""
    folder.mkdir(parents=True)
    config = transformers.ViTConfig(
        hidden_size=20,
        num_attention_heads=5,
        num_hidden_layers=2,
        intermediate_size=37,
        image_size=12,
        patch_size=3,
        id2label=LABELS,
    )
    twin = transformers.ViTForImageClassification(config)
    twins.save_twin(twin, folder)
    return twin
