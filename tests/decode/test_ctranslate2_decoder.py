"""Decoders in the ctranslate2 library: the same numbers and the same tokens as torch."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from decode.plain import unchecked
from decode.test_prompts import GREEDY, KINDS, decoder, prompts
from regard.decode.engine import NO_END, Frame, Hypothesis, Layout
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import NO_RULES, DecodingOptions, Rules
from regard.decode.sample import narrowed
from regard.decode.score import score_continuations
from regard.engines.batch_invariance import check_batch
from regard.errors import CheckpointError, DataError, MisuseError
from regard.model.transformer import Transformer

pytestmark = pytest.mark.needs("ctranslate2")
pytest.importorskip("ctranslate2")

from regard.checkpoint.to_ctranslate2 import write_decoder  # noqa: E402
from regard.decode.engines.ctranslate2_decoder import (  # noqa: E402
    CTranslate2Decoder,
    refused_continuation,
)

END = 2


def engine(
    model: Transformer, folder: Path, ends: Sequence[int] = (END,), rules: Rules = NO_RULES
) -> CTranslate2Decoder:
    size = model.spec.vocabulary
    pieces = [f"p{i}" for i in range(size)]
    write_decoder(model, folder, pieces, end=END, never=rules.never)
    endless = model.spec.positions == "rotary"
    return CTranslate2Decoder(folder, ends, rules, Layout(workers=2, batch=4), endless)


def by_torch(
    model: Transformer,
    rows: Sequence[Sequence[int]],
    options: DecodingOptions,
    end: int = END,
    rules: Rules = NO_RULES,
) -> list[Hypothesis]:
    reference = TorchEngine(model, Frame(0, 0, end), rules)
    with unchecked():
        answers = reference.submit(rows, options)()
    reference.close()
    return [hypotheses[0] for hypotheses in answers]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "relative"])
def test_every_kind_goes_on_as_torch_does(kind: str, tmp_path: Path) -> None:
    model, rows = decoder(kind).float(), [[5], *prompts(30)]
    theirs = engine(model, tmp_path)
    scores = theirs.score([row[:1] for row in rows[1:]], [row[1:] or [4] for row in rows[1:]])
    expected = score_continuations(
        model, [row[:1] for row in rows[1:]], [row[1:] or [4] for row in rows[1:]]
    )
    assert np.concatenate(scores) == pytest.approx(np.concatenate(expected), abs=1e-4)
    best = by_torch(model, rows, GREEDY)
    got = [hypotheses[0] for hypotheses in theirs.submit(rows, GREEDY)()]
    assert [h.ids for h in got] == [h.ids for h in best]
    assert [h.finished for h in got] == [h.finished for h in best]
    assert len({h.finished for h in best}) == 2
    log_ps = [h.log_probability for h in best]
    assert [h.log_probability for h in got] == pytest.approx(log_ps, abs=1e-3)
    assert [h.score for h in got] == pytest.approx([h.score for h in best], abs=1e-3)
    assert [tuple(theirs.stream(row, GREEDY)) for row in rows[:9]] == [h.ids for h in best[:9]]
    assert check_batch(theirs, rows, GREEDY).kept
    theirs.close()


@pytest.mark.parametrize("ends", [(), (END, *range(20, 40))], ids=["none", "many"])
def test_no_end_and_many(ends: tuple[int, ...], tmp_path: Path) -> None:
    model, rows = decoder("llama").float(), prompts(12)
    rules = Rules(also_ends=ends[1:])
    theirs = engine(model, tmp_path, ends, rules)
    for options in (GREEDY, replace(GREEDY, min_length=7)):
        best = by_torch(model, rows, options, ends[0] if ends else NO_END, rules)
        got = [hypotheses[0] for hypotheses in theirs.submit(rows, options)()]
        assert [(h.ids, h.finished) for h in got] == [(h.ids, h.finished) for h in best]
        assert [tuple(theirs.stream(row, options)) for row in rows] == [h.ids for h in best]
        assert any(h.finished for h in best) == bool(ends)
    theirs.close()


def test_a_least_length_and_what_is_never_put_out(tmp_path: Path) -> None:
    model, rows = decoder("gpt").float(), prompts(16)
    plain = by_torch(model, rows, GREEDY)
    liked = plain[0].ids[0]
    for number, (options, rules) in enumerate(
        [(replace(GREEDY, min_length=8), NO_RULES), (GREEDY, Rules(never=(liked,)))]
    ):
        theirs = engine(model, tmp_path / str(number), rules=rules)
        best = by_torch(model, rows, options, rules=rules)
        assert [h.ids for h in best] != [h.ids for h in plain]
        assert [h[0].ids for h in theirs.submit(rows, options)()] == [h.ids for h in best]
        assert tuple(theirs.stream(rows[0], options)) == best[0].ids
        theirs.close()


def test_positions_end_somewhere(tmp_path: Path) -> None:
    model = decoder("gpt").float()
    theirs = engine(model, tmp_path, ends=())
    rows = [[7] * 86, [7] * 80, [8] * 75, [7]]
    options = replace(GREEDY, max_length=500)
    best = by_torch(model, rows, options, NO_END)
    got = [hypotheses[0] for hypotheses in theirs.submit(rows, options)()]
    assert [h.ids for h in got] == [h.ids for h in best]
    assert [len(h.ids) for h in got] == [4, 10, 15, 89]
    with pytest.raises(DataError, match="this model holds 90"):
        theirs.submit([[7] * 90], GREEDY)
    theirs.close()


def test_an_output_ends_where_somebody_says_so(tmp_path: Path) -> None:
    model, rows = decoder("llama").float(), prompts(9)
    theirs = engine(model, tmp_path)
    whole = theirs.submit(rows, GREEDY)()
    cut = theirs.submit(rows, GREEDY, is_over=lambda number, ids: len(ids) == number)()
    for number, (one, other) in enumerate(zip(whole, cut, strict=True)):
        assert other[0].ids == (one[0].ids[:number] if number else one[0].ids)
    theirs.close()


@pytest.mark.parametrize(
    "narrow",
    [{}, {"temperature": 2.0}, {"temperature": 0.5, "top_k": 5}, {"temperature": 2, "top_p": 0.7},
     {"temperature": 1.5, "top_k": 9, "top_p": 0.8}],
    ids=str,
)  # fmt: skip
def test_tokens_are_drawn_as_often_as_p_says(narrow: dict[str, float], tmp_path: Path) -> None:
    """χ² of the first token over 3,000 draws; its 99.9 % point by Wilson and Hilferty."""
    model, prompt, count = decoder("gpt").float(), [5, 9, 30], 3000
    with torch.no_grad():
        logits = model.token_logits(model.decode(torch.tensor([prompt]))[:, -1])
    options = DecodingOptions(
        **{"beam": 1, "temperature": 1.0, "max_length": 1, "n_best": count, **narrow}
    )
    p = narrowed(logits.log_softmax(dim=-1), options).exp()[0].double().numpy()
    theirs = engine(model, tmp_path)
    (drawn,) = theirs.submit([prompt], options)()
    tokens = [h.ids[0] if h.ids else END for h in drawn]
    log_p = score_continuations(model, [prompt], [[tokens[0]]])[0][0]
    assert drawn[0].log_probability == pytest.approx(log_p, abs=1e-4)  # of the model, not the draw
    theirs.close()
    seen = np.bincount(tokens, minlength=len(p))
    assert len(drawn) == count and seen[p == 0].sum() == 0
    often = p * count >= 5
    seen = np.append(seen[often], seen[~often].sum())
    wanted = np.append(p[often], p[~often].sum()) * count
    seen, wanted = seen[wanted > 1e-9], wanted[wanted > 1e-9]
    freedom = len(seen) - 1
    assert freedom >= 2
    limit = freedom * (1 - 2 / (9 * freedom) + 3.09 * (2 / (9 * freedom)) ** 0.5) ** 3
    assert ((seen - wanted) ** 2 / wanted).sum() < limit


@pytest.mark.needs("int8")
def test_int8_is_close(tmp_path: Path) -> None:
    model, rows = decoder("llama").float(), prompts(10)
    pieces = [f"p{i}" for i in range(model.spec.vocabulary)]
    write_decoder(model, tmp_path, pieces, end=END, precision="int8")
    theirs = CTranslate2Decoder(tmp_path, [END], layout=Layout("int8"), endless=True)
    got = np.concatenate(theirs.score(rows, rows[::-1]))
    expected = np.concatenate(score_continuations(model, rows, rows[::-1]))
    assert np.abs(got - expected).mean() < 0.3
    assert theirs.submit(rows, GREEDY)()
    theirs.close()


REFUSED = {
    "a beam as ours": dict(beam=2),
    "draws that a seed repeats": dict(temperature=1.0, seed=1),
    "penalties for repetition": dict(repetition_penalty=1.2),
    "penalties for repetition as ours": dict(no_repeat_ngram=2),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_it_lacks_is_named(words: str, tmp_path: Path) -> None:
    options = DecodingOptions(**{"beam": 1, **REFUSED[words]})
    assert (refused_continuation(options) or "").startswith(words)
    theirs = engine(decoder("gpt").float(), tmp_path)
    for ask in (theirs.submit, lambda rows, given: list(theirs.stream(rows[0], given))):
        with pytest.raises(MisuseError, match=f"does not offer {words}.*use engine torch"):
            ask([[5]], options)
    theirs.close()


def test_rules_that_it_lacks() -> None:
    greedy = DecodingOptions(beam=1)
    assert refused_continuation(greedy) is None
    for rules in (Rules(first=3), Rules(must_end=True)):
        assert refused_continuation(greedy, rules) == "a forced beginning or end"
    drawn = DecodingOptions(beam=1, temperature=0.7, top_k=9, top_p=0.5, min_length=3)
    assert refused_continuation(drawn) is None


def test_what_the_library_cannot_express_is_refused(tmp_path: Path) -> None:
    pieces = [f"p{i}" for i in range(71)]
    scaled = decoder("llama").spec
    slow = Transformer(replace(scaled, rotary_scaling="slow"))
    with pytest.raises(CheckpointError, match="no model with rotary_scaling = slow"):
        write_decoder(slow, tmp_path, pieces, end=END)
    with pytest.raises(CheckpointError, match="no model with an encoder"):
        write_decoder(Transformer(replace(scaled, encoder_layers=1)), tmp_path, pieces, end=END)
    with pytest.raises(CheckpointError, match="no model with positions = relative behind a prompt"):
        write_decoder(decoder("relative"), tmp_path, pieces, end=END)
    with pytest.raises(CheckpointError, match="got 70 pieces"):
        write_decoder(decoder("llama"), tmp_path, pieces[:-1], end=END)


def test_prompts_of_similar_length_share_a_batch(tmp_path: Path) -> None:
    theirs = engine(decoder("gpt").float(), tmp_path)
    rows = [[5] * length for length in (3, 60, 57, 50, 20, 19, 58, 59, 61)]
    batches = theirs._batches(rows, [9] * len(rows))
    assert sorted(i for batch in batches for i in batch) == list(range(len(rows)))
    lengths = [[len(rows[i]) for i in batch] for batch in batches]
    assert lengths == [[61, 60, 59, 58], [57, 50], [20, 19], [3]]
    chance = random.Random(2)
    many = [[5] * chance.randrange(1, 80) for _ in range(99)]
    limits = [min(30, 90 - len(row)) for row in many]
    for batch in theirs._batches(many, limits):
        assert max(len(many[i]) for i in batch) + max(limits[i] for i in batch) <= 90
    theirs.close()
