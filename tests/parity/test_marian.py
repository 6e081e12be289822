"""Marian against the `transformers` library: logits, every layer, generation, ties, both ways."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

import parity.decoders as checks
import parity.twins as twins
from decode.searching import search_rows
from refusals import refused
from regard.checkpoint.families.marian import MARIAN
from regard.checkpoint.published import load_published, save_published
from regard.decode.options import DecodingOptions
from regard.errors import CheckpointError
from regard.model.trace import Trace
from regard.model.transformer import Transformer

VOCABULARY = 101
PAD = VOCABULARY - 1


def sizes(d_model: int, heads: int, ffn: int, encoder: int, decoder: int) -> dict[str, Any]:
    return dict(
        d_model=d_model,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=ffn,
        decoder_ffn_dim=ffn,
        encoder_layers=encoder,
        decoder_layers=decoder,
    )


SHAPES: dict[str, dict[str, Any]] = {
    "one": dict(**sizes(20, 5, 37, 2, 3), activation_function="swish", scale_embedding=True),
    "two": dict(**sizes(22, 11, 13, 3, 2), activation_function="gelu"),
    "three": dict(**sizes(14, 7, 29, 2, 2), activation_function="relu", scale_embedding=True),
}
# what the config says of the three matrices → our tie
TIES: dict[str, dict[str, Any]] = {
    "all": {},
    "target": dict(share_encoder_decoder_embeddings=False),
    "none": dict(share_encoder_decoder_embeddings=False, tie_word_embeddings=False),
}
each_shape = pytest.mark.parametrize("shape", SHAPES)
each_tie = pytest.mark.parametrize("tie", TIES)


def twin(shape: str, **more: Any) -> transformers.MarianMTModel:
    config = transformers.MarianConfig(
        vocab_size=VOCABULARY,
        max_position_embeddings=67,
        pad_token_id=PAD,
        decoder_start_token_id=PAD,
        forced_eos_token_id=None,
        **SHAPES[shape],
        **more,
    )
    return transformers.MarianMTModel(config)


def both(folder: Path, shape: str, **more: Any) -> tuple[Any, Transformer]:
    theirs = twin(shape, **more)
    return theirs, load_published(twins.save_twin(theirs, folder))


def texts() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Source and target, padded on the right with pad, from which the target also starts."""
    source, source_real = twins.ids_and_mask(VOCABULARY, (13, 5, 1))
    target, target_real = twins.ids_and_mask(VOCABULARY, (11, 3, 7))
    target = target.flip(1)
    target[:, 0] = PAD
    return source.masked_fill(~source_real, PAD), source_real, target, target_real


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
    for stack, part, states, mask in (
        ("encoder", "source", expected.encoder_hidden_states, source_real),
        ("decoder", "target", expected.decoder_hidden_states, real),
    ):
        assert twins.closest(trace[f"{part}.sum"], states[0], mask) < 1e-5
        for n, state in enumerate(states[1:]):
            assert twins.closest(trace[f"{stack}.{n}.ffn.norm"], state, mask) < 1e-5
    assert len(expected.encoder_hidden_states) == ours.spec.encoder_layers + 1
    assert len(expected.decoder_hidden_states) == ours.spec.decoder_layers + 1


@each_shape
@each_tie
@torch.no_grad()
def test_logits_and_layers(shape: str, tie: str, tmp_path: Path) -> None:
    theirs, ours = both(tmp_path, shape, **TIES[tie])
    assert ours.spec.tie == tie
    assert float(theirs.final_logits_bias.abs().min()) > 0  # drawn, not zero
    compare(theirs, ours)


@torch.no_grad()
def test_the_library_unties_all_three_where_they_are_called_shared(tmp_path: Path) -> None:
    theirs, ours = both(tmp_path, "one", tie_word_embeddings=False)
    assert ours.spec.tie == "none"
    compare(theirs, ours)


@torch.no_grad()
def test_an_output_of_its_own_beside_a_shared_embedding(tmp_path: Path) -> None:
    theirs, _ = both(tmp_path / "a", "two")
    path = tmp_path / "a" / "model.safetensors"
    head = torch.randn(VOCABULARY, 22) / 5
    save_file(load_file(path) | {"lm_head.weight": head}, path)
    theirs.lm_head.weight = torch.nn.Parameter(head)
    ours = load_published(tmp_path / "a")  # the file decides, whatever the config says
    assert ours.spec.tie == "embeddings"
    compare(theirs, ours)
    change(tmp_path / "a", tie_word_embeddings=False)
    compare(theirs, load_published(tmp_path / "a"))
    # Written with all three apart: the library would draw a shared embedding anew otherwise.
    save_published(ours, MARIAN, tmp_path / "b")
    again = transformers.MarianMTModel.from_pretrained(tmp_path / "b")
    compare(again, ours)
    assert load_published(tmp_path / "b").spec.tie == "none"


@each_shape
@torch.no_grad()
def test_cached_decoding_is_full_decoding(shape: str, tmp_path: Path) -> None:
    _, ours = both(tmp_path, shape)
    source, source_real, target, _ = texts()
    memory = ours.encode(source, source_real)
    full = ours.decode(target, memory, source_real)
    for parts in ((1,) * 11, (4, 1, 6)):
        cache, made = ours.new_cache(), []
        for piece in target.split(parts, dim=1):
            made.append(ours.decode(piece, memory, source_real, cache))
        assert twins.closest(torch.cat(made, dim=1), full) < 1e-5


# tie, shape → a drawing that says at least five different words to each of the three texts
TALKATIVE = {
    ("none", "one"): 11,
    ("none", "two"): 0,
    ("none", "three"): 8,
    ("all", "two"): 8,
    ("all", "three"): 26,
}


