"""RoBERTa against the `transformers` library: logits and every layer, five heads, both ways."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import folders
import parity.decoders as checks
import parity.twins as twins
from parity.test_distilbert import change
from regard.api.load import load
from regard.checkpoint.families.roberta import ROBERTA, SKIPPED, XLM_ROBERTA
from regard.checkpoint.published import FAMILIES, load_published, save_published
from regard.errors import CheckpointError, MisuseError
from regard.model.presets import preset
from regard.model.trace import Trace
from regard.model.transformer import Transformer

SHAPES: dict[str, dict[str, Any]] = {
    "one": dict(hidden_size=20, num_attention_heads=5, num_hidden_layers=2, intermediate_size=37),
    "two": dict(
        hidden_size=33,
        num_attention_heads=3,
        num_hidden_layers=3,
        intermediate_size=13,
        layer_norm_eps=1e-3,
    ),
}
COMMON = dict(vocab_size=101, max_position_embeddings=23, type_vocab_size=1)
NAMES = {
    "masked": "ForMaskedLM",
    "classes": "ForSequenceClassification",
    "labels": "ForTokenClassification",
    "spans": "ForQuestionAnswering",
    "none": "Model",
}
HEADS = {head: getattr(transformers, f"Roberta{name}") for head, name in NAMES.items()}
each_head = pytest.mark.parametrize("head", HEADS)


def twin(head: str, shape: str, **more: Any) -> Any:
    labels = 2 if head == "spans" else 5  # where an answer begins and ends
    config = transformers.RobertaConfig(**{**COMMON, **SHAPES[shape], **more}, num_labels=labels)
    return HEADS[head](config)


def twin_of_xlm(head: str) -> Any:
    labels = 2 if head == "spans" else 5
    config = transformers.XLMRobertaConfig(**COMMON, **SHAPES["one"], num_labels=labels)
    return getattr(transformers, f"XLMRoberta{NAMES[head]}")(config)


@pytest.mark.parametrize("shape", SHAPES)
@each_head
def test_logits_and_layers(head: str, shape: str, tmp_path: Path) -> None:
    theirs = twin(head, shape)
    compare(theirs, load_published(twins.save_twin(theirs, tmp_path)), head)


@torch.no_grad()
def compare(theirs: Any, ours: Transformer, head: str) -> None:
    """Every layer and the answers, explicit and fused; they pad with 1, and count positions so."""
    ids, real = twins.ids_and_mask(101)
    segments = torch.zeros_like(ids)
    padded = ids.masked_fill(~real, 1)
    expected = theirs(padded, attention_mask=real, output_hidden_states=True)
    trace = Trace()
    memory = ours.encode(ids, real, trace, segments)
    assert twins.closest(memory, ours.encode(ids, real, None, segments), real) < 1e-5
    assert len(expected.hidden_states) == ours.spec.encoder_layers + 1
    for n, hidden in enumerate(expected.hidden_states[1:]):
        assert twins.closest(trace[f"encoder.{n}.ffn.norm"], hidden, real) < 1e-5
    if head == "none":
        assert ours.pooler is not None
        assert twins.closest(ours.pooler(memory), expected.pooler_output) < 1e-5
        return
    logits = ours.answer(memory)
    if head == "spans":
        assert twins.closest(logits[..., 0], expected.start_logits, real) < 1e-5
        assert twins.closest(logits[..., 1], expected.end_logits, real) < 1e-5
    else:
        everywhere = None if head == "classes" else real
        assert twins.closest(logits, expected.logits, everywhere) < 1e-5


@pytest.mark.parametrize("shape", SHAPES)
@each_head
def test_there_and_back(head: str, shape: str, tmp_path: Path) -> None:
    theirs = twin(head, shape)
    ours = load_published(twins.save_twin(theirs, tmp_path / "a"))
    save_published(ours, ROBERTA, tmp_path / "b")
    again = HEADS[head].from_pretrained(tmp_path / "b").eval()
    with torch.no_grad():  # the rows before the first token's, which nothing reads
        theirs.base_model.embeddings.position_embeddings.weight[:SKIPPED] = 0
    checks.check_same_weights(theirs, again)
    compare(again, ours, head)
    once_more = load_published(tmp_path / "b")
    assert once_more.spec == ours.spec
    checks.check_same_weights(ours, once_more)


def test_a_sentence_encoder_and_classifiers_of_folders(tmp_path: Path) -> None:
    """With tokenizer files, as they lie on the hub: vectors by modules.json, and each task."""
    folders.fresh(tmp_path / "vectors", "roberta")
    steps = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(steps)
    ]
    (tmp_path / "vectors" / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "vectors" / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}
    (tmp_path / "vectors" / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    model = load(tmp_path / "vectors", "cpu")
    theirs = HEADS["none"].from_pretrained(tmp_path / "vectors").eval()
    texts = ["the red cat sat on a mat.", "a dog"]
    for text, vector in zip(texts, model.embed(texts), strict=True):
        ids = torch.tensor([model.tokenizer.encode(text).ids])
        with torch.no_grad():
            mean = theirs(ids).last_hidden_state[0].mean(dim=0)
        assert twins.closest(torch.from_numpy(vector), mean / mean.norm()) < 1e-5
    offered = {
        "SequenceClassification": "classify",
        "TokenClassification": "tag",
        "MaskedLM": "fill",
    }
    for head, task in offered.items():
        folders.fresh(tmp_path / head, "roberta", head=f"For{head}")
        twin = getattr(transformers, f"RobertaFor{head}").from_pretrained(tmp_path / head).eval()
        model = load(tmp_path / head, "cpu")
        assert task in model.tasks
        ids = torch.tensor([model.tokenizer.encode("the red cat").ids])
        with torch.no_grad():
            assert twins.closest(model.logits(ids), twin(ids).logits) < 1e-5


def test_as_many_tokens_as_there_are_positions(tmp_path: Path) -> None:
    theirs = twin("masked", "one")
    ours = load_published(twins.save_twin(theirs, tmp_path))
    assert ours.spec.position_limit == 23 - SKIPPED
    ids = torch.randint(3, 101, (2, 21), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        logits = ours.answer(ours.encode(ids, segments=torch.zeros_like(ids)))
        assert twins.closest(logits, theirs(ids).logits) < 1e-5


@torch.no_grad()
def test_an_output_matrix_of_its_own(tmp_path: Path) -> None:
    theirs = twin("masked", "one", tie_word_embeddings=False)
    ours = load_published(twins.save_twin(theirs, tmp_path / "a"))
    assert ours.spec.tie == "none"
    compare(theirs, ours, "masked")
    save_published(ours, ROBERTA, tmp_path / "b")
    compare(HEADS["masked"].from_pretrained(tmp_path / "b").eval(), ours, "masked")


@each_head
def test_xlm_roberta_is_the_same_under_another_name(head: str, tmp_path: Path) -> None:
    theirs = twin_of_xlm(head)
    ours = load_published(twins.save_twin(theirs, tmp_path / "a"))
    compare(theirs, ours, head)
    save_published(ours, XLM_ROBERTA, tmp_path / "b")
    compare(type(theirs).from_pretrained(tmp_path / "b").eval(), ours, head)


@each_head
def test_every_row_and_every_tensor_counts(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = twins.save_twin(twin(head, "one"), tmp_path)
    path = folder / "model.safetensors"
    whole = load_file(path)
    for name in whole:
        save_file({key: value for key, value in whole.items() if key != name}, path)
        with pytest.raises(CheckpointError):
            load_published(folder)
    save_file(whole, path)
    checks.check_every_row_counts(ROBERTA, folder, monkeypatch.setitem)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pad_token_id", 0),  # positions are counted from it
        ("hidden_act", "relu"),  # the head's would still be GELU
        ("position_embedding_type", "relative_key"),
        ("is_decoder", True),
        ("max_position_embeddings", 2),
        ("sliding_window", 3),
    ],
)
def test_what_is_not_known_is_refused_by_name(key: str, value: Any, tmp_path: Path) -> None:
    folder = twins.save_twin(twin("masked", "one"), tmp_path)
    change(folder, **{key: value})
    named = "max_length" if key == "max_position_embeddings" else key
    with pytest.raises(CheckpointError, match=named):
        load_published(folder)


def test_a_tied_file_whose_copy_differs_is_refused(tmp_path: Path) -> None:
    folder = twins.save_twin(twin("masked", "one"), tmp_path)
    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.decoder.bias"] = tensors["lm_head.bias"] + 1
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"decoder.bias differs from lm_head.bias"):
        load_published(folder)


def test_another_model_is_not_written_as_roberta(tmp_path: Path) -> None:
    model = Transformer(preset("tiny", 31, decoder_layers=0, embedding_norm=True))
    with pytest.raises(MisuseError, match="activation|embedding_scale|positions"):
        save_published(model, ROBERTA, tmp_path)


def test_both_names_are_known() -> None:
    assert FAMILIES["roberta"] is ROBERTA and FAMILIES["xlm-roberta"] is XLM_ROBERTA
