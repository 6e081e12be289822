"""Keys of a server: who may ask it. Only their hashes are kept.

    # one key a line: the SHA-256 of the key, then whose it is
    9f86d081884c7d65…  ada

A key is 32 random bytes, so that a plain hash of it cannot be guessed back. A key that is shown is
hashed and compared with every hash of the file, each in the same time.
"""

import hmac
import os
import re
import secrets
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from regard.errors import DataError, MisuseError

LINE = re.compile(r"([0-9a-f]{64})\s+([\w.@-]{1,64})")
PREFIX = "rg-"  # so that scanners for lost secrets can know one


@dataclass(frozen=True)
class Keys:
    """The hashes of a file, and whose they are."""

    hashes: tuple[tuple[str, str], ...]

    def owner(self, key: str) -> str | None:
        """Whose key this is; None: nobody's."""
        shown, owner = _hash(key), None
        for hashed, name in self.hashes:  # to the end, whatever was found
            if hmac.compare_digest(shown, hashed):
                owner = name
        return owner


def _hash(key: str) -> str:
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(path: Path) -> Keys:
    """Those of a file, which must have some."""
    if not path.is_file():
        advice = f"`regard serve --keys {path} --new-key NAME` makes a key"
        raise MisuseError("keys", f"there is no file {path}", advice=advice)
    hashes = []
    text = path.read_bytes().decode("utf-8", "replace")  # a line that is none is said below
    for number, line in enumerate(text.splitlines(), start=1):
        said = line.split("#")[0].strip()
        if not said:
            continue
        found = LINE.fullmatch(said)
        if found is None:
            expected = "a SHA-256 in hexadecimal and a name"
            raise DataError(f"{path}: line {number}", "is no key", expected=expected)
        hashes.append((found[1], found[2]))
    if not hashes:
        raise DataError(path, "has no keys", advice="--new-key NAME makes one")
    return Keys(tuple(hashes))


def add_key(path: Path, name: str) -> str:
    """A new key, whose hash is added to the file; the key itself is kept nowhere."""
    if LINE.fullmatch(f"{'0' * 64} {name}") is None:
        raise MisuseError("new-key", got=name, expected="a name of letters, digits, . @ _ -")
    key = PREFIX + secrets.token_urlsafe(32)
    before = path.read_bytes() if path.exists() else b""
    head = "" if before else "# one key a line: the SHA-256 of the key, then whose it is\n"
    if before and not before.endswith(b"\n"):
        head = "\n"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    with os.fdopen(os.open(path, flags, 0o600), "a", encoding="utf-8") as file:
        file.write(f"{head}{_hash(key)}  {name}\n")
    return key
