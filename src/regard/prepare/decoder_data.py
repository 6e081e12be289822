"""Documents or conversations → run folder: the tokenizer, the spec, the ids one after the other.

A store's row is a part of a document, so that no document has to fit into memory; `begins` says
with which rows documents begin (data/windows.py). A conversation is one row, which also says which
of its ids are answers; one that is longer than a window loses its oldest questions with their
answers until it fits, as it would when somebody talks to the model for so long.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from regard.bundle.encoder_file import EncoderFile, read_encoder_file
from regard.config import to_tables
from regard.data.store import ColumnKind, Store, StoreRow, write_store
from regard.data.windows import Windows
from regard.draw.terminal.progress import progress_bar
from regard.errors import DataError
from regard.model.spec import Spec
from regard.prepare.documents import DocumentPart, Documents
from regard.prepare.start import (
    generator_spec,
    kept_spec,
    kept_tokenizer,
    open_decoder,
    tokenizer_for,
)
from regard.prepare.turns import Dialogue, Dialogues
from regard.printable import Advance
from regard.runs.chat_section import ChatSection
from regard.runs.folder import RunFolder, write_own_json
from regard.runs.sections import Recipe
from regard.text.chat_template import ChatFormat, find_template
from regard.text.encoder_tokenizer import save_for_decoder
from regard.text.published import PublishedTokenizer
from regard.text.turns import without_oldest


@dataclass(frozen=True)
class DecoderData:
    """What training needs of the data."""

    spec: Spec
    tokenizer: PublishedTokenizer
    train: Windows
    valid: Windows


def prepare_documents(run: RunFolder, recipe: Recipe, documents: Documents) -> None:
    """Fill the run's data folder."""
    texts = (part.text for part in documents.train())
    tokenizer, spec, _ = begin_decoder(run, recipe, texts, documents.characters)
    kinds = {"text": ColumnKind(spec.vocabulary), "begins": ColumnKind(2, ragged=False)}
    own_validation = documents.data.valid_texts is not None  # nobody has counted it
    with progress_bar("encoding", None if own_validation else documents.characters) as bar:
        for name, parts in {"train": documents.train(), "valid": documents.valid()}.items():
            rows = encoded_parts(tokenizer, parts, bar.advance)
            store = write_store(run.data / name, kinds, rows)
            if len(store) == 0 or len(store["text"].values) < 2:
                problem = f"too little text to {name} on"
                advice = "give more, or texts to validate on as valid_texts"
                raise DataError(documents.data.texts, problem, advice=advice)


def begin_decoder(
    run: RunFolder, recipe: Recipe, texts: Iterable[str], characters: int
) -> tuple[PublishedTokenizer, Spec, int]:
    """The run's tokenizer, spec and longest window; written, before any text becomes ids.

    `texts` are read where a vocabulary is learned from them; they have so many characters.
    """
    start = open_decoder(recipe)
    section = recipe.tokenizer
    tokenizer = tokenizer_for(run, section, start, texts, characters, save_for_decoder)
    spec = generator_spec(recipe, tokenizer, start)
    limits = (recipe.data.max_tokens, spec.position_limit)
    length = min(most for most in limits if most is not None)
    EncoderFile(start.family.name if start else "regard", length).write(run.folder)
    write_own_json(run.spec, to_tables(spec))
    return tokenizer, spec, length


def encoded_parts(
    tokenizer: PublishedTokenizer, parts: Iterable[DocumentPart], advance: Advance
) -> Iterator[StoreRow]:
    """Ids of each part; a document begins and ends as its tokenizer has it."""
    begin = list(tokenizer.encode("").ids)  # what it puts before a text: <s>, or nothing
    end = [tokenizer.roles["eos"]] if "eos" in tokenizer.roles else []
    for part in parts:
        ids = list(tokenizer.encode(part.text).ids)[len(begin) :]
        framed = [*(begin if part.begins else ()), *ids, *(end if part.ends else ())]
        if framed:
            yield {"text": framed, "begins": int(part.begins)}
        advance(len(part.text))


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
    own_validation = dialogues.data.valid_texts is not None  # nobody has counted it
    with progress_bar("encoding", None if own_validation else dialogues.report.kept) as bar:
        for name, read in {"train": dialogues.train(), "valid": dialogues.valid()}.items():
            path = dialogues.data.texts if name == "train" else dialogues.data.valid_texts
            rows = _encoded_dialogues(
                chat, read, length, str(path or dialogues.data.texts), bar.advance
            )
            store = write_store(run.data / name, kinds, rows)
            if len(store) == 0:
                problem = f"no conversation is left to {name} on"
                advice = "give more, or some to validate on as valid_texts"
                raise DataError(dialogues.data.texts, problem, advice=advice)


def _encoded_dialogues(
    chat: ChatFormat,
    dialogues: Iterable[Dialogue],
    length: int,
    path: str,
    advance: Advance,
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


def load_documents(run: RunFolder) -> DecoderData:
    """What `prepare_documents` or `prepare_dialogues` left in the run folder."""
    run.check_data()
    length = read_encoder_file(run.folder).limit
    train, valid = (Windows(Store.open(run.data / name), length) for name in ("train", "valid"))
    return DecoderData(kept_spec(run), kept_tokenizer(run), train, valid)
