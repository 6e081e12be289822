"""How well a decoder foresees texts: the mean of -log p of their tokens, in several units.

    perplexity          e^(nats / tokens)       depends on how the tokenizer cuts
    bits per byte       nats / log 2 / bytes    does not
    word perplexity     e^(nats / words)        does not; words are what white space parts

The text is read in windows of the length that the model was trained on, one after the other, so
that each token is asked for once; those at the beginning of a window have little before them.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from regard.answer.loaded import LoadedModel
from regard.data.store import ColumnKind, write_store
from regard.data.windows import Windows
from regard.draw.notebook.table import html_table
from regard.errors import DataError, MisuseError
from regard.prepare.decoder_data import encoded_parts
from regard.prepare.documents import DocumentPart, parts_of, survey_documents
from regard.printable import Advance, unheard
from regard.runs.columns import NOTHING, data_of
from regard.runs.folder import RunFolder
from regard.runs.sections import DataSection
from regard.training.losses import mean_completion_loss

LENGTH = 1024  # of a window, where nothing says how long texts may be
ROWS = 16  # windows at a time


@dataclass(frozen=True)
class ContinuationScores:
    """Of all tokens of the texts."""

    documents: int
    tokens: int  # that were asked for
    words: int
    bytes: int
    loss: float  # nats per token
    perplexity: float
    bits_per_byte: float
    word_perplexity: float

    def _repr_html_(self) -> str:
        """The three units."""
        rows = [
            ("perplexity", f"{self.perplexity:.2f}", "per token"),
            ("bits per byte", f"{self.bits_per_byte:.4f}", ""),
            ("word perplexity", f"{self.word_perplexity:.2f}", ""),
        ]
        return html_table(("score", "", ""), rows, f"{self.tokens:,} tokens")


@dataclass(frozen=True)
class TextsToForesee:
    """Texts, and what a person calls them."""

    name: str
    parts: Iterable[DocumentPart] = field(repr=False)


def documents_to_score(
    model: LoadedModel, file: Path | None, columns: Mapping[str, str] = NOTHING
) -> TextsToForesee:
    """The texts of a file or folder; of a run without one, those that it was validated on."""
    data = data_of(RunFolder(model.bundle.path))
    if file is not None:
        data = DataSection(texts=file, text=columns.get("text", ""), max_characters=10**8)
        return TextsToForesee(str(file), parts_of(data))
    if data is None or data.texts is None:
        advice = "give some with --file"
        raise MisuseError("evaluate", f"{model.bundle.path} holds no texts to score", advice=advice)
    if data.valid_texts is not None:
        return TextsToForesee(
            str(data.valid_texts), parts_of(replace(data, texts=data.valid_texts))
        )
    name = f"the last tenth of {data.set or data.texts}"
    return TextsToForesee(name, survey_documents(data).valid())


def score_continuations(
    model: LoadedModel, texts: TextsToForesee, advance: Advance = unheard
) -> ContinuationScores:
    """Ask for every token."""
    tokenizer = model.tokenizer_for("complete")
    counts = {"documents": 0, "words": 0, "bytes": 0}

    def counted(parts: Iterable[DocumentPart]) -> Iterable[DocumentPart]:
        tail = ""
        for part in parts:
            counts["documents"] += part.begins or not counts["bytes"]  # a cut one counts too
            counts["bytes"] += len(part.text.encode())
            text = tail + part.text  # a word may be cut where a part ends
            cut = len(text.rstrip()) == len(text) and not part.ends
            words = text.split()
            tail = words.pop() if cut and words else ""
            counts["words"] += len(words)
            yield part
        counts["words"] += bool(tail)

    limits = (model.bundle.longest_text, model.spec.position_limit, LENGTH)
    length = min(most for most in limits if most is not None)
    kinds = {"text": ColumnKind(model.spec.vocabulary), "begins": ColumnKind(2, ragged=False)}
    with TemporaryDirectory(prefix="regard-") as place:
        rows = encoded_parts(tokenizer, counted(texts.parts), advance)
        store = write_store(Path(place) / "ids", kinds, rows)
        if len(store) == 0 or len(store["text"].values) < 2:
            raise DataError(texts.name, "holds no text to score")
        batches = Windows(store, length).held_out(ROWS)
        loss, tokens = mean_completion_loss(model.transformer, batches)
    nats = loss * tokens
    return ContinuationScores(
        **counts,
        tokens=tokens,
        loss=loss,
        perplexity=math.exp(min(loss, 50.0)),
        bits_per_byte=nats / math.log(2) / max(1, counts["bytes"]),
        word_perplexity=math.exp(min(nats / max(1, counts["words"]), 50.0)),
    )
