"""Layouts: few places for equal counts and relations, and each scene still shows its statement."""

from regard.data.scenes.layouts import laid_out
from regard.data.scenes.making import scenes
from regard.data.scenes.reading import read_scene


def test_a_scene_in_another_layout_shows_the_same() -> None:
    for number, scene in enumerate(scenes("train", 200)):
        laid = laid_out(scene.statement, number % 4)
        assert read_scene(laid.picture).statement == scene.statement


def test_shapes_and_colours_do_not_matter() -> None:
    places: dict[object, set[object]] = {}
    for scene in scenes("train", 2000):
        counts = tuple(group.count for group in scene.statement.groups)
        cells = tuple((one.row, one.column) for one in laid_out(scene.statement, 1).things)
        places.setdefault((counts, scene.statement.relation), set()).add(cells)
    assert len(places) > 100 and all(len(cells) == 1 for cells in places.values())


def test_numbers_are_different_layouts() -> None:
    differ = [
        len({laid_out(scene.statement, number).things for number in range(4)})
        for scene in scenes("train", 50)
    ]
    assert min(differ) >= 2 and sum(differ) / len(differ) > 3.5
