"""What a file says, as it may be printed: without the characters that speak to a terminal.

A file name, a label or a translation can hold ESC and what follows it: a terminal then changes its
title, its colours or the lines that stand there already, or shows text in another order than it
has. Such characters are printed as their numbers, in the notation of JSON:

    U+0000 … U+001F   control characters of ASCII; line feed and tab stay
    U+007F … U+009F   delete, and the second set of control characters, where U+009B is ESC [
    U+202A … U+202E, U+2066 … U+2069   overrides of the direction of writing
    U+D800 … U+DFFF   halves of a pair: bytes of a file name that are no text

The marks of direction that Arabic and Hebrew texts need, and the joiners of Hindi, stay as they
are. JSON keeps its meaning: inside of its quotes the number stands for the very character.
"""

import re

_SPEAKING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text, control characters as \\u001b."""
    return _SPEAKING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def printable_name(name: str) -> str:
    """The same for what stands in a line, where a line feed of its own would forge another one."""
    return printable(name).replace("\n", "\\u000a").replace("\t", "\\u0009")
