"""What captions ask for, and whether a picture is it: worked out by hand, and on drawn scenes."""

import random

import pytest

from regard.data.scenes.asked import AskedGroup, AskedScene, asked_by_chance, asked_in, ways_of
from regard.data.scenes.drawing import Thing, draw
from regard.data.scenes.making import scenes
from regard.data.scenes.reading import read_scene
from regard.data.scenes.statement import Group, Statement
from regard.data.scenes.verdict import SceneVerdict, verdict_on
from regard.data.scenes.words import LANGUAGES, Language, caption

CIRCLES = [Thing("circle", "red", 0, 1), Thing("circle", "red", 0, 4)]
SQUARE = Thing("square", "blue", 4, 2)
EXAMPLE = Statement((Group(2, "red", "circle"), Group(1, "blue", "square")), "above")


def test_a_caption_may_leave_a_colour_out() -> None:
    asked = asked_in("two red circles above a square")
    assert asked == AskedScene(
        (AskedGroup(2, "red", "circle"), AskedGroup(1, None, "square")), "above"
    )
    assert asked.is_shown(EXAMPLE)
    assert asked_in("zwei rote Kreise über einem Quadrat", "de") == asked


def test_two_groups_have_two_ways() -> None:
    said = [caption(way).text for way in ways_of(EXAMPLE)]
    assert said == [
        "two red circles above a blue square",
        "a blue square below two red circles",
    ]
    for text in said:
        asked = asked_in(text)
        assert asked is not None and asked.is_shown(EXAMPLE)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_said_of_a_scene_is_shown_by_it_and_by_no_changed_one(language: Language) -> None:
    chance = random.Random(1)
    turned = 0
    for scene in scenes("train", 200):
        text = asked_by_chance(scene.statement, language, chance, unsaid=0.3)
        asked = asked_in(text, language)
        assert asked is not None and asked.is_shown(scene.statement), text
        turned += text.split()[0] != caption(scene.statement, language).words[0]
        first, *rest = scene.statement.groups
        count = first.count % 4 + 1
        other = Statement(
            (Group(count, first.colour, first.shape), *rest), scene.statement.relation
        )
        assert not asked.is_shown(other)
        assert verdict_on(read_scene(scene.picture), asked) == SceneVerdict(True, True, True, True)
    assert turned > 20


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "red",
        "a red dog",
        "five red circles",
        "a red circle above",
        "above a red circle",
        "a red circle above a blue square above a ring",
        "a red circle above a blue square and",
        "a circle and a ring",
        "zwei rote Kreise",
    ],
)
def test_captions_that_are_none(text: str) -> None:
    assert asked_in(text) is None


@pytest.mark.parametrize(
    ("things", "verdict"),
    [
        ([*CIRCLES, SQUARE], SceneVerdict(True, True, True, True)),
        ([*CIRCLES, Thing("square", "blue", 0, 6)], SceneVerdict(True, True, True, False)),
        ([*CIRCLES[:1], SQUARE], SceneVerdict(True, True, False, False)),
        ([*CIRCLES, Thing("square", "red", 4, 2)], SceneVerdict(True, False, False, False)),
        ([*CIRCLES, Thing("ring", "blue", 4, 2)], SceneVerdict(False, False, False, False)),
        (CIRCLES, SceneVerdict(False, False, False, False)),
        ([], SceneVerdict(False, False, False, False)),
    ],
)
def test_each_question_is_harder_than_the_one_before(
    things: list[Thing], verdict: SceneVerdict
) -> None:
    asked = asked_in("two red circles above a blue square")
    assert asked is not None
    assert verdict_on(read_scene(draw(things)), asked) == verdict


def test_a_blot_makes_all_of_it_wrong() -> None:
    picture = draw([*CIRCLES, SQUARE])
    picture[30:36, 30:46] = (214, 40, 40)
    asked = asked_in("two red circles above a blue square")
    assert asked is not None
    assert verdict_on(read_scene(picture), asked) == SceneVerdict(False, False, False, False)


def test_things_of_one_group_in_two_colours_are_two_groups() -> None:
    asked = asked_in("two circles above a blue square")
    assert asked is not None
    things = [Thing("circle", "red", 0, 1), Thing("circle", "green", 0, 4), SQUARE]
    assert not verdict_on(read_scene(draw(things)), asked).objects
