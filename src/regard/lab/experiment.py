"""An experiment: a claim, variants that are measured, the rule that judges them, what is shown."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from regard.draw.figure.chart import Chart
from regard.lab.rule import Condition, Measured, Verdict, decide

Measure = Callable[[str, int, bool], dict[str, float]]  # of a variant, with a seed; quick or not


@dataclass(frozen=True)
class Experiment:
    """Everything but the numbers."""

    name: str
    title: str
    claim: str  # as the notes make it
    page: str  # of docs/notes, with its section
    variants: Callable[[bool], Sequence[str]]  # of a quick run, or of a whole one
    measure: Measure
    conditions: Callable[[bool], Sequence[Condition]]  # the rule; a quick run has fewer sizes
    chart: Callable[["LabResult"], Chart]
    paragraph: Callable[["LabResult"], str]
    seconds: int  # of a whole run, about


@dataclass(frozen=True)
class LabResult:
    """What was measured: seed → variant → measure → number."""

    experiment: Experiment
    quick: bool
    seeds: Mapping[int, Measured]
    seconds: float = 0.0  # that measuring took, in this start or in earlier ones

    @property
    def conditions(self) -> Sequence[Condition]:
        return self.experiment.conditions(self.quick)

    @property
    def verdict(self) -> Verdict:
        return decide(self.conditions, list(self.seeds.values()))

    @property
    def variants(self) -> Sequence[str]:
        return self.experiment.variants(self.quick)

    @property
    def measures(self) -> list[str]:
        """Every measure that some variant has, in their order."""
        names = [
            name
            for measured in self.seeds.values()
            for numbers in measured.values()
            for name in numbers
        ]
        return list(dict.fromkeys(names))

    def values(self, variant: str, measure: str) -> list[float]:
        """One number for each seed that has it."""
        rows = (measured.get(variant, {}) for measured in self.seeds.values())
        return [row[measure] for row in rows if measure in row]

    def mean(self, variant: str, measure: str) -> float:
        return statistics.fmean(self.values(variant, measure))

    def spread(self, variant: str, measure: str) -> float:
        """The standard deviation over the seeds; 0 of a single one."""
        values = self.values(variant, measure)
        return statistics.stdev(values) if len(values) > 1 else 0.0

    def said(self, variant: str, measure: str, form: str = ".2f") -> str:
        """Mean ± spread; without a spread where there was one seed."""
        text = format(self.mean(variant, measure), form)
        if len(self.values(variant, measure)) < 2:
            return text
        return f"{text} ± {format(self.spread(variant, measure), form)}"

    def points(self, variants: Mapping[float, str], measure: str) -> list[tuple[float, float]]:
        """Of a chart: at each place the mean of a variant."""
        return [(x, self.mean(variant, measure)) for x, variant in variants.items()]
