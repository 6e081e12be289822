"""BERT against the `transformers` library: logits and every layer, five heads, both directions."""

from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import parity.twins as twins
from regard.checkpoint.families.bert import BERT
from regard.checkpoint.published import load_published, save_published
from regard.errors import CheckpointError
from regard.model.trace import Trace
from regard.model.transformer import Transformer

SHAPES = {
    "one": dict(hidden_size=20, num_attention_heads=5, num_hidden_layers=2, intermediate_size=37),
    "two": dict(
        hidden_size=33,
        num_attention_heads=3,
        num_hidden_layers=3,
        intermediate_size=13,
        hidden_act="relu",
        layer_norm_eps=1e-3,
    ),
    "three": dict(
        hidden_size=14,
        num_attention_heads=7,
        num_hidden_layers=2,
        intermediate_size=29,
        hidden_act="gelu_new",
        layer_norm_eps=1e-5,
    ),
}
COMMON = dict(vocab_size=101, max_position_embeddings=23, type_vocab_size=3)
HEADS = {
    "masked": transformers.BertForMaskedLM,
    "classes": transformers.BertForSequenceClassification,
    "labels": transformers.BertForTokenClassification,
    "spans": transformers.BertForQuestionAnswering,
    "none": transformers.BertModel,
}


def twin(head: str, shape: str, **more: object) -> torch.nn.Module:
    labels = 2 if head == "spans" else 5  # where an answer begins and ends
    config = transformers.BertConfig(**COMMON, **SHAPES[shape], num_labels=labels, **more)
    return HEADS[head](config)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("head", HEADS)
def test_logits_and_layers(head: str, shape: str, tmp_path: Path) -> None:
    theirs = twin(head, shape)
    ours = load_published(twins.save_twin(theirs, tmp_path / "a"))
    compare(theirs, ours, head)


def compare(theirs: torch.nn.Module, ours: Transformer, head: str) -> None:
    """Every layer and the answers, explicit and fused."""
    ids, real = twins.ids_and_mask(101)
    segments = torch.randint(0, 3, ids.shape)
    with torch.no_grad():
        expected = theirs(
            ids, attention_mask=real, token_type_ids=segments, output_hidden_states=True
        )
        trace = Trace()
        memory = ours.encode(ids, real, trace, segments)
        plain = ours.encode(ids, real, None, segments)
    assert twins.closest(memory, plain, real) < 1e-5
    for n, hidden in enumerate(expected.hidden_states[1:]):
        assert twins.closest(trace[f"encoder.{n}.ffn.norm"], hidden, real) < 1e-5
    if head == "none":
        assert twins.closest(ours.pooler(memory), expected.pooler_output) < 1e-5
        return
    logits = ours.answer(memory)
    if head == "spans":
        assert twins.closest(logits[..., 0], expected.start_logits, real) < 1e-5
        assert twins.closest(logits[..., 1], expected.end_logits, real) < 1e-5
    else:
        real_positions = None if head == "classes" else real
        assert twins.closest(logits, expected.logits, real_positions) < 1e-5


def test_an_output_matrix_of_its_own(tmp_path: Path) -> None:
    theirs = twin("masked", "two", tie_word_embeddings=False)
    ours = load_published(twins.save_twin(theirs, tmp_path / "a"))
    assert ours.spec.tie == "none"
    ids, real = twins.ids_and_mask(101)
    with torch.no_grad():
        expected = theirs(ids, attention_mask=real).logits
        assert twins.closest(ours.answer(ours.encode(ids, real)), expected, real) < 1e-5
    save_published(ours, BERT, tmp_path / "b")
    again = HEADS["masked"].from_pretrained(tmp_path / "b").eval()
    with torch.no_grad():
        assert twins.closest(again(ids, attention_mask=real).logits, expected, real) < 1e-5


def test_a_tied_file_whose_copy_differs_is_refused(tmp_path: Path) -> None:
    folder = twins.save_twin(twin("masked", "one"), tmp_path / "a")
    tensors = load_file(folder / "model.safetensors")
    embedding = tensors["bert.embeddings.word_embeddings.weight"]
    tensors["cls.predictions.decoder.weight"] = embedding.clone()
    save_file(tensors, folder / "model.safetensors")
    load_published(folder)
    tensors["cls.predictions.decoder.weight"] = embedding + 1
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match="decoder.weight differs from embeddings"):
        load_published(folder)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("head", HEADS)
def test_there_and_back(head: str, shape: str, tmp_path: Path) -> None:
    theirs = twin(head, shape)
    ours = load_published(twins.save_twin(theirs, tmp_path / "a"))
    save_published(ours, BERT, tmp_path / "b")
    again = HEADS[head].from_pretrained(tmp_path / "b").eval()
    compare(again, ours, head)
    for name, parameter in theirs.named_parameters():
        assert torch.equal(parameter, dict(again.named_parameters())[name]), name
    once_more = load_published(tmp_path / "b")
    for name, parameter in ours.named_parameters():
        assert torch.equal(parameter, dict(once_more.named_parameters())[name]), name
