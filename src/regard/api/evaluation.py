"""How good a model is, measured from Python: on what its run held out, on files or on rows.

model.evaluate()                                        its run's own test or validation part
model.evaluate(frame, columns={"source": "english"})    a DataFrame, a Dataset, a list of pairs
model.evaluate("test.tsv")                              a table, as `regard evaluate` reads it
model.evaluate(("test.en", "test.de"))                  a file and its references
"""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from regard.answer.loaded import LoadedModel
from regard.answer.translate import decoding_with
from regard.api.rows import check_roles, write_rows
from regard.data.table import is_table
from regard.errors import MisuseError
from regard.evaluate.captions import CaptionScores, captions_to_score, score_captions
from regard.evaluate.continuations import (
    ContinuationScores,
    documents_to_score,
    score_continuations,
)
from regard.evaluate.dialogues import DialogueScores, dialogues_to_score, score_dialogues
from regard.evaluate.drawings import (
    DrawingScores,
    captions_to_draw,
    drawing_search,
    score_drawings,
)
from regard.evaluate.fill import FillScores, score_fill, texts_to_fill
from regard.evaluate.pictures import pictures_to_score, score_pictures
from regard.evaluate.questions import QuestionScores, questions_to_score, score_questions
from regard.evaluate.summaries import (
    SummaryScores,
    score_summaries,
    summaries_to_score,
    wants_rouge,
)
from regard.evaluate.tasks import TaskScores, has_tasks, score_tasks
from regard.evaluate.texts import TextScores, score_tags_of, score_texts_of, texts_to_score
from regard.evaluate.translations import Scores, pairs_to_score, score, translate_all
from regard.evaluate.trees import TreeScores, score_trees, trees_to_score
from regard.runs.folder import RunFolder

SCORED = {
    *("translate", "generate", "classify", "tag", "fill", "complete", "answer"),
    *("see", "caption", "parse", "draw"),
}
METRICS = ("auto", "bleu", "rouge")
AnyScores = (
    Scores
    | TextScores
    | FillScores
    | ContinuationScores
    | DialogueScores
    | TaskScores
    | QuestionScores
    | SummaryScores
    | TreeScores
    | CaptionScores
    | DrawingScores
)


def evaluate(
    model: LoadedModel,
    data: object = None,
    *,
    columns: Mapping[str, str] | None = None,
    tokenize: str = "13a",
    lowercase: bool = False,
    metric: str = "auto",
    length: str | int | None = None,
    beam: int | None = None,
    alpha: float | None = None,
) -> AnyScores:
    """BLEU and chrF of a translator, a score for each task of a run that has several, accuracy and
    F1 of a classifier or a tagger, exact match and F1 of answers, how well holes are filled, how
    well a decoder foresees texts, how often one answers as expected; ROUGE of summaries; the
    brackets of trees; accuracy and F1 of a model that sees; exact captions of pictures, and
    drawings that show what was asked for.

    `columns` names the columns of a table by their role: source and target, or text, pair, label.
    """
    given = {"beam": beam, "alpha": alpha}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    check_roles(columns or {}, "evaluate")
    if metric not in METRICS:
        raise MisuseError("metric", got=metric, expected=f"one of {', '.join(METRICS)}")
    own = RunFolder(model.bundle.path)
    if wants_rouge(own, metric, data is not None):
        with TemporaryDirectory(prefix="regard-") as place:
            files = _files(data, Path(place), columns or {})
            documents = summaries_to_score(own, *files, columns or {})
            return score_summaries(model, documents, length, search=options)[0]
    if not SCORED & set(model.tasks):
        problem = f"{model.bundle} offers {', '.join(model.tasks)}"
        expected = (
            "a model that translates, classifies, tags, answers, fills, completes, sees, parses "
            "or draws"
        )
        raise MisuseError("evaluate", problem, expected=expected)
    with TemporaryDirectory(prefix="regard-") as place:
        source, reference = _files(data, Path(place), columns or {})
        if {"translate", "generate"} & set(model.tasks):
            decoding = decoding_with(model.bundle.settings.search, "evaluate", **options)
            if data is None and has_tasks(own):
                return score_tasks(model, decoding)
            pairs = pairs_to_score(own, source, reference, False, columns or {})
            outputs = translate_all(model, pairs.sources, decoding)
            return score(outputs, pairs.references, tokenize, lowercase)
        if reference is not None:
            raise MisuseError("evaluate", "an encoder reads one table, not a file and references")
        return _score_table(model, source, columns or {}, options)


def _score_table(
    model: LoadedModel, source: Path | None, columns: Mapping[str, str], options: dict[str, Any]
) -> AnyScores:
    """Of a model that is asked one table, text or folder; None: what its run held out."""
    if "parse" in model.tasks:
        search = decoding_with(model.bundle.settings.search, "evaluate", **options)
        return score_trees(model, trees_to_score(model, source), search)
    if "draw" in model.tasks:
        drawn = captions_to_draw(model, source)
        return score_drawings(model, drawn, drawing_search(model, options))[0]
    if "chat" in model.tasks and (source is None or is_table(source)):
        return score_dialogues(model, dialogues_to_score(model, source)[1])
    if "complete" in model.tasks:
        texts = documents_to_score(model, source, columns)
        return score_continuations(model, texts)
    if "fill" in model.tasks:
        return score_fill(model, texts_to_fill(model, source, columns))
    if "see" in model.tasks:
        return score_pictures(model, pictures_to_score(model, source))[0]
    if "caption" in model.tasks:
        test = captions_to_score(model, source)
        return score_captions(model, test, options.get("beam"))
    if "answer" in model.tasks:
        return score_questions(model, questions_to_score(model, source, columns))
    texts_of_table = texts_to_score(model, source, columns)
    return (score_tags_of if model.spec.head == "labels" else score_texts_of)(model, texts_of_table)


def _files(
    data: object, place: Path, columns: Mapping[str, str]
) -> tuple[Path | None, Path | None]:
    """Source and references as files; rows are written into one."""
    if data is None:
        return None, None
    if isinstance(data, str | Path):
        return Path(data), None
    if isinstance(data, tuple) and len(data) == 2 and all(isinstance(d, str | Path) for d in data):
        return Path(data[0]), Path(data[1])
    file = place / "rows.jsonl"
    write_rows(data, file, "evaluate", columns)
    return file, None
