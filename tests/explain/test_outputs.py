"""Which words a continuation or a translation rests on: as captum's, complete, one word alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import folders
from regard.api.load import load
from regard.api.model import Model
from regard.errors import MisuseError
from regard.explain.outputs import explain_output
from regard.explain.traced_pass import trace_pass

PROMPT = "the red cat sat"
Twins = dict[str, tuple[Any, Model]]


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Twins:
    root = tmp_path_factory.mktemp("twins")
    makers = (folders.gpt2, folders.llama, folders.t5, folders.marian)
    made = {make.__name__: make(root / make.__name__) for make in makers}
    return {name: (twin.eval(), load(root / name, "cpu")) for name, twin in made.items()}


def ids_of(model: Model, prompt: str) -> list[int]:
    assert model.tokenizer is not None
    return list(model.tokenizer.encode(prompt).ids)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("answer", [None, " on a mat"])
def test_captum_finds_the_same(family: str, answer: str | None, twins: Twins) -> None:
    """On the twin, through its own input embeddings: Σ log p of the tokens after the prompt."""
    attr = pytest.importorskip("captum.attr")
    theirs, model = twins[family]
    ours = explain_output(model, PROMPT, answer, steps=20)
    ids = torch.tensor([trace_pass(model, PROMPT, answer).sides["target"].ids])
    before = len(ids_of(model, PROMPT))
    embedding = theirs.get_input_embeddings()
    rows = embedding(ids[:, :-1]).detach()
    start = rows.clone()
    hidden = {"gpt2": torch.zeros(24), "llama": embedding.weight[0].detach()}[family]  # <unk>
    first = 1 if family == "llama" else 0  # <s> stays
    start[:, first:before] = hidden
    chosen = ids[0, before:]

    def log_p(path: torch.Tensor) -> torch.Tensor:
        scores = theirs(inputs_embeds=path).logits[:, before - 1 :].log_softmax(-1)
        return scores.gather(2, chosen.expand(len(path), -1)[..., None]).sum((1, 2))

    expected = attr.IntegratedGradients(log_p).attribute(
        rows, start, n_steps=20, method="gausslegendre"
    )
    shares = expected.sum(dim=-1)[0].detach().numpy()
    assert np.abs(shares).max() > 1e-2
    assert np.abs(ours.attribution.tokens - shares).max() < 1e-4 * np.abs(shares).max()
    assert ours.attribution.value == pytest.approx(log_p(rows).item(), abs=1e-4)
    assert ours.attribution.baseline == pytest.approx(log_p(start).item(), abs=1e-4)
    assert ours.words == PROMPT.split()


@pytest.mark.parametrize("family", ["gpt2", "llama", "t5", "marian"])
def test_the_words_add_up_to_what_the_output_changes(family: str, twins: Twins) -> None:
    found = explain_output(twins[family][1], PROMPT)
    assert found.quantity == f"log p({found.answer})"
    gap = 0.01 * abs(found.attribution.difference) + 1e-3
    if found.attribution.steps < 512:
        assert found.gradients.sum() == pytest.approx(found.attribution.difference, abs=gap)
    assert found.attention.sum() == pytest.approx(1) and (found.attention >= 0).all()


@pytest.mark.parametrize("family", ["t5", "marian"])
def test_what_is_explained_is_the_score_of_the_output(family: str, twins: Twins) -> None:
    model, output = twins[family][1], "a dog sat on the mat"
    found = explain_output(model, PROMPT, output, steps=2)
    assert found.answer == output and found.words == PROMPT.split()
    scored = model.score(PROMPT, output)
    assert found.attribution.value == pytest.approx(scored.log_probability, abs=1e-4)


def test_attention_is_that_of_the_places_that_predict(twins: Twins) -> None:
    theirs, model = twins["gpt2"]
    theirs.set_attn_implementation("eager")
    answer = " on a mat"
    ids = torch.tensor([ids_of(model, PROMPT + answer)])
    before = len(ids_of(model, PROMPT))
    with torch.no_grad():
        last = theirs(ids, output_attentions=True).attentions[-1][0].mean(dim=0)
    looked = last[before - 1 : -1, :before].mean(dim=0).numpy()
    groups = model.tokenizer.word_groups(ids[0, :before].tolist())
    shares = np.array([looked[places].sum() for _, places in groups])
    found = explain_output(model, PROMPT, answer, steps=1)
    assert found.attention == pytest.approx(shares / shares.sum(), abs=1e-5)
    assert found.looked_elsewhere == pytest.approx(1 - shares.sum(), abs=1e-5)


def test_one_word_rests_on_all_before_it(twins: Twins) -> None:
    theirs, model = twins["gpt2"]
    found = explain_output(model, "the red", " cat sat on", word="sat")
    assert found.answer == "sat" and found.words == ["the", "red", "cat"]
    ids = torch.tensor([ids_of(model, "the red cat sat")])
    before = len(ids_of(model, "the red cat"))
    with torch.no_grad():
        log_p = theirs(ids).logits[0, before - 1 : -1].log_softmax(-1)
    expected = log_p.gather(1, ids[0, before:, None]).sum()
    assert found.attribution.value == pytest.approx(float(expected), abs=1e-4)
    by_place = explain_output(model, "the red", " cat sat on", word="2")
    assert by_place.gradients == pytest.approx(found.gradients)
    with pytest.raises(MisuseError, match="'tree' is not in the text, .* 1 cat, 2 sat, 3 on"):
        explain_output(model, "the red", " cat sat on", word="tree")


def test_an_empty_continuation_is_its_end(tmp_path: Path) -> None:
    """A decoder whose first choice ends the text: what is explained is the end token."""
    folders.gpt2(tmp_path / "gpt2")
    model = load(tmp_path / "gpt2", "cpu")
    prompt = ids_of(model, PROMPT)
    first = int(model.logits([prompt])[0, -1].argmax())
    settings = tmp_path / "gpt2" / "generation_config.json"
    settings.write_text(f'{{"eos_token_id": {first}}}')
    ending = load(tmp_path / "gpt2", "cpu")
    found = explain_output(ending, PROMPT)
    assert found.answer == model.tokenizer.pieces([first])[0]
    expected = float(model.logits([prompt])[0, -1].log_softmax(-1)[first])
    assert found.attribution.value == pytest.approx(expected, abs=1e-5)


def test_the_model_has_both_views(twins: Twins) -> None:
    model = twins["gpt2"][1]
    assert model.explain(PROMPT, answer=" on", steps=2).words == PROMPT.split()
    assert model.explain(PROMPT, answer=" on", words=False).kinds == ("decoder",)
    assert model.explain([PROMPT], max_tokens=2, words=False)[0].output == model.complete(
        PROMPT, max_tokens=2
    )
    t5 = twins["t5"][1]
    assert t5.explain(PROMPT).kinds[0] == "cross"
    assert t5.explain(PROMPT, words=True, steps=2).words == PROMPT.split()
