"""One Python surface: one text gives one answer, several give as many, whatever the model is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import folders
import regard
from refusals import refused
from regard.answer.answers import Answers
from regard.errors import MisuseError

A, B = "the cat sat on the mat.", "the dog is not good"
MASKED = "the [MASK] sat", "a [MASK] is on the [MASK]"
KINDS: dict[str, Callable[[Path], Any]] = {
    "translate": folders.marian,
    "generate": folders.t5,
    "complete": folders.gpt2,
    "fill": lambda folder: folders.bert(folder, "MaskedLM"),
    "classify": lambda folder: folders.bert(
        folder, "SequenceClassification", id2label=folders.LABELS
    ),
    "tag": lambda folder: folders.bert(folder, "TokenClassification", id2label=folders.LABELS),
    "embed": lambda folder: folders.bert(folder, ""),
    "see": folders.vit,
}
OPTIONS = {
    "translate": {"max_length": 9},
    "generate": {"max_length": 9},
    "complete": {"max_tokens": 4},
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], regard.Model]:
    place, opened = tmp_path_factory.mktemp("models"), dict[str, regard.Model]()

    def of(task: str) -> regard.Model:
        if task not in opened:
            KINDS[task](place / task)
            opened[task] = regard.load(place / task, "cpu", engine="torch", precision="fp32")
        return opened[task]

    return of


def same(one: Any, other: Any) -> bool:
    """Equal, but for what a batch rounds otherwise."""
    if isinstance(one, np.ndarray | float):
        return bool(np.allclose(one, other, atol=1e-5))
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, str):
        return bool(one == other)
    return all(
        same(a, b) if isinstance(a, float) else a == b
        for a, b in zip(vars(one).values(), vars(other).values(), strict=True)
    )


@pytest.mark.parametrize("task", [task for task in KINDS if task != "see"])
def test_one_text_or_many(task: str, model: Callable[[str], regard.Model]) -> None:
    method, options = vars(regard.Model)[task], OPTIONS.get(task, {})
    first, second = MASKED if task == "fill" else (A, B)
    asked = model(task)
    one, other = method(asked, first, **options), method(asked, second, **options)
    assert type(one) is type(other)
    for several in ([first, second], (first, second), iter([first, second])):
        answers = method(asked, several, **options)
        assert len(answers) == 2
        assert same(answers[0], one) and same(answers[1], other)
    assert len(method(asked, [], **options)) == 0


def test_several_with_scores(model: Callable[[str], regard.Model]) -> None:
    for task in ("translate", "generate"):
        best = model(task).translations(A, n_best=2, max_length=9)
        assert isinstance(best, Answers) and len(best) == 2
        assert best[0].score >= best[1].score
        assert model(task).translations([A, B], n_best=2, max_length=9)[0] == best


def test_pairs(model: Callable[[str], regard.Model]) -> None:
    translator, encoder = model("translate"), model("embed")
    one = translator.score(A, B)
    assert translator.score([A, A], [B, B])[1].log_probability == pytest.approx(one.log_probability)
    assert len(translator.score(A, [B, A])) == 2  # one source with each of two targets
    cosine = encoder.similar(A, B)
    assert isinstance(cosine, float)
    assert encoder.similar(A, [B, A]) == pytest.approx([cosine, 1.0], abs=1e-5)
    assert encoder.similar([A, B], [B, B]) == pytest.approx([cosine, 1.0], abs=1e-5)
    with refused(MisuseError, subject="similar", problem="got 2 texts on one side and 3"):
        encoder.similar([A, B], [A, B, A])


def test_what_is_no_text_is_named(model: Callable[[str], regard.Model]) -> None:
    with refused(MisuseError, subject="classify", got="int", expected="a text or several"):
        model("classify").classify(3)  # type: ignore[call-overload]
    with refused(MisuseError, subject="embed", problem="number 2 of the texts is float"):
        model("embed").embed([A, 1.5])  # type: ignore[list-item]
    with refused(MisuseError, subject="classify", problem="text 2 of 2 has 30 tokens"):
        model("classify").classify([A, "cat " * 28])
    assert model("classify").classify(["cat " * 28], cut=True)
    with pytest.raises(MisuseError, match="tag: text 2 of 2 has no words"):
        model("tag").tag([A, ""])


def test_a_table_is_no_list_of_texts(model: Callable[[str], regard.Model]) -> None:
    frame = pandas.DataFrame({"message": [A, B], "kind": ["glad", "sad"]})
    for table in (frame, {"message": [A, B]}):
        with refused(
            MisuseError, subject="classify", problem="got a table", advice="give one of its columns"
        ):
            model("classify").classify(table)  # type: ignore[call-overload]
    assert len(model("classify").classify(frame["message"])) == 2
    with refused(MisuseError, subject="evaluate: columns", problem="unknown role 'message'"):
        model("classify").evaluate(frame, columns={"message": "text"})
    with refused(
        MisuseError, subject="text", problem="the table has no column 'mesage'", advice='"message"'
    ):
        model("classify").evaluate(frame, columns={"text": "mesage", "label": "kind"})
    scores = model("classify").evaluate(frame, columns={"text": "message", "label": "kind"})
    assert vars(scores)["texts"] == 2


def test_words_that_are_split_already(model: Callable[[str], regard.Model]) -> None:
    words = A.rstrip(".").split()
    assert same(model("tag").tag([words])[0], model("tag").tag(A.rstrip(".")))


def test_a_model_shows_itself_shortly(model: Callable[[str], regard.Model]) -> None:
    for task in KINDS:
        told = repr(model(task))
        assert task in told and len(told) < 200
    names = dir(model("classify"))
    assert {"classify", "embed", "similar", "logits", "save", "explain"} <= set(names)
    assert not {"translate", "complete", "fill", "see", "tag", "stream"} & set(names)


def test_the_package_shows_what_it_offers() -> None:
    assert dir(regard) == sorted(regard.__all__)
    for name in regard.__all__:
        assert vars(regard).get(name) is not None or regard.__getattr__(name) is not None
    assert issubclass(regard.errors.ConfigError, regard.errors.MisuseError)


def test_a_notebook_shows_answers(model: Callable[[str], regard.Model]) -> None:
    labels = model("classify").classify(A)._repr_html_()
    for name in folders.LABELS.values():
        assert f">{name}<" in labels
    assert "piece" not in labels  # nothing to say in that column
    tags = model("tag").tag("<b> cat")._repr_html_()
    assert "&lt;" in tags and "<b>" not in tags
    assert "perplexity" in model("translate").score(A, B)._repr_html_()
