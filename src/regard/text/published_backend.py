"""Published tokenizers that the `tokenizers` library runs. In: files. Out: a codec.

tokenizer.json             the whole of it, in one file
vocab.txt                  WordPiece: pieces of words, the later ones marked ##
vocab.json + merges.txt    byte-level BPE
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from regard.text.encoded import ContextWindow, Encoded, Places, share
from regard.text.published_files import (
    MAX_FILE,
    MAX_MERGES,
    MAX_PARTS,
    MAX_TOKEN,
    MAX_VOCABULARY,
    TokenizerSettings,
    broken,
    read_lines,
    read_vocabulary,
)
from regard.text.published_patterns import check_tokenizer_file
from regard.untrusted import read_small_file, strict_json

MAX_ADDED_SPECIALS = 16
BERT_TEXTS = {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]", "mask": "[MASK]"}
ROBERTA_TEXTS = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
END_OF_TEXT = "<|endoftext|>"


class BackendCodec:
    """Cuts, frames and joins with the library; truncation is ours, since theirs is a state.

    tokens          id → token as its file writes it; "" where an id is not used
    special         text → id of the tokens that are no text
    is_byte_level   whether tokens are written in the letters of byte-level BPE
    """

    def __init__(self, backend: Tokenizer, path: Path) -> None:
        backend.no_padding()
        backend.no_truncation()
        self._backend, self._path = backend, path
        self._frame = {pair: backend.num_special_tokens_to_add(pair) for pair in (False, True)}
        if max(self._frame.values()) > MAX_ADDED_SPECIALS:
            raise broken(path, f"adds more than {MAX_ADDED_SPECIALS} special tokens to each text")
        by_id = {i: token for token, i in backend.get_vocab(with_added_tokens=True).items()}
        self.tokens: Sequence[str] = [by_id.get(i, "") for i in range(max(by_id) + 1)]
        added = backend.get_added_tokens_decoder()
        self.special = {token.content: i for i, token in added.items() if token.special}
        self.is_byte_level = "ByteLevel" in repr(backend.decoder)  # alone or in a sequence

        self._probe()

    def _probe(self) -> None:
        """Two empty texts, so that a frame that does not fit is found when the file is read."""
        for pair in (None, ""):
            ids = self.encode("", pair, None).ids
            if any(i >= len(self.tokens) for i in ids):
                raise broken(self._path, f"puts the id {max(ids)} around texts, which no token has")

    def written(self) -> str:
        """All of it as a tokenizer.json."""
        return self._backend.to_str()

    def encode(self, text: str, pair: str | None, limit: int | None) -> Encoded:
        """The ids with the family's special tokens around them."""
        with _refusing(self._path, "cannot be run by the library"):
            first = self._backend.encode(text, add_special_tokens=False)
            second = None if pair is None else self._backend.encode(pair, add_special_tokens=False)
            if limit is not None:
                room = limit - self._frame[pair is not None]
                keep = share(room, len(first.ids), 0 if second is None else len(second.ids))
                first.truncate(keep[0])
                if second is not None:
                    second.truncate(keep[1])
            whole = self._backend.post_process(first, second, add_special_tokens=True)
            return Encoded(tuple(whole.ids), tuple(whole.type_ids))

    def cut(self, text: str) -> list[int]:
        """The ids of a text alone."""
        with _refusing(self._path, "cannot be run by the library"):
            return self._backend.encode(text, add_special_tokens=False).ids

    def encode_places(
        self, text: str, spans: Sequence[tuple[int, int]], limit: int | None
    ) -> tuple[Encoded, Places]:
        """The ids of a text, and at which of them each span of its characters begins.

        A piece belongs to the span whose letters it holds; a space may stand before them in it.
        """
        with _refusing(self._path, "cannot be run by the library"):
            cut = self._backend.encode(text, add_special_tokens=False)
            if limit is not None:
                cut.truncate(max(0, limit - self._frame[False]))
            whole = self._backend.post_process(cut, None, add_special_tokens=True)
        frame = whole.special_tokens_mask
        pieces = [(*span, n) for n, span in enumerate(whole.offsets) if not frame[n]]
        places: list[int | None] = []
        number = 0
        for start, end in spans:
            while number < len(pieces) and pieces[number][1] <= start:
                number += 1
            is_here = number < len(pieces) and pieces[number][0] < end
            places.append(pieces[number][2] if is_here else None)
        return Encoded(tuple(whole.ids), tuple(whole.type_ids)), places

    def encode_windows(
        self, question: str, context: str, limit: int | None, stride: int
    ) -> tuple[list[ContextWindow], int]:
        """The question with each window of its context, and how many of its tokens were cut off.

        A window begins `stride` tokens after the one before it, and holds half of that: what
        one cuts through is whole in the next. At least half of the room is the context's, and a
        longer question is cut.
        """
        with _refusing(self._path, "cannot be run by the library"):
            first = self._backend.encode(question, add_special_tokens=False)
            second = self._backend.encode(context, add_special_tokens=False)
            parts, tokens = [second], len(first)
            if limit is not None:
                both = max(2, limit - self._frame[True])
                first.truncate(both // 2)
                room = both - len(first)
                second.truncate(room, stride=room - min(stride, max(1, room // 2)))
                parts = [second, *second.overflowing]
            # Which characters a piece stands for is said before it is framed: byte-level tokenizers
            # take the space off a piece each time that they process it.
            spans = [iter(part.offsets) for part in parts]
            whole = [self._backend.post_process(first, p, add_special_tokens=True) for p in parts]
        return [
            ContextWindow(
                Encoded(tuple(each.ids), tuple(each.type_ids)),
                tuple(next(span) if sequence == 1 else None for sequence in each.sequence_ids),
            )
            for each, span in zip(whole, spans, strict=True)
        ], tokens - len(first)

    def encode_batch(self, texts: Sequence[str], limit: int | None) -> list[list[int]]:
        """The ids of many texts, cut by all cores; too long ones once more by `encode`."""
        with _refusing(self._path, "cannot be run by the library"):
            rows = [encoding.ids for encoding in self._backend.encode_batch_fast(list(texts))]
        if limit is None:
            return rows
        return [
            row if len(row) <= limit else list(self.encode(text, None, limit).ids)
            for row, text in zip(rows, texts, strict=True)
        ]

    def encode_target(self, text: str) -> Encoded:
        """The same: one vocabulary, one way to cut."""
        return self.encode(text, None, None)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids that are all ordinary."""
        with _refusing(self._path, "cannot be run by the library"):
            return self._backend.decode(list(ids), skip_special_tokens=False)


@contextmanager
def _refusing(path: Path, problem: str) -> Iterator[None]:
    """Name the file in the library's errors: bare Exceptions, or panics, which are none."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise broken(path, f"{problem}: {str(error)[:200]}") from None
        raise


def read_tokenizer_json(path: Path, settings: TokenizerSettings) -> BackendCodec:
    """A tokenizer.json, after a look at everything in it that could do harm."""
    return read_tables(read_small_file(path, MAX_FILE), path, settings)


def read_tables(content: bytes, path: Path, settings: TokenizerSettings) -> BackendCodec:
    """The same by its content; `path` is the file that it came from."""
    check_tokenizer_file(path, strict_json(content, str(path), MAX_PARTS))
    with _refusing(path, "is no tokenizer file"):
        backend = Tokenizer.from_str(content.decode("utf-8"))
    return _finished(backend, path, settings)


def read_wordpiece(path: Path, settings: TokenizerSettings) -> BackendCodec:
    """A vocab.txt: line n is the piece with id n."""
    lines = read_lines(path)
    if not 0 < len(lines) <= MAX_VOCABULARY or max(map(len, lines)) > MAX_TOKEN:
        raise broken(
            path, f"expected 1 to {MAX_VOCABULARY:,} lines of at most {MAX_TOKEN} characters"
        )
    if not settings.flag("do_basic_tokenize", True):
        raise broken(path, "goes with do_basic_tokenize=false, which regard does not implement")
    vocabulary = {token: i for i, token in enumerate(lines)}  # a piece that stands twice: the last
    texts = BERT_TEXTS | dict(settings.texts)
    missing = [texts[r] for r in ("unk", "cls", "sep") if texts[r] not in vocabulary]
    if missing:
        raise broken(path, f"has no {' '.join(missing)}")
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token=texts["unk"]))
    strip = settings.options.get("strip_accents")
    backend.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=settings.flag("tokenize_chinese_chars", True),
        strip_accents=strip if isinstance(strip, bool) else None,  # None: as lower case goes
        lowercase=settings.flag("do_lower_case", True),
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    first, end = texts["cls"], texts["sep"]
    backend.post_processor = processors.TemplateProcessing(
        single=[f"{first}:0", "$A:0", f"{end}:0"],
        pair=[f"{first}:0", "$A:0", f"{end}:0", "$B:1", f"{end}:1"],
        special_tokens=[(first, vocabulary[first]), (end, vocabulary[end])],
    )
    _mark(backend, texts.values())
    return _finished(backend, path, settings)


def read_byte_pairs(path: Path, merges: Path, settings: TokenizerSettings) -> BackendCodec:
    """A vocab.json and its merges.txt: byte-level BPE, as GPT-2 has it.

    RoBERTa's has a token for a mask, and two that stand around a text.
    """
    vocabulary = read_vocabulary(path)
    lines = [line for line in read_lines(merges) if line and not line.startswith("#version")]
    pairs = [tuple(line.split(" ")) for line in lines]
    if len(pairs) > MAX_MERGES or any(len(pair) != 2 for pair in pairs):
        raise broken(merges, f"expected at most {MAX_MERGES:,} lines, each two pieces and a space")
    with _refusing(merges, "does not fit vocab.json"):
        backend = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))  # type: ignore[arg-type]
    spaced = settings.flag("add_prefix_space", False)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=spaced)
    backend.decoder = decoders.ByteLevel()
    texts = ROBERTA_TEXTS | dict(settings.texts)
    first, end, mask = (vocabulary.get(texts[role]) for role in ("cls", "sep", "mask"))
    if first is not None and end is not None and mask is not None:
        backend.post_processor = processors.RobertaProcessing(
            (texts["sep"], end), (texts["cls"], first), add_prefix_space=spaced
        )
        # the space before a mask is the mask's
        hole = AddedToken(texts["mask"], special=True, lstrip=True, normalized=False)
        backend.add_special_tokens([hole])
        _mark(backend, texts.values())
    _mark(backend, [END_OF_TEXT])
    return _finished(backend, merges, settings)


