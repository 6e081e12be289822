"""What a text says: `model.answer("Who won?", text)`, or over an index; `model.summarize(text)`;
and how its sentences are built: `model.parse(text)`."""

# A text is an iterable of texts too, as mypy sees it; the overload for one text is the one meant.
# mypy: disable-error-code="overload-overlap"

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from regard.answer.answers import Answers
from regard.api.shapes import many, paired, shaped
from regard.api.talk import GoesOn
from regard.errors import MisuseError

if TYPE_CHECKING:
    from regard.answer.answer import QuestionAnswer
    from regard.answer.parse import Parse
    from regard.answer.summarize import Summary
    from regard.search.query import SearchIndex


class Asked(GoesOn):
    """The part of `Model` that answers questions about a text, and says it in short."""

    @overload
    def answer(
        self,
        questions: str,
        contexts: str | None = None,
        *,
        index: "str | Path | SearchIndex | None" = None,
        top: int = 1,
        threshold: float | None = None,
    ) -> "Answers[QuestionAnswer]": ...
    @overload
    def answer(
        self,
        questions: Iterable[str],
        contexts: str | Iterable[str] | None = None,
        *,
        index: "str | Path | SearchIndex | None" = None,
        top: int = 1,
        threshold: float | None = None,
    ) -> "list[Answers[QuestionAnswer]]": ...
    def answer(
        self,
        questions: str | Iterable[str],
        contexts: str | Iterable[str] | None = None,
        *,
        index: "str | Path | SearchIndex | None" = None,
        top: int = 1,
        threshold: float | None = None,
    ) -> "Answers[QuestionAnswer] | list[Answers[QuestionAnswer]]":
        """The spans of a context that answer a question, best first; an empty text is "no answer".

        Several questions have one context, or one each. Without a context, passages of an `index`
        (its folder, or `open_index`) are read. `threshold`: by how much "no answer" must lead. A
        model that makes text writes its answer, which has no place.
        """
        from regard.answer.answer import answer_questions  # imports torch
        from regard.search.ask import answer_from_index  # imports torch

        if (contexts is None) == (index is None):
            raise MisuseError("answer", expected="either a context or an index")
        if index is not None:
            listed = many(questions, "answer")
            rows = [answer_from_index(self, one, index, top, threshold) for one in listed]
        else:
            assert contexts is not None
            pairs = list(zip(*paired(questions, contexts, "answer"), strict=True))
            rows = answer_questions(self, pairs, top, threshold)
        return rows[0] if isinstance(questions, str) else rows

    @overload
    def summarize(self, texts: str, *, length: str | int | None = None) -> str: ...
    @overload
    def summarize(self, texts: Iterable[str], *, length: str | int | None = None) -> list[str]: ...
    def summarize(
        self, texts: str | Iterable[str], *, length: str | int | None = None
    ) -> str | list[str]:
        """A text, or each of several, in fewer words: written, or the sentences that say most.

        `length` is about how long: words, or "2 sentences".
        """

        def answer(listed: list[str]) -> list[str]:
            return [summary.text for summary in self._summaries(listed, length)]

        return shaped(texts, "summarize", answer)

    @overload
    def parse(
        self, texts: str, *, beam: int | None = None, alpha: float | None = None
    ) -> "Parse": ...
    @overload
    def parse(
        self,
        texts: Iterable[str | Sequence[str]],
        *,
        beam: int | None = None,
        alpha: float | None = None,
    ) -> "list[Parse]": ...
    def parse(
        self,
        texts: str | Iterable[str | Sequence[str]],
        *,
        beam: int | None = None,
        alpha: float | None = None,
    ) -> "Parse | list[Parse]":
        """The tree of a sentence, or of each of several; one among several may be its words."""
        from regard.answer.parse import parse_texts  # imports torch

        parses = parse_texts(self, [texts] if isinstance(texts, str) else list(texts), beam, alpha)
        return parses[0] if isinstance(texts, str) else parses

    def summaries(
        self, texts: str | Iterable[str], *, length: str | int | None = None
    ) -> "Summary | list[Summary]":
        """The same with how each came about: its way, windows, and the sentences with scores."""
        return shaped(texts, "summarize", lambda listed: self._summaries(listed, length))

    def _summaries(self, texts: list[str], length: str | int | None) -> "list[Summary]":
        from regard.answer.summarize import summarize_texts  # imports numpy

        return summarize_texts(self, texts, length)
