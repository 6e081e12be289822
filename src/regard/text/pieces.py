"""How pieces read to a person. In: the spelling of each piece as bytes. Out: labels and words.

A byte-level piece can be half a character, and most pieces carry the space before them:

    bytes     b" animal"   b" \\xe2"   b"\\x82\\xac"   b"\\n"
    label     ▁animal      ▁‹e2›      ‹82›‹ac›      \\n

A space is always shown as "▁", bytes that are no character alone as hexadecimal in ‹ ›.
"""

from collections.abc import Sequence

SPACE_MARK = "▁"
END_OF_WORD = "</w>"  # of kind "merges"


def _byte_alphabet() -> dict[str, int]:
    """The letters in which byte-level BPE writes bytes: printable Latin-1 as itself, else U+0100 +.

    >>> _byte_alphabet()["Ġ"]
    32
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(0x100 + n): byte for n, byte in enumerate(hidden)}


_BYTE_OF = _byte_alphabet()


def spell_bytes(token: str) -> bytes:
    """The bytes that a byte-level token stands for: "Ġanimal" → b" animal"."""
    return bytes(_BYTE_OF[letter] for letter in token)


def spell_metaspace(token: str) -> bytes:
    """The text of a SentencePiece-like token: "▁animal" → b" animal"."""
    return token.replace(SPACE_MARK, " ").encode()


def spell_end_of_word(token: str) -> bytes:
    """The text of a token whose end of a word is marked: "animal</w>" → b"animal "."""
    whole = token.removesuffix(END_OF_WORD)
    return (whole if whole == token else f"{whole} ").encode()


def spell_plain(token: str) -> bytes:
    """The text of a token that is written as it reads."""
    return token.encode()


def label(spelling: bytes) -> str:
    """One readable line for one piece; see the table at the head of this file."""
    text = spelling.decode("utf-8", errors="surrogateescape")  # a stray byte b becomes U+DC00 + b
    return "".join(_show(letter) for letter in text)


def _show(letter: str) -> str:
    if letter == " ":
        return SPACE_MARK
    if "\udc80" <= letter <= "\udcff":
        return f"‹{ord(letter) - 0xDC00:02x}›"
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")


def group_words(pieces: Sequence[bytes | str]) -> list[tuple[str, list[int]]]:
    """Positions that together spell one whitespace word.

    A piece is its spelling; one that stands alone (a special token) is a str, its label. Every
    position falls in exactly one group, so that attention weights summed over groups keep their
    total. White space belongs to the word after it; at the very end it is a group "▁".

    >>> group_words([b" un", b"like", b"ly", b" so", b".", "</s>"])
    [('unlikely', [0, 1, 2]), ('so.', [3, 4]), ('</s>', [5])]
    >>> group_words([b"un", b"like ", b"so."])
    [('unlike', [0, 1]), ('so.', [2])]
    """
    groups: list[tuple[str, list[int]]] = []
    word, positions = b"", list[int]()
    for position, piece in enumerate(pieces):
        is_apart = isinstance(piece, str) or _starts_with_space(piece) or word.endswith(b" ")
        is_new_word = isinstance(piece, str) or (is_apart and bool(word.strip()))
        if is_new_word and positions:
            groups.append((_word(word), positions))
            word, positions = b"", []
        if isinstance(piece, str):
            groups.append((piece, [position]))
        else:
            word, positions = word + piece, [*positions, position]
    if positions:
        groups.append((_word(word), positions))
    return groups


def _starts_with_space(spelling: bytes) -> bool:
    return spelling.decode("utf-8", errors="replace")[:1].isspace()


def _word(text: bytes) -> str:
    return label(text.strip()) or label(text)


_NO_SPACE_BEFORE = frozenset(".,;:!?…%)]}»”’")
_NO_SPACE_AFTER = frozenset("([{«„“‘¿¡")


def join_words(words: Sequence[str]) -> str:
    """Words and punctuation as one readable line; straight quotes open and close in turn.

    >>> join_words(["He", "said", "(", "twice", ")", ":", '"', "no", '"', "!"])
    'He said (twice): "no"!'
    """
    line = ""
    is_glued = True  # no space before the first word
    is_quoted = False
    for word in words:
        closes = word in _NO_SPACE_BEFORE or (word == '"' and is_quoted)
        line += word if is_glued or closes else f" {word}"
        is_glued = word in _NO_SPACE_AFTER or (word == '"' and not is_quoted)
        is_quoted ^= word == '"'
    return line
