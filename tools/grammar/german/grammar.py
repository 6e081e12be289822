"""The German side of the phrasebook: lexicon and patterns loaded, fillers realised.

Brackets in German templates (x, y are optional template text):

    [main V:S x | y]   {V:S} x {V.refl:S} y {V.mid} {V.prefix}      Anna ruft heute ihren Vater an
    [past V:S x | y]   the same in the preterite
    [sub V:S x | y]    x {V.refl:S} y {V.mid} {V.fin:S}             …, weil Anna heute anruft
    [subpast V:S …]    the same in the preterite
    [inf V:S x | y]    x {V.refl:S} y {V.mid} {V.inf}               Anna will heute anrufen
    [zu V:S x | y]     x {V.refl:S} y {V.mid} {V.zu}                …, heute anzurufen
    [pp V:S x | y]     x {V.refl:S} y {V.mid} {V.pp}                Anna hat heute angerufen
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from grammar.fillers import Filler, NounPhrase
from grammar.german import nominal, verbal
from grammar.notation import Pattern, read_patterns
from grammar.tables import (
    Lexeme,
    Lexicon,
    read_lexicon,
    read_table,
    require,
)
from regard.data.phrasebook.corpus import PhrasebookError

HERE = Path(__file__).parent
_BRACKET = re.compile(
    r"\[(main|past|sub|subpast|inf|zu|pp) (\w+)(?::(\w+))?([^|\]]*)(?:\|([^\]]*))?\]"
)
CONTRACTIONS = {
    "in dem": "im",
    "in das": "ins",
    "an dem": "am",
    "an das": "ans",
    "zu dem": "zum",
    "zu der": "zur",
    "bei dem": "beim",
    "von dem": "vom",
}
_CONTRACT = re.compile(r"(?<!, )\b(" + "|".join(CONTRACTIONS) + r")\b(?!\x01)")


def expand(text: str) -> str:
    """Rewrite the brackets of a template into holes."""

    def one(match: re.Match[str]) -> str:
        kind, verb, agree, before, after = match.groups()
        suffix = f":{agree}" if agree else ""
        head = {"main": f"{{{verb}{suffix}}}", "past": f"{{{verb}.past{suffix}}}"}.get(kind, "")
        tail = {
            "main": f"{{{verb}.prefix}}",
            "past": f"{{{verb}.prefix}}",
            "sub": f"{{{verb}.fin{suffix}}}",
            "subpast": f"{{{verb}.fin-past{suffix}}}",
            "inf": f"{{{verb}.inf}}",
            "zu": f"{{{verb}.zu}}",
            "pp": f"{{{verb}.pp}}",
        }[kind]
        reflexive = f"{{{verb}.refl{suffix}}}"
        return " ".join((head, before, reflexive, after or "", f"{{{verb}.mid}}", tail))

    return _BRACKET.sub(one, text)


def finish(text: str) -> str:
    """One sentence, polished: contractions (not of relative pronouns), blanks, commas, capitals."""
    text = " ".join(text.split())
    text = _CONTRACT.sub(lambda match: CONTRACTIONS[match[1]], text)
    text = text.replace(nominal.NO_CONTRACTION, "")
    text = re.sub(r" ([,.!?:;])", r"\1", text)
    return re.sub(r"(^|[.!?] )([a-zäöü])", lambda match: match[1] + match[2].upper(), text)


class German:
    """Lexicon, patterns and realisation; what sampling.py and corpus.py ask a language for."""

    def __init__(self, folder: Path = HERE.parent) -> None:
        tables = read_lexicon(folder / "lexicon", "de")
        require(tables["nouns"], "de_gender", ("m", "f", "n"))
        tables["phrases"] = [_with_principal_parts(r, tables["verbs"]) for r in tables["phrases"]]
        self.lexicon = Lexicon([row for rows in tables.values() for row in rows])
        self._paradigms = _read_paradigms(HERE / "paradigms.tsv")
        files = sorted((folder / "patterns").glob("*.txt"))
        self.patterns: tuple[Pattern, ...] = tuple(
            pattern for file in files for pattern in read_patterns(file, "de", expand)
        )

    def gender(self, phrase: NounPhrase) -> str:
        """The gender that decides a pronoun."""
        return nominal.gender(phrase) if phrase.head else phrase.word

    def pronoun(self, phrase: NounPhrase) -> str:
        """The subject pronoun that refers back to a phrase: er, sie, es."""
        return nominal.noun_phrase(phrase, "pron")

    def finish(self, text: str) -> str:
        """Polish a whole sentence."""
        return finish(text)

    def realise(
        self, filler: Filler, form: str, agree: tuple[Filler, ...], governor: Lexeme | None
    ) -> str:
        """Any filler in any form; `governor` is the verb that chooses the case."""
        if isinstance(filler, NounPhrase):
            if governor is not None:
                return _governed(filler, governor)
            return nominal.noun_phrase(filler, form)
        if filler.kind == "verb":
            subject = next((one for one in agree if isinstance(one, NounPhrase)), None)
            return verbal.realise(filler, form, subject, self._paradigms)
        if filler.kind == "adj":
            degree, _, ending = form.partition("-")
            if degree in ("comp", "sup"):
                return nominal.adjective(filler, ending, degree)
            return nominal.adjective(filler, form)
        return filler.target

    def parts(self, filler: Filler, form: str, words: list[str]) -> list[str]:
        """What each word of a realised filler is in it."""
        if isinstance(filler, NounPhrase):
            return nominal.parts(filler, form, words)
        rest = filler.kind == "verb" and form in ("refl", "mid", "prefix")
        return ["rest" if rest else ""] * len(words)

    def controller(self, filler: Filler, form: str, agree: tuple[Filler, ...]) -> Filler | None:
        """A finite verb and a reflexive pronoun agree with the subject."""
        if isinstance(filler, NounPhrase) or form in verbal.INFINITE:
            return None
        return next((one for one in agree if isinstance(one, NounPhrase)), None)


def _governed(phrase: NounPhrase, verb: Lexeme) -> str:
    preposition, plus, case = (verb.cell("de_governs") or "acc").rpartition("+")
    text = nominal.noun_phrase(phrase, case)
    return f"{preposition} {text}" if plus else text


def _read_paradigms(path: Path) -> dict[tuple[str, str], tuple[str, ...]]:
    table: dict[tuple[str, str], tuple[str, ...]] = {}
    for row in read_table(path, "paradigm", "forms"):
        forms = tuple(row.target.split())
        if len(forms) != 6:
            raise PhrasebookError(f"{row.where}, column forms: got {len(forms)} forms, expected 6")
        table[row.en, row.cell("tense")] = forms
    return table


def _with_principal_parts(row: Lexeme, heads: list[Lexeme]) -> Lexeme:
    """A phrase inflects like its head verb: look up both heads and copy their parts."""
    english = row.en.split(" ")[0]
    german = row.target.split(" ")[-1]
    cells = dict(row.cells)
    for wanted, key, columns in (
        (english, "en", ("en_past", "en_pp")),
        (german, "de", ("de_stem", "de_past", "de_pp", "de_aux")),
    ):
        matching = [
            head for head in heads if head.cell(key).split(" ")[0 if key == "en" else -1] == wanted
        ]
        if not matching:
            raise PhrasebookError(
                f"{row.where}, column {key}: no head verb {wanted!r} in verbs.tsv; add it there"
            )
        cells.update(
            {column: matching[0].cell(column) for column in columns if column not in cells}
        )
    return replace(row, cells=cells)


@cache
def german() -> German:
    """The German grammar, loaded once."""
    return German()
