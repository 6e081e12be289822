"""A small folder of texts that the small models of folders.py can read, and what an index says."""

from pathlib import Path
from typing import Any

TEXTS = {
    "animals.md": "# cat\n\nthe cat sat on a red mat.\n\nthe dog is not good. the bird is bad.\n",
    "sea.txt": "one house on the sea\ntwo trees on the sea\nthree birds on the blue sea\n\n"
    "a tree is not a house. a house is not a tree. a mat is not a tree.\n",
    "sub/colours.rst": "red\n===\n\nthe red cat is good. the blue dog is bad.\n\nthe mat is red\n",
}
QUERIES = ("a good cat", "house sea", "blue blue bird")


def write(folder: Path, texts: dict[str, str] = TEXTS) -> Path:
    """The texts as files."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def change(folder: Path) -> None:
    """One file changed, one new, one gone, one as it was."""
    (folder / "sea.txt").write_text("the sea is blue\n\none mat on the red sea\n" * 6)
    (folder / "new.md").write_text("# house\n\n" + "a good house is a red house.\n\n" * 5)
    (folder / "sub/colours.rst").unlink()


def answers(index: Path, model: Any) -> list[list[tuple[str, int, int, float, str]]]:
    """What an index finds, in every mode."""
    from regard.search.query import MODES, open_index

    opened = open_index(index, model, device="cpu")
    return [
        [
            (match.file, match.first, match.last, match.score, match.text)
            for match in opened.search(query, 4, mode, highlight=False)
        ]
        for query in QUERIES
        for mode in MODES
    ]


def alike(ours: list[Any], theirs: list[Any]) -> bool:
    """The same passages in the same order; scores may differ as float16 does."""
    flat, other = ([row for rows in each for row in rows] for each in (ours, theirs))
    return len(flat) == len(other) and all(
        a[:3] == b[:3] and a[4] == b[4] and abs(a[3] - b[3]) < 2e-3
        for a, b in zip(flat, other, strict=True)
    )
