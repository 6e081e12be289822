"""Roles of special tokens: which id means padding, begin, end and unknown. In: ids. Out: roles.

A special token is no piece of text: text that happens to read "</s>" is spelled with ordinary
pieces, and only the program itself ever writes these ids. Roles are data, not constants, so that a
published family which starts from its padding id or has another order brings its own `Special`.
"""

from dataclasses import dataclass

TEXTS = {"pad": "<pad>", "bos": "<s>", "eos": "</s>", "unk": "<unk>"}
"""Role → how the token is written in a tokenizer file and shown in pictures."""


@dataclass(frozen=True)
class Special:
    """The id of each role: padding, begin of sequence, end of sequence, unknown piece."""

    pad: int = 0
    bos: int = 1
    eos: int = 2
    unk: int = 3

    @property
    def ids(self) -> tuple[int, int, int, int]:
        """All four ids, in the order of `TEXTS`."""
        return (self.pad, self.bos, self.eos, self.unk)

    @property
    def texts(self) -> dict[int, str]:
        """Id → fixed text of its role, for display."""
        return dict(zip(self.ids, TEXTS.values(), strict=True))
