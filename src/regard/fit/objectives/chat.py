"""Chat: the answers of conversations, each from what was said before it; judged as "complete" is.

The job is that of "complete": data/windows.py asks for answers alone where the data says so.
"""

from regard.fit.job import ObjectiveCode
from regard.fit.objectives.complete import check, load
from regard.prepare.decoder_data import prepare_dialogues
from regard.prepare.turns import Dialogues, survey_dialogues
from regard.runs.sections import Recipe


def survey(recipe: Recipe) -> Dialogues:
    """The conversations, counted."""
    return survey_dialogues(recipe.data, recipe.train.seed)


CODE = ObjectiveCode(check, survey, prepare_dialogues, load)
