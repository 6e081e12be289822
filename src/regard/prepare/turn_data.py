"""Conversations → run folder: the ids of each as one document, and which of them are answers.

One that is longer than a window loses its oldest questions with their answers until it fits, as
it would when somebody talks to the model for so long.
"""

from collections.abc import Callable, Iterable, Iterator

from regard.data.store import ColumnKind, StoreRow, write_store
from regard.draw.terminal.progress import progress_bar
from regard.errors import DataError
from regard.prepare.decoder_data import begin_decoder
from regard.prepare.turns import Dialogue, Dialogues
from regard.runs.folder import RunFolder
from regard.runs.sections import ChatSection, Recipe
from regard.text.chat_template import ChatFormat, find_template
from regard.text.turns import without_oldest


def prepare_dialogues(run: RunFolder, recipe: Recipe, dialogues: Dialogues) -> None:
    """Fill the run's data folder."""
    assert isinstance(recipe.own, ChatSection)
    texts = (dialogue.text for dialogue in dialogues.train())
    tokenizer, spec, length = begin_decoder(run, recipe, texts, dialogues.characters)
    chat = ChatFormat(find_template(tokenizer, recipe.own.template), tokenizer)
    kinds = {
        "text": ColumnKind(spec.vocabulary),
        "answer": ColumnKind(2),
        "begins": ColumnKind(2, ragged=False),
    }
    with progress_bar("encoding", dialogues.report.kept) as bar:
        for name, read in {"train": dialogues.train(), "valid": dialogues.valid()}.items():
            path = dialogues.data.texts if name == "train" else dialogues.data.valid_texts
            rows = _encoded(chat, read, length, str(path or dialogues.data.texts), bar.advance)
            store = write_store(run.data / name, kinds, rows)
            if len(store) == 0:
                problem = f"no conversation is left to {name} on"
                advice = "give more, or some to validate on as valid_texts"
                raise DataError(dialogues.data.texts, problem, advice=advice)


def _encoded(
    chat: ChatFormat,
    dialogues: Iterable[Dialogue],
    length: int,
    path: str,
    advance: Callable[[int], None],
) -> Iterator[StoreRow]:
    for dialogue in dialogues:
        messages = dialogue.messages
        try:
            ids, is_answer = chat.example(messages)
            while len(ids) > length and len(shorter := without_oldest(messages)) > 1:
                messages = shorter
                ids, is_answer = chat.example(messages)
        except DataError as error:
            raise error.within(f"{path}: line {dialogue.line}") from None
        if len(ids) > length:
            problem = f"the last question and its answer have {len(ids)} tokens, a window {length}"
            advice = "raise data.max_tokens, or shorten them"
            raise DataError(f"{path}: line {dialogue.line}", problem, advice=advice)
        yield {"text": ids, "answer": is_answer, "begins": 1}
        advance(1)
