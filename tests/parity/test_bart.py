"""BART against the `transformers` library: logits, every layer, generation, ties, both ways."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

import folders
import parity.decoders as checks
import parity.twins as twins
from parity.test_marian import change, sizes
from regard.api.load import load
from regard.bundle.doctor import examine
from regard.checkpoint.families.bart import BART, SKIPPED
from regard.checkpoint.published import load_published, save_published
from regard.errors import CheckpointError, MisuseError
from regard.model.presets import preset
from regard.model.trace import Trace
from regard.model.transformer import Transformer

VOCABULARY, START = 101, 2
SHAPES: dict[str, dict[str, Any]] = {
    "one": sizes(20, 5, 37, 2, 3),
    "two": dict(**sizes(22, 11, 13, 3, 2), activation_function="relu", scale_embedding=True),
}
TIES: dict[str, dict[str, Any]] = {"all": {}, "none": dict(tie_word_embeddings=False)}
each_shape = pytest.mark.parametrize("shape", SHAPES)
each_tie = pytest.mark.parametrize("tie", TIES)


def twin(shape: str, **more: Any) -> Any:
    positions = {"max_position_embeddings": 29, "vocab_size": VOCABULARY}
    config = transformers.BartConfig(**{**positions, **SHAPES[shape], **more})
    return transformers.BartForConditionalGeneration(config)


def both(folder: Path, shape: str, **more: Any) -> tuple[Any, Transformer]:
    theirs = twin(shape, **more)
    return theirs, load_published(twins.save_twin(theirs, folder))


def texts() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    source, source_real = twins.ids_and_mask(VOCABULARY, (13, 5, 1))
    target, target_real = twins.ids_and_mask(VOCABULARY, (11, 3, 7))
    target = target.flip(1)
    target[:, 0] = START
    return source, source_real, target, target_real


@torch.no_grad()
def compare(theirs: Any, ours: Transformer) -> None:
    """Every layer and the logits, explicit and fused."""
    source, source_real, target, real = texts()
    expected = theirs(
        source,
        attention_mask=source_real,
        decoder_input_ids=target,
        decoder_attention_mask=real,
        output_hidden_states=True,
    )
    trace = Trace()
    logits = ours(source, target, source_real, trace)
    assert twins.closest(logits, expected.logits, real) < 1e-5
    assert twins.closest(ours(source, target, source_real), expected.logits, real) < 1e-5
    for stack, states, mask in (
        ("encoder", expected.encoder_hidden_states, source_real),
        ("decoder", expected.decoder_hidden_states, real),
    ):
        for n, state in enumerate(states[1:]):
            assert twins.closest(trace[f"{stack}.{n}.ffn.norm"], state, mask) < 1e-5


@each_shape
@each_tie
def test_logits_and_layers(shape: str, tie: str, tmp_path: Path) -> None:
    theirs, ours = both(tmp_path, shape, **TIES[tie])
    assert ours.spec.tie == tie and ours.spec.position_limit == 29
    assert float(theirs.final_logits_bias.abs().min()) > 0  # drawn, not zero
    compare(theirs, ours)


@each_shape
@each_tie
def test_there_and_back(shape: str, tie: str, tmp_path: Path) -> None:
    theirs, ours = both(tmp_path / "a", shape, **TIES[tie])
    save_published(ours, BART, tmp_path / "b")
    again = transformers.BartForConditionalGeneration.from_pretrained(tmp_path / "b").eval()
    compare(again, ours)
    with torch.no_grad():  # rows that nothing reads
        for stack in (theirs.model.encoder, theirs.model.decoder):
            stack.embed_positions.weight[:SKIPPED] = 0
        if tie == "none":
            again.model.shared.weight.copy_(theirs.model.shared.weight)
    checks.check_same_weights(theirs, again)
    assert torch.equal(theirs.final_logits_bias, again.final_logits_bias)
    for key in ("pad", "bos", "eos", "decoder_start", "forced_eos"):
        name = f"{key}_token_id"
        assert getattr(again.config, name) == getattr(theirs.config, name)
    once_more = load_published(tmp_path / "b")
    assert once_more.spec == ours.spec
    checks.check_same_weights(ours, once_more)


def test_an_output_of_its_own_beside_a_shared_embedding(tmp_path: Path) -> None:
    theirs, _ = both(tmp_path / "a", "one")
    path = tmp_path / "a" / "model.safetensors"
    head = torch.randn(VOCABULARY, 20) / 5
    save_file(load_file(path) | {"lm_head.weight": head}, path)
    theirs.lm_head.weight = torch.nn.Parameter(head)
    ours = load_published(tmp_path / "a")
    assert ours.spec.tie == "embeddings"
    compare(theirs, ours)
    save_published(ours, BART, tmp_path / "b")
    again = transformers.BartForConditionalGeneration.from_pretrained(tmp_path / "b").eval()
    compare(again, ours)


def test_the_trunk_alone_makes_text_with_its_embedding(tmp_path: Path) -> None:
    """facebook/bart-base is such a folder: BartModel, no prefix, no bias."""
    theirs = twin("one")
    twins.redraw(theirs)
    theirs.final_logits_bias.zero_()
    theirs.eval().model.save_pretrained(tmp_path)
    assert "shared.weight" in load_file(tmp_path / "model.safetensors")
    compare(theirs, load_published(tmp_path))


@each_tie
def test_every_tensor_counts(tie: str, tmp_path: Path) -> None:
    folder = twins.save_twin(twin("one", **TIES[tie]), tmp_path)
    path = folder / "model.safetensors"
    whole = load_file(path)
    for name in whole:
        if name == "final_logits_bias" or (tie == "none" and name == "model.shared.weight"):
            continue  # a file may come without
        save_file({key: value for key, value in whole.items() if key != name}, path)
        with pytest.raises(CheckpointError):
            load_published(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("normalize_before", True),
        ("add_final_layer_norm", True),
        ("normalize_embedding", False),
        ("static_position_embeddings", True),
        ("is_decoder", True),
        ("decoder_attention_heads", 4),
        ("decoder_ffn_dim", 38),
        ("num_hidden_layers", 6),
        ("activation_function", "mish"),
        ("max_position_embeddings", 30),
    ],
)
def test_what_is_not_known_is_refused_by_name(key: str, value: Any, tmp_path: Path) -> None:
    folder = twins.save_twin(twin("one"), tmp_path)
    change(folder, **{key: value})
    named = "embed_positions" if key == "max_position_embeddings" else key
    with pytest.raises(CheckpointError, match=named):
        load_published(folder)


@pytest.mark.parametrize("head", ["SequenceClassification", "QuestionAnswering", "CausalLM"])
def test_other_heads_are_refused_by_name(head: str, tmp_path: Path) -> None:
    config = twin("one").config
    theirs = getattr(transformers, f"BartFor{head}")(config)
    named = {"SequenceClassification": "classification_head", "QuestionAnswering": "qa_outputs"}
    with pytest.raises(CheckpointError, match=named.get(head, "is_decoder|missing")):
        load_published(twins.save_twin(theirs, tmp_path))


def test_keys_of_published_files_are_harmless(tmp_path: Path) -> None:
    folder = twins.save_twin(twin("one"), tmp_path)
    change(
        folder,
        _num_labels=3,
        add_bias_logits=False,
        classif_dropout=0.1,
        classifier_dropout=0.0,
        extra_pos_embeddings=2,
        force_bos_token_to_be_generated=True,
        forced_bos_token_id=0,
        normalize_before=False,
        normalize_embedding=True,
        num_hidden_layers=2,
        prefix=" ",
        static_position_embeddings=False,
        task_specific_params={"summarization": {"length_penalty": 1.0}},
    )
    load_published(folder, strict=True)


def test_another_model_is_not_written_as_bart(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="positions|embedding_norm"):
        save_published(Transformer(preset("tiny", 31)), BART, tmp_path)


def test_text_to_text_with_its_tokenizer(tmp_path: Path) -> None:
    """Byte-level BPE framed by <s> and </s>; the first token is forced; greedy and beam."""
    theirs = folders.bart(tmp_path / "bart")
    settings = dict(num_beams=1, max_length=12, forced_bos_token_id=0, forced_eos_token_id=2)
    ids = dict(pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
    path = tmp_path / "bart" / "generation_config.json"
    path.write_text(json.dumps(ids | settings))
    model = load(tmp_path / "bart", "cpu")
    assert model.tasks == ("generate",) and model.tokenizer is not None
    said = set()
    for text in ("the red cat sat", "a house", "one two three trees."):
        source = model.tokenizer.encode(text).ids
        assert source[0] == 0 and source[-1] == 2
        for beam in (1, 3):
            config = transformers.GenerationConfig(**{**ids, **settings, "num_beams": beam})
            out = theirs.generate(torch.tensor([source]), generation_config=config)[0].tolist()
            found = model.translations(text, beam=beam)[0]
            ended = out.index(2, 1) if 2 in out[1:] else len(out)
            assert list(found.ids) == out[1:ended] and found.ids[0] == 0
            assert found.text == model.tokenizer.decode(out)
            said.add(found.text)
    assert len(said) > 2
    diagnosis = examine(tmp_path / "bart")
    assert diagnosis.runs and diagnosis.family == "bart" and "regard generate" in diagnosis.how
