"""The files around a model's weights, which go with it wherever it goes."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from regard import atomic
from regard.untrusted import member

# Files that are copied as they are: text in and out, settings, how sentences become one vector.
COPIED = re.compile(
    r"tokenizer\.json|tokenizer_config\.json|special_tokens_map\.json|added_tokens\.json"
    r"|vocab\.(txt|json)|merges\.txt|[\w.-]+\.(model|spm)|generation_config\.json"
    r"|preprocessor_config\.json|modules\.json|sentence_\w+_config\.json"
    r"|config_sentence_transformers\.json"
)
MODULE = re.compile(r"[0-9]_[A-Za-z]{1,30}")  # a folder that modules.json names, with a config.json


def files_around(folder: Path) -> Iterator[Path]:
    """Those of a folder; a link that leads out of it is refused."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and COPIED.fullmatch(path.name):
            yield member(folder, path.name)
        elif path.is_dir() and MODULE.fullmatch(path.name) and (path / "config.json").is_file():
            yield member(path, "config.json")


def copy_around(source: Path, target: Path) -> None:
    """Copy them; a file that is there already stays."""
    for file in files_around(source):
        place = target / file.relative_to(source)
        place.parent.mkdir(exist_ok=True)
        if not place.exists():
            with atomic.named_when_full(place):  # else it is the source that is named
                shutil.copyfile(file, place)
