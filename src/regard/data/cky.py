"""The likeliest tree of a sentence by a weighted grammar: the Cocke–Kasami–Younger algorithm.

    best(A, i, j) = max of   w(A → B C) + best(B, i, m) + best(C, m, j)   over rules and places m
                             w(A → B) + best(B, i, j)                     over rules

Words i to j; w is the logarithm of a probability, or minus a cost. The tables of all rules are
NumPy's, so a span is a few products over its places and rules. With it the grammar of the
phrasebook gives each sentence its tree (tools/grammar/syntax.py), and a grammar counted out of a
treebank parses beside a model (bench/parse.py).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

NEVER = -np.inf
ROUNDS = 12  # rules A → B that may follow each other over one span
Nested = tuple[str, tuple["Nested", ...]] | int  # a symbol over its parts; a word by its place
Logs = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class WeightedRule:
    """left → right, one symbol or two."""

    left: str
    right: tuple[str, ...]
    weight: float


class WeightedGrammar:
    """Rules over nonterminals; what a word may be is said with each sentence."""

    def __init__(self, rules: Iterable[WeightedRule], start: str, tags: Iterable[str] = ()) -> None:
        listed = list(rules)
        names = dict.fromkeys([start, *tags])
        for rule in listed:
            assert len(rule.right) in (1, 2), rule
            names.update(dict.fromkeys((rule.left, *rule.right)))
        self.symbols = tuple(names)
        self.number = {name: i for i, name in enumerate(names)}
        self.start = self.number[start]
        pairs = [rule for rule in listed if len(rule.right) == 2]
        chains = [rule for rule in listed if len(rule.right) == 1]
        self._pairs, self._pair_weights = self._table(pairs)
        self._chains, self._chain_weights = self._table(chains)

    def _table(self, rules: Sequence[WeightedRule]) -> tuple[Integers, Logs]:
        rows = [[self.number[name] for name in (rule.left, *rule.right)] for rule in rules]
        table = np.array(rows, dtype=np.int64).T if rows else np.zeros((3, 0), dtype=np.int64)
        return table, np.array([rule.weight for rule in rules], dtype=np.float64)

    def words(self, tags: Sequence[dict[str, float]]) -> Float[np.ndarray, "n K"]:
        """The weights of the tags that each word may have."""
        table = np.full((len(tags), len(self.symbols)), NEVER)
        for place, row in enumerate(tags):
            for tag, weight in row.items():
                if tag in self.number:
                    table[place, self.number[tag]] = weight
        return table

    def parse(
        self,
        words: Float[np.ndarray, "n K"],
        blocked: Bool[np.ndarray, "n1 n1"] | None = None,
    ) -> tuple[Nested, float] | None:
        """The likeliest tree and its weight, or None; `blocked` spans are no constituents."""
        chart = _Chart(self, words)
        n = len(words)
        for width in range(1, n + 1):
            for i in range(n - width + 1):
                if width > 1 and blocked is not None and blocked[i, i + width]:
                    continue
                chart.fill(i, i + width)
        weight = float(chart.best[0, n, self.start]) if n else NEVER
        return (chart.tree(self.start, 0, n), weight) if weight > NEVER else None

    def joined(self, left: Logs, right: Logs) -> tuple[Integers, Integers, Integers, Logs]:
        """Of two rows of neighbours, (places, K): for each symbol that they make the rule, the
        place and the weight of the best way."""
        a, b, c = self._pairs
        usable = (left.max(axis=0) > NEVER)[b] & (right.max(axis=0) > NEVER)[c]
        rules = np.flatnonzero(usable)
        if not len(rules):
            return rules, rules, rules, np.zeros(0)
        sums = left[:, b[rules]] + right[:, c[rules]]
        places = sums.argmax(axis=0)
        values = sums[places, np.arange(len(rules))] + self._pair_weights[rules]
        order = np.lexsort((values, a[rules]))  # the best rule of each symbol comes last
        made = a[rules][order]
        last = order[np.append(made[1:] != made[:-1], True)]
        return a[rules[last]], rules[last], places[last], values[last]

    def chained(self, cell: Logs, rule_of: Integers) -> None:
        """Let A → B work on one span until nothing becomes likelier."""
        a, b = self._chains[:2]
        for _ in range(ROUNDS):
            values = cell[b] + self._chain_weights
            better = np.flatnonzero(values > cell[a] + 1e-12)
            if not len(better):
                return
            for chain in better[np.argsort(values[better], kind="stable")]:
                cell[a[chain]] = values[chain]
                rule_of[a[chain]] = -2 - chain

    def parts_of(self, rule: int) -> tuple[int, ...]:
        """The symbols of a rule of two; of a chain by its negative number."""
        if rule >= 0:
            return int(self._pairs[1, rule]), int(self._pairs[2, rule])
        return (int(self._chains[1, -2 - rule]),)


class _Chart:
    """best[i, j, A], and how it came about: a rule of two and its place, a chain, or a word."""

    def __init__(self, grammar: WeightedGrammar, words: Logs) -> None:
        n, k = words.shape
        self.grammar = grammar
        self.best = np.full((n + 1, n + 1, k), NEVER)
        self._rule = np.full((n + 1, n + 1, k), -1, dtype=np.int64)
        self._place = np.zeros((n + 1, n + 1, k), dtype=np.int64)
        self.best[np.arange(n), np.arange(n) + 1] = words

    def fill(self, i: int, j: int) -> None:
        if j - i > 1:
            left, right = self.best[i, i + 1 : j], self.best[i + 1 : j, j]
            symbols, rules, places, values = self.grammar.joined(left, right)
            self.best[i, j, symbols] = values
            self._rule[i, j, symbols], self._place[i, j, symbols] = rules, places + i + 1
        self.grammar.chained(self.best[i, j], self._rule[i, j])

    def tree(self, symbol: int, i: int, j: int) -> Nested:
        rule, name = int(self._rule[i, j, symbol]), self.grammar.symbols[symbol]
        if rule == -1:
            return name, (i,)
        parts = self.grammar.parts_of(rule)
        if len(parts) == 1:
            return name, (self.tree(parts[0], i, j),)
        m = int(self._place[i, j, symbol])
        return name, (self.tree(parts[0], i, m), self.tree(parts[1], m, j))
