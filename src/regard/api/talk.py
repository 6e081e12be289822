"""Going on with a text, and conversations: `model.complete("The cat sat")`, `model.chat(messages)`.

One prompt or conversation, a list of messages, is answered with one text; several with as many.
"""

# A text is an iterable of texts too, as mypy sees it; the overload for one text is the one meant.
# mypy: disable-error-code="overload-overlap"

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Unpack, overload

from regard.answer.answers import Answers
from regard.answer.chat import MOST_TOKENS, answer_all, chat_format
from regard.answer.complete import Completer, Continuation, sampling_with
from regard.answer.loaded import LoadedModel
from regard.api.options import SamplingOptions, completes
from regard.api.shapes import shaped
from regard.errors import MisuseError
from regard.text.turns import Message, read_messages

Turns = Sequence[Mapping[str, str]]


class GoesOn(LoadedModel):
    """The part of `Model` that decoders offer: a text goes on, a conversation is answered."""

    @overload
    def complete(self, prompts: str, **options: Unpack[SamplingOptions]) -> str: ...
    @overload
    def complete(self, prompts: Iterable[str], **options: Unpack[SamplingOptions]) -> list[str]: ...
    @completes(SamplingOptions)
    def complete(
        self, prompts: str | Iterable[str], **options: Unpack[SamplingOptions]
    ) -> str | list[str]:
        """What follows a prompt, or each of several: the best, or the first that was drawn."""

        def answer(listed: list[str]) -> list[str]:
            return [one.best.text for one in self._continued(listed, dict(options))]

        return shaped(prompts, "complete", answer)

    @completes(SamplingOptions)
    def completions(
        self, prompts: str | Iterable[str], **options: Unpack[SamplingOptions]
    ) -> Answers[Continuation] | list[Answers[Continuation]]:
        """The `n` continuations of a prompt, or of each of several, with their scores."""
        return shaped(prompts, "complete", lambda listed: self._continued(listed, dict(options)))

    def _continued(self, texts: list[str], options: dict[str, Any]) -> list[Answers[Continuation]]:
        self.demand("complete")
        return [Answers(r) for r in Completer(self, sampling_with(options)).completions(texts)]

    @completes(SamplingOptions)
    def stream(self, prompt: str, **options: Unpack[SamplingOptions]) -> Iterator[str]:
        """The completion piece by piece, each as soon as it is there."""
        self.demand("complete")
        return Completer(self, sampling_with(options)).stream(prompt)

    @overload
    def chat(
        self, messages: Turns, *, template: str = "", **options: Unpack[SamplingOptions]
    ) -> str: ...
    @overload
    def chat(
        self, messages: Iterable[Turns], *, template: str = "", **options: Unpack[SamplingOptions]
    ) -> list[str]: ...
    @completes(SamplingOptions)
    def chat(
        self,
        messages: Turns | Iterable[Turns],
        *,
        template: str = "",
        **options: Unpack[SamplingOptions],
    ) -> str | list[str]:
        """The answer to a conversation, or to each of several.

        A message is {"role": "user", "content": "Hi!"}; other roles are system and assistant.
        `template` names the format of the turns where the tokenizer does not tell it.
        """
        sampling = sampling_with({"max_tokens": MOST_TOKENS, **options}, "chat")
        conversations, one = listed(messages)
        chat = chat_format(self, template)
        read = [read_messages(each, "chat") for each in conversations]
        texts = answer_all(self, read, sampling, chat)
        return texts[0] if one else texts


def listed(messages: Any) -> tuple[list[Any], bool]:
    """Conversations as a list, and whether it is a single one that was given."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        expected = 'messages: [{"role": "user", "content": "Hi!"}]'
        raise MisuseError("chat", got=type(messages), expected=expected)
    rows = list(messages)
    one = bool(rows) and isinstance(rows[0], Mapping | Message)
    return [rows] if one else rows, one
