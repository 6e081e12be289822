"""A batch that sentences join and leave gives each the answer that it has alone."""

import random

import pytest

import regard
from regard.answer.translate import Translation
from regard.decode.engines.torch import TorchEngine

TEXTS = [
    "Thank you.",
    "How are you?",
    "They went to the bank to feed the ducks.",
    "The animal didn't cross the street because it was too tired.",
    "I like eating ice-cream.",
    "He sat on the bank of the river.",
    "The man saw the astronomer with a telescope.",
    "We are friends.",
]


@pytest.fixture(scope="module")
def model() -> regard.Model:
    return regard.load("demo-de", "cpu", engine="torch")


@pytest.mark.parametrize(
    "options", [{}, {"beam": 1}, {"beam": 1, "temperature": 0.9, "seed": 3}], ids=str
)
def test_the_answer_does_not_depend_on_who_comes_and_goes(
    options: dict[str, float], model: regard.Model
) -> None:
    translator, chance = model.translator, random.Random(1)
    plan = translator.plan(TEXTS, **options)
    engine = translator.take(plan.decoding, False)
    assert isinstance(engine, TorchEngine)
    sentences = list(plan.sentences.values())
    rows, live = translator.rows(sentences), engine.live(plan.decoding)
    waiting = [engine.queued(i, row, plan.decoding) for i, row in enumerate(rows)]
    chance.shuffle(waiting)
    others, dropped, answers, sizes = 1000, 0, dict[int, list[Translation]](), []
    while waiting or len(live):
        count = chance.choice([0, 0, 1, 3]) if len(live) else 2
        live.admit([waiting.pop() for _ in range(min(count, len(waiting)))])
        if chance.random() < 0.3:  # somebody who leaves before the answer
            live.admit([engine.queued(others, chance.choice(rows), plan.decoding)])
            others += 1
        if chance.random() < 0.3 and others > 1000:
            before = len(live)
            live.drop({others - 1})
            dropped += before - len(live)
        sizes.append(len(live))
        for sentence, found in live.step():
            if sentence.number < 1000:
                (answers[sentence.number],) = translator.translated(
                    [sentences[sentence.number]], [found]
                )
    assert dropped and max(sizes) >= 4
    joined = plan.joined({key: answers[i] for i, key in enumerate(plan.sentences)})
    assert joined == model.translations(TEXTS, **options)


def test_a_batch_that_is_empty_is_small_again(model: regard.Model) -> None:
    translator = model.translator
    plan = translator.plan(TEXTS, beam=1)
    engine = translator.take(plan.decoding, False)
    assert isinstance(engine, TorchEngine)
    live = engine.live(plan.decoding)
    rows = translator.rows(list(plan.sentences.values()))
    live.admit([engine.queued(i, row, plan.decoding) for i, row in enumerate(rows)])
    assert len(live) == len(rows) and not live.step()
    assert set(live.newest()) == set(range(len(rows)))
    live.drop(range(1, len(rows)))
    assert len(live) == 1 and set(live.newest()) == {0}
    live.drop({0})
    assert not len(live) and not live.newest() and not live.step()
