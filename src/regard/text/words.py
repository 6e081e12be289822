"""Text → words: letters and digits go together, every other sign is a word of its own.

>>> split_words("The dog doesn't sleep at 7 o'clock.")
['The', 'dog', "doesn't", 'sleep', 'at', '7', "o'clock", '.']
"""

import re
from collections.abc import Callable

# Python's \w knows no combining marks, without which Hindi words fall apart
LETTERS = r"[\w\u0300-\u036f\u0900-\u0963\u0970-\u097f]+"
WORD = re.compile(rf"{LETTERS}(?:['’-]{LETTERS})*|[^\w\s]")


def split_words(text: str) -> list[str]:
    """The words of a text, in order."""
    return WORD.findall(text)


CONTRACTED = re.compile(r"(?i)^(.+?)(n['’]t|['’](?:s|re|ve|ll|d|m))$")
QUOTES = {"“": "``", "”": "''"}


def split_as_penn(text: str) -> list[str]:
    """The words of a text as the Penn Treebank cuts them: a contraction is two, quotes have a side.

    >>> split_as_penn('He doesn\\'t say "no".')
    ['He', 'does', "n't", 'say', '``', 'no', "''", '.']
    """
    words: list[str] = []
    opened = False
    for word in PENN_WORD.findall(text):
        if word == '"':
            opened = not opened
            words.append("``" if opened else "''")
        elif match := CONTRACTED.match(word):
            words += [match[1], match[2].replace("’", "'")]
        else:
            words.append(QUOTES.get(word, word))
    return words


# A figure keeps its points, letters with points are one word, dots and dashes stay together.
PENN_WORD = re.compile(
    rf"\d+(?:[.,]\d+)+|(?:[A-Za-z]\.){{2,}}|\b(?:Mr|Mrs|Ms|Dr|Inc|Corp|Co|Jr|St|vs)\.|--+|\.\.\."
    rf"|``|''|{LETTERS}(?:['’./-]{LETTERS})*|[^\w\s]"
)
SPLITTERS: dict[str, Callable[[str], list[str]]] = {"plain": split_words, "penn": split_as_penn}
