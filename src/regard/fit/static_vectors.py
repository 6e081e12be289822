"""Static vectors → where the embedding starts. In: a model as initialised, a file of word2vec.

A word of the vocabulary that the file knows starts from the file's vector, every other row from
chance as usual; training then moves all of them. What attention makes of the rows is contextual,
the rows themselves are as static as the file: one vector a word, whatever stands beside it.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from regard.errors import ConfigError, DataError
from regard.model.transformer import Transformer
from regard.text.tokenizer import Tokenizer
from regard.text.vectors import read_dimensions, read_vectors


@dataclass(frozen=True)
class VectorCoverage:
    """How many of the vocabulary's entries start from a file."""

    found: int
    entries: int
    file: str

    def sentence(self) -> str:
        return f"{self.found:,} of {self.entries:,} entries start from {self.file}"


def check_dimensions(path: Path, d_model: int) -> None:
    """Refuse vectors of another size: there is no honest way to make 300 numbers into 128."""
    dimensions = read_dimensions(path)
    if dimensions != d_model:
        problem = f"{path} holds vectors of {dimensions} numbers, model.d_model is {d_model}"
        advice = f"they must be equal: set model.d_model={dimensions} or take other vectors"
        raise ConfigError("train.embeddings", problem, advice=advice)


@torch.no_grad()
def fill_embedding(model: Transformer, tokenizer: Tokenizer, path: Path) -> VectorCoverage:
    """Set the embedding's rows of the words that the file holds, spelled in the same way.

    E[word] = v[word] / |v[word]|

    Length 1 is what rows have that start from chance: D numbers of variance 1/D. So E · √d_model
    has entries of size 1, as large as the positions that are added, whatever the file's own size.
    Of the vectors only the angles stay, by which they are compared anyway: in such files frequent
    words are long, and where E is the output matrix too (tie = "all") a long row is a large logit.
    One factor for the whole file, which keeps relative lengths, trained worse (docs/embeddings.md).
    """
    check_dimensions(path, model.spec.d_model)
    words = tokenizer.whole_words()
    vectors = read_vectors(path, set(words.values()))
    rows = {i: vectors[w] for i, w in words.items() if w in vectors and vectors[w].any()}
    if not rows:
        raise DataError(
            f"{path}: holds a vector other than zero for none of the {len(words):,} whole words of "
            "the vocabulary; is it of another language? (kind characters has no words)"
        )
    matrix = np.stack(list(rows.values())).astype(np.float64)
    unit = torch.from_numpy(matrix / np.linalg.norm(matrix, axis=1, keepdims=True))
    for embedding in (model.source_embedding, model.target_embedding):
        if embedding is not None:  # where they are tied, the second writes the same again
            embedding.weight[list(rows)] = unit.to(embedding.weight)
    return VectorCoverage(len(rows), tokenizer.size, path.name)
