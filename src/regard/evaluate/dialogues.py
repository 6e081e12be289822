"""How often a model gives the very answer that a conversation ends with."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from regard.answer.chat import MOST_TOKENS, answer_all, chat_format
from regard.answer.loaded import LoadedModel
from regard.datasets.find import scored_files
from regard.datasets.table import named
from regard.decode.options import Sampling
from regard.draw.notebook.table import html_table
from regard.errors import MisuseError
from regard.prepare.turns import Dialogue, read_dialogues
from regard.printable import Advance, unheard
from regard.runs.columns import data_of
from regard.runs.folder import RunFolder
from regard.runs.sections import DataSection
from regard.text.chat_template import ChatFormat

TOGETHER = 128  # conversations that are answered at once


@dataclass(frozen=True)
class KindScore:
    """Of one kind of question."""

    kind: str
    dialogues: int
    exact: float  # share of answers that are the expected ones


@dataclass(frozen=True)
class WrongAnswer:
    """What was asked, answered, and expected."""

    kind: str
    question: str
    answer: str
    expected: str


@dataclass(frozen=True)
class DialogueScores:
    """Of all conversations, and by kind where a file says kinds."""

    dialogues: int
    exact: float
    kinds: tuple[KindScore, ...]
    wrong: tuple[WrongAnswer, ...]

    def _repr_html_(self) -> str:
        """A row for each kind."""
        rows = [(row.kind, row.dialogues, f"{row.exact:.1%}") for row in self.kinds]
        title = f"{self.exact:.1%} of {self.dialogues:,} answers exact"
        return html_table(("kind", "dialogues", "exact"), rows, title)


def dialogues_to_score(model: LoadedModel, file: Path | None) -> tuple[str, list[Dialogue]]:
    """Those of a file; of a run the test part of its data set, else what it validates on."""
    data = data_of(RunFolder(model.bundle.path))
    if file is not None:
        data, name = DataSection(texts=file), str(file)
    elif data is not None and data.set and named(data.set).test:
        data, name = replace(data, texts=scored_files(data.set)[0]), f"{data.set}, test"
    elif data is not None and data.valid_texts is not None:
        data, name = replace(data, texts=data.valid_texts), str(data.valid_texts)
    else:
        problem = f"{model.bundle.path} holds no conversations to score"
        raise MisuseError("evaluate", problem, advice="give some with --file")
    return name, list(read_dialogues(data, own=False))


def score_dialogues(
    model: LoadedModel,
    dialogues: list[Dialogue],
    advance: Advance = unheard,
) -> DialogueScores:
    """Ask for the last answer of each."""
    chat, sampling = chat_format(model), Sampling(max_tokens=MOST_TOKENS)
    wrong, counts, right = [], dict[str, int](), dict[str, int]()
    for dialogue, answer in _answered(model, dialogues, sampling, chat, advance):
        *before, last = dialogue.messages
        counts[dialogue.kind] = counts.get(dialogue.kind, 0) + 1
        if answer == last.content.strip():
            right[dialogue.kind] = right.get(dialogue.kind, 0) + 1
        else:
            question = before[-1].content
            wrong.append(WrongAnswer(dialogue.kind, question, answer, last.content))
    kinds = [KindScore(kind, n, right.get(kind, 0) / n) for kind, n in sorted(counts.items())]
    exact = 1 - len(wrong) / len(dialogues)
    return DialogueScores(len(dialogues), exact, tuple(kinds), tuple(wrong))


def _answered(
    model: LoadedModel,
    dialogues: list[Dialogue],
    sampling: Sampling,
    chat: ChatFormat,
    advance: Advance,
) -> Iterator[tuple[Dialogue, str]]:
    """Each conversation with the answer that the model gives to it, many at once."""
    for begin in range(0, len(dialogues), TOGETHER):
        part = dialogues[begin : begin + TOGETHER]
        asked = [dialogue.messages[:-1] for dialogue in part]
        yield from zip(part, answer_all(model, asked, sampling, chat), strict=True)
        advance(len(part))
