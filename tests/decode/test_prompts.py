"""Decoder-only models in the torch engine: prompts in one pass, and many side by side."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

import regard.decode.engines.torch as torch_engine
import regard.decode.prefill as prefill
from decode.plain import unchecked
from decode.searching import END, make, search_with
from regard.decode.engine import NO_END, Frame, Hypothesis, Layout
from regard.decode.engines.torch import TorchEngine
from regard.decode.fused import FusedModel
from regard.decode.options import DecodingOptions
from regard.decode.score import score_continuations
from regard.engines.batch_invariance import check_batch
from regard.model.transformer import Transformer

KINDS = {
    "gpt": {
        "norm_order": "pre", "positions": "learned", "max_length": 90, "activation": "gelu_tanh",
    },
    "llama": {
        "norm_order": "pre", "norm": "rms", "positions": "rotary", "kv_heads": 2, "gated": True,
        "activation": "silu", "attention_bias": False, "ffn_bias": False,
    },
    "qwen": {
        "norm_order": "pre", "norm": "rms", "positions": "rotary", "kv_heads": 2, "gated": True,
        "activation": "silu", "o_bias": False, "ffn_bias": False,
    },
    "relative": {"positions": "relative", "norm_order": "pre", "score_scale": False},
    "sinusoids": {"vocabulary": 64},
}  # fmt: skip
FRAME = Frame(pad=0, start=0, end=END)
GREEDY = DecodingOptions(beam=1, max_length=12)
DRAW = DecodingOptions(beam=1, temperature=1.0, top_k=20, seed=7, max_length=8)
BEAM = DecodingOptions(beam=3, n_best=3, max_length=8)


def decoder(kind: str) -> Transformer:
    return make("post", 3, encoder_layers=0, **KINDS[kind])


def prompts(count: int, longest: int = 30, seed: int = 0) -> list[list[int]]:
    chance = random.Random(seed)
    return [
        [chance.randrange(3, 60) for _ in range(chance.randrange(1, longest))] for _ in range(count)
    ]


def plain_greedy(model: Transformer, prompt: Sequence[int], most: int) -> list[int]:
    """A whole pass for every token, without a cache."""
    ids = list(prompt)
    with torch.inference_mode():
        for _ in range(most):
            token = int(model.token_logits(model.decode(torch.tensor([ids]))[:, -1]).argmax())
            if token == END:
                break
            ids.append(token)
    return ids[len(prompt) :]


def search(
    model: Transformer, rows: list[list[int]], options: DecodingOptions, **layout: int
) -> list[list[Hypothesis]]:
    with unchecked():
        return search_with(model, rows, options, layout=Layout(**layout), frame=FRAME)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_goes_on_as_the_plain_model_does(kind: str) -> None:
    model, rows = decoder(kind), [[5], *prompts(12)]
    expected = [plain_greedy(model, row, 12) for row in rows]
    assert len({len(ids) for ids in expected}) > 1 and len(set(map(tuple, expected))) > 6
    assert [list(h[0].ids) for h in search(model, rows, GREEDY, batch=5)] == expected
    engine = TorchEngine(model, FRAME)
    assert [list(engine.stream(row, GREEDY)) for row in rows] == expected
    engine.close()


@pytest.mark.parametrize("kind", KINDS)
def test_prompts_are_read_in_blocks_and_passes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a prompt leaves to look back at is what the plain model's cache holds."""
    monkeypatch.setattr(prefill, "QUERIES", 8)
    monkeypatch.setattr(prefill, "TOKENS", 60)
    model, rows = decoder(kind), [*sorted(prompts(7, 50), key=len), []]
    kept, lengths = prefill.read_prompts(FusedModel(model), rows, 0)
    assert lengths.tolist() == [len(row) for row in rows]
    times = model.spec.heads // model.spec.groups
    for number, row in enumerate(rows[:-1]):
        cache = model.new_cache()
        with torch.inference_mode():
            model.decode(torch.tensor([row]), cache=cache)
        for layer, own in enumerate(cache.layers):
            for part, expected in enumerate(own.past.all()):
                expected = expected[0].repeat_interleave(times, dim=0)
                assert torch.allclose(kept[layer, part, number, :, : len(row)], expected, atol=1e-9)


