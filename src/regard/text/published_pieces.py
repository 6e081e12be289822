"""Published tokenizers that the `sentencepiece` library runs. In: files. Out: a codec.

    spiece.model                           a text, then </s>; sentinels <extra_id_0> … at the end
    tokenizer.model                        <s>, then a text
    source.spm, target.spm, vocab.json     pieces by the models, ids by the table; a text, then </s>

A special token in a text ("<extra_id_0>") is found before the rest is cut into pieces.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from regard.text.encoded import Encoded, share
from regard.text.pieces import SPACE_MARK
from regard.text.published_files import (
    MAX_FILE,
    MAX_TOKEN,
    MAX_VOCABULARY,
    TokenizerSettings,
    broken,
    read_vocabulary,
)
from regard.untrusted import read_small_file

PIECE_TEXTS = {"pad": "<pad>", "bos": "<s>", "eos": "</s>", "unk": "<unk>"}
SENTINELS = 100  # how many <extra_id_…> follow a spiece.model that says nothing of them
MAX_SENTINELS = 10_000

CutText = Callable[[str], list[int]]


@dataclass(frozen=True)
class PieceCodec:
    """Pieces by a model, special tokens before, between and after the texts."""

    cut: CutText
    cut_target: CutText
    join: Callable[[Sequence[int]], str]
    tokens: Sequence[str]
    special: Mapping[str, int]
    before: tuple[int, ...] = ()
    between: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    is_byte_level: bool = False

    def encode(self, text: str, pair: str | None, limit: int | None) -> Encoded:
        """The ids with the special tokens around them."""
        first = self.cut(text)
        second = [] if pair is None else self.cut(pair)
        middle = () if pair is None else self.between
        if limit is not None:
            room = limit - len(self.before) - len(middle) - len(self.after)
            keep = share(room, len(first), len(second))
            first, second = first[: keep[0]], second[: keep[1]]
        head = (*self.before, *first, *middle)
        tail = (*second, *self.after)
        segment = 0 if pair is None else 1
        return Encoded(head + tail, (0,) * len(head) + (segment,) * len(tail))

    def encode_batch(self, texts: Sequence[str], limit: int | None) -> list[list[int]]:
        """The ids of many texts."""
        return [list(self.encode(text, None, limit).ids) for text in texts]

    def encode_target(self, text: str) -> Encoded:
        """The ids of a text in the language that comes out."""
        ids = (*self.before, *self.cut_target(text), *self.after)
        return Encoded(ids, (0,) * len(ids))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, none of them special."""
        return self.join(ids)


def read_spiece(path: Path, settings: TokenizerSettings) -> PieceCodec:
    """A spiece.model, with its sentinels: <extra_id_0> has the highest id."""
    model = read_pieces(path)
    stated = settings.options.get("extra_ids")
    count = SENTINELS if stated is None else stated
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MAX_SENTINELS:
        raise broken(path, f"goes with extra_ids={stated!r}, expected 0 to {MAX_SENTINELS}")
    size = model.get_piece_size()
    sentinels = {f"<extra_id_{count - 1 - n}>": size + n for n in range(count)}
    special = sentinels | _special(model, settings)
    cut = partial(_cut, model, model, _finder(special), special)
    end = _id_of("eos", special, settings, path)
    return _codec(model, cut, special, between=(end,), after=(end,))


def read_tokenizer_model(path: Path, settings: TokenizerSettings) -> PieceCodec:
    """A tokenizer.model: the space before a text stands before its first word only."""
    return piece_codec(read_small_file(path, MAX_FILE), path, settings)


def piece_codec(content: bytes, path: Path, settings: TokenizerSettings) -> PieceCodec:
    """The same by its content; `path` is the file that it came from."""
    model = later = _opened(content, path)
    if not settings.flag("legacy", False):
        later = _opened(content, path)
        later.override_normalizer_spec(add_dummy_prefix=False)
    special = _special(model, settings)
    cut = partial(_cut, model, later, _finder(special), special)
    begin, end = list[int](), list[int]()
    if settings.flag("add_bos_token", True):
        begin = [_id_of("bos", special, settings, path)]
    if settings.flag("add_eos_token", False):
        end = [_id_of("eos", special, settings, path)]
    return _codec(model, cut, special, tuple(begin), (*end, *begin), tuple(end))


