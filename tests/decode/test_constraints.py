"""Options on the logits against the processors of `transformers`; rules and prefixes by hand."""

import math

import pytest
import torch
from torch import Tensor
from transformers import (
    MinLengthLogitsProcessor,
    NoRepeatNGramLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
)

from regard.decode.constraints import NO_PREFIX, Constraints
from regard.decode.options import NO_RULES, DecodingOptions, Rules

V, END, INF = 64, 2, math.inf


def apply(
    logits: Tensor,
    outputs: list[list[int]],
    search: DecodingOptions | None = None,
    rules: Rules = NO_RULES,
    limit: int = 100,
    prefix: list[int] | None = None,
) -> tuple[Tensor, Tensor]:
    """The changed logits and what to subtract, for outputs of any lengths."""
    longest = max(len(output) for output in outputs)
    ids = torch.tensor([[*o, *[3] * (longest - len(o))] for o in outputs], dtype=torch.long)
    ids = ids.view(len(outputs), longest)
    real = torch.arange(longest) < torch.tensor([len(o) for o in outputs])[:, None]
    changed = logits.clone()
    wanted = None if prefix is None else torch.tensor(prefix)
    limits = torch.full((len(outputs),), limit)
    constraints = Constraints(search or DecodingOptions(), rules, END)
    total = constraints.apply(changed, ids, real, limits, wanted)
    return changed, total


def random_case(length: int) -> tuple[Tensor, Tensor]:
    """Logits, and outputs over few tokens, so that they repeat themselves."""
    chance = torch.Generator().manual_seed(length)
    logits = 3 * torch.randn(20, V, generator=chance, dtype=torch.float64)
    return logits, torch.randint(3, 7, (20, length), generator=chance)


@pytest.mark.parametrize("length", [0, 1, 2, 5, 12])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_ngram_comes_twice(n: int, length: int) -> None:
    logits, outputs = random_case(length)
    changed, total = apply(logits, outputs.tolist(), DecodingOptions(no_repeat_ngram=n))
    expected = NoRepeatNGramLogitsProcessor(n)(outputs, logits.clone())
    assert torch.equal(changed, expected)
    assert torch.allclose(total, expected.logsumexp(dim=-1))
    if length == 12 and n == 2:
        assert (changed == -INF).any()


@pytest.mark.parametrize("length", [1, 3, 12])
@pytest.mark.parametrize("penalty", [1.3, 0.7, 5.0])
def test_repetition_penalty(penalty: float, length: int) -> None:
    logits, outputs = random_case(length)
    changed, total = apply(logits, outputs.tolist(), DecodingOptions(repetition_penalty=penalty))
    expected = RepetitionPenaltyLogitsProcessor(penalty)(outputs, logits.clone())
    assert torch.allclose(changed, expected, atol=1e-12)
    assert not torch.equal(changed, logits)
    assert torch.allclose(total, expected.logsumexp(dim=-1))


@pytest.mark.parametrize("length", [0, 2, 3, 4])
def test_least_length(length: int) -> None:
    logits, outputs = random_case(length)
    changed, total = apply(logits, outputs.tolist(), DecodingOptions(min_length=3))
    expected = MinLengthLogitsProcessor(3, END)(outputs, logits.clone())
    assert torch.equal(changed, expected)
    assert bool((changed[:, END] == -INF).all()) == (length < 3)
    assert torch.allclose(total, expected.logsumexp(dim=-1))


def test_rows_of_other_lengths_do_not_matter() -> None:
    logits = random_case(1)[0][:4]
    outputs = [[3, 4, 3], [], [5], [6, 3, 6, 3, 6, 3]]  # the fill-up id 3 must not count
    search = DecodingOptions(no_repeat_ngram=2, repetition_penalty=1.5, min_length=2)
    together, totals = apply(logits, outputs, search)
    for row, output in enumerate(outputs):
        alone, total = apply(logits[row : row + 1], [output], search)
        assert torch.equal(alone[0], together[row]) and torch.equal(total[0], totals[row])
    assert together[0, 4] == -INF  # 3 4 3 → 4 would be 3 4 twice
    assert together[0, 3] != -INF and together[1, END] == together[2, END] == -INF
    assert torch.equal(together[1, 3:], logits[1, 3:])


