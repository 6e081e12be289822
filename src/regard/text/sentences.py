"""A paragraph → its sentences and the whitespace around them; nothing is lost.

The cutting is done by the library `sentencex`, which knows abbreviations, quotes and the full stops
of many scripts. It looks for the other end of every quotation mark, which takes a time that grows
with the square of the text; so a long text is handed to it in windows.
"""

import re
from collections.abc import Iterator
from itertools import accumulate, pairwise

from sentencex import segment

from regard.errors import MisuseError

_SPACES = re.compile(r"[^\S\x00-\x7f]")  # white space beyond ASCII
WINDOW = 4_000  # characters; the longest of real sentences are far shorter


def split_sentences(text: str, language: str = "en") -> list[str]:
    """Whitespace, sentence, whitespace, …, whitespace: joined again they are the text.

    `language` is a code of two or three letters. The library does not tell which ones it knows, and
    splits by its general rules where it does not know one.

    >>> split_sentences("Dr. No is ill.  Call him! ")
    ['', 'Dr. No is ill.', '  ', 'Call him!', ' ']
    """
    language = language.lower()
    if not re.fullmatch("[a-z]{2,3}", language):
        expected = "a code of two or three letters, for example de"
        raise MisuseError("language", got=language, expected=expected)
    parts = [""]
    for piece in _cut(text, language):
        sentence = piece.strip()
        start = len(piece) - len(piece.lstrip())
        parts[-1] += piece[:start]
        if sentence:
            parts += [sentence, piece[start + len(sentence) :]]
    return parts


def _cut(text: str, language: str) -> Iterator[str]:
    """Pieces that end where sentences end; a window's last piece is looked at again in the next."""
    start, begun = 0, ""  # `begun`: a sentence that is longer than a window
    while start < len(text):
        end = min(start + WINDOW, len(text))
        pieces = _segmented(text[start:end], language)
        if end == len(text):
            yield begun + pieces[0]
            yield from pieces[1:]
            return
        if len(pieces) == 1:
            begun += pieces[0]
            start = end
            continue
        yield begun + pieces[0]
        yield from pieces[1:-1]
        begun = ""
        start = end - len(pieces[-1])


def _segmented(text: str, language: str) -> list[str]:
    """The library's cutting. Spaces like those before a French mark would stop it with a panic when
    they stand before a full stop, so it is shown plain ones."""
    try:
        lengths = [len(piece) for piece in segment(language, _SPACES.sub(" ", text))]
    except UnicodeEncodeError:  # half a character: whoever reads the text will say so
        return [text]
    assert sum(lengths) == len(text), "the library changed the text"
    ends = [0, *accumulate(lengths)]
    return [text[start:end] for start, end in pairwise(ends)]
