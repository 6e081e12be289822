"""Words that nobody knows: whoever hears one can only repeat it, letter by letter.

A filler of the lexicon lends its shape: "eat pizza" may become "eat floons", "at the bakery"
"at the strimmy". Plain words like "the" stay, and a name keeps its capital.
"""

import random
from dataclasses import replace

from grammar.tables import Lexeme

STARTS = (
    "b bl br c ch cl cr d dr f fl fr g gl gr h j k kn l m n p ph pl pr qu r s sc sk sm sn "
    "sp st str sw t th tr tw v w y z"
)
VOWELS = "a a a ai au e e e ea ee i i i ie o o o oo ou u u y"
ENDS = "b ch d dge ff l ll m mp n n n nd ng nk p r r rd rk rm rt s sk st t t w"
BARE = 0.3  # how often a syllable begins, or ends, with its vowel
SYLLABLES = (2, 2, 2, 3)
PLAIN = "a an at for from go in my of on the to with"  # words that stay
TWO = 0.08  # how often two words stand for one, as in "post office"
KEPT = 0.3  # how often another word of a longer filler stays


def coined(
    row: Lexeme, known: frozenset[str], chance: random.Random, one_word: bool = False
) -> Lexeme:
    """A filler like this one with words that are not `known`; `one_word`: never two for one."""
    words = row.en.split()
    others = [n for n, word in enumerate(words) if word.lower() not in PLAIN.split()]
    chosen = [n for n in others if chance.random() >= KEPT] or [chance.choice(others or [0])]
    for n in chosen:
        word, is_name = _word(known, chance), words[n][0].isupper()
        if row.kind != "adj" and not (is_name or one_word) and chance.random() < TWO:
            word += f" {_word(known, chance)}"
        words[n] = word.capitalize() if is_name else word
    flags = {"flags": row.cell("flags")}  # not its plural, which has its own cell
    return replace(row, en=" ".join(words), cells=flags)


def _word(known: frozenset[str], chance: random.Random) -> str:
    while True:
        word = ""
        for _ in range(chance.choice(SYLLABLES)):
            opens = chance.random() < BARE and (not word or word[-1] not in "aeiouy")
            start = "" if opens else chance.choice(STARTS.split())
            word += start + chance.choice(VOWELS.split())
            word += "" if chance.random() < BARE else chance.choice(ENDS.split())
        if 3 <= len(word) <= 10 and word not in known:
            return word
