"""Text ↔ ids. In: strings, or a tokenizer.json. Out: lists of ids, and readable pieces of them.

One joint vocabulary serves source and target. The work is done by the `tokenizers` library; the
five kinds are rows of `kinds.KINDS`. Two promises hold for every kind:

  * text never becomes a special token: "</s>" in the input is spelled with ordinary pieces;
  * decode skips special tokens, `<unk>` too; `pieces` shows them.

One file holds everything. The library refuses keys of our own in it, so the kind is recognised by
the model, the decoder and the first cut that the file names, and the roles by their texts.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer as Backend

from regard import atomic
from regard.errors import CheckpointError, DataError, MisuseError, nearest
from regard.text.kinds import KINDS
from regard.text.merges import read_merges, with_merges
from regard.text.pieces import SPACE_MARK, group_words, label
from regard.text.special import TEXTS, Special
from regard.untrusted import read_small_file

MAX_FILE = 1 << 28  # bytes of a tokenizer.json
IdSequence = Iterable[int] | NDArray[np.integer[Any]]


class Tokenizer:
    """Cuts text into pieces and puts it together again; made by `train` or `load`."""

    def __init__(self, backend: Backend, kind: str, special: Special) -> None:
        _keep_forks_quiet()
        backend.encode_special_tokens = True  # "</s>" in a text is text; the file never says so
        self.kind = kind
        self.special = special
        self._backend = backend
        self._kind = KINDS[kind]
        self._size = backend.get_vocab_size(with_added_tokens=True)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        kind: str = "bytes",
        size: int = 4000,
        codes: Path | None = None,
    ) -> "Tokenizer":
        """Learn a vocabulary of at most `size` pieces, special tokens included.

        `codes` is a file of merges that were learned elsewhere (text/merges.py), for kind `merges`:
        then only letters are learned, and all merges are kept.
        `texts` is read once, a few lines at a time. The same texts give the same vocabulary, with
        one exception: `unigram` differs a little from run to run, so keep its file with the run.
        """
        if kind not in KINDS:
            raise MisuseError(f'tokenizer: kind "{kind}" is not known{nearest(kind, KINDS)}')
        if codes is not None:
            assert kind == "merges", kind  # runs/sections.py refuses others
            read = read_merges(codes)
            return cls(with_merges(read, _some_text(texts), KINDS[kind].build()), kind, Special())
        if size < KINDS[kind].least:
            why = " (256 bytes and 4 special tokens)" if KINDS[kind].by_bytes else ""
            problem = f"a vocabulary of {size} is too small for kind {kind}"
            advice = f"it needs at least {KINDS[kind].least}{why}. Raise the size."
            raise MisuseError("tokenizer", problem, advice=advice)
        backend = KINDS[kind].build()
        try:
            backend.train_from_iterator(_some_text(texts), KINDS[kind].trainer(size))
        except UnicodeEncodeError as error:
            raise _not_unicode(str(error.object)) from error
        except Exception as error:
            if type(error) is not Exception:  # the library's own errors are bare Exceptions
                raise
            raise MisuseError(
                f"tokenizer: cannot train kind {kind} with a vocabulary of {size}: {error}. "
                "Raise the size, or use kind bytes."
            ) from error
        return cls(KINDS[kind].learned(backend), kind, Special())

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read a file that `save` wrote; anything else is a DataError that says what is wrong."""
        try:
            backend = Backend.from_str(read_small_file(path, MAX_FILE).decode("utf-8"))
        except (CheckpointError, UnicodeDecodeError) as error:
            raise _unusable(path, f"cannot be read: {error}") from error
        except Exception as error:  # the library raises bare Exceptions
            raise _unusable(path, f"is not a tokenizer file: {error}") from error
        _check_ids(backend, path)
        return cls(backend, _recognise(backend, path), _read_roles(backend, path))

    def save(self, path: Path) -> None:
        """Write tokenizer.json, whole or not at all."""
        try:
            atomic.write_text(path, self.written())
        except OSError as error:
            raise DataError(path, f"cannot write the tokenizer: {error.strerror}") from error

    def written(self) -> str:
        """What `save` writes."""
        return self._backend.to_str(pretty=True)

    def with_dropout(self, share: float) -> "Tokenizer":
        """The same vocabulary; when it cuts a word, each merge is left out with this probability.

        BPE-dropout (Provilkov et al. 2020), for kinds with merges; the library draws, unseeded.
        """
        assert self.has_merges, self.kind
        tables = json.loads(self._backend.to_str())
        tables["model"]["dropout"] = share
        return Tokenizer(Backend.from_str(json.dumps(tables)), self.kind, self.special)

    @property
    def by_bytes(self) -> bool:
        """Whether it is byte-level BPE: any text, exact, and merges that can be left out."""
        return self._kind.by_bytes

    @property
    def has_merges(self) -> bool:
        """Whether some of its merges may be left out by chance (BPE-dropout)."""
        return self._kind.has_merges

    @property
    def size(self) -> int:
        """Number of pieces, special tokens included: ids run from 0 to size - 1."""
        return self._size

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without begin or end."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, on all cores."""
        try:
            encodings = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        except (TypeError, UnicodeEncodeError) as error:
            for text in texts:
                if _lone_surrogate(text) is not None:
                    raise _not_unicode(text) from error
            raise
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: IdSequence) -> str:
        """The text of ids; special ids are skipped."""
        return self.decode_batch([ids])[0]

    def decode_batch(self, batch: Iterable[IdSequence]) -> list[str]:
        """The texts of many sequences of ids."""
        rows = [self._checked(ids) for ids in batch]
        join = self._kind.join
        if join is None:
            return self._backend.decode_batch(rows, skip_special_tokens=True)
        hidden = frozenset(self.special.ids)
        return [join([self._token(i) for i in row if i not in hidden]) for row in rows]

    def pieces(self, ids: IdSequence) -> list[str]:
        """One readable label per id: "▁" for a space, ‹e2› for half a character, "</s>"."""
        return [p if isinstance(p, str) else label(p) for p in self._spellings(ids)]

    def word_groups(self, ids: IdSequence) -> list[tuple[str, list[int]]]:
        """Words and the positions in `ids` that form them, e.g. [("unlikely", [0, 1, 2]), …].

        Every position is in exactly one group: merge sub-word columns of attention by summing.
        """
        spellings = self._spellings(ids)
        if self._kind.is_word:
            labels = [p if isinstance(p, str) else label(p) for p in spellings]
            return [(word, [position]) for position, word in enumerate(labels)]
        return group_words(spellings)

    def whole_words(self) -> dict[int, str]:
        """Id → word, of the entries that are a word by themselves.

        With kind `words` these are all but the special ones; else the pieces that begin with the
        space before a word ("▁animal", not "animal", which is the end of some word); with kind
        `merges` those that end with the space after one.
        """
        start = "" if self._kind.is_word or self._kind.ends_words else SPACE_MARK
        end = SPACE_MARK if self._kind.ends_words else ""
        pieces = enumerate(self.pieces(range(self._size)))
        chosen = ((i, p) for i, p in pieces if p.startswith(start) and p.endswith(end))
        words = {i: p.removeprefix(start).removesuffix(end) for i, p in chosen}
        return {i: word for i, word in words.items() if word and i not in self.special.texts}

    @property
    def tokens(self) -> list[str]:
        """Every piece as its file writes it, in the order of ids."""
        return [self._token(i) for i in range(self._size)]

    def _spellings(self, ids: IdSequence) -> list[bytes | str]:
        """What each piece spells; a special token is a str, its label."""
        specials, spell = self.special.texts, self._kind.spell
        return [specials.get(i) or spell(self._token(i)) for i in self._checked(ids)]

    def _checked(self, ids: IdSequence) -> list[int]:
        """Plain ints, all of this vocabulary: the library would drop foreign ids silently."""
        row = [int(i) for i in ids]
        for i in row:
            if not 0 <= i < self._size:
                problem = f"id {i} is not in this vocabulary of {self._size}"
                advice = "the model and the tokenizer do not belong together."
                raise DataError("tokenizer", problem, advice=advice)
        return row

    def _token(self, i: int) -> str:
        token = self._backend.id_to_token(i)
        assert token is not None, i  # _check_ids looked for holes
        return token


