"""A folder of text files → an index to search: `regard index`, `regard.index_folder`.

A file whose name and content the index knows already keeps its passages and vectors; others are
cut and embedded; those that are gone are dropped. The passages stand in the order of the files'
names, so an index that was updated is the one that would have been made at once.

    passages.npy   (n, 5): number of the file, first and last line, start and end in texts.txt
    files.json     name, SHA-256, lines, lines that are no text, passages of each file
"""

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard import atomic
from regard.data.passages import SUFFIXES, Passage, PassageSurvey, content, cut, survey
from regard.draw.terminal.progress import WorkProgress, progress_bar
from regard.errors import DataError, MisuseError
from regard.search import store
from regard.search.encoder import Encoder, open_encoder
from regard.search.store import FORMAT, PENDING, Manifest
from regard.search.table import FILES, PASSAGES, TEXTS, IndexedFile, PassageTable
from regard.search.vectors import Vectors, unit, write_vectors
from regard.search.words import write_words
from regard.untrusted import opened

MOST_TOKENS = 128  # of a passage, where the model could take more: about a paragraph
CHUNK = 512  # passages that are embedded, and kept against a kill, at once
SHOWN = 3


@dataclass
class Indexed:
    """What an update did."""

    files: int = 0
    passages: int = 0
    new: int = 0  # files
    changed: int = 0
    removed: int = 0
    embedded: int = 0  # passages
    bad_lines: int = 0
    first_bad: list[str] = field(default_factory=list)  # file:line
    other: dict[str, int] = field(default_factory=dict)  # suffix → files that were skipped
    too_long: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)  # file or folder that was skipped → why

    @property
    def did_something(self) -> bool:
        """Whether the index is another one than before."""
        return bool(self.new or self.changed or self.removed)


@dataclass(frozen=True)
class _Part:
    """One file of the new index: its entry, and its passages, new or from the old index."""

    entry: IndexedFile
    passages: list[Passage]
    old_row: int | None  # where its vectors stand in the old index


def index_folder(
    folder: str | Path,
    output: str | Path,
    model: Any = None,
    *,
    tokens: int | None = None,
    suffixes: Sequence[str] = (),
    rebuild: bool = False,
    device: str = "auto",
) -> Indexed:
    """Make or update the index `output` of the text files below `folder`.

    `model` is a folder or a hub name of an encoder, or what `regard.load` gave; an update may leave
    it out. `tokens`: the most of a passage; `suffixes`: kinds of text files beside the usual ones;
    `rebuild`: forget what is there.
    """
    source, index = Path(folder), Path(output)
    before = survey(source, without=index)  # before anything slow: is there such a folder?
    with store.writing(index, rebuild) as there:
        stopped = there.manifest is not None and not there.manifest.generation
        old = None if rebuild or stopped or not there.manifest else store.open_generation(index)
        if model is None and there.manifest and not rebuild:
            model = there.manifest.model
        if model is None:
            raise MisuseError("index", "no model", advice="name an encoder with --model")
        if old and old[0].folder != str(source.resolve()):
            problem = f"is the index of {old[0].folder}, got {source.resolve()}"
            advice = "choose another --output, or make it anew with --rebuild"
            raise MisuseError(index, problem, advice=advice)
        kinds = sorted({*SUFFIXES, *_dotted(suffixes), *(old[0].suffixes if old else ())})
        surveyed = survey(source, kinds, index) if kinds != sorted(SUFFIXES) else before
        encoder = open_encoder(model, device)
        if old:
            encoder.insist_on(old[0].fingerprint, index)
        budget = _budget(encoder, tokens or (old[0].tokens if old else None))
        facts = Manifest(
            FORMAT, "", str(source.resolve()), encoder.name, encoder.fingerprint, encoder.width,
            budget, kinds, 0, {}, there.written,
        )  # fmt: skip
        return _update(index, facts, surveyed, encoder, old, there.manifest)


def _dotted(suffixes: Sequence[str]) -> list[str]:
    return ["." + suffix.lower().lstrip(".") for suffix in suffixes]


