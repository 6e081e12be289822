"""Captions → ids, pictures ↔ ids, of a run that draws: its tokenizer's pieces, and codes behind.

    id      0 …     the tokenizer's pieces, special tokens among them
            T …     the codes of its book of patches (data/codebook.py)

An output is as many codes as a picture has patches, row by row, and its end: nothing else may come.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from regard import atomic
from regard.bundle.encoder_file import NAME, read_encoder_file
from regard.data.codebook import Codebook
from regard.data.picture import Colours
from regard.data.scenes.words import LANGUAGES, Language
from regard.decode.engine import Frame
from regard.decode.options import DecodingOptions, Rules
from regard.errors import CheckpointError, MisuseError
from regard.text.tokenizer import Tokenizer

FILE = "codebook.safetensors"
MOST_PLACES = 1 << 16  # patches of a picture


@dataclass(frozen=True)
class PictureCodec:
    """How captions and pictures become rows; a caption has at most `longest` tokens."""

    tokenizer: Tokenizer
    codebook: Codebook
    longest: int
    language: Language  # of the captions

    @property
    def vocabulary(self) -> int:
        """Rows of the table of tokens."""
        return self.tokenizer.size + len(self.codebook)

    @property
    def frame(self) -> Frame:
        """Padding, start and end."""
        special = self.tokenizer.special
        return Frame(special.pad, special.bos, special.eos)

    @cached_property
    def rules(self) -> Rules:
        """No word is drawn, and the last place is that of the end."""
        words = set(range(self.tokenizer.size)) - {self.frame.end}
        return Rules(never=tuple(sorted(words)), must_end=True, shares_out=True)

    def search(self, decoding: DecodingOptions) -> DecodingOptions:
        """The same search, over pictures of so many patches."""
        places = self.codebook.places
        return replace(decoding, min_length=places, max_length=places + 1)

    def as_learned(self, caption: str) -> str:
        """A caption with the capitals of the training's words, and without a full stop."""
        words = caption.strip().rstrip(".!").split()
        return " ".join(self._words.get(word.casefold(), word) for word in words)

    @cached_property
    def _words(self) -> dict[str, str]:
        return {word.casefold(): word for word in self.tokenizer.whole_words().values()}

    def source(self, caption: str) -> list[int]:
        """The pieces of a caption, the end last."""
        return [*self.tokenizer.encode(caption), self.frame.end]

    def target(self, codes: Sequence[int]) -> list[int]:
        """The ids of codes."""
        return [self.tokenizer.size + int(code) for code in codes]

    def picture(self, ids: Sequence[int]) -> Colours:
        """The picture of an output."""
        return self.codebook.picture([i - self.tokenizer.size for i in ids])

    def check_caption(self, caption: str, which: str) -> None:
        """Insist that a caption says something, and is not longer than what was learned from."""
        if not caption:
            raise MisuseError("draw", f"{which} is empty", advice="say what to draw")
        *ids, _ = self.source(caption)
        if len(ids) > self.longest:
            problem = f"{which} has {len(ids):,} tokens, the model reads {self.longest:,}"
            raise MisuseError("draw", f"{problem} at most", advice="say it in fewer words")
        if set(ids) <= {self.tokenizer.special.unk}:
            known = ", ".join(sorted(self._words.values()))
            problem = f"{which} has no word that the model has learned"
            raise MisuseError("draw", problem, got=caption, advice=f"known are {known}")


def write_codebook(folder: Path, codebook: Codebook) -> None:
    """Keep it with a run."""
    grid = np.array([codebook.rows, codebook.columns], np.int64)
    atomic.write_bytes(folder / FILE, save({"patches": codebook.patches, "grid": grid}))


def read_codebook(folder: Path) -> Codebook:
    """That of a run; a CheckpointError where it is none."""
    from regard.checkpoint.guard import read_tensors  # imports torch

    path = folder / FILE
    tensors = {name: tensor.numpy() for name, tensor in read_tensors(path).items()}
    patches, grid = tensors.get("patches"), tensors.get("grid")
    if set(tensors) != {"patches", "grid"} or patches is None or grid is None:
        expected = "patches and grid"
        raise CheckpointError(path, got=", ".join(sorted(tensors)), expected=expected)
    is_square = patches.ndim == 4 and patches.shape[1] == patches.shape[2]
    if patches.dtype != np.uint8 or not is_square or not patches.size:
        raise CheckpointError(path, "its patches are no square pictures")
    if grid.dtype != np.int64 or grid.shape != (2,) or grid.min() < 1 or grid.max() > 1 << 16:
        raise CheckpointError(path, "its grid is not two numbers, rows and columns")
    rows, columns = (int(count) for count in grid)
    if rows * columns > MOST_PLACES:
        expected = f"at most {MOST_PLACES:,} patches in a picture"
        raise CheckpointError(path, got=rows * columns, expected=expected)
    return Codebook(patches, rows, columns)


def read_picture_codec(folder: Path, vocabulary: int) -> PictureCodec:
    """That of a run whose model knows so many tokens."""
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    file = read_encoder_file(folder)
    language = next((name for name in LANGUAGES if name == file.kind), None)
    if language is None:
        raise CheckpointError(folder / NAME, got=file.kind, expected=" or ".join(LANGUAGES))
    codec = PictureCodec(tokenizer, read_codebook(folder), file.limit, language)
    if codec.vocabulary != vocabulary:
        problem = f"tokenizer and codes are {codec.vocabulary} tokens, the spec says {vocabulary}"
        raise CheckpointError(folder, problem, advice="one of the files belongs to another run")
    return codec
