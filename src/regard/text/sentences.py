"""A paragraph → its sentences and the whitespace around them; nothing is lost.

The cutting is done by the library `sentencex`, which knows abbreviations, quotes and the full stops
of many scripts. It looks for the other end of every quotation mark, which takes a time that grows
with the square of the text; so a long text is handed to it in windows.
"""

import re
from collections.abc import Iterator

from sentencex import segment

from regard.errors import MisuseError

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
        raise MisuseError(
            f"language: got {language!r}, expected a code of two or three letters, for example de"
        )
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
        try:
            pieces = segment(language, text[start:end])
        except UnicodeEncodeError:  # half a character: whoever reads the text will say so
            pieces = [text[start:end]]
        assert sum(map(len, pieces)) == end - start, "the library changed the text"
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