def _some_text(texts: Iterable[str]) -> Iterator[str]:
    """The same texts; an error at the end if there was nothing to learn from."""
    is_blank = True
    for text in texts:
        is_blank = is_blank and not text.strip()
        yield text
    if is_blank:
        raise DataError("tokenizer: there is no text to learn a vocabulary from; got none or blank")


def _check_ids(backend: Backend, path: Path) -> None:
    """Each id from 0 on is used once.

    Before anything else: to write a vocabulary the library lists every hole up to the largest id.
    """
    ids = sorted(backend.get_vocab(with_added_tokens=True).values())
    if ids != list(range(len(ids))):
        raise _unusable(path, "has ids with holes or used twice")


def _recognise(backend: Backend, path: Path) -> str:
    """The kind whose model type and decoder the file names; of several, whose first cut it is."""
    got = json.loads(backend.to_str())
    alike: dict[str, Any] = {}  # name → its first cut
    for name, kind in KINDS.items():
        own = json.loads(kind.build().to_str())
        if (own["model"]["type"], own["decoder"]) == (got["model"]["type"], got["decoder"]):
            alike[name] = own["pre_tokenizer"]
    if alike:
        return next((name for name in alike if alike[name] == got["pre_tokenizer"]), min(alike))
    raise _unusable(path, f"names a {got['model']['type']} model that regard did not write")


