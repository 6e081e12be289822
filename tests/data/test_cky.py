"""The likeliest tree, as NLTK's Viterbi parser finds it, and as counted by hand."""

import math
import random
from typing import Any

import numpy as np
import pytest

from regard.data.cky import Nested, WeightedGrammar, WeightedRule

RULES = [
    WeightedRule("S", ("NP", "VP"), 0.0),
    WeightedRule("VP", ("V", "NP"), math.log(0.6)),
    WeightedRule("VP", ("VP", "PP"), math.log(0.4)),
    WeightedRule("NP", ("NP", "PP"), math.log(0.3)),
    WeightedRule("NP", ("N",), math.log(0.7)),
    WeightedRule("PP", ("P", "NP"), 0.0),
]


def words(grammar: WeightedGrammar, tags: str) -> Any:
    return grammar.words([{tag: 0.0} for tag in tags.split()])


def test_the_likelier_of_two_attachments() -> None:
    """I saw men with glasses: 0.6 · 0.4 for the verb, 0.6 · 0.3 for the noun."""
    grammar = WeightedGrammar(RULES, "S")
    found = grammar.parse(words(grammar, "N V N P N"))
    assert found is not None
    tree, weight = found
    assert weight == pytest.approx(math.log(0.7**3 * 0.6 * 0.4))
    vp = ("VP", (("VP", (("V", (1,)), ("NP", (("N", (2,)),)))), pp()))
    assert tree == ("S", (("NP", (("N", (0,)),)), vp))


def pp() -> Nested:
    return ("PP", (("P", (3,)), ("NP", (("N", (4,)),))))


def test_a_span_that_is_blocked_is_none() -> None:
    grammar = WeightedGrammar(RULES, "S")
    blocked = np.zeros((6, 6), dtype=bool)
    blocked[1, 3] = True  # the verb and its object alone
    found = grammar.parse(words(grammar, "N V N P N"), blocked)
    assert found is not None and found[1] == pytest.approx(math.log(0.7**3 * 0.6 * 0.3))


def test_what_no_rule_makes_is_no_tree() -> None:
    grammar = WeightedGrammar(RULES, "S")
    assert grammar.parse(words(grammar, "V N")) is None
    assert grammar.parse(grammar.words([])) is None


def test_as_nltk_finds_them() -> None:
    """Random grammars with chains, over sentences of up to 8 words."""
    nltk = pytest.importorskip("nltk")
    chance = random.Random(1)
    names, terminals, parsed = ["S", "A", "B", "C"], ["x", "y", "z"], 0
    for _ in range(12):
        raw: list[tuple[str, tuple[Any, ...]]] = []
        for left in names:
            rights = {(chance.choice(names), chance.choice(names)) for _ in range(3)}
            later = names[names.index(left) + 1 :]
            rights |= {(name,) for name in later if chance.random() < 0.4}
            raw += [(left, right) for right in sorted(rights)]
            raw += [(left, (word,)) for word in terminals if chance.random() < 0.6 or left == "C"]
        weights = [chance.uniform(0.2, 1) for _ in raw]
        sums = {
            name: sum(w for w, (left, _) in zip(weights, raw, strict=True) if left == name)
            for name in names
        }
        rules, theirs, lexical = [], [], dict[str, dict[str, float]]()
        for weight, (left, right) in zip(weights, raw, strict=True):
            p = weight / sums[left]
            is_word = right[0] in terminals
            sides = right if is_word else tuple(map(nltk.Nonterminal, right))
            theirs.append(nltk.ProbabilisticProduction(nltk.Nonterminal(left), sides, prob=p))
            if is_word:
                lexical.setdefault(right[0], {})[left] = math.log(p)
            else:
                rules.append(WeightedRule(left, right, math.log(p)))
        viterbi = nltk.ViterbiParser(nltk.PCFG(nltk.Nonterminal("S"), theirs))
        grammar = WeightedGrammar(rules, "S", names)
        for _ in range(6):
            sentence = [chance.choice(terminals) for _ in range(chance.randrange(1, 9))]
            best = next(iter(viterbi.parse(sentence)), None)
            found = grammar.parse(grammar.words([lexical[word] for word in sentence]))
            assert (best is None) == (found is None)
            if best is not None and found is not None:
                parsed += 1
                assert found[1] == pytest.approx(math.log(best.prob()))
    assert parsed > 40
