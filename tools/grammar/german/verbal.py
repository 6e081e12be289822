"""German verbs: principal parts from the table in, any finite or infinite form out.

The `de` cell writes a separable prefix with a bar (an|rufen) and whatever else belongs to the
verb before it ("sich3 die Zähne putzen", "Fußball spielen").  `sich` is the accusative and
`sich3` the dative reflexive.  Weak verbs need no principal parts; `stem` is the stem of du/er
(sieh-, fähr-), `past` the first person of the preterite, `pp` the participle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from grammar.fillers import NounPhrase
from grammar.german.nominal import noun_phrase
from grammar.tables import Lexeme
from regard.data.phrasebook.corpus import PhrasebookError

Paradigms = Mapping[tuple[str, str], tuple[str, ...]]
_E_STEM = re.compile(r"([dt]|[^aeiouäöürlhmn]n|[^aeiouäöürlhmn]m|chn|ffn|dn|tm)$")
INFINITE = ("inf", "zu", "pp", "imp", "prefix", "mid")  # forms that agree with nothing
INSEPARABLE = ("be", "ver", "er", "ent", "zer", "ge", "emp", "miss", "über", "wieder")


def split(verb: Lexeme) -> tuple[str, str, str]:
    """The words that hang on a verb, its separable prefix, and the simple infinitive."""
    middle, _, last = verb.target.rpartition(" ")
    prefix, _, simple = last.rpartition("|")
    return middle, prefix, simple


def stem(infinitive: str) -> str:
    """kauf- of kaufen, wander- of wandern, lächel- of lächeln."""
    return infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]


def _slot(agree: NounPhrase) -> int:
    """Position in a six-form paradigm: ich du er wir ihr sie."""
    plural = agree.plural or (agree.is_pronoun and agree.word in ("we", "they"))
    return agree.person - 1 + (3 if plural else 0)


def present(verb: Lexeme, position: int) -> str:
    """The present tense of a verb that has no paradigm of its own (without its prefix)."""
    base = stem(split(verb)[2])
    changed = verb.cell("de_stem") or base
    e = "e" if changed == base and _E_STEM.search(base) else ""
    if position == 0:
        lighter = base[:-2] + "l" if split(verb)[2].endswith("eln") else base
        return lighter + "e"
    if position == 1:
        return changed + e + ("t" if re.search(r"[sßxz]$", changed) else "st")
    if position == 2:
        return changed if changed != base and changed.endswith("t") else changed + e + "t"
    return base + e + "t" if position == 4 else split(verb)[2]


def preterite(verb: Lexeme, position: int) -> str:
    """The preterite (without its prefix)."""
    base = stem(split(verb)[2])
    first = verb.cell("de_past") or base + ("e" if _E_STEM.search(base) else "") + "te"
    weak = first.endswith("e")
    if position in (0, 2):
        return first
    return first + {1: "st", 3: "n" if weak else "en", 4: "t", 5: "n" if weak else "en"}[position]


def participle(verb: Lexeme) -> str:
    """The participle, prefix and all: gekauft, angerufen, besucht, telefoniert."""
    prefix, simple = split(verb)[1:]
    if verb.cell("de_pp"):
        return verb.cell("de_pp")
    base = stem(simple)
    ending = base + ("e" if _E_STEM.search(base) else "") + "t"
    bare = simple.endswith("ieren") or (not prefix and simple.startswith(INSEPARABLE))
    return prefix + ("" if bare else "ge") + ending


def imperative(verb: Lexeme) -> str:
    """The du-imperative without its prefix: komm, gib, warte, öffne, fahr."""
    base = stem(split(verb)[2])
    changed = verb.cell("de_stem")
    if changed and not re.search(r"[äö]", changed):
        return changed
    return base + ("e" if _E_STEM.search(base) or base.endswith(("ig", "er", "el")) else "")


def finite(verb: Lexeme, tense: str, agree: NounPhrase, paradigms: Paradigms) -> str:
    """The finite form without its prefix."""
    simple = split(verb)[2]
    position = _slot(agree)
    if (simple, tense) in paradigms:
        return paradigms[simple, tense][position]
    return present(verb, position) if tense == "pres" else preterite(verb, position)


def reflexive(verb: Lexeme, agree: NounPhrase | None) -> str:
    """The pronoun that comes first after the finite verb: a reflexive one, or mir in a request."""
    first = split(verb)[0].split(" ")[0]
    if first in ("mir", "mich"):
        return first
    if not first.startswith("sich"):
        return ""
    if agree is None:
        raise PhrasebookError(f"{verb.where}: {verb.target} needs a subject to agree with")
    return noun_phrase(agree, "refl-dat" if first == "sich3" else "refl")


def middle(verb: Lexeme) -> str:
    """What hangs on the verb besides the reflexive: "die Zähne" of "sich3 die Zähne putzen"."""
    words = split(verb)[0].split(" ")
    return " ".join(words[1:] if words[0].startswith(("sich", "mir", "mich")) else words)


def realise(verb: Lexeme, form: str, agree: NounPhrase | None, paradigms: Paradigms) -> str:
    """Any form of a verb.

    Finite (with agreement): "" present and `past`, both without prefix; `fin` and `fin-past`,
    verb-final with the prefix joined; `aux` (haben or sein), `aux-past`.  Infinite: `inf`, `zu`,
    `pp`, `imp`.  The rest of the verb: `prefix`, `refl`, `mid`.
    """
    prefix, simple = split(verb)[1:]
    infinite = {
        "inf": prefix + simple,
        "zu": f"{prefix}zu{simple}" if prefix else f"zu {simple}",
        "prefix": prefix,
        "mid": middle(verb),
    }
    if form in infinite:
        return infinite[form]
    if form == "pp":
        return participle(verb)
    if form == "imp":
        return imperative(verb)
    if form == "refl":
        return reflexive(verb, agree)
    if agree is None:
        raise PhrasebookError(f"{verb.where}: form {form!r} needs a subject to agree with")
    kind, _, past = form.partition("-")
    tense = "past" if past == "past" or kind == "past" else "pres"
    if kind == "aux":
        return paradigms[verb.cell("de_aux") or "haben", tense][_slot(agree)]
    if kind not in ("", "past", "fin"):
        raise PhrasebookError(f"German has no verb form {form!r} ({verb.target})")
    return (prefix if kind == "fin" else "") + finite(verb, tense, agree, paradigms)
