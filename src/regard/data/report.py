"""What was read of a corpus or a table, for a person: counts that add up, and which columns."""

from dataclasses import dataclass, field

from regard.data.columns import ChosenColumns
from regard.data.lines import Problem
from regard.errors import DataError
from regard.printable import counted

SHOWN_LINES = 5
"""How many line numbers of each class of bad line a report keeps."""


@dataclass
class Report:
    """Exact counts of what was read: total = kept + the sum of bad."""

    total: int = 0
    kept: int = 0
    bad: dict[Problem, int] = field(default_factory=dict)
    first_lines: dict[Problem, list[int]] = field(default_factory=dict)
    longer: str = ""  # which of two unequal files holds the surplus
    columns: ChosenColumns | None = None  # of a table
    unit: str = "line"  # what is counted

    def leave_out(self, problem: Problem, line: int) -> None:
        """Count one bad line."""
        self.bad[problem] = self.bad.get(problem, 0) + 1
        lines = self.first_lines.setdefault(problem, [])
        if len(lines) < SHOWN_LINES:
            lines.append(line)

    def lines(self) -> list[str]:
        """Sentences for a person: the sum first, then one line per class of bad line."""
        left_out = self.total - self.kept
        said = [
            f"{counted(self.total, self.unit)} read, {self.kept:,} kept, {left_out:,} left out."
        ]
        if self.columns:
            said.append(f"{self.columns.said()}.")
        for problem in Problem:
            if count := self.bad.get(problem, 0):
                shown = ", ".join(str(line) for line in self.first_lines[problem])
                more = ", …" if count > SHOWN_LINES else ""
                where = f" in {self.longer}" if problem is Problem.SURPLUS else ""
                lines = counted(count, self.unit)
                said.append(f"{problem.value}{where}: {lines} ({shown}{more}).")
        if Problem.SURPLUS in self.bad:
            said.append(
                "If a line is missing in the middle, all later pairs are wrong: look at both."
            )
        return said

    def check(self) -> None:
        """Refuse a corpus of which more than half is bad, or nothing is left."""
        left_out = self.total - self.kept
        if self.kept == 0 or left_out * 2 > self.total:
            what = "more than half of the corpus is unusable" if self.kept else "no usable pair"
            raise DataError(
                "\n  ".join([f"corpus: {what}.", *self.lines()])
                + "\n  Look at these lines, and whether the two sides belong together."
            )
