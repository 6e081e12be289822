"""Which lemmas a sentence uses: a template and its fillers in, (English lemma, word class) out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from grammar.fillers import Filler, NounPhrase
from grammar.notation import Piece
from grammar.tables import Lexicon


def lemmas_of(
    template: Sequence[Piece], fillers: Mapping[str, Filler], lexicon: Lexicon
) -> list[tuple[str, str]]:
    """The lexicon lemmas in a sentence, with their word class; a phrase counts word by word."""
    used: list[tuple[str, str]] = []
    for piece in template:
        if isinstance(piece, str):
            used.extend(_known_words(piece, lexicon))
            continue
        filler = fillers.get(piece.name) or lexicon.find("verb", piece.name)
        if isinstance(filler, NounPhrase):
            if filler.head is not None and not filler.definite_name:
                used.append((filler.head.en, "noun"))
            if filler.adjective is not None:
                used.append((filler.adjective.en, "adj"))
        elif filler is not None and filler.kind == "verb":
            head, _, tail = filler.en.partition(" ")
            used.append((head, "verb"))
            used.extend(_known_words(tail, lexicon))
        elif filler is not None and filler.kind == "adj":
            used.append((filler.en, "adj"))
        elif filler is not None:
            used.extend(_known_words(filler.en, lexicon))
    return used


@cache
def _known_words(text: str, lexicon: Lexicon) -> tuple[tuple[str, str], ...]:
    """The words of a fixed text that the lexicon knows by themselves."""
    lemmas = []
    for word in re.findall(r"[a-z]+", text.lower()):
        for kind in ("noun", "adj", "word"):
            lexeme = lexicon.find(kind, word)
            if lexeme is not None and lexeme.en == word:
                lemmas.append((word, kind))
                break
    return tuple(lemmas)
