"""How good a model draws: what the drawing program's own reader sees in pictures of held-out
captions, and whether it is what they asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.answer.draw import Drawing, draw_captions
from regard.answer.loaded import LoadedModel
from regard.data.scenes.asked import AskedScene, asked_in
from regard.data.scenes.reading import SceneReading, read_scene
from regard.data.scenes.verdict import SceneVerdict, verdict_on
from regard.data.scenes.words import Language, caption
from regard.decode.options import DecodingOptions
from regard.draw.notebook.table import html_table
from regard.errors import DataError, MisuseError
from regard.prepare.drawings import TEST, VALID, kept_captions
from regard.printable import Advance, counted, unheard
from regard.untrusted import read_small_file

MOST_CAPTIONS = 1 << 24  # bytes of a file of captions
SEED = 1  # of the drawings that are judged, where the recipe names none


@dataclass(frozen=True, eq=False)
class ReadDrawing:
    """A drawing and what is read in it; `verdict` None: the caption is none that scenes have."""

    drawing: Drawing
    reading: SceneReading
    asked: AskedScene | None
    verdict: SceneVerdict | None
    language: Language

    @property
    def shows(self) -> str:
        """What the drawing shows, as a caption; "" where that cannot be said."""
        statement = self.reading.statement
        return "" if statement is None else caption(statement, self.language).text

    def sentence(self) -> str:
        """What it shows, and whether that was asked for."""
        if self.verdict is None:
            return self._seen()
        return f"{self._seen()} ({'right' if self.verdict.right else 'not as asked'})"

    def _seen(self) -> str:
        if self.shows:
            return self.shows
        if self.reading.unread:
            return f"nothing that has a name: {counted(len(self.reading.unread), 'blot')} among it"
        return f"nothing that has a name: {counted(len(self.reading.things), 'thing')}"

    def row(self) -> dict[str, Any]:
        """For a program."""
        return {
            "caption": self.drawing.caption,
            "shows": self.shows or None,
            "right": None if self.verdict is None else self.verdict.right,
            "things": [vars(thing) for thing in self.reading.things],
            "unread": len(self.reading.unread),
            "log_probability": self.drawing.log_probability,
        }


def read_drawing(drawing: Drawing, language: Language) -> ReadDrawing:
    """Look at it."""
    reading, asked = read_scene(drawing.colours), asked_in(drawing.caption, language)
    verdict = None if asked is None else verdict_on(reading, asked)
    return ReadDrawing(drawing, reading, asked, verdict, language)


@dataclass(frozen=True)
class CaptionsToDraw:
    """Held-out captions, and whose they are."""

    name: str
    captions: tuple[str, ...]


@dataclass(frozen=True)
class GroupScore:
    """The captions that name so many groups of things."""

    groups: int
    captions: int
    right: float


@dataclass(frozen=True)
class DrawingScores:
    """Shares from 0 to 1 of the drawings, one for each caption; each is part of the one before."""

    set: str
    captions: int
    objects: float
    colours: float
    counts: float
    right: float
    by_groups: tuple[GroupScore, ...]
    temperature: float

    def _repr_html_(self) -> str:
        rows = [(row.groups, row.captions, f"{row.right:.2%}") for row in self.by_groups]
        return html_table(("groups", "captions", "right"), rows, self.set)


def captions_to_draw(model: LoadedModel, file: Path | None) -> CaptionsToDraw:
    """Those of a file, a caption a line, or the test captions of the run."""
    if file is None:
        run = model.bundle.run
        name = TEST if (run.data / TEST).is_file() else VALID
        whose = "test" if name == TEST else "validation"
        return CaptionsToDraw(f"the run's {whose} captions", tuple(kept_captions(run, name)))
    lines = read_small_file(file, MOST_CAPTIONS, DataError).decode("utf-8", "replace").splitlines()
    codec, captions = model.bundle.picture_codec, list[str]()
    for number, line in enumerate(map(codec.as_learned, lines), start=1):
        if line and asked_in(line, codec.language) is None:
            expected = (
                f"a caption of drawn scenes ({codec.language}): number, colour, shape, relation"
            )
            raise DataError(f"{file}, line {number}", got=line, expected=expected)
        captions += [line] if line else []
    if not captions:
        raise DataError(file, "no caption in it")
    return CaptionsToDraw(file.name, tuple(captions))


def score_drawings(
    model: LoadedModel,
    test: CaptionsToDraw,
    search: DecodingOptions,
    advance: Advance = unheard,
) -> tuple[DrawingScores, list[ReadDrawing]]:
    """Draw each caption once and read the drawing; and the drawings that are not right."""
    codec = model.bundle.picture_codec
    drawn = draw_captions(model.transformer, codec, test.captions, search, advance)
    pictures = [read_drawing(one[0], codec.language) for one in drawn]
    verdicts = [picture.verdict for picture in pictures if picture.verdict is not None]

    def share(name: str) -> float:
        right: int = sum(vars(verdict)[name] for verdict in verdicts)
        return right / len(verdicts)

    scores = DrawingScores(
        test.name,
        len(pictures),
        share("objects"),
        share("colours"),
        share("counts"),
        share("places"),
        tuple(_by_groups(pictures)),
        search.temperature,
    )
    return scores, [one for one in pictures if one.verdict is None or not one.verdict.right]


def _by_groups(pictures: Sequence[ReadDrawing]) -> Iterator[GroupScore]:
    sizes = [len(one.asked.groups) if one.asked else 0 for one in pictures]
    for size in sorted(set(sizes)):
        right = [
            one.verdict.right
            for one, groups in zip(pictures, sizes, strict=True)
            if groups == size and one.verdict is not None
        ]
        yield GroupScore(size, len(right), sum(right) / len(right))


def drawing_search(model: LoadedModel, options: dict[str, Any]) -> DecodingOptions:
    """As the recipe says, from a fixed seed, so that the figure is the same each time."""
    usual = model.bundle.settings.search
    if options:
        problem = f"{', '.join(options)}: drawings are not searched for"
        raise MisuseError("evaluate", problem, advice="leave it out")
    return replace(usual, seed=SEED) if usual.draws and usual.seed is None else usual
