"""A recipe's name → its file, which is part of the package; needs no torch.

What `regard recipe` says of a recipe stands in the recipe itself: its first line says what it is,
the line `# Takes:` how long, its section [data] what it needs.
"""

from dataclasses import dataclass
from pathlib import Path

from regard.config import read_toml
from regard.errors import MisuseError, nearest_of_few

FOLDER = Path(__file__).parent
TAKES = "# Takes: "


@dataclass(frozen=True)
class Card:
    """What a person wants to know of a recipe before opening it."""

    name: str
    what: str
    data: str  # the name of a data set, or "own files"
    takes: str


def recipe_names() -> list[str]:
    """The recipes of the package, the demo first."""
    return sorted(
        (path.stem for path in FOLDER.glob("*.toml")), key=lambda name: (name != "demo", name)
    )


def recipe_file(recipe: Path) -> Path:
    """The file of a recipe, which is given by name or as the path of a .toml file."""
    if recipe.parent == Path() and recipe.name in recipe_names():
        return FOLDER / f"{recipe.name}.toml"
    has_others = recipe.suffix == ".toml" and any(recipe.parent.glob("*.toml"))
    if recipe.exists() or has_others:  # whoever reads it names the one beside it that may be meant
        return recipe
    if recipe.stem in recipe_names():
        raise MisuseError(
            f'{recipe}: no such recipe; did you mean "{recipe.stem}", which is part of regard? '
            f"`regard recipe {recipe.stem}` prints it"
        )
    raise MisuseError(recipe, "no such recipe", advice=nearest_of_few(recipe.stem, recipe_names()))


def recipe_text(name: str) -> str:
    """A recipe of the package as it is written."""
    return recipe_file(Path(name)).read_text(encoding="utf-8")


def card_of(name: str) -> Card:
    """What the file of a recipe says about it."""
    lines = recipe_text(name).splitlines()
    takes = next(line for line in lines if line.startswith(TAKES))
    what = lines[0].removeprefix("# ")
    data = read_toml(recipe_file(Path(name)))["data"]
    made = (f"{key}-{data[key]}" for key in ("phrasebook", "scenes") if data.get(key))
    origin = data.get("set") or next(made, "own files")
    return Card(name, what, str(origin), takes[len(TAKES) :].rstrip("."))
