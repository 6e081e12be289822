"""The rule of trees: many rows as one, the engine as the reference, and every output a tree."""

import random

import pytest
import torch

from decode.plain import unchecked
from decode.searching import make
from regard.decode.engine import Frame
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import DecodingOptions, Rules
from regard.decode.reference import ReferenceSearch, SourceSentence
from regard.decode.tree_mask import TreeWords
from regard.decode.tree_rule import TreeRule

END, MARK, CLOSE, V = 2, 20, 21, 64
TAGGED = TreeRule(END, MARK, CLOSE, range(22, 26), range(26, 31), most_opened=3, deepest=9)
BARE = TreeRule(END, MARK, CLOSE, range(22, 26), range(26, 27), most_opened=2)
FRAME = Frame(0, 1, END)


def a_source(words: int, chance: random.Random) -> list[int]:
    """Words of one to three pieces, a mark behind each."""
    source = []
    for _ in range(words):
        source += [*(chance.randrange(3, 20) for _ in range(chance.randrange(1, 4))), MARK]
    return [*source, END]


def limit_of(rule: TreeRule, source: list[int], chance: random.Random) -> int:
    """The usual one, or one so small that there is hardly room for a bracket."""
    return chance.choice([rule.limit(source), rule.fewest(source), rule.fewest(source) + 3])


def walk(rule: TreeRule, source: list[int], limit: int, chance: random.Random) -> list[int]:
    """A random output that the rule allows, brackets preferred."""
    output: list[int] = []
    while not output or output[-1] != END:
        allowed = sorted(rule.allowed(output, rule.words(source), limit))
        assert allowed, "there is always a way on"
        opens = [token for token in allowed if token in rule.opens]
        output.append(chance.choice(opens if opens and chance.random() < 0.7 else allowed))
    return output


def is_tree(rule: TreeRule, output: list[int], source: list[int]) -> bool:
    """Checked by hand, without the rule: brackets match, and each word comes once, with its tag."""
    if output[-1] != END:
        return False
    inside, words, roots = [0], [[]], 0
    for token in output[:-1]:
        if token in rule.opens:
            roots += len(inside) == 1
            inside.append(0)
        elif token == CLOSE:
            if len(inside) == 1 or not inside.pop():
                return False
            inside[-1] += 1
        elif token in rule.tags:
            inside[-1] += 1
            words.append([])
            if len(inside) == 1:
                return False
        else:
            words[-1].append(token)
    return len(inside) == 1 and roots == 1 and words == [*rule.words(source), []]


@pytest.mark.parametrize("rule", [TAGGED, BARE])
def test_every_walk_is_a_tree_that_ends_in_time(rule: TreeRule) -> None:
    chance = random.Random(1)
    for _ in range(200):
        source = a_source(chance.randrange(1, 20), chance)
        limit = limit_of(rule, source, chance)
        output = walk(rule, source, limit, chance)
        assert len(output) <= limit and is_tree(rule, output, source)


@pytest.mark.parametrize("rule", [TAGGED, BARE])
def test_many_rows_are_allowed_what_one_is(rule: TreeRule) -> None:
    chance = random.Random(2)
    rows, trees = [], TreeWords.none(rule, 40, torch.device("cpu"))
    for number in range(40):
        source = a_source(chance.randrange(1, 12), chance)
        limit = limit_of(rule, source, chance)
        output = walk(rule, source, limit, chance)[:-1]
        trees.admit(number, tuple(source))
        rows.append((output[: chance.randrange(len(output) + 1)], rule.words(source), limit))
    widest = max(len(output) for output, _, _ in rows)
    outputs = torch.tensor([output + [CLOSE] * (widest - len(output)) for output, _, _ in rows])
    lengths = torch.tensor([len(output) for output, _, _ in rows])
    limits = torch.tensor([limit for _, _, limit in rows])
    mask = trees.mask(outputs, torch.arange(widest) < lengths[:, None], limits, V)
    for row, (output, words, limit) in zip(mask, rows, strict=True):
        assert set(torch.nonzero(row)[:, 0].tolist()) == rule.allowed(output, words, limit)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("rule", [TAGGED, BARE])
def test_the_engine_finds_what_the_reference_finds(rule: TreeRule, beam: int) -> None:
    model, chance = make("rotary", vocabulary=V), random.Random(3)
    sources = [a_source(words, chance) for words in (1, 2, 3, 4)]
    decoding, rules = DecodingOptions(beam=beam, alpha=0.3), Rules(tree=rule)
    engine = TorchEngine(model, FRAME, rules)
    try:
        found = engine.submit(sources, decoding)()
    finally:
        engine.close()
    for source, n_best in zip(sources, found, strict=True):
        with unchecked():
            reference = ReferenceSearch(
                SourceSentence(model, tuple(source), FRAME), decoding, rules
            )
            expected = reference.run()[0]
        assert n_best[0].ids == expected.ids and n_best[0].finished
        assert n_best[0].log_probability == pytest.approx(expected.log_probability)
        assert is_tree(rule, [*n_best[0].ids, END], source)
