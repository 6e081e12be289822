"""The phrasebook's interface: a language in, pairs with their splits, slices and answers out."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from regard.data.phrasebook.german.grammar import german
from regard.data.phrasebook.hindi.grammar import hindi
from regard.data.phrasebook.kept import KeptRows, kept_rows
from regard.data.phrasebook.notation import SLICES, Pattern
from regard.data.phrasebook.notes import notes_sentences
from regard.data.phrasebook.sampling import Draft, Language, Sampler
from regard.data.phrasebook.splits import WORD, plain, split_key, split_of
from regard.data.phrasebook.tables import PhrasebookError
from regard.data.phrasebook.word_classes import Word, forms, words_of
from regard.draw.terminal.progress import progress_bar

LANGUAGES: dict[str, Callable[[], Language]] = {"de": german, "hi": hindi}
SPLITS = ("train", "dev", "test")
NOTES = "notes"  # the slice of the notes' own sentences: trained on, and asked for word by word
Lemmas = tuple[tuple[str, str], ...]  # English lemmas with their word class
_TOKEN = re.compile(WORD + r"|[^\w\s]")


@dataclass(frozen=True)
class Entry:
    """One sentence pair."""

    source: str
    target: str
    pattern: str
    split: str
    slices: tuple[str, ...]
    frame: str = ""
    answer: str = ""
    rivals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statistics:
    """What the corpus amounts to; `slices` maps (slice, split) to pairs."""

    pairs: int
    per_split: dict[str, int]
    patterns: int
    lemmas: int  # distinct English lemmas with word class that occur in train
    rarest: tuple[tuple[str, str, int], ...]  # the ten rarest lemmas in train
    biggest_pattern: str
    biggest_share: float
    min_words: int
    max_words: int
    mean_words: float
    slices: dict[tuple[str, str], int]


def _check_language(name: str) -> None:
    if name not in LANGUAGES:
        known = ", ".join(sorted(LANGUAGES))
        raise PhrasebookError(f"phrasebook: no language {name!r}; there is {known}")


def _language(name: str) -> Language:
    _check_language(name)
    return LANGUAGES[name]()


@cache
def _build(language: str, seed: int) -> tuple[tuple[Entry, Draft], ...]:
    """All pairs with the drafts they came from, one target per source."""
    grammar = _language(language)
    sampler = Sampler(grammar, random.Random(seed))
    drafts: dict[str, Draft] = {}
    fixed: set[str] = set()  # targets of patterns without slots to combine: always train
    batches = [_notes(language)]
    with progress_bar("making the phrasebook", len(grammar.patterns)) as bar:
        for pattern in sorted(grammar.patterns, key=lambda one: not one.always_train):
            batches.append(sampler.drafts(pattern))
            bar.advance()
    for batch in batches:
        for draft in batch:
            known = drafts.setdefault(draft.source, draft)
            if known.target != draft.target:
                raise PhrasebookError(
                    f"one source, two targets: {draft.source!r} → {known.target!r} "
                    f"({known.pattern.name}) and {draft.target!r} ({draft.pattern.name})"
                )
            if draft.pattern.always_train:
                fixed.add(plain(draft.target))
    split = [(draft, _split(draft, fixed)) for draft in drafts.values()]
    return tuple((_entry(draft, part), draft) for draft, part in _covered(split))


def _notes(language: str) -> list[Draft]:
    """The notes' sentences, in the form of drafts."""
    pattern = Pattern(NOTES, 0, (NOTES,), (), (), (), (), (), always_train=True)
    return [
        Draft(pattern, source, target, key=f"{NOTES}\n{source}", lemmas=())
        for source, target in notes_sentences(language)
    ]


def _split(draft: Draft, fixed: set[str]) -> str:
    if plain(draft.target) in fixed:
        return "train"
    slices = draft.pattern.slices
    return split_of(split_key(slices, draft.key, draft.target), slices)


def _covered(split: list[tuple[Draft, str]]) -> list[tuple[Draft, str]]:
    """Without the dev and test combinations that use a word form train does not have.

    A second guard drops a combination one of whose sentences is spelled like a sentence of an
    earlier split (two patterns may meet in the same words).
    """
    words = {word for draft, part in split if part == "train" for word in _forms(draft)}
    taken = {part: set[str]() for part in SPLITS}
    for draft, part in split:
        taken[part].update((plain(draft.source), plain(draft.target)))
    earlier = {"train": set[str](), "dev": taken["train"], "test": taken["train"] | taken["dev"]}
    dropped = {
        draft.key
        for draft, part in split
        if part != "train"
        and (
            not words.issuperset(_forms(draft))
            or plain(draft.source) in earlier[part]
            or plain(draft.target) in earlier[part]
        )
    }
    return [(draft, part) for draft, part in split if part == "train" or draft.key not in dropped]


def _forms(draft: Draft) -> set[str]:
    return {f"s:{word}" for word in draft.source.split()} | {
        f"t:{word}" for word in draft.target.split()
    }


def _entry(draft: Draft, split: str) -> Entry:
    return Entry(
        source=draft.source,
        target=draft.target,
        pattern=draft.pattern.name,
        split=split,
        slices=draft.pattern.slices,
        frame=draft.frame,
        answer=draft.answer,
        rivals=draft.rivals,
    )


