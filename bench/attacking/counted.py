"""How each attack ended, counted by kind."""

from dataclasses import dataclass, field
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table

End = Literal["survived", "noticed", "wrong"]


@dataclass
class Tally:
    """Ends by attack and place; what went wrong is told in words."""

    ends: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def count(self, attack: str, place: str, end: End, story: str = "") -> None:
        row = self.ends.setdefault((attack, place), dict.fromkeys(("survived", "noticed"), 0))
        row[end] = row.get(end, 0) + 1
        if end == "wrong":
            self.wrong.append(f"{attack}, {place}: {story}")

    def rows(self) -> list[dict[str, Any]]:
        """One for each attack and place."""
        return [
            {
                "attack": attack,
                "place": place,
                "tried": sum(row.values()),
                "survived": row["survived"],
                "noticed": row["noticed"],
                "wrong": row.get("wrong", 0),
            }
            for (attack, place), row in self.ends.items()
        ]

    def table(self) -> Table:
        """The same for people, with a sum at the end."""
        table = Table(box=SIMPLE_HEAD)
        table.add_column("attack")
        table.add_column("at")
        numbers = ("tried", "survived", "noticed", "wrong")
        for name in numbers:
            table.add_column(name, justify="right")
        rows = self.rows()
        before = ""
        for row in rows:
            first = row["attack"] if row["attack"] != before else ""
            before = row["attack"]
            table.add_row(first, row["place"], *(str(row[name]) for name in numbers))
        sums = [str(sum(row[name] for row in rows)) for name in numbers]
        table.add_row("all", "", *sums, style="bold")
        return table