def _read_roles(backend: Backend, path: Path) -> Special:
    """Roles by their texts, after a check that text cannot spell a role."""
    vocabulary = backend.get_vocab(with_added_tokens=True)
    missing = [text for text in TEXTS.values() if text not in vocabulary]
    if missing:
        raise _unusable(path, f"has no {' '.join(missing)}")
    special = Special(**{role: vocabulary[text] for role, text in TEXTS.items()})
    added = {i for i, token in backend.get_added_tokens_decoder().items() if token.special}
    if added != set(special.ids):
        raise _unusable(path, f"marks ids {sorted(added)} as special")
    backend.encode_special_tokens = True
    spelled = backend.encode(" ".join(TEXTS.values()), add_special_tokens=False).ids
    if not {special.pad, special.bos, special.eos}.isdisjoint(spelled):
        raise _unusable(path, "spells special tokens with text")
    return special


def _unusable(path: Path, problem: str) -> DataError:
    advice = "Restore the file, or train the tokenizer again."
    return DataError(path, problem, expected=f"a tokenizer.json that regard saved. {advice}")


def _lone_surrogate(text: object) -> int | None:
    """The position of the first character that is half of a UTF-16 pair, if any."""
    if isinstance(text, str):
        for position, character in enumerate(text):
            if "\ud800" <= character <= "\udfff":
                return position
    return None


def _not_unicode(text: str) -> DataError:
    position = _lone_surrogate(text) or 0
    return DataError(
        f"text: character {position} is the lone surrogate U+{ord(text[position]):04X}, which is "
        "no Unicode text; it often comes from bytes that are not UTF-8. Clean the input."
    )


@cache
def _keep_forks_quiet() -> None:
    """Let a forked child encode on one core, without the library's warning; once per process.

    The library's threads do not survive a fork. Version 0.22 prints a paragraph about it in the
    child unless TOKENIZERS_PARALLELISM is set (0.23 is silent). So say "false" just for the fork:
    the child keeps it, the parent takes it back and goes on with all cores.
    """
    key = "TOKENIZERS_PARALLELISM"
    was_set: list[bool] = []

    def before() -> None:
        was_set.append(key in os.environ)
        os.environ.setdefault(key, "false")

    def after_in_parent() -> None:
        if not was_set.pop():
            os.environ.pop(key, None)

    os.register_at_fork(before=before, after_in_parent=after_in_parent)