def by_hand(*values: float) -> Tensor:
    """Logits whose probabilities are these; all other tokens have none."""
    rest = [-INF] * (V - len(values))
    return torch.tensor([[*(math.log(v) for v in values), *rest]], dtype=torch.float64)


LOGITS = by_hand(0.1, 0.2, 0.3, 0.4)  # END, number 2, has p = 0.3


def log_p(changed: Tensor, total: Tensor) -> list[float]:
    return (changed - total[:, None]).exp()[0, :4].tolist()


def test_options_share_out_what_they_forbid() -> None:
    """p = 0.1, 0.2, 0.4 of 0.7 without the end; 3 is there already: 0.4 × … as log 0.4 × 2."""
    assert log_p(*apply(LOGITS, [[]], DecodingOptions(min_length=1))) == pytest.approx(
        [1 / 7, 2 / 7, 0, 4 / 7]
    )
    assert log_p(*apply(LOGITS, [[3]], DecodingOptions(repetition_penalty=2))) == pytest.approx(
        [0.1 / 0.76, 0.2 / 0.76, 0.3 / 0.76, 0.16 / 0.76]
    )
    assert log_p(*apply(LOGITS, [[3]], DecodingOptions(no_repeat_ngram=1))) == pytest.approx(
        [0.1 / 0.6, 0.2 / 0.6, 0.3 / 0.6, 0]
    )


def test_rules_do_not() -> None:
    never = Rules(never=(0, 3))
    assert log_p(*apply(LOGITS, [[1]], rules=never)) == pytest.approx([0, 0.2, 0.3, 0])


def test_what_a_rule_forces_is_certain() -> None:
    first, end = Rules(first=1), Rules(must_end=True)
    assert log_p(*apply(LOGITS, [[]], rules=first)) == pytest.approx([0, 1, 0, 0])
    assert log_p(*apply(LOGITS, [[3]], rules=first)) == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert log_p(*apply(LOGITS, [[3]], rules=end, limit=3)) == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert log_p(*apply(LOGITS, [[3, 3]], rules=end, limit=3)) == pytest.approx([0, 0, 1, 0])


def test_a_prefix_has_its_own_probability_whatever_else_is_asked() -> None:
    assert log_p(*apply(LOGITS, [[3]], prefix=[1])) == pytest.approx([0, 0.2, 0, 0])
    assert log_p(*apply(LOGITS, [[3]], prefix=[NO_PREFIX])) == pytest.approx([0.1, 0.2, 0.3, 0.4])
    search = DecodingOptions(no_repeat_ngram=1, repetition_penalty=3, min_length=5)
    rules = Rules(never=(3,), first=1)
    assert log_p(*apply(LOGITS, [[3]], search, rules, prefix=[3])) == pytest.approx([0, 0, 0, 0.4])
    two = LOGITS.repeat(2, 1)
    changed, total = apply(two, [[3], [3]], search, NO_RULES, prefix=[3, NO_PREFIX])
    p = (changed - total[:, None]).exp()[:, :4]
    assert p[0].tolist() == pytest.approx([0, 0, 0, 0.4])
    assert p[1].tolist() == pytest.approx([1 / 3, 2 / 3, 0, 0])


def test_when_all_is_forbidden_the_end_is_certain() -> None:
    search = DecodingOptions(no_repeat_ngram=1, min_length=9)
    assert log_p(*apply(LOGITS, [[0, 1, 3]], search)) == pytest.approx([0, 0, 1, 0])
    never = Rules(never=(0, 1))
    assert log_p(*apply(LOGITS, [[3]], search, never)) == pytest.approx([0, 0, 1, 0])