def _budget(encoder: Encoder, tokens: int | None) -> int:
    """The most tokens of a passage, special ones included."""
    limit = encoder.limit or MOST_TOKENS
    least = encoder.frame + 1
    if tokens is not None and not least <= tokens <= limit:
        expected = f"{least} to {limit}: {encoder.name} reads no more of a text"
        raise MisuseError("tokens", got=tokens, expected=expected)
    return tokens or min(limit, MOST_TOKENS)


def _update(
    index: Path,
    facts: Manifest,
    surveyed: PassageSurvey,
    encoder: Encoder,
    old: tuple[Manifest, Path] | None,
    current: Manifest | None,
) -> Indexed:
    """Make the index of `facts`, of which `old` is reused; `current` answers until it is there."""
    same = old is not None and old[0].tokens == facts.tokens
    table = PassageTable(old[1], old[0].passages) if old and same else None
    indexed = {entry.name: (entry, row) for entry, row in table.placed()} if table else {}
    parts = []
    for name, path in surveyed.files.items():
        try:
            parts.append(_part(name, path, indexed.get(name), table, encoder, facts.tokens))
        except OSError as error:  # one of many was deleted, locked or replaced meanwhile
            surveyed.unread[name] = error.strerror or str(error)
    if (
        surveyed.unread and not Path(facts.folder).is_dir()
    ):  # or all of them were, with their folder
        raise DataError(facts.folder, "cannot be read: no such folder any more")
    done = _counted(parts, indexed, surveyed, table is None and old is not None)
    if not done.passages:
        raise _nothing(facts, surveyed)
    if table and not done.did_something and old and old[0].suffixes == facts.suffixes:
        store.remove_old(index, old[0])  # what a kill just after the switch has left
        return done
    texts = [passage.text for part in parts for passage in part.passages]
    fresh = [p.text for part in parts if part.old_row is None for p in part.passages]
    name = store.next_generation(index)
    answers = current if current and current.generation else facts
    written = store.write_down(index, answers, name, PENDING)
    with progress_bar("embed", len(fresh)) as bar, atomic.new_folder(index / name) as folder:
        vectors = Vectors(old[1], old[0].passages, facts.width) if old and table else None
        embedded = _embedded(encoder, fresh, index / PENDING, bar)
        write_vectors(folder, len(texts), facts.width, _rows(parts, vectors, embedded))
        write_words(folder, texts)
        _write_table(folder, parts)
    manifest = replace(
        facts,
        generation=name,
        passages=len(texts),
        files=store.describe(index / name),
        written=written,
    )
    store.write_manifest(index, manifest)
    store.remove_old(index, manifest)
    return done


def _part(
    name: str,
    path: Path,
    indexed: tuple[IndexedFile, int] | None,
    table: PassageTable | None,
    encoder: Encoder,
    tokens: int,
) -> _Part:
    """A file, cut anew unless its content is the one that the index knows."""
    data = content(path)
    digest = sha256(data).hexdigest()
    if indexed and table and indexed[0].sha256 == digest:
        entry, row = indexed
        return _Part(entry, [table.passage(row + n)[1] for n in range(entry.passages)], row)
    pieces = cut(data, encoder.count, tokens - encoder.frame)
    bad = [len(pieces.bad_lines), *pieces.bad_lines[:SHOWN]]
    return _Part(
        IndexedFile(name, digest, pieces.lines, bad, len(pieces.passages)), pieces.passages, None
    )


def _counted(
    parts: Sequence[_Part],
    indexed: dict[str, tuple[IndexedFile, int]],
    surveyed: PassageSurvey,
    recut: bool,
) -> Indexed:
    fresh = [part for part in parts if part.old_row is None]
    changed = sum(part.entry.name in indexed or recut for part in fresh)
    bad = [(part.entry.name, part.entry.bad_lines) for part in parts]
    return Indexed(
        files=len(parts),
        passages=sum(part.entry.passages for part in parts),
        new=len(fresh) - changed,
        changed=changed,
        removed=len(set(indexed) - {part.entry.name for part in parts}),
        embedded=sum(part.entry.passages for part in fresh),
        bad_lines=sum(lines[0] for _, lines in bad),
        first_bad=[f"{name}:{line}" for name, lines in bad for line in lines[1:]][:SHOWN],
        other=dict(surveyed.other.most_common()),
        too_long=surveyed.too_long,
        unread=surveyed.unread,
    )


