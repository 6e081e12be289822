"""How good captions are: exact ones, BLEU, and whether nouns look at what they mean."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from regard.answer.caption import caption_of_colours
from regard.answer.loaded import LoadedModel
from regard.answer.patches_seen import words_looking
from regard.checkpoint.files import read_own_json
from regard.data.images import PictureReport
from regard.draw.notebook.table import html_table
from regard.errors import DataError, MisuseError
from regard.evaluate.translations import score
from regard.prepare.captions import (
    Captioned,
    drawn,
    grid_captions,
    kept_captions,
    load_captions,
    pictures_of_names,
    read_captioned,
    table_of,
)
from regard.runs.recipe import make_recipe

TOGETHER = 256  # pictures in memory at once
GRIDS = 2000  # that are put together of a test set
SLIPS = 20  # that are kept


@dataclass(frozen=True)
class CaptionsToScore:
    """Pictures with right captions, and whose they are."""

    name: str
    rows: Callable[[], Iterator[Captioned]]
    report: PictureReport


@dataclass(frozen=True)
class WrongCaption:
    """A caption that is not the right one."""

    name: str
    output: str
    expected: str


@dataclass(frozen=True)
class NounScore:
    """The pictures whose right caption has so many nouns."""

    nouns: int
    pictures: int
    exact: float


@dataclass(frozen=True)
class CaptionScores:
    """Shares from 0 to 1, BLEU from 0 to 100; without known places of things no nouns are judged.

    A noun of a right caption is on its object if the patch that it looks at most, by the mean of
    the last layer's heads, lies in a box of what it means.
    """

    set: str
    pictures: int
    exact: float
    bleu: float
    bleu_signature: str
    nouns: int
    on_object: float | None
    by_nouns: tuple[NounScore, ...]
    slips: tuple[WrongCaption, ...]

    def _repr_html_(self) -> str:
        rows = [("exact", f"{self.exact:.2%}"), ("BLEU", f"{self.bleu:.2f}")]
        if self.on_object is not None:
            rows.append(("nouns on their object", f"{self.on_object:.2%}"))
        return html_table(("score", "value"), rows, self.set)


def captions_to_score(model: LoadedModel, file: Path | None) -> CaptionsToScore:
    """Those of a table or a folder; without one, test scenes of a run that was trained on scenes,
    else what the run held out. Of pictures with labels, grids of them."""
    report = PictureReport()
    recipe = None
    if model.bundle.is_run:
        path = model.bundle.run.recipe
        recipe = make_recipe(read_own_json(path), str(path))
    if file is None:
        if recipe is None:
            problem, advice = f"{model.bundle.path} holds no pictures", "give some with --file"
            raise MisuseError("evaluate", problem, advice=advice)
        if language := recipe.data.scenes:
            return CaptionsToScore("test scenes", lambda: drawn(language, "test"), report)
        return CaptionsToScore("the run's validation pictures", lambda: _own(model), report)
    white = 255.0 if recipe is None else recipe.own.white
    if recipe is not None and recipe.own.names and file.suffix not in (".csv", ".tsv", ".jsonl"):
        pictures = pictures_of_names(recipe, file, model.spec, report)
        name = f"grids of {file.name}"
        return CaptionsToScore(name, lambda: grid_captions(pictures, GRIDS, "test"), report)
    place = table_of(file, model.spec.channels, white=white)
    return CaptionsToScore(str(file), lambda: read_captioned(place, report), report)


def _own(model: LoadedModel) -> Iterator[Captioned]:
    data = load_captions(model.bundle.run)
    for number, row in enumerate(kept_captions(model.bundle.run)):
        colours = data.colours(data.valid, range(number, number + 1))[0]
        yield Captioned(partial(np.asarray, colours), row["caption"], row["name"])


def score_captions(
    model: LoadedModel,
    test: CaptionsToScore,
    beam: int | None = None,
    advance: Callable[[int], None] = lambda count: None,
) -> CaptionScores:
    """Write a caption of each picture and compare; let the right captions look."""
    outputs, references, lengths = list[str](), list[str](), list[int]()
    slips, looked = list[WrongCaption](), list[bool]()
    rows = test.rows()
    while some := list(islice(rows, TOGETHER)):
        colours = [model.bundle.pixels.fitted(row.colours, row.name) for row in some]
        told = [best[0].text for best in caption_of_colours(model, colours, beam)]
        outputs += told
        references += [row.caption for row in some]
        lengths += [len(row.nouns) for row in some]
        for row, text in zip(some, told, strict=True):
            if text != row.caption and len(slips) < SLIPS:
                slips.append(WrongCaption(row.name, text, row.caption))
        looked += _nouns_on_objects(model, some)
        advance(len(some))
    if not outputs:
        raise DataError(test.name, "no picture with a caption")
    scores = score(outputs, references)
    right = [one == other for one, other in zip(outputs, references, strict=True)]
    counts = sorted(set(lengths)) if any(lengths) else []
    by_nouns = []
    for nouns in counts:
        these = [is_right for is_right, n in zip(right, lengths, strict=True) if n == nouns]
        by_nouns.append(NounScore(nouns, len(these), sum(these) / len(these)))
    return CaptionScores(
        test.name,
        len(outputs),
        sum(right) / len(right),
        scores.bleu,
        scores.bleu_signature,
        len(looked),
        sum(looked) / len(looked) if looked else None,
        tuple(by_nouns),
        tuple(slips),
    )


def _nouns_on_objects(model: LoadedModel, pictures: list[Captioned]) -> Iterator[bool]:
    """For each noun whose things have a known place, whether it looks at one of them."""
    known = [picture for picture in pictures if picture.nouns]
    if not known:
        return
    colours = [model.bundle.pixels.fitted(one.colours, one.name) for one in known]
    looking = words_looking(model, colours, [one.caption for one in known])
    for picture, fitted, words in zip(known, colours, looking, strict=True):
        scale = fitted.shape[0] / picture.colours.shape[0]
        for place, boxes in picture.nouns:
            scaled = [(x0 * scale, y0 * scale, x1 * scale, y1 * scale) for x0, y0, x1, y1 in boxes]
            yield words.on_object(place, scaled)
