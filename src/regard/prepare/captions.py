"""Pictures with captions → run folder: a tokenizer of the captions, pictures, ids.

tokenizer.json, spec.json   words and the model; preprocessor_config.json how a picture is read
data/train, data/valid      stores: `target`, the ids of a caption, and its picture: `pixels`,
                            size · size · channels bytes; of a drawn scene `things`, four numbers
                            each, which are drawn when the picture is needed
data/valid.jsonl            captions and names of the held-out pictures
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np

from regard.bundle.pixels import Preparation, read_preparation
from regard.config import to_tables
from regard.data.buckets import Numbers
from regard.data.corpus import split_for_validation
from regard.data.images import PicturePlace, PictureReport, read_pictures
from regard.data.picture import Colours
from regard.data.scenes.drawing import COLOURS, SHAPES, Box, Thing, draw
from regard.data.scenes.grids import grids
from regard.data.scenes.making import SIZES, ScenePart, scenes
from regard.data.scenes.words import Language, caption
from regard.data.store import ColumnKind, Store, StoredIds, StoreRow, write_store
from regard.draw.terminal.progress import progress_bar
from regard.errors import DataError, MisuseError
from regard.model.spec import Spec
from regard.prepare.pairs import held_out_share, refuse_few, write_rows
from regard.prepare.start import kept_spec
from regard.printable import counted
from regard.runs.folder import RunFolder, read_texts, write_own_json
from regard.runs.sections import DataSection, Recipe, spec_of
from regard.text.tokenizer import Tokenizer

VALID = "valid.jsonl"
TABLES = ("captions.csv", "captions.tsv", "captions.jsonl")  # in a folder of pictures
EVERY = 20  # of the pictures for grids, which one is held out
MADE = 5000  # captions that are made have all their words among so many
GROUND = 0  # between the pictures of a grid: Fashion-MNIST's are white on black


@dataclass(frozen=True, eq=False)
class Captioned:
    """A picture and what is said of it; of one that was made, where what each noun means lies."""

    picture: Callable[[], Colours]  # drawn, where it is drawn, when it is asked for
    caption: str
    name: str
    nouns: tuple[tuple[int, tuple[Box, ...]], ...] = ()  # place among the words, boxes
    things: tuple[Thing, ...] = ()

    @property
    def colours(self) -> Colours:
        """(height, width, channels)"""
        return self.picture()


@dataclass(frozen=True, eq=False)
class Captions:
    """The pictures of a recipe, to be read any number of times."""

    data: DataSection
    train: Callable[[], Iterator[Captioned]]
    valid: Callable[[], Iterator[Captioned]]
    counts: tuple[int, int]
    origin: str
    report: PictureReport = field(default_factory=PictureReport)

    def lines(self) -> list[str]:
        """What was read, for a person."""
        if not self.report.place:
            return []
        listed = [f"{self.report.place}: {counted(self.report.kept.total(), 'picture')}."]
        if self.report.left_out:
            listed.append(f"{counted(len(self.report.left_out), 'file')} left out:")
            listed += [f"  {reason}" for _, reason in self.report.left_out[:5]]
        return listed


def survey_captions(recipe: Recipe) -> Captions:
    """Count and check; say which are learned from."""
    data, own = recipe.data, recipe.own
    if data.scenes:
        made = own.made or SIZES["train"]
        held = min(SIZES["valid"], max(1, made // 4))
        rows = [partial(drawn, data.scenes, *part) for part in (("train", made), ("valid", held))]
        return Captions(data, rows[0], rows[1], (made, held), "drawn scenes")
    assert data.images is not None
    spec = spec_of(recipe.model, 1)
    if own.names:
        return _grids(recipe, spec)
    report = PictureReport()
    place = table_of(data.images, spec.channels, data.image, data.text, own.white)
    keys = list[str]()
    with progress_bar("reading pictures", None) as bar:
        for picture in read_pictures(place, report):
            keys.append(blake2b(picture.colours.tobytes(), digest_size=16).hexdigest())
            bar.advance()
    if data.valid_images is not None:
        other = table_of(data.valid_images, spec.channels, white=own.white)
        valid = partial(read_captioned, other)
        count = sum(1 for _ in valid())
        train = partial(read_captioned, place)
        return Captions(data, train, valid, (len(keys), count), str(data.images), report)
    refuse_few(str(data.images), len(keys), "picture", "data.valid_images")
    share, seed = held_out_share(data, len(keys)), recipe.train.seed
    held_out = [split_for_validation(key, fraction=share, seed=seed) for key in keys]

    def some(is_valid: bool) -> Iterator[Captioned]:
        pairs = zip(read_captioned(place), held_out, strict=True)
        return (picture for picture, is_held in pairs if is_held == is_valid)

    counts = (held_out.count(False), held_out.count(True))
    return Captions(
        data, partial(some, False), partial(some, True), counts, str(data.images), report
    )


def drawn(language: Language, part: ScenePart, count: int | None = None) -> Iterator[Captioned]:
    """Scenes of a part with their captions."""
    for number, scene in enumerate(scenes(part, count), start=1):
        said = caption(scene.statement, language)
        boxes = (tuple(thing.box for thing in group) for group in scene.meant())
        nouns = tuple(zip(said.nouns, boxes, strict=True))
        picture = partial(draw, scene.things)
        yield Captioned(picture, said.text, f"{part} #{number}", nouns, scene.things)


def table_of(
    path: Path, channels: int, image: str = "", text: str = "", white: float = 255.0
) -> PicturePlace:
    """A table of files and captions; of a folder the one that lies in it."""
    if path.is_dir():
        there = [path / name for name in TABLES if (path / name).is_file()]
        if not there:
            expected = f"{', '.join(TABLES[:-1])} or {TABLES[-1]} in it: file, caption"
            raise MisuseError(path, "a folder without captions", expected=expected)
        path = there[0]
    if path.suffix not in (".csv", ".tsv", ".jsonl"):
        expected = "a table with the columns file and caption (.csv, .tsv, .jsonl), or a folder"
        raise MisuseError(path, "no pictures with captions", expected=expected)
    return PicturePlace(path, channels, image, text, white, said="caption")


def read_captioned(place: PicturePlace, report: PictureReport | None = None) -> Iterator[Captioned]:
    """The pictures of a table."""
    for picture in read_pictures(place, PictureReport() if report is None else report):
        kept = partial(getattr, picture, "colours")
        yield Captioned(kept, " ".join(picture.label.split()), picture.name)


def _grids(recipe: Recipe, spec: Spec) -> Captions:
    data, own = recipe.data, recipe.own
    assert data.images is not None
    made = own.made or SIZES["train"]
    held = min(SIZES["valid"], max(1, made // 4))
    report = PictureReport()
    pictures = pictures_of_names(recipe, data.images, spec, report)
    if data.valid_images is not None:
        parts = [pictures, pictures_of_names(recipe, data.valid_images, spec, PictureReport())]
    else:
        parts = [
            {
                name: [one for n, one in enumerate(some) if (n % EVERY == 0) == is_valid]
                for name, some in pictures.items()
            }
            for is_valid in (False, True)
        ]
    rows = [
        partial(grid_captions, chosen, count, part)
        for chosen, count, part in zip(parts, (made, held), ("train", "valid"), strict=True)
    ]
    origin = f"grids of {data.images.name}"
    return Captions(data, rows[0], rows[1], (made, held), origin, report)


def pictures_of_names(
    recipe: Recipe, path: Path, spec: Spec, report: PictureReport
) -> dict[str, list[Colours]]:
    """Pictures with labels, each as large as a cell of a grid, by the noun of their label."""
    own, cell = recipe.own, spec.image_size // 2
    names = (recipe.data.image, recipe.data.label)
    place = PicturePlace(path, spec.channels, *names, own.white, names=own.names)
    fitted = Preparation(cell, cell)
    pictures: dict[str, list[Colours]] = defaultdict(list)
    with progress_bar("reading pictures", None) as bar:
        for picture in read_pictures(place, report):
            pictures[picture.label].append(fitted.fitted(picture.colours, picture.name))
            bar.advance()
    few = [name for name in own.names if len(pictures[name]) < 2]
    if few:
        raise DataError(path, f"fewer than two pictures of {', '.join(few[:5])}")
    return dict(pictures)


def grid_captions(pictures: dict[str, list[Colours]], count: int, part: str) -> Iterator[Captioned]:
    """Grids with their captions."""
    for number, grid in enumerate(grids(pictures, count, f"grids {part}", GROUND), start=1):
        said = caption(grid.statement)
        nouns = tuple(zip(said.nouns, grid.boxes, strict=True))
        yield Captioned(partial(getattr, grid, "picture"), said.text, f"{part} #{number}", nouns)


@dataclass(frozen=True)
class CaptionData:
    """What training needs of the data."""

    spec: Spec
    tokenizer: Tokenizer
    preparation: Preparation
    train: Store
    valid: Store
    captions: tuple[str, ...]  # of the held-out pictures

    def colours(self, store: Store, numbers: Numbers | range) -> Colours:
        """(B, height, width, channels) of these pictures."""
        side, channels = self.spec.image_size, self.spec.channels
        if "things" in store.columns:
            rows = (draw(things_in(store["things"][int(i)])) for i in numbers)
            return np.stack([self.preparation.fitted(row) for row in rows])
        kept = np.stack([store["pixels"][int(i)] for i in numbers])
        return kept.reshape(-1, side, side, channels)


def things_in(numbers: StoredIds) -> list[Thing]:
    """Those that a row of a store means."""
    rows = numbers.reshape(-1, 4).tolist()
    return [Thing(SHAPES[shape], COLOURS[colour], *place) for shape, colour, *place in rows]


def _numbers_of(things: Iterable[Thing]) -> list[int]:
    return [
        number
        for thing in things
        for number in (
            SHAPES.index(thing.shape),
            COLOURS.index(thing.colour),
            thing.row,
            thing.column,
        )
    ]


def prepare_captions(run: RunFolder, recipe: Recipe, captions: Captions) -> None:
    """Fill the run's data folder."""
    some = captions.counts[0] if captions.report.place and not recipe.own.names else MADE
    with progress_bar("vocabulary", min(some, captions.counts[0])) as bar:

        def sentences() -> Iterator[str]:
            for row in islice(captions.train(), some):
                yield row.caption
                bar.advance(1)

        tokenizer = Tokenizer.train(sentences(), recipe.tokenizer.kind, recipe.tokenizer.size)
    tokenizer.save(run.tokenizer)
    spec = spec_of(recipe.model, tokenizer.size)
    write_own_json(run.spec, to_tables(spec))
    preparation = read_preparation(run.folder, spec)
    preparation.write(run.folder)
    picture = "things" if recipe.data.scenes else "pixels"
    kinds = {picture: ColumnKind(256), "target": ColumnKind(tokenizer.size)}
    most, told = recipe.data.max_tokens, list[dict[str, str]]()
    with progress_bar("keeping pictures", sum(captions.counts)) as bar:

        def kept(rows: Iterable[Captioned], is_valid: bool) -> Iterator[StoreRow]:
            for row in rows:
                bar.advance(1)
                target = tokenizer.encode(row.caption)
                if len(target) + 1 > most:
                    continue
                if is_valid:
                    told.append({"name": row.name, "caption": row.caption})
                shown = (
                    _numbers_of(row.things)
                    if picture == "things"
                    else preparation.fitted(row.colours, row.name).ravel()
                )
                yield {picture: shown, "target": target}

        for name, rows in {"train": captions.train(), "valid": captions.valid()}.items():
            if not len(write_store(run.data / name, kinds, kept(rows, name == "valid"))):
                problem = f"no picture is left to {name} with: all captions take more than {most}"
                raise DataError(captions.origin, problem, advice="raise data.max_tokens")
    write_rows(run.data / VALID, told)


def load_captions(run: RunFolder) -> CaptionData:
    """What was prepared."""
    run.check_data()
    spec = kept_spec(run)
    return CaptionData(
        spec,
        Tokenizer.load(run.tokenizer),
        read_preparation(run.folder, spec),
        Store.open(run.data / "train"),
        Store.open(run.data / "valid"),
        tuple(row["caption"] for row in kept_captions(run)),
    )


def kept_captions(run: RunFolder) -> list[dict[str, str]]:
    """Names and captions of a run's held-out pictures."""
    return read_texts(run.whole(VALID), name=str, caption=str)