def _nothing(facts: Manifest, surveyed: PassageSurvey) -> DataError:
    other = ", ".join(f"{suffix} {n}" for suffix, n in surveyed.other.most_common(5))
    there = f"; there are files of other kinds ({other}): add one with --suffix" if other else ""
    what = "text files, but no text in them" if surveyed.files else "no text file"
    if surveyed.unread:
        name, reason = next(iter(surveyed.unread.items()))
        what += f" that can be read ({name}: {reason})"
    expected = f"files that end in {', '.join(facts.suffixes)}{there}"
    return DataError(facts.folder, what, expected=expected)


def _embedded(
    encoder: Encoder, texts: Sequence[str], pending: Path, bar: WorkProgress
) -> Iterator[NDArray[np.float32]]:
    """Vectors of length 1, chunk by chunk; those of an update that was killed are taken up."""
    for start in range(0, len(texts), CHUNK):
        chunk = texts[start : start + CHUNK]
        key = sha256("\0".join([encoder.fingerprint, *chunk]).encode()).hexdigest()
        kept = _kept(pending, key, (len(chunk), encoder.width))
        if kept is None:
            kept = unit(encoder.embed(chunk))
            if len(texts) > CHUNK:
                _keep(pending, key, kept)
        bar.advance(len(chunk))
        yield kept


def _keep(pending: Path, key: str, vectors: NDArray[np.float32]) -> None:
    """Against a kill; the name has the checksum, so neither is there without the other."""
    content = io.BytesIO()
    np.save(content, vectors, allow_pickle=False)
    data = content.getvalue()
    atomic.write_bytes(pending / f"{key[:32]}-{sha256(data).hexdigest()}.npy", data)


def _kept(pending: Path, key: str, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    """What was kept, if it is whole; else it is made again."""
    for path in pending.glob(f"{key[:32]}-*.npy"):
        try:
            with opened(path) as file:
                data = file.read()
            if not path.stem.endswith(sha256(data).hexdigest()):
                continue
            kept: NDArray[np.float32] = np.load(io.BytesIO(data), allow_pickle=False)
        except Exception:  # NumPy parses a header as Python: damaged, it raises anything
            continue
        if kept.shape == shape and kept.dtype == np.float32:
            return kept
    return None


def _rows(
    parts: Sequence[_Part], old: Vectors | None, embedded: Iterator[NDArray[np.float32]]
) -> Iterator[NDArray[Any]]:
    """The vectors of all passages in order: from the old index, or just made."""
    rest = np.zeros((0, 0), dtype=np.float32)
    for part in parts:
        left = part.entry.passages
        if part.old_row is not None and old is not None:
            yield old.matrix[part.old_row : part.old_row + left]
            continue
        while left:
            rest = rest if len(rest) else next(embedded)
            yield rest[:left]
            left, rest = max(0, left - len(rest)), rest[left:]


def _write_table(folder: Path, parts: Sequence[_Part]) -> None:
    rows, texts, end = [], [], 0
    for number, part in enumerate(parts):
        for passage in part.passages:
            data = passage.text.encode()
            rows.append((number, passage.first, passage.last, end, end + len(data)))
            texts.append(data)
            end += len(data)
    passages = io.BytesIO()  # into a file, NumPy would not say why it cannot write
    np.save(passages, np.array(rows, dtype=np.int64).reshape(-1, 5), allow_pickle=False)
    (folder / PASSAGES).write_bytes(passages.getvalue())
    (folder / TEXTS).write_bytes(b"".join(texts))
    entries = [asdict(part.entry) for part in parts]
    # In ASCII, which holds every name: one of bytes that are no text could not be written else.
    (folder / FILES).write_text(json.dumps(entries) + "\n", encoding="ascii")
