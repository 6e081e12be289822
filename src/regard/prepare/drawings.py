"""Drawn scenes → run folder, for a model that draws them from their captions.

tokenizer.json, codebook.safetensors   words, and the patches that pictures are made of
encoder.json, spec.json                the most tokens of a caption, and the model
data/train, data/valid                 ids of captions and codes of pictures
data/valid.jsonl, data/test.jsonl      the held-out captions
data/words.txt                         the words of the training's captions
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.bundle.encoder_file import EncoderFile
from regard.bundle.picture_codec import PictureCodec, read_picture_codec, write_codebook
from regard.bundle.words_seen import write_words
from regard.config import to_tables
from regard.data.codebook import learn_codebook
from regard.data.scenes.asked import asked_by_chance
from regard.data.scenes.layouts import laid_out
from regard.data.scenes.making import PARTS, SIZES, Scene, ScenePart, scenes
from regard.data.scenes.words import Language
from regard.data.store import ColumnKind, Store, StoreRow, write_store
from regard.draw.terminal.progress import progress_bar
from regard.errors import ConfigError, DataError
from regard.model.spec import Spec
from regard.prepare.pairs import write_rows
from regard.prepare.start import kept_spec
from regard.runs.folder import RunFolder, read_texts, write_own_json
from regard.runs.sections import DataSection, Recipe, spec_of
from regard.text.tokenizer import Tokenizer

VALID, TEST = "valid.jsonl", "test.jsonl"  # in the folder of data
CHUNK = 500  # pictures that become codes at once


@dataclass(frozen=True, eq=False)
class CaptionedScene:
    """A scene, and one of the captions that ask for it."""

    caption: str
    scene: Scene


@dataclass(frozen=True)
class Drawings:
    """What is to be learned and what is held out, each part the same every time."""

    data: DataSection
    recipe: Recipe
    seen: set[str]  # filled by the training's captions

    def lines(self) -> list[str]:
        """What was read, for a person: scenes are made, nothing is read."""
        return []

    @property
    def counts(self) -> dict[ScenePart, int]:
        """How many of each part; what is held out is not much more than what is learned from."""
        made = self.recipe.own.made or SIZES["train"]
        most = {part: max(1, made // 4) for part in PARTS} | {"train": made}
        usual: dict[ScenePart, int] = SIZES | {"train": made, "valid": self.data.validation}
        return {part: min(count, most[part]) for part, count in usual.items()}

    def part(self, part: ScenePart) -> Iterator[CaptionedScene]:
        """Its scenes with captions; one that training has is left out of what is held out."""
        chance = random.Random(f"captions {part} {self.recipe.train.seed}")
        language, own = language_of(self.data), self.recipe.own
        unsaid, ways = own.unsaid, own.ways
        for scene in scenes(part, self.counts[part]):
            caption = asked_by_chance(scene.statement, language, chance, unsaid)
            if part == "train":
                self.seen.add(caption)
            if part == "train" or caption not in self.seen:
                laid = laid_out(scene.statement, chance.randrange(ways)) if ways else scene
                yield CaptionedScene(caption, laid)


def language_of(data: DataSection) -> Language:
    """That of the captions; runs/recipe_checks.py has seen that there are scenes."""
    assert data.scenes
    return data.scenes


@dataclass(frozen=True)
class DrawingData:
    """What training needs of them."""

    spec: Spec
    codec: PictureCodec
    train: Store
    valid: Store
    valid_captions: tuple[str, ...]


def survey_drawings(recipe: Recipe) -> Drawings:
    """Scenes are made while the run is prepared."""
    return Drawings(recipe.data, recipe, set())


def prepare_drawings(run: RunFolder, recipe: Recipe, drawings: Drawings) -> None:
    """Fill the run's data folder."""
    own, most = recipe.own, recipe.data.max_tokens
    rows: dict[str, list[CaptionedScene]] = {}
    with progress_bar("drawing scenes", sum(drawings.counts.values())) as bar:
        for part in PARTS:
            rows[part] = []
            for row in drawings.part(part):
                rows[part].append(row)
                bar.advance(1)
    captions = [row.caption for row in rows["train"]]
    tokenizer = Tokenizer.train(captions, recipe.tokenizer.kind, recipe.tokenizer.size)
    tokenizer.save(run.tokenizer)
    pictures = (row.scene.picture for row in rows["train"])
    codebook = learn_codebook(pictures, own.patch, own.codes, recipe.train.seed)
    write_codebook(run.folder, codebook)
    codec = PictureCodec(tokenizer, codebook, most, language_of(recipe.data))
    spec = spec_of(recipe.model, codec.vocabulary)
    if spec.position_limit is not None and spec.position_limit <= codebook.places:
        problem = f"{spec.position_limit} learned positions cannot hold {codebook.places} patches"
        raise ConfigError(
            "[model]: max_length", problem, advice=f"raise it to {codebook.places + 1}"
        )
    EncoderFile("regard", most, kind=codec.language).write(run.folder)
    write_own_json(run.spec, to_tables(spec))
    kinds = dict.fromkeys(("source", "target"), ColumnKind(codec.vocabulary))
    for part in PARTS[:2]:
        if not len(write_store(run.data / part, kinds, _encoded(codec, rows[part]))):
            problem = f"no caption is left to {part} with: all take more than {most} tokens"
            raise DataError("scenes", problem, advice="raise data.max_tokens")
    for name, held_out in {VALID: rows["valid"], TEST: rows["test"]}.items():
        write_rows(run.data / name, ({"caption": row.caption} for row in held_out))
    write_words(run.data, captions)


def _encoded(codec: PictureCodec, rows: Sequence[CaptionedScene]) -> Iterator[StoreRow]:
    """Ids of captions with their end, and of codes; a caption that is too long is left out."""
    with progress_bar("encoding", len(rows)) as bar:
        for start in range(0, len(rows), CHUNK):
            some = rows[start : start + CHUNK]
            codes = codec.codebook.codes([row.scene.picture for row in some])
            for row, each in zip(some, codes.tolist(), strict=True):
                source = codec.source(row.caption)
                if len(source) - 1 <= codec.longest:
                    yield {"source": source, "target": codec.target(each)}
            bar.advance(len(some))


def load_drawings(run: RunFolder) -> DrawingData:
    """What was prepared."""
    run.check_data()
    spec = kept_spec(run)
    return DrawingData(
        spec,
        read_picture_codec(run.folder, spec.vocabulary),
        Store.open(run.data / "train"),
        Store.open(run.data / "valid"),
        tuple(kept_captions(run, VALID)),
    )


def kept_captions(run: RunFolder, name: str) -> list[str]:
    """The held-out captions of a run."""
    return [row["caption"] for row in read_texts(run.whole(name), caption=str)]