def _mark(backend: Tokenizer, texts: Iterable[str]) -> None:
    """Let texts that are tokens already be special ones, found in a text before it is cut.

    One that is special already stays as its file has it: RoBERTa's mask takes the space before it.
    """
    special = {t.content for t in backend.get_added_tokens_decoder().values() if t.special}
    for text in dict.fromkeys(texts):
        if text not in special and backend.token_to_id(text) is not None:
            backend.add_special_tokens([AddedToken(text, special=True, normalized=False)])


def _finished(backend: Tokenizer, path: Path, settings: TokenizerSettings) -> BackendCodec:
    """Tokens that other files add, and begin or end where tokenizer_config.json asks for them."""
    _mark(backend, settings.texts.values())
    for token in settings.added:
        if backend.token_to_id(token.text) is None:
            added = AddedToken(token.text, special=token.special, normalized=not token.special)
            backend.add_tokens([added])
        got = backend.token_to_id(token.text)
        if got != token.id:
            raise broken(
                path, f"gives {token.text[:40]!r} the id {got}, tokenizer_config.json {token.id}"
            )
    wanted = {role: settings.options.get(f"add_{role}_token") for role in ("bos", "eos")}
    if any(value is not None for value in wanted.values()):
        texts = {r: settings.texts.get(r, END_OF_TEXT) for r, value in wanted.items() if value}
        ids = {text: backend.token_to_id(text) for text in texts.values()}
        if None in ids.values():
            raise broken(path, f"has no {' '.join(ids)}, which tokenizer_config.json adds")
        before = [texts["bos"]] if "bos" in texts else []
        after = [texts["eos"]] if "eos" in texts else []
        single = [f"{t}:0" for t in (*before, "$A", *after)]
        backend.post_processor = processors.TemplateProcessing(
            single=single,
            pair=single + [f"{t}:1" for t in (*before, "$B", *after)],
            special_tokens=[(text, i) for text, i in ids.items() if i is not None],
        )
    return BackendCodec(backend, path)
