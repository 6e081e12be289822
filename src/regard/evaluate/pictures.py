"""How good an encoder of pictures is: accuracy, F1 of each label, which it takes for which, and the
mistakes that it was surest of."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from regard.answer.loaded import LoadedModel
from regard.answer.see import probabilities_of
from regard.checkpoint.files import read_own_json
from regard.data.images import LabelledPicture, PicturePlace, PictureReport, read_pictures
from regard.data.picture import Colours
from regard.errors import DataError, MisuseError
from regard.evaluate.texts import TextScores, class_scores, sklearn_metrics
from regard.prepare.pictures import held_out_names, load_pictures, place_of
from regard.printable import Advance, unheard
from regard.runs.folder import RunFolder
from regard.runs.recipe import make_recipe

TOGETHER = 256  # pictures in memory at once


@dataclass(frozen=True)
class TestPictures:
    """Pictures with labels, as large as the model looks at them."""

    name: str
    rows: Callable[[], Iterator[LabelledPicture]]
    report: PictureReport


@dataclass(frozen=True, eq=False)
class WrongLabel:
    """A picture that was given a wrong label, and with which probability."""

    name: str
    colours: Colours
    label: str
    answer: str
    probability: float


def pictures_to_score(model: LoadedModel, place: Path | None) -> TestPictures:
    """Those of a folder or a file; without one, those that the run held out."""
    run, report = RunFolder(model.bundle.path), PictureReport()
    if place is None:
        if not model.bundle.is_run:
            problem, advice = f"{model.bundle.path} holds no pictures", "give some with --file"
            raise MisuseError("evaluate", problem, advice=advice)
        return TestPictures("the run's validation pictures", lambda: _own(run), report)
    at = PicturePlace(place, model.spec.channels)
    if model.bundle.is_run:
        recipe = make_recipe(read_own_json(run.recipe), str(run.recipe))
        is_like = recipe.data.images is not None and place.suffix == recipe.data.images.suffix
        at = place_of(recipe, place, model.spec.channels, is_like)
    return TestPictures(str(place), lambda: _fitted(model, at, report), report)


def _own(run: RunFolder) -> Iterator[LabelledPicture]:
    data, names = load_pictures(run), held_out_names(run)
    for number, name in enumerate(names):
        label = data.labels[int(data.valid.numbers["label"][number])]
        yield LabelledPicture(data.colours(data.valid, range(number, number + 1))[0], label, name)


def _fitted(
    model: LoadedModel, place: PicturePlace, report: PictureReport
) -> Iterator[LabelledPicture]:
    for picture in read_pictures(place, report):
        fitted = model.bundle.pixels.fitted(picture.colours, picture.name)
        yield LabelledPicture(fitted, picture.label, picture.name)


def score_pictures(
    model: LoadedModel,
    test: TestPictures,
    worst: int = 0,
    advance: Advance = unheard,
) -> tuple[TextScores, list[WrongLabel]]:
    """The scores, and so many of the mistakes, that of the highest probability first."""
    sklearn_metrics()  # says what is missing before anything slow begins
    names = model.bundle.labels.names
    places = {name: i for i, name in enumerate(names)}
    truth, answers = list[int](), list[int]()
    surest: list[tuple[float, int, WrongLabel]] = []
    rows = test.rows()
    while some := list(islice(rows, TOGETHER)):
        if unseen := sorted({row.label for row in some} - set(names)):
            known = ", ".join(map(repr, names[:20]))
            problem = f"labels that the model does not know: {', '.join(map(repr, unseen[:5]))}"
            raise DataError(test.name, problem, advice=f"known are {known}")
        shares = probabilities_of(model, [row.colours for row in some])
        for row, p in zip(some, shares, strict=True):
            best = int(p.argmax())
            truth.append(places[row.label])
            answers.append(best)
            if best != places[row.label] and worst:
                probability = float(p[best])
                mistake = WrongLabel(row.name, row.colours, row.label, names[best], probability)
                heapq.heappush(surest, (probability, -len(truth), mistake))
                if len(surest) > worst:
                    heapq.heappop(surest)  # the one that it was least sure of
        advance(len(some))
    if not truth:
        raise DataError(test.name, "no picture")
    scores = class_scores(np.array(truth), np.array(answers), names, 0, "picture")
    return scores, [mistake for *_, mistake in sorted(surest, key=lambda one: -one[0])]
