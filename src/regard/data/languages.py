"""Which language a text is in, by its most frequent words: enough to notice exchanged files.

A handful of small words makes up a third of any text, and few of them are common to two languages.
Scripts of one language need no words.
"""

from collections import Counter
from collections.abc import Mapping

NAMES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "sv": "Swedish",
    "pl": "Polish",
    "cs": "Czech",
    "hi": "Hindi",
    "ru": "Russian",
    "el": "Greek",
    "ja": "Japanese",
    "zh": "Chinese",
    "ko": "Korean",
    "ar": "Arabic",
    "he": "Hebrew",
}

WORDS = {
    "en": "a the of and to in is that it was for on with he she are this be at by you not from",
    "de": "der die das und in den von zu ist mit nicht ein eine sich auf dem des ich sie er es im",
    "fr": "le la les de des et un une en est dans que qui il elle pour pas sur avec ce au du je",
    "es": "el la los las de y en un una que es por con para su no se del lo al como está pero",
    "it": "il la di e un una che è per in con non si del della sono le gli da al ha nel lo più",
    "pt": "o a os as de e em um uma que é por com para não se do da no na ao mais foi está são",
    "nl": "de het een en van in is op te dat niet met voor zijn er aan die hij ze om ook bij naar",
    "sv": "och att det i en är på som för av den till med inte har de om ett han var jag men sig",
    "pl": "i w na z nie się do to że jest o jak po co ale od za są był przez dla czy tak przy",
    "cs": "a v na se je že to s z do o ve by pro jsem ale jako po jsou za od jeho už k jen byl",
}

SCRIPTS = {  # a range of letters → the language that most texts in it are in
    "hi": ("\u0900", "\u097f"),
    "ru": ("\u0400", "\u04ff"),
    "el": ("\u0370", "\u03ff"),
    "ja": ("\u3040", "\u30ff"),
    "zh": ("\u4e00", "\u9fff"),
    "ko": ("\uac00", "\ud7af"),
    "ar": ("\u0600", "\u06ff"),
    "he": ("\u0590", "\u05ff"),
}

LEAST = 0.08  # share of a text that must be words of the language
CLEARLY = 1.5  # times as many as of the next one


def guess(words: Mapping[str, int]) -> str | None:
    """The language of a text, given how often each of its words comes; None if it is not clear."""
    total = sum(words.values())
    if total < 50:
        return None
    counts = {
        name: sum(words.get(word, 0) for word in small.split()) for name, small in WORDS.items()
    }
    (best, most), (_, next_most) = Counter(counts).most_common(2)
    if most >= LEAST * total and most >= CLEARLY * next_most:
        return best
    return _by_script(words, total)


def _by_script(words: Mapping[str, int], total: int) -> str | None:
    """The language whose letters begin at least half of the words."""
    for name, (first, last) in SCRIPTS.items():
        if sum(n for word, n in words.items() if first <= word[0] <= last) * 2 >= total:
            return name
    return None