@pytest.mark.parametrize("options", [GREEDY, DRAW, BEAM], ids=["greedy", "drawn", "beam"])
@pytest.mark.parametrize("kind", ["gpt", "llama", "relative"])
def test_alone_and_together_are_the_same(kind: str, options: DecodingOptions) -> None:
    """A finished one is replaced by the next; neighbours, order and workers do not matter."""
    model, rows = decoder(kind), prompts(23)
    alone = [search(model, [row], options)[0] for row in rows]
    assert len({len(h[0].ids) for h in alone}) > 2
    order = random.Random(1).sample(range(len(rows)), len(rows))
    together = search(model, [rows[i] for i in order], options, batch=4, workers=2)
    for place, i in enumerate(order):
        assert [h.ids for h in together[place]] == [h.ids for h in alone[i]]
        gaps = [a.score - b.score for a, b in zip(together[place], alone[i], strict=True)]
        assert max(map(abs, gaps)) < 1e-9


def test_single_precision_keeps_the_promise() -> None:
    """As `--check-batch` checks it: the same tokens, log p within 1e-5."""
    for kind in ("gpt", "llama"):
        engine = TorchEngine(decoder(kind).float(), FRAME)
        for options in (GREEDY, replace(BEAM, n_best=1)):
            with unchecked():
                verdict = check_batch(engine, prompts(40, 40), options)
            assert verdict.strict and verdict.kept, verdict
        engine.close()


def test_several_draws_come_in_order_and_may_repeat() -> None:
    model, rows = decoder("gpt"), prompts(3)
    several = search(model, rows, replace(DRAW, n_best=6, top_k=2, max_length=2), batch=4)
    assert [len(one) for one in several] == [6, 6, 6]
    assert any(len({h.ids for h in one}) < 6 for one in several)
    engine = TorchEngine(model, FRAME)
    for row, one in zip(rows, several, strict=True):
        short = replace(DRAW, top_k=2, max_length=2)
        streamed = [tuple(engine.stream(row, short, draw)) for draw in range(6)]
        assert [h.ids for h in one] == streamed
    engine.close()


@pytest.mark.parametrize("kind", ["llama", "relative"])
def test_the_scores_of_a_beam_are_those_of_its_outputs(kind: str) -> None:
    model, rows = decoder(kind), prompts(6)
    for row, hypotheses in zip(rows, search(model, rows, BEAM), strict=True):
        for h in hypotheses:
            target = [*h.ids, END] if h.finished else h.ids
            log_p = sum(score_continuations(model, [row], [target])[0])
            assert h.log_probability == pytest.approx(log_p, abs=1e-9)
            assert h.score == pytest.approx(log_p / len(target) ** 0.6, abs=1e-9)


def test_positions_and_memory_end_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    model = decoder("gpt")
    long = [7] * 86
    frame = replace(FRAME, end=NO_END)
    outputs = search_with(model, [long, [7]], DecodingOptions(beam=1, max_length=500), frame=frame)
    assert [len(h[0].ids) for h in outputs] == [4, 89] and not outputs[0][0].finished
    rows = prompts(6)
    expected = search(model, rows, GREEDY)
    monkeypatch.setattr(torch_engine, "PROMPT_BYTES", 1)  # then there is one at a time
    assert [h[0].ids for h in search(model, rows, GREEDY)] == [h[0].ids for h in expected]


def test_without_an_end_token_nothing_ends_or_must() -> None:
    model, frame = decoder("gpt"), replace(FRAME, end=NO_END)
    options = DecodingOptions(beam=1, max_length=20, min_length=5, no_repeat_ngram=1)
    (output,) = search_with(model, [[4, 5]], options, frame=frame)[0]
    assert len(output.ids) == 20 == len(set(output.ids))
    assert (
        END in search_with(model, prompts(9), replace(GREEDY, max_length=60), frame=frame)[0][0].ids
    )


def test_an_output_ends_where_somebody_says_so() -> None:
    model, rows = decoder("llama"), prompts(9)
    whole = search(model, rows, GREEDY)
    engine = TorchEngine(model, FRAME, layout=Layout(batch=4))
    asked: set[int] = set()

    def is_over(number: int, ids: Sequence[int]) -> bool:
        asked.add(number)
        return len(ids) == number

    cut = engine.submit(rows, GREEDY, is_over=is_over)()
    engine.close()
    assert asked == set(range(9))
    for number, (one, other) in enumerate(zip(whole, cut, strict=True)):
        assert other[0].ids == (one[0].ids[:number] if number else one[0].ids)
