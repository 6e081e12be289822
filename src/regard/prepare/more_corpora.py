"""Further corpora (`data.more`) beside the one that validation pairs are held out of."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.corpus import Limits, plain, read_pairs
from regard.data.mixture import Portion
from regard.data.report import Report
from regard.data.role import Role
from regard.runs.sections import More

TextPair = tuple[str, str]
FILES = ("source", "target", "valid_source", "valid_target")


@dataclass(frozen=True)
class Further:
    """One of them, counted, to be read any number of times."""

    more: More
    limits: Limits
    sides: tuple[Role, Role]  # which columns of a table
    report: Report  # of the counting pass

    @property
    def name(self) -> str:
        return self.more.source.name

    def pairs(self) -> Iterator[TextPair]:
        """Its pairs, each source with the tag before it."""
        tag = f"{self.more.tag} " if self.more.tag else ""
        files = self.more.source, self.more.target
        for pair in read_pairs(*files, Report(), self.limits, self.sides):
            yield tag + pair.source, pair.target

    def lines(self) -> list[str]:
        """What was read, for a person."""
        return [f"{self.name}: {line}" for line in self.report.lines()]


def survey_further(
    more: More, limits: Limits, sides: tuple[Role, Role], advance: Callable[[], None]
) -> Further:
    """Count and check one; refuse one that is more than half bad."""
    report = Report()
    for _ in read_pairs(more.source, more.target, report, limits, sides):
        advance()
    return Further(more, limits, sides, report)


def corpora_lines(corpora: Sequence[Portion], further: Sequence[Further]) -> list[str]:
    """The share of each corpus in an epoch, for a person; none where there is one of weight 1."""
    if all(corpus.weight == 1 for corpus in corpora) and not further:
        return []
    kept = [corpus.pairs for corpus in corpora[:1]] + [each.report.kept for each in further]
    lines = []
    for corpus, before in zip(corpora, kept, strict=True):
        lost = before - corpus.pairs
        why = f"; {lost:,} left out: too long, or among those held out" if lost else ""
        lines.append(
            f"{corpus.name}: {corpus.shown:,} of an epoch's examples "
            f"({corpus.pairs:,} pairs, weight {corpus.weight:g}{why})"
        )
    return lines


def root_further(tables: dict[str, Any]) -> dict[str, Any]:
    """The file names of `data.more` and `data.tasks` made absolute, so that the run can be resumed
    from anywhere."""
    data = tables.get("data")
    if not isinstance(data, dict):
        return tables
    rooted = {
        key: [_rooted(row) if isinstance(row, dict) else row for row in data[key]]
        for key in ("more", "tasks")
        if isinstance(data.get(key), list)
    }
    return {**tables, "data": {**data, **rooted}} if rooted else tables


def _rooted(row: dict[str, Any]) -> dict[str, Any]:
    return {k: str(Path(v).resolve()) if k in FILES and v else v for k, v in row.items()}


class Unseen:
    """Leaves out pairs that would show training a sentence of the validation pairs, either side.

    Own files are split by their source. A further corpus was made by somebody else, or by a model
    from the targets, as back-translation is: there the target gives the answer away too.
    """

    def __init__(self, valid: Iterable[TextPair]) -> None:
        self._sources, self._targets = set[str](), set[str]()
        for source, target in valid:
            self._sources.add(plain(source))
            self._targets.add(plain(target))

    def of(self, pairs: Iterable[TextPair], tag: str) -> Iterator[TextPair]:
        """Those of `pairs` that validation does not ask for."""
        for source, target in pairs:
            seen = plain(source.removeprefix(tag)) in self._sources
            if not seen and plain(target) not in self._targets:
                yield source, target