def read_marian(source: Path, target: Path, table: Path, settings: TokenizerSettings) -> PieceCodec:
    """Two models for the pieces of two languages, one table for their ids."""
    if settings.flag("separate_vocabs", False):
        raise broken(source, "has a vocabulary for each language, which regard does not implement")
    vocabulary = read_vocabulary(table)
    texts = PIECE_TEXTS | dict(settings.texts)
    if texts["unk"] not in vocabulary or texts["eos"] not in vocabulary:
        raise broken(table, f"has no {texts['unk']} or no {texts['eos']}")
    special = {texts[r]: vocabulary[texts[r]] for r in PIECE_TEXTS if texts[r] in vocabulary}
    by_id = {i: token for token, i in vocabulary.items()}
    tokens = [by_id.get(i, "") for i in range(max(by_id) + 1)]
    unknown, end = vocabulary[texts["unk"]], vocabulary[texts["eos"]]
    finder = _finder(special)
    into, out = read_pieces(source), read_pieces(target)

    def cut(model: SentencePieceProcessor, text: str) -> list[int]:
        ids: list[int] = []
        for n, part in enumerate(finder.split(text)):
            # ">>de<< Hello": a language is one token, the rest is cut
            language = re.match(r">>.*?<<", part, re.DOTALL) if n % 2 == 0 else None
            if n % 2 or language:
                ids.append(vocabulary.get(language[0] if language else part, unknown))
            if n % 2 == 0 and part:
                rest = part[language.end() :] if language else part
                ids += [vocabulary.get(p, unknown) for p in model.encode(rest, out_type=str)]
        return ids

    def join(ids: Sequence[int]) -> str:
        text: str = out.decode([tokens[i] for i in ids])
        return text.replace(SPACE_MARK, " ").strip()

    return PieceCodec(partial(cut, into), partial(cut, out), join, tokens, special, after=(end,))


def read_pieces(path: Path) -> SentencePieceProcessor:
    """A model of the library, within bounds."""
    return _opened(read_small_file(path, MAX_FILE), path)


def _opened(content: bytes, path: Path) -> SentencePieceProcessor:
    model = SentencePieceProcessor()
    try:
        model.LoadFromSerializedProto(content)
        size = model.get_piece_size()
    except (RuntimeError, ValueError, TypeError, OSError) as error:
        raise broken(path, f"is no SentencePiece model: {str(error)[:200]}") from None
    if not 0 < size <= MAX_VOCABULARY:
        raise broken(path, f"holds {size:,} pieces, expected 1 to {MAX_VOCABULARY:,}")
    if max(len(model.id_to_piece(i)) for i in range(size)) > MAX_TOKEN:
        raise broken(path, f"holds a piece of more than {MAX_TOKEN} characters")
    return model


def _special(model: SentencePieceProcessor, settings: TokenizerSettings) -> dict[str, int]:
    """Control tokens of the model, the roles, and what other files add."""
    pieces = {model.id_to_piece(i): i for i in range(model.get_piece_size())}
    special = {p: i for p, i in pieces.items() if model.is_control(i) or model.is_unknown(i)}
    special |= {text: pieces[text] for text in settings.texts.values() if text in pieces}
    return special | {token.text: token.id for token in settings.added if token.special}


def _id_of(role: str, special: Mapping[str, int], settings: TokenizerSettings, path: Path) -> int:
    text = settings.texts.get(role, PIECE_TEXTS[role])
    if text not in special:
        raise broken(path, f"has no {text}, which stands around every text")
    return special[text]


def _finder(special: Mapping[str, int]) -> re.Pattern[str]:
    """Splits a text at special tokens; those come out at odd places, the longest match first."""
    longest_first = sorted(special, key=len, reverse=True)
    return re.compile("(" + "|".join(map(re.escape, longest_first)) + ")")


def _cut(
    first: SentencePieceProcessor,
    later: SentencePieceProcessor,
    finder: re.Pattern[str],
    special: Mapping[str, int],
    text: str,
) -> list[int]:
    ids: list[int] = []
    for n, part in enumerate(finder.split(text)):
        if n % 2:
            ids.append(special[part])
        elif part:
            ids += (later if n else first).encode(part)
    return ids


def _codec(
    model: SentencePieceProcessor,
    cut: CutText,
    special: Mapping[str, int],
    before: tuple[int, ...] = (),
    between: tuple[int, ...] = (),
    after: tuple[int, ...] = (),
) -> PieceCodec:
    size = model.get_piece_size()
    beyond = {i: text for text, i in special.items() if i >= size}
    tokens = [model.id_to_piece(i) for i in range(size)]
    tokens += [beyond.get(i, "") for i in range(size, max(beyond, default=size - 1) + 1)]

    def join(ids: Sequence[int]) -> str:
        texts = list[str]()
        for is_piece, group in groupby(ids, key=lambda i: i < size):
            run = list(group)
            texts.append(model.decode(run) if is_piece else "".join(tokens[i] for i in run))
        return "".join(texts)

    return PieceCodec(cut, cut, join, tokens, special, before, between, after)
