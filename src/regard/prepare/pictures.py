"""Pictures → run folder: the spec, the pictures as the model looks at them, those held out.

    data/train, data/valid   stores: `pixels`, size · size · channels bytes a picture, and `label`
    data/valid.jsonl         the names of the held-out ones, for a person

Files are read in two passes, one to count and to check and one to keep, and never held together.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.bundle.encoder_file import ONE, EncoderFile, read_encoder_file
from regard.bundle.pixels import NAME, Preparation, read_preparation
from regard.checkpoint.files import copy_around
from regard.config import to_tables
from regard.data.buckets import Numbers
from regard.data.corpus import split_for_validation
from regard.data.images import (
    LabelledPicture,
    PicturePlace,
    PictureReport,
    class_order,
    read_pictures,
)
from regard.data.picture import Colours
from regard.data.store import ColumnKind, Store, StoreRow, write_store
from regard.draw.terminal.progress import progress_bar
from regard.errors import CheckpointError, DataError
from regard.model.spec import Spec
from regard.prepare.pairs import held_out_share, refuse_few, write_rows
from regard.prepare.start import Start, encoder_spec, kept_spec, open_seer
from regard.runs.folder import RunFolder, read_texts, write_own_json
from regard.runs.sections import DataSection, Recipe

SHOWN = 5


@dataclass(frozen=True, eq=False)
class Pictures:
    """Those of a recipe, counted, to be read any number of times."""

    data: DataSection
    place: PicturePlace
    report: PictureReport
    labels: tuple[str, ...]
    held_out: NDArray[np.bool_]  # of each good picture of data.images
    valid_place: PicturePlace | None

    def lines(self) -> list[str]:
        """What was read, for a person."""
        return self.report.lines(self.labels)

    def train(self) -> Iterator[LabelledPicture]:
        """Those to learn from."""
        return self._rows(False)

    def valid(self) -> Iterator[LabelledPicture]:
        """Those to validate on."""
        if self.valid_place is not None:
            return read_pictures(self.valid_place, PictureReport())
        return self._rows(True)

    def _rows(self, held_out: bool) -> Iterator[LabelledPicture]:
        rows = read_pictures(self.place, PictureReport())
        pairs = zip(rows, self.held_out, strict=True)
        return (picture for picture, is_held in pairs if is_held == held_out)


def place_of(recipe: Recipe, path: Path, channels: int, own: bool = True) -> PicturePlace:
    """Where pictures are, as a recipe reads them; names of columns are those of its `own` file."""
    data, see = recipe.data, recipe.own
    names = (data.image, data.label) if own else ("", "")
    return PicturePlace(path, channels, *names, white=see.white, names=see.names)


def survey_pictures(recipe: Recipe) -> Pictures:
    """Count and check; part those to validate on."""
    data, start = recipe.data, open_seer(recipe)
    assert data.images is not None
    channels = start.spec.channels if start else int(recipe.model.get("channels", 3))
    place, report = place_of(recipe, data.images, channels), PictureReport()
    keys, labels = list[str](), list[str]()
    with progress_bar("reading pictures", None) as bar:
        for picture in read_pictures(place, report):
            keys.append(blake2b(picture.colours.tobytes(), digest_size=16).hexdigest())
            labels.append(picture.label)
            bar.advance()
    classes = class_order(set(labels), place.names)
    if len(classes) < 2:
        problem = f"every picture has the label {classes[0]!r}; two or more are needed"
        raise DataError(data.images, problem)
    valid = None
    if data.valid_images is None:
        refuse_few(str(data.images), len(keys), "picture", "data.valid_images")
    else:
        is_like = data.valid_images.is_dir() == data.images.is_dir()
        valid = place_of(recipe, data.valid_images, channels, is_like)
        _refuse_unseen(valid, set(classes))
    share = 0.0 if valid else held_out_share(data, len(keys))
    held_out = parted(keys, labels, share, recipe.train.seed)
    return Pictures(data, place, report, classes, held_out, valid)


def parted(keys: list[str], labels: list[str], share: float, seed: int) -> NDArray[np.bool_]:
    """Which are held out: by what is in a picture, so that two alike are never on both sides. Of a
    class that would be held out whole, nothing is: what is not learned cannot be answered."""
    held = np.array([split_for_validation(key, fraction=share, seed=seed) for key in keys])
    learned = {label for label, is_held in zip(labels, held, strict=True) if not is_held}
    held &= np.array([label in learned for label in labels])
    return held


def _refuse_unseen(place: PicturePlace, known: set[str]) -> None:
    report = PictureReport()
    for _ in read_pictures(place, report):
        pass
    if unseen := sorted(set(report.kept) - known):
        named = ", ".join(f"{name!r} ({report.kept[name]:,})" for name in unseen[:SHOWN])
        raise DataError(place.path, f"labels that training has not seen: {named}")


@dataclass(frozen=True)
class PictureData:
    """What training needs of the data."""

    spec: Spec
    labels: tuple[str, ...]
    preparation: Preparation
    train: Store
    valid: Store

    @property
    def places(self) -> int:
        """Positions that a picture takes: its patches and the class token."""
        return self.spec.patches + 1

    def colours(self, store: Store, numbers: Numbers | range) -> Colours:
        """(B, height, width, channels) of these pictures."""
        side, channels = self.spec.image_size, self.spec.channels
        rows = np.stack([store["pixels"][int(i)] for i in numbers])
        return rows.reshape(-1, side, side, channels)


def prepare_pictures(run: RunFolder, recipe: Recipe, pictures: Pictures) -> None:
    """Fill the run's data folder."""
    start = open_seer(recipe)
    spec = encoder_spec(recipe, 0, len(pictures.labels), start)
    preparation = _preparation(run, spec, start)
    EncoderFile("vit", spec.patches + 1, pictures.labels, ONE).write(run.folder)
    write_own_json(run.spec, to_tables(spec))
    places = {name: i for i, name in enumerate(pictures.labels)}
    kinds = {
        "pixels": ColumnKind(256),
        "label": ColumnKind(max(2, len(places)), ragged=False),
    }
    names = list[dict[str, str]]()
    with progress_bar("keeping pictures", None) as bar:

        def kept(rows: Iterable[LabelledPicture], is_valid: bool) -> Iterator[StoreRow]:
            for row in rows:
                fitted = preparation.fitted(row.colours, row.name)
                if fitted.size != math.prod((spec.channels, spec.image_size, spec.image_size)):
                    problem = f"makes pictures of {fitted.shape}"
                    expected = f"{spec.image_size} × {spec.image_size} × {spec.channels}"
                    raise CheckpointError(run.folder / NAME, problem, expected=expected)
                if is_valid:
                    names.append({"name": row.name, "label": row.label})
                yield {"pixels": fitted.ravel(), "label": places[row.label]}
                bar.advance(1)

        for name, rows in {"train": pictures.train(), "valid": pictures.valid()}.items():
            if not len(write_store(run.data / name, kinds, kept(rows, name == "valid"))):
                advice = "give pictures to validate on as valid_images"
                raise DataError(pictures.place.path, f"no {name} picture is left", advice=advice)
    write_rows(run.data / "valid.jsonl", names)


def _preparation(run: RunFolder, spec: Spec, start: Start | None) -> Preparation:
    """That of the model which is started from, or the usual one; the run has its file then."""
    if start is not None:
        copy_around(start.folder, run.folder)
    preparation = read_preparation(run.folder, spec)
    if not (run.folder / NAME).is_file():
        preparation.write(run.folder)
    return preparation


def load_pictures(run: RunFolder) -> PictureData:
    """What `prepare_pictures` left in the run folder."""
    run.check_data()
    spec = kept_spec(run)
    stores = (Store.open(run.data / name) for name in ("train", "valid"))
    labels = read_encoder_file(run.folder).labels
    return PictureData(spec, labels, read_preparation(run.folder, spec), *stores)


def held_out_names(run: RunFolder) -> list[str]:
    """The names of the pictures that a run validates on, in the order of the store."""
    rows = read_texts(run.whole("valid.jsonl"), name=str, label=str)
    return [row["name"] for row in rows]