@torch.no_grad()
def lively(model: Any, seed: int) -> None:
    """Strong norms, weak biases, no word that is likely everywhere: or one is said for ever."""
    twins.redraw(model, seed)
    for name, parameter in model.eval().named_parameters():
        if parameter.requires_grad:
            parameter *= 0.1 if name.endswith("bias") else 3 if parameter.dim() == 1 else 1
    source, real, target, _ = texts()
    logits = model(source, attention_mask=real, decoder_input_ids=target).logits
    model.final_logits_bias -= logits.mean((0, 1))
    model.final_logits_bias[:, 0] -= 2  # the end may come, but not at once


@pytest.mark.parametrize(("tie", "shape"), TALKATIVE)
def test_greedy_generation_token_for_token(tie: str, shape: str, tmp_path: Path) -> None:
    theirs = twin(shape, **TIES[tie])
    lively(theirs, TALKATIVE[tie, shape])
    theirs.save_pretrained(tmp_path)
    ours = load_published(tmp_path)
    source, real, _, _ = texts()
    expected = theirs.generate(
        source, attention_mask=real.long(), max_new_tokens=15, num_beams=1, do_sample=False
    )
    assert expected[:, 0].tolist() == [PAD] * 3
    found = search_rows(ours, source, real, PAD, 0, DecodingOptions(beam=1, max_length=15))
    for row, (hypothesis,) in zip(expected.tolist(), found, strict=True):
        output = row[1:]
        if 0 in output:
            output = output[: output.index(0)]
        assert list(hypothesis.ids) == output
        assert len(set(output)) >= 5, "a twin that repeats itself hides much"


@each_shape
@each_tie
@torch.no_grad()
def test_there_and_back(tie: str, shape: str, tmp_path: Path) -> None:
    theirs, ours = both(tmp_path / "a", shape, **TIES[tie])
    save_published(ours, MARIAN, tmp_path / "b")
    again = transformers.MarianMTModel.from_pretrained(tmp_path / "b").eval()
    compare(again, ours)
    checks.check_same_weights(theirs, again)
    assert torch.equal(theirs.final_logits_bias, again.final_logits_bias)
    for key in ("pad_token_id", "eos_token_id", "decoder_start_token_id"):
        assert getattr(again.config, key) == getattr(theirs.config, key)
    once_more = load_published(tmp_path / "b")
    assert once_more.spec == ours.spec
    checks.check_same_weights(ours, once_more)


@each_tie
def test_every_tensor_counts(tie: str, tmp_path: Path) -> None:
    folder = twins.save_twin(twin("three", **TIES[tie]), tmp_path)
    path = folder / "model.safetensors"
    whole = load_file(path)
    for name in whole:
        if name == "final_logits_bias":
            continue  # a file may come without
        save_file({key: value for key, value in whole.items() if key != name}, path)
        with pytest.raises(CheckpointError):
            load_published(folder)


@torch.no_grad()
def test_copies_and_tables_of_sinusoids_are_dropped_if_they_are_that(tmp_path: Path) -> None:
    theirs, ours = both(tmp_path, "one")
    path = tmp_path / "model.safetensors"
    whole = load_file(path)
    waves = theirs.model.encoder.embed_positions.weight.clone()
    copies = {
        "model.encoder.embed_positions.weight": waves,
        "model.decoder.embed_positions.weight": waves.clone().half(),
        "model.encoder.embed_tokens.weight": whole["model.shared.weight"].clone(),
        "model.decoder.embed_tokens.weight": whole["model.shared.weight"].clone(),
    }
    save_file(whole | copies, path)
    again = load_published(tmp_path)
    assert again.spec == ours.spec
    checks.check_same_weights(ours, again)
    for name, tensor in copies.items():
        other = tensor.clone()
        other[1, 0] += 0.1
        save_file(whole | {name: other}, path)
        with pytest.raises(CheckpointError, match=name.removeprefix("model.")):
            load_published(tmp_path)


def change(folder: Path, **keys: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("normalize_before", True),
        ("normalize_embedding", True),
        ("add_final_layer_norm", True),
        ("static_position_embeddings", False),
        ("is_decoder", True),
        ("decoder_attention_heads", 4),
        ("decoder_ffn_dim", 38),
        ("decoder_vocab_size", 103),
        ("num_hidden_layers", 6),
        ("activation_function", "mish"),
        ("add_adapter", True),
    ],
)
def test_what_is_not_known_is_refused_by_name(key: str, value: Any, tmp_path: Path) -> None:
    folder = twins.save_twin(twin("one"), tmp_path)
    change(folder, **{key: value})
    with pytest.raises(CheckpointError, match=key):
        load_published(folder)


@pytest.mark.parametrize("key", ["encoder_layers", "decoder_layers"])
def test_one_stack_alone_is_refused(key: str, tmp_path: Path) -> None:
    folder = twins.save_twin(twin("one"), tmp_path)
    change(folder, **{key: 0})
    with refused(CheckpointError, subject=key, got=0):
        load_published(folder)


def test_keys_of_published_files_are_harmless(tmp_path: Path) -> None:
    folder = twins.save_twin(twin("one"), tmp_path)
    change(
        folder,
        _num_labels=3,
        add_bias_logits=False,
        add_final_layer_norm=False,
        bad_words_ids=[[PAD]],
        classif_dropout=0.1,
        extra_pos_embeddings=VOCABULARY,
        max_length=512,
        normalize_before=False,
        normalize_embedding=False,
        num_beams=6,
        num_hidden_layers=2,
        static_position_embeddings=True,
    )
    assert load_published(folder).spec.d_model == 20
