"""Text → words: letters and digits go together, every other sign is a word of its own.

>>> split_words("The dog doesn't sleep at 7 o'clock.")
['The', 'dog', "doesn't", 'sleep', 'at', '7', "o'clock", '.']
"""

import re

# Python's \w knows no combining marks, without which Hindi words fall apart
LETTERS = r"[\w\u0300-\u036f\u0900-\u0963\u0970-\u097f]+"
WORD = re.compile(rf"{LETTERS}(?:['’-]{LETTERS})*|[^\w\s]")


def split_words(text: str) -> list[str]:
    """The words of a text, in order."""
    return WORD.findall(text)
