"""The attention that `explain` shows is `transformers`' own, of every layer and head, by family."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import folders
from regard.api.load import load
from regard.api.model import Model
from regard.errors import MisuseError
from regard.explain.heads import Attentions, attend
from regard.explain.traced_pass import trace_pass

TEXT = "the red cat sat on a mat"
MAKE: dict[str, Callable[[Path], Any]] = {
    "gpt2": folders.gpt2,
    "llama": folders.llama,
    "bert": lambda folder: folders.bert(folder, "MaskedLM"),
    "distilbert": lambda folder: folders.bert(folder, "MaskedLM", "distilbert"),
    "t5": folders.t5,
    "marian": folders.marian,
    "bart": folders.bart,
}
BOTH = ("t5", "marian", "bart")
DECODERS = ("gpt2", "llama")
Twins = dict[str, tuple[Any, Model]]


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Twins:
    root = tmp_path_factory.mktemp("twins")
    pairs = {}
    for name, make in MAKE.items():
        theirs = make(root / name)
        theirs.set_attn_implementation("eager")
        pairs[name] = (theirs.eval(), load(root / name, "cpu"))
    return pairs


def check(shown: Attentions, kind: str, expected: tuple[torch.Tensor, ...]) -> None:
    for layer, weights in enumerate(expected, start=1):
        ours = shown.map(kind, layer)
        assert np.abs(ours.weights - weights[0].numpy()).max() < 1e-5, (kind, layer)
        assert ours.weights.sum(axis=2) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("family", DECODERS)
@pytest.mark.parametrize("answer", [None, " sat on a tree"])
@torch.no_grad()
def test_decoders(family: str, answer: str | None, twins: Twins) -> None:
    theirs, model = twins[family]
    shown = attend(model, "the red cat", answer, pieces=True)
    done = trace_pass(model, "the red cat", answer)
    ids = done.sides["target"].ids
    check(shown, "decoder", theirs(torch.tensor([ids]), output_attentions=True).attentions)
    assert shown.kinds == ("decoder",) and len(shown.map().rows) == len(ids)
    if answer is None:  # their greedy continuation, and no token more
        prompt = torch.tensor([list(model.tokenizer.encode("the red cat").ids)])
        out = theirs.generate(prompt, max_new_tokens=8, do_sample=False, pad_token_id=0)
        assert ids == out[0].tolist()[: len(ids)] and len(ids) > prompt.shape[1]
        assert shown.output == model.complete("the red cat", max_tokens=8, beam=1)
    else:
        assert shown.output == answer


@pytest.mark.parametrize("family", ["bert", "distilbert"])
@torch.no_grad()
def test_encoders(family: str, twins: Twins) -> None:
    theirs, model = twins[family]
    for pair in (None, "a dog") if family == "bert" else (None,):
        encoded = model.tokenizer.encode(TEXT, pair)
        more = {"token_type_ids": torch.tensor([encoded.segments])} if pair else {}
        expected = theirs(torch.tensor([encoded.ids]), output_attentions=True, **more).attentions
        shown = attend(model, TEXT, pieces=True, pair=pair)
        check(shown, "encoder", expected)
        assert shown.output == "" and shown.kinds == ("encoder",)


@pytest.mark.parametrize("family", BOTH)
@pytest.mark.parametrize("answer", [None, "a dog sat on the tree"])
@torch.no_grad()
def test_encoder_decoders(family: str, answer: str | None, twins: Twins) -> None:
    theirs, model = twins[family]
    shown = attend(model, TEXT, answer, pieces=True)
    sides = trace_pass(model, TEXT, answer).sides
    source, target = (torch.tensor([sides[side].ids]) for side in ("source", "target"))
    assert target[0, 0] == theirs.config.decoder_start_token_id
    out = theirs(source, decoder_input_ids=target, output_attentions=True)
    check(shown, "encoder", out.encoder_attentions)
    check(shown, "decoder", out.decoder_attentions)
    check(shown, "cross", out.cross_attentions)
    assert shown.map().kind == "cross"


@pytest.mark.parametrize("family", MAKE)
def test_words_are_whole_and_rows_sum_to_one(family: str, twins: Twins) -> None:
    shown = attend(twins[family][1], TEXT)
    words = shown.map(shown.kinds[-1] if family in DECODERS else "encoder")
    assert words.weights.sum(axis=2) == pytest.approx(1, abs=1e-6)
    frame = {"[CLS]", "[SEP]", "<s>", "</s>"}
    spelled = [word for word in words.columns if word not in frame]
    *before, last = TEXT.split()
    assert spelled[: len(before)] == before
    assert spelled[len(before)].startswith(last)  # a continuation may go on with it


def test_what_a_model_has_not_is_named(twins: Twins) -> None:
    with pytest.raises(MisuseError, match="kind: got 'cross', this model has decoder self-att"):
        attend(twins["gpt2"][1], "the cat").map("cross")
    with pytest.raises(MisuseError, match="layer: got 3, the encoder of this model has layers 1 t"):
        attend(twins["bert"][1], "the cat").map("encoder", 3)
    with pytest.raises(MisuseError, match="it puts out no text"):
        attend(twins["bert"][1], "the cat", "sat")
    with pytest.raises(MisuseError, match="a second text is for encoders"):
        attend(twins["t5"][1], "the cat", pair="sat")
    with pytest.raises(MisuseError, match="adds no token"):
        attend(twins["gpt2"][1], "the cat", "")
    for name in BOTH:
        with pytest.raises(MisuseError, match="empty text"):
            attend(twins[name][1], " ")
    with pytest.raises(MisuseError, match="needs room to go on"):
        attend(twins["gpt2"][1], "x" * 80)
    with pytest.raises(MisuseError, match="with its continuation has .* at most 61"):
        attend(twins["gpt2"][1], "the cat", " x" * 80)
