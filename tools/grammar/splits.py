"""Decide train, dev or test by a hash of what a pair is made of, never by chance or order.

Two kinds of key.  A pair of the slices `it`, `bank`, `apple` and `order` hashes its *combination*:
the pattern's family and the fillers that all readings (or both directions) share, so that a whole
frame lands in one split.  Every other pair hashes its target sentence without punctuation and
capitals, so that two ways of saying the same cannot sit on both sides of the fence.
"""

from __future__ import annotations

import hashlib
import re

from regard.text.words import LETTERS

COMBINED = ("it", "bank", "apple", "order")
# per thousand of the keys: test, then dev
SHARES = {
    "bank": (105, 40),
    "apple": (105, 40),
    "it": (50, 20),
    "order": (80, 30),
    "idiom": (75, 25),
    "everyday": (60, 25),
    "long": (85, 30),
    "": (31, 22),
}


def plain(text: str) -> str:
    """A sentence without punctuation and capitals."""
    return " ".join(re.findall(LETTERS, text.lower()))


def split_key(slices: tuple[str, ...], combination: str, target: str) -> str:
    """What is hashed for a pair."""
    return combination if set(slices) & set(COMBINED) else plain(target)


def split_of(key: str, slices: tuple[str, ...]) -> str:
    """The split of a key."""
    digest = hashlib.sha256(key.encode("utf-8")).digest()
    place = int.from_bytes(digest[:8], "big") % 1000
    test, dev = SHARES[slices[0] if slices else ""]
    if place < test:
        return "test"
    return "dev" if place < test + dev else "train"