@cache
def _book(language: str, seed: int) -> tuple[tuple[Entry, Lemmas], ...]:
    """All pairs with their English lemmas: as they were kept, or built now."""
    _check_language(language)

    def rows() -> KeptRows:
        return [[*vars(entry).values(), draft.lemmas] for entry, draft in _build(language, seed)]

    book: list[tuple[Entry, Lemmas]] = []
    for *fields, lemmas in kept_rows(f"{language}-{seed}-pairs", rows):
        values: list[Any] = [tuple(one) if isinstance(one, list) else one for one in fields]
        book.append((Entry(*values), tuple((word, kind) for word, kind in lemmas)))
    return tuple(book)


def phrasebook(language: str = "de", seed: int = 1) -> tuple[Entry, ...]:
    """All pairs of all splits; the same seed gives the same pairs everywhere."""
    return tuple(entry for entry, _ in _book(language, seed))


@cache
def words_of_sentences(language: str = "de", seed: int = 1) -> dict[str, list[Word]]:
    """Each English sentence with its words, their classes and what they agree with."""
    _check_language(language)
    kept = kept_rows(f"{language}-{seed}-words", lambda: _words(language, seed))
    return {source: [Word(*word) for word in words] for source, words in kept}


def _words(language: str, seed: int) -> KeptRows:
    lexicon, built = _language(language).lexicon, _build(language, seed)
    rows: KeptRows = []
    with progress_bar("finding the classes of its words", len(built)) as bar:
        for entry, draft in built:
            words = words_of(draft, lexicon)
            rows.append([entry.source, [[one.text, one.kind, one.agrees] for one in words]])
            bar.advance()
    return rows


def forms_of(word: Word, language: str = "de") -> tuple[set[str], set[str]]:
    """Of a word that agrees: the forms that agree too, and all that there are (word_classes.py)."""
    return forms(word, _language(language).lexicon)


def sample(language: str = "de", per_pattern: int = 10, seed: int = 1) -> dict[str, list[Entry]]:
    """A few pairs of every pattern, for reading."""
    grouped: dict[str, list[Entry]] = {}
    for entry in phrasebook(language):
        grouped.setdefault(entry.pattern, []).append(entry)
    rng = random.Random(seed)
    return {
        name: rng.sample(entries, min(per_pattern, len(entries)))
        for name, entries in grouped.items()
    }


def statistics(language: str = "de") -> Statistics:
    """Sizes of everything the corpus promises, measured on the corpus itself."""
    book = _book(language, 1)
    entries = [entry for entry, _ in book]
    patterns = Counter(entry.pattern for entry in entries)
    lemmas = Counter(lemma for entry, used in book if entry.split == "train" for lemma in used)
    lengths = [len(text.split()) for e in entries for text in (e.source, e.target)]
    biggest, size = patterns.most_common(1)[0]
    return Statistics(
        pairs=len(entries),
        per_split=dict(Counter(entry.split for entry in entries)),
        patterns=len(patterns),
        lemmas=len(lemmas),
        rarest=tuple((word, kind, n) for (word, kind), n in lemmas.most_common()[:-11:-1]),
        biggest_pattern=biggest,
        biggest_share=size / len(entries),
        min_words=min(lengths),
        max_words=max(lengths),
        mean_words=sum(lengths) / len(lengths),
        slices={
            (name, part): sum(name in e.slices and e.split == part for e in entries)
            for name in (*SLICES, NOTES)
            for part in SPLITS
        },
    )


def decided_right(entry: Entry, output: str) -> bool:
    """Whether an output made the decision that an `it`, `bank` or `apple` sentence asks for.

    `bank`, `apple`: the answer occurs as a word and no rival does; there is one such word only.
    `it`: a pronoun may occur elsewhere too, so its *place* counts.  The place is found through
    the anchor, the reference's token right before the deciding pronoun (", weil" + er; if that
    token is itself a pronoun, as in "weil sie ihn", the two tokens before).  Right means: behind
    some anchor in the output stands the answer, and behind no anchor a rival.
    """
    words = [token.lower() for token in _TOKEN.findall(output)]
    answer = entry.answer.lower()
    rivals = {rival.lower() for rival in entry.rivals}
    if not answer:
        raise PhrasebookError(f"decided_right: {entry.source!r} has no deciding word")
    if "it" not in entry.slices:
        return answer in words and not rivals.intersection(words)
    anchor = _anchor([token.lower() for token in _TOKEN.findall(entry.target)], answer)
    size = len(anchor)
    followers = {
        words[place + size]
        for place in range(len(words) - size)
        if words[place : place + size] == anchor
    }
    return answer in followers and not rivals.intersection(followers)


def _anchor(reference: list[str], answer: str) -> list[str]:
    """The token (or two) before the last occurrence of the answer in the reference."""
    place = len(reference) - 1 - reference[::-1].index(answer)
    size = 2 if reference[place - 1] in ("er", "sie", "es", "ich", "wir", "du") else 1
    return reference[max(0, place - size) : place]
