"""How good an encoder fills holes: every word of a test set is hidden once, alone.

Of the phrasebook's sentences it is also asked how the words come out that agree with another
(data/phrasebook/corpus.py): the likeliest of all their forms, and the very word.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from regard.answer.loaded import LoadedModel
from regard.answer.pseudo_perplexity import one_masked
from regard.data.batch import IGNORED, text_batch
from regard.data.corpus import Limits
from regard.data.labelled import Columns, read_labelled
from regard.data.phrasebook.corpus import Word, forms_of, phrasebook, words_of_sentences
from regard.data.report import Report
from regard.draw.notebook.table import html_table
from regard.errors import MisuseError
from regard.fit.objectives.fill import masking_of
from regard.prepare.encoder_data import held_out
from regard.printable import Advance, unheard
from regard.runs.columns import NOTHING, data_of, role_of
from regard.runs.folder import RunFolder
from regard.runs.sections import DataSection
from regard.text.words import WORD
from regard.training.label_smoothing import smoothed_cross_entropy
from regard.training.losses import encoded

ROWS = 128  # texts with one hole each that are asked for together
GROUPS = {
    "be": ("am", "is", "are", "was", "were"),
    "have": ("have", "has"),
    "do": ("do", "does"),
    "this, these": ("this", "these"),
    "a, an": ("a", "an"),
}
# verbs once more, by their subject: one number is far more frequent than the others
SUBJECTS = {"singular": "with one", "other": "with several, you", "I": "with I"}


@dataclass(frozen=True)
class AgreementScore:
    """Words that agree; shares from 0 to 1."""

    group: str
    words: int
    form: float  # the likeliest of all forms agrees as the word that stood there
    exact: float  # the likeliest of all tokens is the word that stood there


@dataclass(frozen=True)
class FillScores:
    """Of all tokens of the texts, one hidden at a time."""

    texts: int
    tokens: int
    pseudo_perplexity: float
    found: float  # the share of tokens that were the likeliest in their place
    agreement: tuple[AgreementScore, ...]  # all together, by word, and verbs by their subject
    left_out: int  # words that agree, but are more than one token

    def _repr_html_(self) -> str:
        """How well holes were filled, and words that agree."""
        rows = [
            ("pseudo-perplexity", f"{self.pseudo_perplexity:.2f}"),
            ("found", f"{self.found:.2%}"),
            *((f"right form: {row.group}", f"{row.form:.2%}") for row in self.agreement),
        ]
        return html_table(("score", ""), rows, f"{self.texts:,} texts, {self.tokens:,} tokens")


@dataclass(frozen=True)
class Holes:
    """Texts to ask for; `language` where they are the phrasebook's."""

    name: str
    texts: list[str]
    language: str = ""
    report: Report | None = None  # of a file


def texts_to_fill(
    model: LoadedModel, file: Path | None, columns: Mapping[str, str] = NOTHING
) -> Holes:
    """A file's texts; or what the run held out, of the phrasebook its test sentences."""
    run = RunFolder(model.bundle.path)
    data = data_of(run)
    if file is not None:
        report, limits = Report(), Limits() if data is None else Limits(data.max_characters)
        roles = Columns(role_of("text", data, columns), None, None)
        rows = read_labelled(file, roles, report, limits)
        return Holes(str(file), [row.text for row in rows], report=report)
    if data is None:
        raise MisuseError(f"evaluate: {model.bundle.path} holds no texts; give some with --file")
    if data.phrasebook:
        sentences = [entry.source for entry in phrasebook(data.phrasebook) if entry.split == "test"]
        return Holes("the phrasebook's test set", [*dict.fromkeys(sentences)], data.phrasebook)
    return Holes("the run's validation texts", [row.text for row in held_out(run)])


