"""A question over an index: passages are found for it, and the answer is looked for in all of them.

What finds a passage is the index's own encoder; what finds the answer is the model that is asked.
"""

from pathlib import Path

from regard.answer.answer import (
    ContextPassage,
    QuestionAnswer,
    answer_from_passages,
    answering_task,
)
from regard.answer.answers import Answers
from regard.answer.loaded import LoadedModel
from regard.search.query import SearchIndex, open_index

READ = 5  # passages
WRITTEN_FROM = 2  # passages that a model which makes text is shown: its prompt has an end


def answer_from_index(
    model: LoadedModel,
    question: str,
    index: str | Path | SearchIndex,
    top: int = 1,
    threshold: float | None = None,
) -> Answers[QuestionAnswer]:
    """The best answers of the passages that fit the question best."""
    passages = READ if answering_task(model) == "answer" else WRITTEN_FROM
    searched = index if isinstance(index, SearchIndex) else open_index(index, device=model.device)
    matches = searched.search(question, passages, "hybrid", highlight=False)
    texts = [ContextPassage(match.text, match.file, match.first) for match in matches]
    return answer_from_passages(model, question, texts, top, threshold)
