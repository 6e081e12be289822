"""`make dialogue`: the grammar makes short conversations, and the package holds them."""

import gzip
import json

from grammar.dialogue import Turns, dialogues

from regard import atomic
from regard.checksums import sha256, write_checksums
from regard.data.phrasebook.corpus import FOLDER, SPLITS

TO = FOLDER.parent / "dialogue"


def line(kind: str, turns: Turns) -> str:
    """One dialogue, as objective "chat" reads it."""
    messages = [
        {"role": role, "content": text}
        for turn in turns
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    return json.dumps({"kind": kind, "messages": messages}, ensure_ascii=False)


def lines(split: str) -> bytes:
    """All of a split."""
    return "".join(f"{line(kind, turns)}\n" for kind, turns in dialogues(split)).encode()


if __name__ == "__main__":
    TO.mkdir(exist_ok=True)
    sums = {}
    for split in SPLITS:
        content = lines(split)
        path = TO / f"{split}.jsonl.gz"
        atomic.write_bytes(path, gzip.compress(content, 9, mtime=0))
        sums[path.name] = sha256(path)
        count = len(content.splitlines())
        print(f"{path.name}: {count:,} dialogues, {path.stat().st_size:,} bytes")
    write_checksums(TO, sums)
