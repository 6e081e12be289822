"""heads: several heads see several relations; one head dilutes.

The grammar that made the phrasebook knows which word belongs to which: the noun of an article, the
noun that "it" stands for, the subject of a verb. A head is right about a word if, of all other
words, it looks at the right one most. Heads of the demo's encoder are chosen on one part of the
sentences and scored on another; a seed draws both, the model is the same.
"""

import random
from collections import Counter
from collections.abc import Sequence
from functools import cache

import torch

from regard.data.phrasebook.corpus import AlignedPair, Word, aligned_pairs, phrasebook
from regard.draw.figure.chart import Chart, Measurements
from regard.lab.demo_words import SentencePass, look
from regard.lab.experiment import Experiment, LabResult
from regard.lab.rule import Condition, Measured

ARTICLE, IT, VERB = "article → noun", "it → its noun", "verb → subject"
RELATIONS = (ARTICLE, IT, VERB)
SENTENCES, QUICK_SENTENCES = 300, 40  # of each part
RelatedPlaces = tuple[int, int]  # the place of a word, and of the one it belongs to


def cases_of(words: Sequence[Word], relation: str) -> list[RelatedPlaces]:
    """Every word of a sentence that has such a relation, and its partner; from the grammar."""
    found = []
    for place, word in enumerate(words):
        wanted = _partner_slot(word, relation)
        partners = [i for i, other in enumerate(words) if wanted and other.slot == wanted]
        if len(partners) == 1:
            found.append((place, partners[0]))
    return found


def _partner_slot(word: Word, relation: str) -> str:
    """The slot of the word that it belongs to; "" if it has no such relation."""
    if relation == ARTICLE and word.kind == "determiner" and not word.agrees_with:
        return word.slot.removesuffix(".determiner") if "." in word.slot else ""
    kinds = {IT: ("pronoun",), VERB: ("verb", "auxiliary")}.get(relation, ())
    is_it = relation != IT or word.text.lower() == "it"
    return word.agrees_with[0] if word.kind in kinds and word.agrees_with and is_it else ""


def measure(variant: str, seed: int, quick: bool) -> dict[str, float]:
    count = QUICK_SENTENCES if quick else SENTENCES
    chosen, asked = (_looked_at(variant, seed, part, count) for part in ("dev", "test"))
    rights = right_by_head(chosen)
    best = int(rights.argmax())
    scores = right_by_head(asked)
    cases = [(sentence, case) for sentence, cases in asked for case in cases]
    chance = sum(1 / (len(sentence.places) - 1) for sentence, _ in cases) / len(cases)
    mean_of_all = right_by_head(asked, merged=True)
    return {
        "best head": float(best),
        "accuracy": float(scores[best]),
        "mean of all heads": float(mean_of_all[0]),
        "always as far away": distance_accuracy(chosen, asked),
        "chance": chance,
        "words": float(len(cases)),
    }


Looked = list[tuple[SentencePass, list[RelatedPlaces]]]


@cache
def _drawn(relation: str, part: str) -> tuple[tuple[str, AlignedPair], ...]:
    """All sentences of a part that have the relation."""
    pairs = zip(phrasebook("de"), aligned_pairs("de"), strict=True)
    return tuple(
        (entry.source, pair)
        for entry, pair in pairs
        if entry.split == part and cases_of(pair.source, relation)
    )


def _looked_at(relation: str, seed: int, part: str, count: int) -> Looked:
    there = _drawn(relation, part)
    drawn = random.Random(seed).sample(there, min(count, len(there)))
    passes = ((look(pair.source, text), pair.source) for text, pair in drawn)
    return [(one, cases_of(words, relation)) for one, words in passes if one is not None]


def right_by_head(looked: Looked, merged: bool = False) -> torch.Tensor:
    """Of each head (or of the mean of all) the share of words whose partner it looks at most."""
    rights = []
    for sentence, cases in looked:
        weights = sentence.attention()
        weights = weights.mean(dim=0, keepdim=True) if merged else weights
        for place, partner in cases:
            rows = weights[:, place].clone()
            rows[:, place] = -1.0  # the word itself is no other word
            rights.append(rows.argmax(dim=1) == partner)
    return torch.stack(rights).float().mean(dim=0)


def distance_accuracy(chosen: Looked, asked: Looked) -> float:
    """How often the partner is as far away as it most often was in the first part."""
    distances = Counter(b - a for _, cases in chosen for a, b in cases)
    usual = distances.most_common(1)[0][0]
    all_cases = [case for _, cases in asked for case in cases]
    return sum(b - a == usual for a, b in all_cases) / len(all_cases)


def rule(quick: bool) -> tuple[Condition, ...]:
    def different(measured: Measured) -> float:
        return len({measured[relation]["best head"] for relation in RELATIONS})

    def above(relation: str, other: str, margin: float) -> Condition:
        def gain(measured: Measured) -> float:
            return measured[relation]["accuracy"] - measured[relation][other]

        return Condition(
            f"{relation}: its best head is right {margin} more often than {other}",
            gain,
            least=margin,
        )

    return (
        *(above(relation, "chance", 0.2) for relation in RELATIONS),
        Condition("the three relations have at least two best heads", different, least=2),
        *(above(relation, "mean of all heads", 0.1) for relation in RELATIONS),
    )


def chart(outcome: LabResult) -> Chart:
    lines = [
        Measurements(
            name,
            [(i, outcome.mean(relation, measure)) for i, relation in enumerate(RELATIONS)],
            [outcome.spread(relation, measure) for relation in RELATIONS],
        )
        for name, measure in (
            ("best head", "accuracy"),
            ("mean of all heads", "mean of all heads"),
            ("always the usual distance", "always as far away"),
            ("chance", "chance"),
        )
    ]
    title = "What heads look at, against what the grammar knows"
    subtitle = (
        "The encoder of demo-de: 4 layers of 4 heads; the best head is chosen on other sentences"
    )
    return Chart(title, subtitle, "", "share of words", lines, RELATIONS)


def paragraph(outcome: LabResult) -> str:
    said = []
    for relation in RELATIONS:
        heads = sorted({int(h) for h in outcome.values(relation, "best head")})
        places = " or ".join(f"layer {h // 4 + 1}, head {h % 4 + 1}" for h in heads)
        said.append(
            f"{relation}: {outcome.said(relation, 'accuracy')} ({places}), the mean of all heads "
            f"{outcome.said(relation, 'mean of all heads')}, always the usual distance "
            f"{outcome.said(relation, 'always as far away')}, chance "
            f"{outcome.said(relation, 'chance')}"
        )
    return "Share of words whose partner is looked at most: " + "; ".join(said) + "."


EXPERIMENT = Experiment(
    "heads",
    "Several heads see several relations",
    "Several heads see several relations; one head dilutes.",
    "1-the-cat-sat.md#several-heads",
    lambda quick: RELATIONS,
    measure,
    rule,
    chart,
    paragraph,
    60,
)
