"""The Hindi side of the phrasebook: lexicon and patterns loaded, fillers realised.

Noun forms: "" (direct), `obl`, `ne`, `ko`, `se`, `me`, `par`, `tak`, `ka`, `ke`, `ki`; `ka:O` and
`ka-obl:O` agree with O; `obj` (को for people and definite animals); `{O.V}` as verb V governs;
`{S.ne:V}` ने if V takes it; `{S.subj:V}` को if V wants a dative subject; `has:O` (के पास, of kin
के); `jitna:S` (as … as); `pred:S` (a predicate with
the respect for S); `who:V` (किसने, कौन); `bare`, `bare-obl` without determiner; `pron`, `pron-ne` …
and `rel`, `rel-ne` … for the pronouns.  A possessor named after the colon makes मेरा into अपना.

Verb forms: `pres` (also ""), `past-hab`, `cont`, `cont-past`, `perf`, `past`, `past-perf`, `fut`,
`subj`, `cond`, `imp`, `inf`, `obl`, `stem`, `kar`, `te`, `bina`, `pp`, and the compounds of
verbal.py (`can`, `want`, `must`, `pass-past` …); each with `-not` for the negative.

`inner` is what hangs on a verb, `head-past` … the verb without it; `whom` the question for its
object (किसे, किससे); `who-past:O` has कौन as its subject, `polite-can:X` the person X as आप.

Adjectives: `{A:S}` agrees, `obl` likewise; `m`, `f`, `mp`, `fp` agree with a literal noun.  Of the
helpers, those flagged `agrees` are literal words that agree ({कैसा:S}); a word slot in the form
`agree:O` agrees (बहुत धीमी), a place in the form `ka:O` describes O (दुनिया की नदी).  वह has no
gender: what it means shows in था or थी, the answer of an `it` reading, and in the quality before
it, which `{X.either:A,B} {@}` makes agree.

Brackets place a clause (O and x are optional):

    [past V:S,O x]     {S.ne:V} x {O.V:S} {V.past:S,O}       अन्ना ने कल अपनी किताब बेची
    [must V:S,O x]     {S.ko} x {O.V:S} {V.must:S,O}         मुझे आज खिड़की खोलनी है
    [fut V:S x]        {S.subj:V} x {V.fut:S}                अन्ना कल घर जाएगी
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from functools import cache
from pathlib import Path

from grammar.fillers import Filler, NounPhrase
from grammar.hindi import nominal, verbal
from grammar.hindi.declension import (
    INNER,
    NEUTRAL,
    Features,
    adjective,
    flagged,
    inflect,
)
from grammar.notation import Pattern, read_patterns
from grammar.tables import Lexeme, Lexicon, read_lexicon, read_table, require

HERE = Path(__file__).parent
_EITHER = re.compile(r"\x01(.*?)\x02(.*?)\x03 (था|थी)")
_BRACKET = re.compile(r"\[([a-z-]+) ([^\s:\]]+):(\w+)(?:,(\w+))?([^\]]*)\]")


def _helpers() -> list[Lexeme]:
    """Verbs that templates name by their lemma: होना, करना, जाना …"""
    return read_table(HERE / "helpers.tsv", "verb", "hi")


def expand(text: str) -> str:
    """Rewrite the brackets of a template into holes."""
    takers = {row.target for row in _helpers() if flagged(row, "ne")}

    def one(match: re.Match[str]) -> str:
        form, verb, subject, patient, rest = match.groups()
        plain = form.removesuffix("-not")
        lemma = not verb.isascii()  # a lemma is no slot: {S.ne:V} and {O.V} cannot look it up
        if plain in verbal.OBLIGATION:
            first = f"{{{subject}.ko}}"
        elif plain in verbal.PERFECTIVE:
            case = (".ne" if verb in takers else "") if lemma else f".ne:{verb}"
            first = f"{{{subject}{case}}}"
        else:
            first = f"{{{subject}}}" if lemma else f"{{{subject}.subj:{verb}}}"
        governed = "obj" if lemma else verb
        second = f"{{{patient}.{governed}:{subject}}}" if patient else ""
        agree = f"{subject},{patient}" if patient else subject
        return " ".join((first, rest, second, f"{{{verb}.{form}:{agree}}}"))

    return _BRACKET.sub(one, unicodedata.normalize("NFC", text))


def finish(text: str) -> str:
    """One sentence, polished: one spelling of the nuqta letters, single blanks, danda.

    There is no comma before क्योंकि, as in the notes.
    """
    text = unicodedata.normalize("NFC", text)
    text = _EITHER.sub(lambda match: match[1 if match[3] == "था" else 2] + " " + match[3], text)
    text = " ".join(text.split())
    text = re.sub(r"\.(?= |$)", "।", text).replace(", क्योंकि", " क्योंकि")
    return re.sub(r" ([,।!?:;])", r"\1", text)


class Hindi:
    """Lexicon, patterns and realisation; what sampling.py and corpus.py ask a language for."""

    def __init__(self, folder: Path = HERE.parent) -> None:
        tables = read_lexicon(folder / "lexicon", "hi")
        require(tables["nouns"], "hi_gender", ("m", "f"))
        heads = read_table(folder / "lexicon" / "verbs.tsv", "verb", "en")
        tables["phrases"] = [_with_english_parts(row, heads) for row in tables["phrases"]]
        rows = [row for table in tables.values() for row in table]
        # the English side also needs its helper verbs ({have:S}); they fill no Hindi slot
        unused = [replace(row, classes=frozenset[str]()) for row in heads]
        self.lexicon = Lexicon([_composed(row) for row in (*_helpers(), *rows, *unused)])
        files = sorted((folder / "patterns").glob("*.txt"))
        self.patterns: tuple[Pattern, ...] = tuple(
            pattern for file in files for pattern in read_patterns(file, "hi", expand)
        )

    def gender(self, phrase: NounPhrase) -> str:
        """m or f, pl of a plural; what verb and adjective agree with."""
        return "pl" if phrase.plural else nominal.features(phrase).gender

    def pronoun(self, phrase: NounPhrase) -> str:
        """The word that shows what a pronoun refers back to: वह has no gender, था and थी do."""
        return verbal.copula("past", nominal.features(phrase))

    def finish(self, text: str) -> str:
        """Polish a whole sentence."""
        return finish(text)

    def realise(
        self, filler: Filler, form: str, agree: tuple[Filler, ...], governor: Lexeme | None
    ) -> str:
        """Any filler in any form; `governor` is the verb that chooses the postposition."""
        if isinstance(filler, NounPhrase):
            if governor is not None:
                return nominal.governed(filler, governor, agree)
            return nominal.noun_phrase(filler, form, agree)
        if flagged(filler, "agrees"):
            return _agreeing_word(filler, form, agree)
        if form == "either":
            return _either(filler, agree)
        if filler.kind == "verb":
            return verbal.realise(filler, form, agree)
        if filler.kind == "adj":
            noun = next((one for one in agree if isinstance(one, NounPhrase)), None)
            if noun is None:
                return adjective(filler, INNER[form or "m"])
            return nominal.quality(filler, noun, form == "obl")
        if form.startswith("ka"):
            return _attributed(filler, form, agree)
        if form == "agree":
            return inflect(filler.target, _features(agree))
        return filler.target

    def parts(self, filler: Filler, form: str, words: list[str]) -> list[str]:
        """What each word of a realised filler is in it."""
        if isinstance(filler, NounPhrase):
            return nominal.parts(filler, form, words)
        if filler.kind == "verb" and not flagged(filler, "agrees"):
            return verbal.parts(filler, form, words)
        return [""] * len(words)

    def controller(self, filler: Filler, form: str, agree: tuple[Filler, ...]) -> Filler | None:
        """Verbs agree with subject or object; qualities and genitives with a noun."""
        if isinstance(filler, Lexeme) and filler.kind == "verb" and not flagged(filler, "agrees"):
            return verbal.controller(filler, form, agree)
        if isinstance(filler, NounPhrase) and form not in ("ka", "ka-obl", "jitna", "pred"):
            return None
        return next((one for one in agree if isinstance(one, NounPhrase)), None)


def _features(agree: tuple[Filler, ...]) -> Features:
    phrase = next((one for one in agree if isinstance(one, NounPhrase)), None)
    return nominal.features(phrase) if phrase is not None else NEUTRAL


def _agreeing_word(word: Lexeme, form: str, agree: tuple[Filler, ...]) -> str:
    """A literal word that agrees ({कैसा:S}); `polite` speaks to the person: आप कैसी हैं."""
    wanted = _features(agree)
    wanted = replace(wanted, plural=True) if form == "polite" else wanted
    return inflect(word.target, wanted, oblique=form == "obl")


def _either(quality: Lexeme, agree: tuple[Filler, ...]) -> str:
    """Both agreements of a quality that speaks of one of two nouns; `finish` keeps one."""
    forms = {}
    for phrase in agree:
        if isinstance(phrase, NounPhrase):
            wanted = nominal.features(phrase)
            said = inflect(quality.target, wanted)
            forms[wanted.gender] = (
                nominal.quality(quality, phrase) if quality.kind == "adj" else said
            )
    return f"\x01{forms['m']}\x02{forms['f']}\x03"


def _attributed(place: Lexeme, form: str, agree: tuple[Filler, ...]) -> str:
    """A place before the noun it describes: दुनिया में → दुनिया की (नदी)."""
    text = place.target.removesuffix(" में").removesuffix(" पर")
    return f"{text} {inflect('का', _features(agree), form == 'ka-obl')}"


def _composed(row: Lexeme) -> Lexeme:
    """With nuqta letters as two characters (NFC), however the table spells them."""
    return replace(row, target=unicodedata.normalize("NFC", row.target))


def _with_english_parts(row: Lexeme, heads: list[Lexeme]) -> Lexeme:
    """An English phrase inflects like its head verb: copy the head's principal parts."""
    head = next((one for one in heads if one.en == row.en.split(" ")[0]), None)
    cells = dict(row.cells)
    for column in ("en_past", "en_pp"):
        if head is not None and column not in cells and head.cell(column):
            cells[column] = head.cell(column)
    return replace(row, cells=cells)


@cache
def hindi() -> Hindi:
    """The Hindi grammar, loaded once."""
    return Hindi()
