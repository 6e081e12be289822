"""What columns are called, by the role that they play: `text`, `category`, `english` and the like.

Names come in tiers: one of the first tier is taken before any of the second. Two names of the same
tier leave the question open: whoever has a `title` and a `body` has to say which one is meant.
"""

import re
from collections.abc import Sequence

Tiers = tuple[frozenset[str], ...]


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


def _tiers(*listed: str) -> Tiers:
    return tuple(map(_names, listed))


TEXTS = (
    "sentence sentences message messages review reviews comment comments tweet body content "
    "document utterance email mail post headline title description feedback transcript "
    "nachricht satz kommentar"
)
FIRST = "text1 texta sentence1 sentencea first premise question prompt instruction"
SECOND = "text2 textb sentence2 sentenceb second hypothesis other answer response reply"
LABELS = (
    "category categories class sentiment intent topic tag target rating stars kategorie klasse "
    "thema"
)

KNOWN: dict[str, Tiers] = {
    "source": _tiers("source src sourcetext sourcesentence", "original input"),
    "target": _tiers(
        "target tgt targettext targetsentence", "translation output reference übersetzung"
    ),
    "text": _tiers("text texts", TEXTS),
    "first": _tiers("text", FIRST, TEXTS),  # a text that has a second one beside it
    "pair": _tiers("pair", SECOND),
    "label": _tiers("label labels", LABELS),
    "caption": _tiers("caption captions", "text description title comment"),
    "file": _tiers("file filename path filepath image", "picture img photo name"),
    "score": _tiers("score scores", "similarity rating label"),
}

# "id" and "no" are languages too, but columns are called so for other reasons.
CODES = _names(
    "ar bg bn ca cs da de el en es et eu fa fi fr ga he hi hr hu hy is it ja ka ko lt lv mk ml mr "
    "ms mt nl pl pt ro ru sk sl sq sr sv sw ta te th tr uk ur vi zh"
)
LANGUAGES = _names(
    "arabic bengali bulgarian catalan chinese croatian czech danish dutch english estonian finnish "
    "french german greek hebrew hindi hungarian icelandic indonesian irish italian japanese korean "
    "latin latvian lithuanian malay norwegian persian polish portuguese romanian russian serbian "
    "slovak slovene slovenian spanish swahili swedish tamil telugu thai turkish ukrainian urdu "
    "vietnamese welsh deutsch englisch französisch spanisch italienisch niederländisch polnisch "
    "russisch türkisch français francais anglais allemand español espanol inglés italiano "
    "português portugues nederlands polski русский हिन्दी हिंदी 中文 日本語"
)
BESIDE = _names("text sentence source target src tgt original translation us gb uk br")


def plain(name: str) -> str:
    """A name without regard to case and to what divides its words."""
    return re.sub(r"[\W_]+", "", name.casefold())


def known_places(role: str, names: Sequence[str]) -> list[int]:
    """Where the columns are that are called so; those of the best tier that has any."""
    called = [plain(name) for name in names]
    for tier in KNOWN[role]:
        if places := [n for n, name in enumerate(called) if name in tier]:
            return places
    return []


def language_of(name: str) -> str | None:
    """The language that a column is named after: `de`, `German`, `sentence_en`, `en-US`."""
    words: list[str] = re.findall(r"[^\s\d_./()-]+", name.casefold())
    named = [word for word in words if word in LANGUAGES or word in CODES]
    if len(words) == 1 and named:
        return words[0]
    others = [word for word in words if word not in BESIDE]
    return others[0] if len(others) == 1 and others[0] in named else None


def language_places(names: Sequence[str]) -> list[int]:
    """Where the columns are that are named after languages, each of them another one."""
    languages = [(n, language_of(name)) for n, name in enumerate(names)]
    places = [n for n, language in languages if language]
    return places if len({language for _, language in languages if language}) == len(places) else []
