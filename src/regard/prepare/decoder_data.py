"""Documents → run folder: the tokenizer, the spec, the ids of all documents one after the other.

A store's row is a part of a document, so that no document has to fit into memory; `begins` says
with which rows documents begin (data/windows.py).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from regard.bundle.bundle import open_bundle
from regard.bundle.encoder_file import EncoderFile, read_encoder_file
from regard.checkpoint.files import read_own_json
from regard.config import build, to_tables
from regard.data.store import ColumnKind, Store, StoreRow, write_store
from regard.data.windows import Windows
from regard.draw.terminal.progress import progress_bar
from regard.errors import ConfigError, DataError
from regard.model.spec import Spec
from regard.prepare.documents import DocumentPart, Documents
from regard.prepare.encoder_spec import Start
from regard.prepare.run_tokenizer import generator_spec, kept_tokenizer, tokenizer_for
from regard.runs.folder import RunFolder, write_json
from regard.runs.sections import Recipe
from regard.text.encoder_tokenizer import save_for_decoder
from regard.text.published import PublishedTokenizer


@dataclass(frozen=True)
class DecoderData:
    """What training needs of the data."""

    spec: Spec
    tokenizer: PublishedTokenizer
    train: Windows
    valid: Windows


def open_decoder(recipe: Recipe) -> Start | None:
    """The model that training begins with, if there is one: a decoder and nothing else."""
    folder = recipe.train.start_from
    if folder is None:
        return None
    bundle = open_bundle(folder)
    if bundle.is_own_translator or bundle.spec.encoder_layers or bundle.spec.head != "tokens":
        problem = f"{folder} is no decoder that goes on with texts"
        expected = "a GPT-2 or Llama folder, or a run with objective complete"
        raise ConfigError("train.start_from", problem, expected=expected)
    return Start(bundle.path, family=bundle.family, spec=bundle.spec)


def prepare_documents(run: RunFolder, recipe: Recipe, documents: Documents) -> None:
    """Fill the run's data folder."""
    texts = (part.text for part in documents.train())
    tokenizer, spec, _ = begin_decoder(run, recipe, texts, documents.characters)
    kinds = {"text": ColumnKind(spec.vocabulary), "begins": ColumnKind(2, ragged=False)}
    with progress_bar("encoding", documents.characters) as bar:
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
    write_json(run.spec, to_tables(spec))
    return tokenizer, spec, length


def encoded_parts(
    tokenizer: PublishedTokenizer, parts: Iterable[DocumentPart], advance: Callable[[int], None]
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


def load_documents(run: RunFolder) -> DecoderData:
    """What `prepare_documents` left in the run folder."""
    run.check_data()
    tokenizer = kept_tokenizer(run)
    spec = build(Spec, read_own_json(run.spec), str(run.spec))
    length = read_encoder_file(run.folder).limit
    train, valid = (Windows(Store.open(run.data / name), length) for name in ("train", "valid"))
    return DecoderData(spec, tokenizer, train, valid)
