"""DistilBERT against the `transformers` library: logits and every layer, five heads, both ways."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import parity.decoders as checks
import parity.twins as twins
from regard.checkpoint.families.distilbert import DISTILBERT
from regard.checkpoint.published import load_published, save_published
from regard.errors import CheckpointError, MisuseError
from regard.model.presets import preset
from regard.model.trace import Trace
from regard.model.transformer import Transformer

SHAPES: dict[str, dict[str, Any]] = {
    "one": dict(dim=20, n_heads=5, n_layers=2, hidden_dim=37),
    "two": dict(dim=33, n_heads=3, n_layers=3, hidden_dim=13, activation="relu"),
    "three": dict(dim=14, n_heads=7, n_layers=2, hidden_dim=29, sinusoidal_pos_embds=True),
}
HEADS = {
    "masked": transformers.DistilBertForMaskedLM,
    "classes": transformers.DistilBertForSequenceClassification,
    "labels": transformers.DistilBertForTokenClassification,
    "spans": transformers.DistilBertForQuestionAnswering,
    "none": transformers.DistilBertModel,
}
each_head = pytest.mark.parametrize("head", HEADS)


def twin(head: str, shape: str, **more: Any) -> Any:
    labels = 2 if head == "spans" else 5
    config = transformers.DistilBertConfig(
        vocab_size=101, max_position_embeddings=23, num_labels=labels, **SHAPES[shape], **more
    )
    return HEADS[head](config)


def both(folder: Path, head: str, shape: str, **more: Any) -> tuple[Any, Transformer]:
    theirs = twin(head, shape, **more)
    return theirs, load_published(twins.save_twin(theirs, folder))


@pytest.mark.parametrize("shape", SHAPES)
@each_head
def test_logits_and_layers(head: str, shape: str, tmp_path: Path) -> None:
    theirs, ours = both(tmp_path, head, shape)
    compare(theirs, ours, head)


@torch.no_grad()
def compare(theirs: Any, ours: Transformer, head: str) -> None:
    """Every layer and the answers, explicit and fused."""
    ids, real = twins.ids_and_mask(101)
    expected = theirs(ids, attention_mask=real, output_hidden_states=True)
    trace = Trace()
    memory = ours.encode(ids, real, trace)
    assert twins.closest(memory, ours.encode(ids, real), real) < 1e-5  # explicit is fused
    assert len(expected.hidden_states) == ours.spec.encoder_layers + 1
    for n, hidden in enumerate(expected.hidden_states[1:]):
        assert twins.closest(trace[f"encoder.{n}.ffn.norm"], hidden, real) < 1e-5
    if head == "none":
        assert twins.closest(memory, expected.last_hidden_state, real) < 1e-5
        return
    logits = ours.answer(memory)
    if head == "spans":
        assert twins.closest(logits[..., 0], expected.start_logits, real) < 1e-5
        assert twins.closest(logits[..., 1], expected.end_logits, real) < 1e-5
    else:
        everywhere = None if head == "classes" else real
        assert twins.closest(logits, expected.logits, everywhere) < 1e-5


@torch.no_grad()
def test_an_output_matrix_of_its_own(tmp_path: Path) -> None:
    theirs, ours = both(tmp_path / "a", "masked", "one", tie_word_embeddings=False)
    ids, real = twins.ids_and_mask(101)
    logits = ours.answer(ours.encode(ids, real))
    assert twins.closest(logits, theirs(ids, attention_mask=real).logits, real) < 1e-5
    save_published(ours, DISTILBERT, tmp_path / "b")
    checks.check_same_weights(theirs, HEADS["masked"].from_pretrained(tmp_path / "b"))
    # The file decides: a config that forgot to say so changes nothing.
    change(tmp_path / "a", tie_word_embeddings=True)
    again = load_published(tmp_path / "a")
    assert torch.equal(again.answer(again.encode(ids, real)), logits)


@pytest.mark.parametrize("shape", SHAPES)
@each_head
def test_there_and_back(head: str, shape: str, tmp_path: Path) -> None:
    theirs, ours = both(tmp_path / "a", head, shape)
    save_published(ours, DISTILBERT, tmp_path / "b")
    again = HEADS[head].from_pretrained(tmp_path / "b").eval()
    checks.check_same_weights(theirs, again)
    compare(again, ours, head)
    once_more = load_published(tmp_path / "b")
    assert once_more.spec == ours.spec
    checks.check_same_weights(ours, once_more)


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
    checks.check_every_row_counts(DISTILBERT, folder, monkeypatch.setitem)


def change(folder: Path, **keys: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


@pytest.mark.parametrize(
    ("key", "value"),
    [("sliding_window", 3), ("activation", "mish"), ("dim", 21), ("n_layers", "2"), ("dim", None)],
)
def test_what_is_not_known_is_refused_by_name(key: str, value: Any, tmp_path: Path) -> None:
    folder = twins.save_twin(twin("masked", "one"), tmp_path)
    change(folder, **{key: value})
    with pytest.raises((CheckpointError, MisuseError), match="d_model" if value == 21 else key):
        load_published(folder)


def test_keys_of_published_files_are_harmless(tmp_path: Path) -> None:
    folder = twins.save_twin(twin("masked", "one"), tmp_path)
    change(folder, tie_weights_=True, output_past=True, finetuning_task="sst-2")
    assert load_published(folder).spec.d_model == 20


def test_another_model_is_not_written_as_distilbert(tmp_path: Path) -> None:
    model = Transformer(preset("tiny", 31, decoder_layers=0, embedding_norm=True))
    with pytest.raises(MisuseError, match="norm_epsilon"):
        save_published(model, DISTILBERT, tmp_path)
