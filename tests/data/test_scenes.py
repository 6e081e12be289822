"""Drawn scenes: what is drawn is what is said, what is read is what was drawn, and parts differ."""

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from regard.data.scenes.drawing import CELL, CELLS, COLOURS, PALETTE, SHAPES, SIDE, Thing, draw
from regard.data.scenes.making import PARTS, part_of, scenes
from regard.data.scenes.reading import read_scene
from regard.data.scenes.statement import Group, Statement, statement_of
from regard.data.scenes.words import LANGUAGES, caption, statement_in, vocabulary
from regard.errors import DataError

FEW = 300


@pytest.fixture(scope="module")
def some():
    return {part: list(scenes(part, FEW)) for part in PARTS}


def test_a_part_is_the_same_every_time_and_no_combination_is_in_two(some):
    for part in PARTS:
        assert list(scenes(part, 20)) == some[part][:20]
        assert {part_of(scene.statement) for scene in some[part]} == {part}
    groups = {part: {scene.statement.combination for scene in some[part]} for part in PARTS}
    assert not groups["test"] & (groups["train"] | groups["valid"])
    first = "two green squares above three blue rings and two black triangles"
    assert caption(some["test"][0].statement).text == first


def test_all_is_drawn_that_can_be_said(some):
    scenes_of_all = [scene for part in PARTS for scene in some[part]]
    said = {caption(s.statement, one).words for s in scenes_of_all for one in LANGUAGES}
    words = {word for sentence in said for word in sentence}
    assert words == vocabulary("en") | vocabulary("de")
    assert {len(s.statement.groups) for s in scenes_of_all} == {1, 2, 3}


def test_the_reader_finds_what_was_drawn_from_the_pixels_alone(some):
    for scene in some["test"]:
        reading = read_scene(scene.picture)
        assert reading.things == tuple(sorted(scene.things, key=lambda t: (t.row, t.column)))
        assert reading.statement == scene.statement
        assert (reading.unread, reading.dust) == ((), 0)
        assert all(read.alike == 1 for read in reading.found)


def test_scipy_counts_as_many_patches_of_ink(some):
    for scene in some["valid"][:50]:
        patches = 0
        for colour in COLOURS:
            is_so = (scene.picture == PALETTE[colour]).all(axis=2)
            patches += ndimage.label(is_so)[1]
        assert patches == len(scene.things) == len(read_scene(scene.picture).found)


def test_a_cell_is_one_of_145(some):
    cells = {
        scene.picture[row : row + CELL, column : column + CELL].tobytes()
        for part in PARTS
        for scene in some[part]
        for row in range(0, SIDE, CELL)
        for column in range(0, SIDE, CELL)
    }
    assert len(cells) <= 1 + 4 * len(SHAPES) * len(COLOURS) == 145


def test_boxes_hold_the_ink_and_nothing_lies_outside_of_them(some):
    for scene in some["valid"][:50]:
        left = scene.picture.copy()
        for thing in scene.things:
            x0, y0, x1, y1 = thing.box
            assert (left[y0:y1, x0:x1] == PALETTE[thing.colour]).all(axis=2).any()
            left[y0:y1, x0:x1] = 255
        assert (left == 255).all()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_caption_says_its_statement_and_points_at_its_nouns(some, language):
    for scene in some["test"]:
        said = caption(scene.statement, language)
        assert statement_in(said.text, language) == scene.statement
        names = [read.shape for group in scene.meant() for read in group[:1]]
        assert [group.shape for group in scene.statement.groups] == names
        if language == "en":
            nouns = [said.words[place] for place in said.nouns]
            assert all(noun.startswith(name) for noun, name in zip(nouns, names, strict=True))


def test_german_agrees():
    two = Statement((Group(1, "red", "circle"), Group(1, "blue", "diamond")), "above")
    assert caption(two, "de").text == "ein roter Kreis über einer blauen Raute"
    several = (Group(1, "green", "cross"), Group(2, "black", "circle"), Group(1, "red", "ring"))
    said = caption(Statement(several, "left of"), "de").text
    assert said == "ein grünes Kreuz links von zwei schwarzen Kreisen und einem roten Ring"
    assert caption(Statement((Group(3, "purple", "square"),)), "de").text == (
        "drei violette Quadrate"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a red",
        "a red circle above",
        "two red circle",
        "a red circle above a blue square and",
        "a red circle above a blue square or a green ring",
        "a red circle and a blue square",
        "five red circles",
    ],
)
def test_what_is_no_caption_says_nothing(text):
    assert statement_in(text) is None


@pytest.mark.parametrize(
    ("things", "said"),
    [
        # above, and beside it as well: both could be said
        ([("circle", "red", 0, 0), ("square", "blue", 4, 4)], None),
        # neither is past the other
        ([("circle", "red", 0, 0), ("circle", "red", 4, 0), ("square", "blue", 2, 0)], None),
        ([("circle", "red", 0, 0), ("square", "blue", 4, 1)], "a red circle above a blue square"),
        ([("circle", "blue", 0, 0), ("square", "red", 4, 1)], "a red square below a blue circle"),
        (
            [("circle", "red", 0, 5), ("ring", "red", 1, 1)],
            "a red circle to the right of a red ring",
        ),
        ([("ring", "red", 0, 2 * i) for i in range(4)] + [("ring", "red", 4, 0)], None),
        ([], None),
    ],
)
def test_what_can_be_said_of_things(things, said):
    statement = statement_of([Thing(*thing) for thing in things])
    assert (statement and caption(statement).text) == said


def test_a_noisy_picture_is_read_or_not_but_never_guessed():
    scene = next(scenes("test", 1))
    noise = np.random.default_rng(1).normal(0, 12, scene.picture.shape)
    noisy = np.clip(scene.picture + noise, 0, 255).astype(np.uint8)
    assert read_scene(noisy).statement == scene.statement
    torn = scene.picture.copy()
    left, top, right, bottom = scene.things[0].box
    torn[top + 3 : bottom - 3, left:right] = 255
    reading = read_scene(torn)
    assert reading.unread and reading.statement is None
    moved = np.roll(scene.picture, 1, axis=1)  # a pixel beside the cells
    assert [read.thing.shape for read in read_scene(moved).found] == [
        thing.shape for thing in scene.things
    ]
    dusty = scene.picture.copy()
    dusty[47, 47] = PALETTE["red"]
    assert (read_scene(dusty).dust, read_scene(dusty).statement) == (1, scene.statement)
    static = np.random.default_rng(2).integers(0, 256, scene.picture.shape, dtype=np.uint8)
    assert read_scene(static).statement is None


def test_a_picture_that_was_kept_as_a_file_is_read_alike(tmp_path):
    scene = next(scenes("valid", 1))
    Image.fromarray(scene.picture).save(tmp_path / "scene.png")
    kept = np.asarray(Image.open(tmp_path / "scene.png").convert("RGB"))
    assert read_scene(kept).statement == scene.statement


def test_another_size_is_refused():
    with pytest.raises(DataError, match="48, 48, 3"):
        read_scene(np.zeros((40, 40, 3), np.uint8))


def test_every_thing_can_be_read_at_every_place():
    for shape in SHAPES:
        for colour in COLOURS:
            for place in range(CELLS - 1):
                thing = Thing(shape, colour, place, CELLS - 2 - place)
                assert read_scene(draw([thing])).things == (thing,)
