"""Conversation: the answer to what was said so far, piece by piece as it is made.

A conversation that a model has no room for loses its oldest questions with their answers; what a
system message says stays. A base model, which was never taught where an answer ends, is cut off
where it begins to ask the next question itself.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from regard.answer.complete import Completer, held_back
from regard.answer.loaded import LoadedModel
from regard.checkpoint.files import read_own_json
from regard.decode.options import Sampling
from regard.errors import DataError, MisuseError
from regard.text.chat_template import ChatFormat, find_template
from regard.text.turns import ASSISTANT, SYSTEM, USER, Message, without_oldest

MOST_TOKENS = 256  # of an answer, unless one says otherwise
SPARE = 4  # a quarter of the places is kept for the answer, if it may be so long


def chat_format(model: LoadedModel, template: str = "") -> ChatFormat:
    """How this model reads turns: as named, as its run was trained, or as its tokens tell."""
    tokenizer, bundle = model.tokenizer_for("complete"), model.bundle
    if not template and bundle.is_run:
        template = str(read_own_json(bundle.run.recipe).get("chat", {}).get("template", ""))
    return ChatFormat(find_template(tokenizer, template), tokenizer)


def stream_answer(
    model: LoadedModel, messages: Sequence[Message], sampling: Sampling, chat: ChatFormat
) -> Iterator[str]:
    """The pieces of the next answer, without the white space around it."""
    return Conversation(model, sampling, chat, list(messages[:-1])).ask(_question(messages))


def answer_all(
    model: LoadedModel,
    conversations: Sequence[Sequence[Message]],
    sampling: Sampling,
    chat: ChatFormat,
) -> list[str]:
    """The next answer of each conversation, of many at once; each as `stream_answer` gives it."""
    completer = Completer(model, sampling)
    begun = [Conversation(model, sampling, chat, list(said[:-1])) for said in conversations]
    asked = [_question(said) for said in conversations]
    if sampling.window or completer.decoding(()).beam > 1:
        pairs = zip(begun, asked, strict=True)
        return ["".join(conversation.ask(question)) for conversation, question in pairs]
    fitted = [
        one.fitted([*one.messages, Message(USER, question)])
        for one, question in zip(begun, asked, strict=True)
    ]
    rows = [ids for ids, _, _ in fitted]
    found = completer.rows_searched(rows, {chat.end})
    outputs = [continuations[0].ids for continuations in found]
    return [
        "".join(cut_off([completer.text_after(ids, output[:room])], chat.template.stop))
        for (ids, _, room), output in zip(fitted, outputs, strict=True)
    ]


def _question(messages: Sequence[Message]) -> str:
    if messages[-1].role != USER:
        problem = f"the last message is of the {messages[-1].role}"
        raise MisuseError("chat", problem, expected="one of the user, which is answered")
    return messages[-1].content


@dataclass
class Conversation:
    """What was said so far, and a model that goes on with it."""

    model: LoadedModel
    sampling: Sampling
    chat: ChatFormat
    messages: list[Message] = field(default_factory=list)
    dropped: int = 0  # of the oldest questions, each with its answer

    def ask(self, question: str) -> Generator[str, None, None]:
        """Say something, and hear the answer; what was heard of it is remembered.

        Where nothing was answered the question is forgotten too.
        """
        ids, messages, room = self.fitted([*self.messages, Message(USER, question)])
        self.messages = messages[:-1]
        sampling = replace(self.sampling, max_tokens=min(self.sampling.max_tokens, room))
        heard: list[str] = []
        try:
            pieces = Completer(self.model, sampling).stream_row(ids, {self.chat.end})
            for piece in cut_off(pieces, self.chat.template.stop):
                heard.append(piece)
                yield piece
        finally:
            if answer := "".join(heard).strip():
                self.messages = [*messages, Message(ASSISTANT, answer)]

    def reset(self) -> None:
        """Forget all but the system message."""
        self.messages = [message for message in self.messages[:1] if message.role == SYSTEM]
        self.dropped = 0

    def fitted(self, messages: list[Message]) -> tuple[list[int], list[Message], int]:
        """The ids of the prompt, the messages that are in it, and how many tokens may follow."""
        bundle, ids = self.model.bundle, self.chat.prompt(messages)
        limits = (bundle.longest_text, bundle.spec.max_length)
        most = min(limit for limit in limits if limit is not None)
        spare = min(self.sampling.max_tokens, max(1, most // SPARE))
        while len(ids) + spare > most and sum(m.role == USER for m in messages) > 1:
            messages = without_oldest(messages)
            self.dropped += 1
            ids = self.chat.prompt(messages)
        if len(ids) >= most:
            raise DataError(
                f"chat: the question has {len(ids)} tokens, this model holds {most} and needs room "
                "to answer; shorten it"
            )
        return ids, messages, most - len(ids)


class AnswerText:
    """An answer as it grows: without the white space around it, up to where `stop` would begin."""

    def __init__(self, stop: str = "") -> None:
        self._stop, self._held, self._begun = stop, "", False
        self.ended = False  # the stop has come

    def add(self, piece: str) -> str:
        """What can be shown with one more piece."""
        self._held += piece
        if not self._begun:
            self._held = self._held.lstrip()
        before, mark, _ = self._held.partition(self._stop) if self._stop else (self._held, "", "")
        self.ended = bool(mark)
        if self.ended:
            return self._shown(before.rstrip())
        return self._shown(self._held[: len(self._held) - _unsure(self._held, self._stop)])

    def rest(self) -> str:
        """What was held back, at the end."""
        return "" if self.ended else self._shown(self._held.rstrip())

    def _shown(self, ready: str) -> str:
        self._begun = self._begun or bool(ready)
        self._held = self._held[len(ready) :]
        return ready


def cut_off(pieces: Iterable[str], stop: str = "") -> Iterator[str]:
    """The pieces without the white space around them all, up to where `stop` would begin."""
    text = AnswerText(stop)
    for piece in pieces:
        if ready := text.add(piece):
            yield ready
        if text.ended:
            return
    if ready := text.rest():
        yield ready


def _unsure(text: str, stop: str) -> int:
    """How many characters at its end may turn out to be no part of the answer."""
    return max(len(text) - len(text.rstrip()), held_back(text, [stop]))
