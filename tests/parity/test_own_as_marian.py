"""Our own models, written as Marian, give the same logits in the `transformers` library."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import parity.decoders as checks
import parity.twins as twins
from decode.searching import search_rows
from refusals import refused
from regard.checkpoint.families.marian import MARIAN
from regard.checkpoint.published import load_published, save_published
from regard.checkpoint.reordered import as_halves
from regard.decode.options import DecodingOptions
from regard.errors import CheckpointError, MisuseError
from regard.model.spec import Spec
from regard.model.trace import Trace
from regard.model.transformer import Transformer

# Our own special tokens: pad 0, begin 1, end 2.
IDS = {
    "pad_token_id": 0,
    "decoder_start_token_id": 1,
    "eos_token_id": 2,
    "forced_eos_token_id": None,
}
# ffn_size = d_model in the second, so that only the names tell which axis is the residual's.
SHAPES: dict[str, dict[str, Any]] = {
    "one": dict(d_model=20, heads=5, ffn_size=37, encoder_layers=2, decoder_layers=3),
    "two": dict(d_model=22, heads=11, ffn_size=22, encoder_layers=3, decoder_layers=2),
    "three": dict(d_model=14, heads=7, ffn_size=29, encoder_layers=2, decoder_layers=2),
}
each_tie = pytest.mark.parametrize("tie", ["all", "target", "embeddings", "none"])


def own(shape: str = "one", **more: Any) -> Transformer:
    """A model of the paper, every number drawn."""
    model = Transformer(Spec(vocabulary=101, **SHAPES[shape], **more))
    twins.redraw(model)
    return model.eval()


def export(model: Transformer, folder: Path) -> Any:
    save_published(model, MARIAN, folder, IDS)
    return transformers.MarianMTModel.from_pretrained(folder)


def texts() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    source, real = twins.ids_and_mask(101, (13, 5, 1))
    target, _ = twins.ids_and_mask(101, (11, 3, 7))
    return source, real, torch.cat((torch.ones_like(target[:, :1]), target.flip(1)), dim=1)


@pytest.mark.parametrize("shape", SHAPES)
@each_tie
@torch.no_grad()
def test_logits_and_layers(shape: str, tie: str, tmp_path: Path) -> None:
    ours = own(shape, tie=tie)
    theirs = export(ours, tmp_path)
    source, real, target = texts()
    expected = theirs(
        source, attention_mask=real, decoder_input_ids=target, output_hidden_states=True
    )
    trace = Trace()
    assert twins.closest(ours(source, target, real, trace), expected.logits) < 1e-5
    back = load_published(tmp_path)
    assert back.spec.positions == "halves"
    assert twins.closest(back(source, target, real), expected.logits) < 1e-5
    # Each layer's numbers are the same ones in the other order.
    order = torch.cat(
        (torch.arange(0, ours.spec.d_model, 2), torch.arange(1, ours.spec.d_model, 2))
    )
    for n, state in enumerate(expected.encoder_hidden_states[1:]):
        assert twins.closest(trace[f"encoder.{n}.ffn.norm"][..., order], state, real) < 1e-5
    for n, state in enumerate(expected.decoder_hidden_states[1:]):
        assert twins.closest(trace[f"decoder.{n}.ffn.norm"][..., order], state) < 1e-5


def test_greedy_generation_token_for_token(tmp_path: Path) -> None:
    ours = own(tie="none")
    twins.center(ours)
    theirs = export(ours, tmp_path)
    source, real, _ = texts()
    expected = theirs.generate(
        source, attention_mask=real.long(), max_new_tokens=15, num_beams=1, do_sample=False
    )
    found = search_rows(ours, source, real, 1, 2, DecodingOptions(beam=1, max_length=15))
    for row, (one,) in zip(expected.tolist(), found, strict=True):
        assert row[0] == 1
        output = row[1:]
        assert list(one.ids) == (output[: output.index(2)] if 2 in output else output)
    assert len({token for (one,) in found for token in one.ids}) >= 3


def test_there_and_back(tmp_path: Path) -> None:
    """What was written, read and written again are the same bits."""
    export(own(), tmp_path / "a")
    back = load_published(tmp_path / "a")
    checks.check_same_weights(back, as_halves(own(), output_bias=True))
    export(back, tmp_path / "b")
    first, second = ((tmp_path / name / "model.safetensors").read_bytes() for name in "ab")
    assert first == second


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("norm_order", "pre"),
        ("positions", "learned"),
        ("norm_epsilon", 1e-6),
        ("head_size", 6),
        ("kv_heads", 1),
        ("gated", True),
        ("ffn_bias", False),
        ("attention_bias", False),
        ("score_scale", False),
    ],
)
def test_what_marian_cannot_say_is_refused_by_name(field: str, value: Any, tmp_path: Path) -> None:
    model = Transformer(Spec(**{"vocabulary": 101, **SHAPES["one"], field: value}))
    with pytest.raises(MisuseError, match=f"{field}: this model has {value!r}"):
        save_published(model, MARIAN, tmp_path / "out", IDS)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("side", ["encoder_layers", "decoder_layers"])
def test_one_stack_alone_is_refused(side: str, tmp_path: Path) -> None:
    model = Transformer(Spec(**{"vocabulary": 101, **SHAPES["one"], side: 0}))
    with refused(CheckpointError, subject=side, got=0):
        save_published(model, MARIAN, tmp_path / "out", IDS)
