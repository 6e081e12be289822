"""All pairs of a language: patterns in, drafts with their splits out."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from grammar.german.grammar import german
from grammar.hindi.grammar import hindi
from grammar.notation import Pattern
from grammar.notes import notes_sentences
from grammar.sampling import Draft, Language, Sampler
from grammar.splits import plain, split_key, split_of
from regard.data.phrasebook.corpus import NOTES, SPLITS, Entry, PhrasebookError

GRAMMARS: dict[str, Callable[[], Language]] = {"de": german, "hi": hindi}
SEED = 1


@cache
def book(language: str) -> tuple[tuple[Entry, Draft], ...]:
    """All pairs with the drafts they came from, one target per source."""
    grammar = GRAMMARS[language]()
    sampler = Sampler(grammar, random.Random(SEED))
    drafts: dict[str, Draft] = {}
    fixed: set[str] = set()  # targets of patterns without slots to combine: always train
    batches = [_notes(language)]
    for pattern in sorted(grammar.patterns, key=lambda one: not one.always_train):
        batches.append(sampler.drafts(pattern))
    for draft in (draft for batch in batches for draft in batch):
        first = drafts.setdefault(draft.source, draft)
        if first.target != draft.target:
            raise PhrasebookError(
                f"one source, two targets: {draft.source!r} → {first.target!r} "
                f"({first.pattern.name}) and {draft.target!r} ({draft.pattern.name})"
            )
        if first.pattern.name == NOTES and draft is not first:
            drafts[draft.source] = replace(first, twin=draft)
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
