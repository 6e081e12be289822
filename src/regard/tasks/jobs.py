"""The job of a run whose data is prepared, by the objective of its recipe."""

from regard.tasks.job import Job
from regard.tasks.prepare import load_prepared
from regard.tasks.recipe import Recipe
from regard.tasks.run import Run
from regard.tasks.translation import TranslationJob


def job_of(run: Run, recipe: Recipe) -> Job:
    """What `regard train` prepared in this run, as a job."""
    return TranslationJob(run, recipe, load_prepared(run))