@torch.inference_mode()
def score_fill(model: LoadedModel, test: Holes, advance: Advance = unheard) -> FillScores:
    """Ask for every token."""
    tokenizer = model.tokenizer_for("fill")
    masking = masking_of(tokenizer, DataSection(texts=Path("texts")))
    ordinary = set(masking.ordinary.tolist())
    limit = model.bundle.longest_text
    total, right, count = 0.0, 0, 0
    pad, device = tokenizer.roles.get("pad", 0), next(model.transformer.parameters()).device
    for text in test.texts:
        ids = tokenizer.encode(text, None, limit).ids
        for one in one_masked([ids], [len(ids)], ordinary.__contains__, masking.mask, pad, 4096):
            batch = one.to(device)
            hidden = batch["text_labels"] != IGNORED
            logits = model.transformer.token_logits(encoded(model.transformer, batch)[hidden])
            total += float(smoothed_cross_entropy(logits, batch["text_labels"][hidden], 0.0).plain)
            right += int((logits.argmax(dim=-1) == batch["text_labels"][hidden]).sum())
            count += batch.targets
        advance(1)
    if not count:
        raise MisuseError("evaluate", f"{test.name} has no word to ask for")
    scores, left_out = _agreement(model, test, masking.mask) if test.language else ((), 0)
    surprise = math.exp(min(700.0, total / count))
    return FillScores(len(test.texts), count, surprise, right / count, scores, left_out)


@dataclass(frozen=True)
class _Hole:
    """A word that agrees: its text as ids, its place, and the ids of its forms."""

    word: Word
    ids: tuple[int, ...]
    place: int
    agreeing: list[int]
    rivals: list[int]  # all forms


def _agreement(
    model: LoadedModel, test: Holes, mask: int
) -> tuple[tuple[AgreementScore, ...], int]:
    holes, left_out = _holes(model, test)
    answers: dict[str, list[tuple[bool, bool]]] = {}
    for start in range(0, len(holes), ROWS):
        chosen = holes[start : start + ROWS]
        for hole, row in zip(chosen, _logits(model, chosen, mask), strict=True):
            best = hole.rivals[int(row[hole.rivals].argmax())]
            answer = best in hole.agreeing, int(row.argmax()) == hole.ids[hole.place]
            lower = hole.word.text.lower()
            group = next((name for name, words in GROUPS.items() if lower in words), "")
            group = group or ("one's" if hole.word.agrees == "person" else "other verbs")
            for name in ("all", group, SUBJECTS.get(hole.word.agrees, "")):
                answers.setdefault(name, []).append(answer)
    order = ["all", *GROUPS, "other verbs", "one's", *SUBJECTS.values()]
    scores = [
        AgreementScore(
            name,
            len(answers[name]),
            sum(form for form, _ in answers[name]) / len(answers[name]),
            sum(exact for _, exact in answers[name]) / len(answers[name]),
        )
        for name in order
        if answers.get(name)
    ]
    return tuple(scores), left_out


def _logits(model: LoadedModel, holes: Sequence[_Hole], mask: int) -> torch.Tensor:
    tokenizer = model.tokenizer_for("fill")
    ids = [[mask if n == hole.place else i for n, i in enumerate(hole.ids)] for hole in holes]
    pad = tokenizer.roles.get("pad", 0)
    batch = text_batch(ids, [len(row) for row in ids], pad)
    batch = batch.to(next(model.transformer.parameters()).device)
    x = encoded(model.transformer, batch)
    places = torch.tensor([hole.place for hole in holes], device=x.device)
    return model.transformer.token_logits(x[torch.arange(len(holes), device=x.device), places])


def _holes(model: LoadedModel, test: Holes) -> tuple[list[_Hole], int]:
    """The words that agree and are one token each; and how many are more than one."""
    tokenizer = model.tokenizer_for("fill")
    ids_of = {piece: i for i, piece in enumerate(tokenizer.pieces(range(tokenizer.size)))}
    words_of = words_of_sentences(test.language)
    holes: list[_Hole] = []
    left_out = 0
    for text in test.texts:
        spans = [match.span() for match in WORD.finditer(text)]
        whole, places = tokenizer.encode_places(text, spans, model.bundle.longest_text)
        for word, place in zip(words_of[text], places, strict=True):
            if not word.agrees or place is None:
                continue
            piece = tokenizer.pieces([whole.ids[place]])[0]
            if not piece.lower().endswith(word.text.lower()):
                left_out += 1
                continue
            agreeing, rivals = (
                [ids_of[form] for form in _spelled(piece, word.text, forms) if form in ids_of]
                for forms in forms_of(word, test.language)
            )
            holes.append(_Hole(word, whole.ids, place, agreeing, rivals))
    return holes, left_out


def _spelled(piece: str, word: str, forms: set[str]) -> Iterator[str]:
    """The forms as this tokenizer would write them where `piece` stands: mark and capital."""
    mark, written = piece[: len(piece) - len(word)], piece[len(piece) - len(word) :]
    for form in sorted(forms):
        yield mark + (form[0].upper() + form[1:] if written[0].isupper() else form)
