"""How good is a model: BLEU and chrF by sacreBLEU, and the phrasebook's slices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.answer.loaded import LoadedModel
from regard.data.corpus import read_pairs
from regard.data.phrasebook.corpus import Entry, decided_right
from regard.data.report import Report
from regard.data.table import is_table
from regard.decode.options import DecodingOptions
from regard.draw.notebook.table import html_table
from regard.errors import DataError, MisuseError
from regard.prepare.pairs import kept_entries
from regard.printable import Advance, unheard
from regard.runs.columns import NOTHING, data_of, role_of
from regard.runs.folder import RunFolder, read_texts


@dataclass(frozen=True)
class Scores:
    """Corpus scores with the signatures that make them comparable."""

    sentences: int
    bleu: float
    chrf: float
    exact: float  # share of outputs equal to the reference, in percent
    bleu_signature: str
    chrf_signature: str
    precisions: tuple[float, ...]  # of BLEU: words, pairs, threes and fours found, in percent
    brevity_penalty: float  # exp(1 - reference_words / output_words), at most 1
    output_words: int
    reference_words: int

    def made_of(self) -> str:
        """What BLEU is made of, in a line: the four precisions, the brevity penalty, lengths."""
        shares = "/".join(f"{share:.1f}" for share in self.precisions)
        lengths = f"{self.output_words:,} words of {self.reference_words:,}"
        return f"precisions {shares}, brevity penalty {self.brevity_penalty:.3f}, {lengths}"

    def _repr_html_(self) -> str:
        """The three scores, and what makes them comparable."""
        rows = [
            ("BLEU", f"{self.bleu:.2f}", self.bleu_signature),
            ("", "", self.made_of()),
            ("chrF", f"{self.chrf:.2f}", self.chrf_signature),
            ("exact", f"{self.exact:.2f} %", "of the outputs equal the reference"),
        ]
        return html_table(("score", "", ""), rows, f"{self.sentences:,} sentences")


@dataclass(frozen=True)
class SliceScore:
    """One slice of the phrasebook; `decided` is the share of right deciding words, in percent."""

    name: str
    sentences: int
    bleu: float
    exact: float
    decided: float | None


@dataclass(frozen=True)
class Slip:
    """A sentence of the notes that did not come out as it should."""

    source: str
    output: str
    expected: str


def score(
    outputs: Sequence[str],
    references: Sequence[str],
    tokenize: str = "13a",
    lowercase: bool = False,
) -> Scores:
    """Scores of outputs against one reference each; `tokenize` is sacreBLEU's name for how BLEU
    finds words ("none": the text is tokenised already)."""
    bleu, chrf = BLEU(lowercase, tokenize=tokenize, force=True), CHRF(lowercase=lowercase)
    counted = bleu.corpus_score(list(outputs), [list(references)])
    return Scores(
        sentences=len(outputs),
        bleu=counted.score,
        chrf=chrf.corpus_score(list(outputs), [list(references)]).score,
        exact=100 * sum(map(str.__eq__, outputs, references)) / len(outputs),
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
        precisions=tuple(counted.precisions),
        brevity_penalty=counted.bp,
        output_words=counted.sys_len,
        reference_words=counted.ref_len,
    )


def translate_all(
    model: LoadedModel,
    sources: Sequence[str],
    search: DecodingOptions,
    advance: Advance = unheard,
) -> list[str]:
    """The best translation of each source."""
    options = {**vars(search), "split": False}  # a line of a test set has one of references
    translations = model.translator.translations(sources, "evaluate", advance, **options)
    return [best[0].text for best in translations]


def score_slices(entries: Sequence[Entry], outputs: Sequence[str]) -> list[SliceScore]:
    """One row for each slice that occurs, in order of first occurrence by name."""
    rows = []
    for name in sorted({name for entry in entries for name in entry.slices}):
        chosen = [(e, o) for e, o in zip(entries, outputs, strict=True) if name in e.slices]
        scores = score([o for _, o in chosen], [e.target for e, _ in chosen])
        rights = [decided_right(e, o) for e, o in chosen if e.answer]
        decided = 100 * sum(rights) / len(rights) if rights else None
        rows.append(SliceScore(name, len(chosen), scores.bleu, scores.exact, decided))
    return rows


def score_notes(model: LoadedModel, search: DecodingOptions) -> tuple[list[SliceScore], list[Slip]]:
    """The notes' sentences, which are trained on and must come out exactly; empty for old runs."""
    if not (model.bundle.run.data / "notes.jsonl").exists():
        return [], []
    entries = kept_entries(model.bundle.run, "notes")
    outputs = translate_all(model, [entry.source for entry in entries], search)
    slips = [
        Slip(entry.source, output, entry.target)
        for entry, output in zip(entries, outputs, strict=True)
        if output != entry.target
    ]
    return score_slices(entries, outputs), slips


@dataclass(frozen=True)
class TestPairs:
    """Sentences with references; `entries` where they come from the phrasebook."""

    name: str
    sources: list[str]
    references: list[str]
    entries: list[Entry]


def pairs_to_score(
    run: RunFolder,
    source: Path | None,
    reference: Path | None,
    slices: bool,
    columns: Mapping[str, str] = NOTHING,
    report: Report | None = None,
) -> TestPairs:
    """The pairs of the files, or the run's own: phrasebook test, or else validation.

    `columns` are those of a table, where the user has named them. A folder that others have
    published holds no pairs.
    """
    if source is not None:
        if slices:
            problem = "--slices belongs to the phrasebook's test set, not to files"
            raise MisuseError("evaluate", problem)
        report = report or Report()
        if reference is None and not is_table(source):
            raise MisuseError(
                f"evaluate: {source} holds one side only; give its right translations with "
                "--reference, or one .tsv, .csv or .jsonl file with both sides"
            )
        data = data_of(run)
        sides = [role_of(side, data, columns) for side in ("source", "target")]
        read = read_pairs(source, reference, report, sides=sides)
        pairs = [(p.source, p.target) for p in read]
        if report.kept < report.total:
            raise DataError("\n  ".join(["evaluate: a test set must be clean.", *report.lines()]))
        return TestPairs(str(source), [s for s, _ in pairs], [t for _, t in pairs], [])
    if reference is not None:
        raise MisuseError("evaluate", "--reference needs --source")
    if not run.info.is_file():
        advice = "give some with --source and --reference"
        raise MisuseError("evaluate", f"{run.folder} holds no pairs", advice=advice)
    if (run.data / "test.jsonl").exists():
        entries = kept_entries(run, "test")
        sources, references = [e.source for e in entries], [e.target for e in entries]
        return TestPairs("the phrasebook's test set", sources, references, entries)
    if slices:
        raise MisuseError("evaluate", f"{run.folder} was not trained on the phrasebook: no slices")
    rows = read_texts(run.whole("valid.jsonl"), source=str, target=str)
    return TestPairs(
        "the run's validation pairs", [r["source"] for r in rows], [r["target"] for r in rows], []
    )
