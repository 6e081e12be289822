"""bank: a static vector is the same in every sentence; attention makes it contextual.

Sentences with "bank" that were not trained on, money and river, pass through the demo's encoder.
The sense of each is guessed by its nearest neighbour among the others: at first the row of E, which
is one and the same, then the vectors after each layer. A seed draws the sentences.
"""

import random

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.data.phrasebook.corpus import aligned_pairs, phrasebook
from regard.draw.figure.chart import Chart, Measurements
from regard.lab.demo_words import look
from regard.lab.experiment import Experiment, LabResult
from regard.lab.rule import Condition, difference, number

SENTENCES, QUICK_SENTENCES = 200, 40
STATIC = "row of E"
LAYERS = 4  # of the demo


def variants_of(quick: bool) -> tuple[str, ...]:
    return (STATIC, *(f"layer {n}" for n in range(1, LAYERS + 1)))


def measure(variant: str, seed: int, quick: bool) -> dict[str, float]:
    layer = variants_of(quick).index(variant)
    vectors, senses = banks(seed, QUICK_SENTENCES if quick else SENTENCES, layer)
    alike, unlike = cosines(vectors, senses)
    return {
        "accuracy": neighbour_accuracy(vectors, senses),
        "cosine, same sense": alike,
        "cosine, other sense": unlike,
        "sentences": float(len(senses)),
    }


def banks(seed: int, count: int, layer: int) -> tuple[Tensor, list[str]]:
    """The vectors of "bank" after so many layers, and what it means: as many of each sense."""
    by_sense: dict[str, list[Tensor]] = {"Bank": [], "Ufer": []}
    rows = [
        (entry, pair.source)
        for entry, pair in zip(phrasebook("de"), aligned_pairs("de"), strict=True)
        if "bank" in entry.slices and entry.split != "train" and entry.answer in by_sense
    ]
    for entry, words in random.Random(seed).sample(rows, len(rows)):
        vectors = by_sense[entry.answer]
        places = [i for i, word in enumerate(words) if word.text.lower() == "bank"]
        if len(places) != 1 or len(vectors) == count // 2:
            continue
        sentence = look(words, entry.source)
        if sentence is not None:
            vectors.append(sentence.vectors(layer)[places[0]])
    each = min(map(len, by_sense.values()))
    senses = [sense for sense in by_sense for _ in range(each)]
    return torch.stack([v for vectors in by_sense.values() for v in vectors[:each]]), senses


def neighbour_accuracy(vectors: Tensor, senses: list[str]) -> float:
    """How often the nearest other vector has the same sense; where several are as near, the mean
    over them, so that vectors that are all the same come out as a guess."""
    alike = F.normalize(vectors.double(), dim=-1) @ F.normalize(vectors.double(), dim=-1).T
    alike.fill_diagonal_(-torch.inf)
    same = torch.tensor([[a == b for b in senses] for a in senses])
    nearest = alike >= alike.max(dim=1, keepdim=True).values - 1e-9
    shares = (nearest & same).sum(dim=1) / nearest.sum(dim=1)
    return float(shares.mean())


def cosines(vectors: Tensor, senses: list[str]) -> tuple[float, float]:
    """The mean cosine of two of the same sense, and of two of different senses."""
    unit = F.normalize(vectors, dim=-1)
    alike = unit @ unit.T
    same = torch.tensor([[a == b for b in senses] for a in senses])
    other = ~torch.eye(len(senses), dtype=torch.bool)
    return float(alike[same & other].mean()), float(alike[~same].mean())


def rule(quick: bool) -> tuple[Condition, ...]:
    last = f"layer {LAYERS}"
    return (
        Condition(
            "the row of E guesses: its accuracy is at most 0.55",
            number(STATIC, "accuracy"),
            most=0.55,
        ),
        Condition(
            "after the last layer the nearest neighbour has the same sense 0.3 more often",
            difference("accuracy", last, STATIC),
            least=0.3,
        ),
    )


def chart(outcome: LabResult) -> Chart:
    names = variants_of(outcome.quick)
    lines = [
        Measurements(
            name,
            [(i, outcome.mean(variant, measure)) for i, variant in enumerate(names)],
            [outcome.spread(variant, measure) for variant in names],
        )
        for name, measure in (
            ("nearest neighbour has the same sense", "accuracy"),
            ("cosine, same sense", "cosine, same sense"),
            ("cosine, other sense", "cosine, other sense"),
        )
    ]
    title = "“bank” before and after attention"
    subtitle = "Money or river, in sentences not trained on; the encoder of demo-de"
    return Chart(title, subtitle, "", "share, or cosine", lines, names)


def paragraph(outcome: LabResult) -> str:
    last = f"layer {LAYERS}"
    steps = ", ".join(
        f"{outcome.said(variant, 'accuracy')} after {variant}"
        for variant in variants_of(outcome.quick)[1:]
    )
    return (
        f"As a row of E “bank” is one vector: its sense is guessed "
        f"({outcome.said(STATIC, 'accuracy')}). "
        f"Its nearest neighbour has the same sense in {steps}. After {last} two of the same "
        f"sense have a "
        f"cosine of {outcome.said(last, 'cosine, same sense')}, two of different senses "
        f"{outcome.said(last, 'cosine, other sense')}. (Word2Vec and TF-IDF are not beside it: "
        "they too give a word one vector.)"
    )


EXPERIMENT = Experiment(
    "bank",
    "One vector for every sense, or one for each sentence",
    "Static embeddings give “bank” one vector; attention makes it contextual.",
    "2-from-words-to-attention.md#static-vectors-average-their-senses",
    variants_of,
    measure,
    rule,
    chart,
    paragraph,
    60,
)
