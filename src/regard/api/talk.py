"""Conversations in Python: `model.chat([{"role": "user", "content": "Hi, how are you?"}])`.

One conversation or several, each a list of messages, is answered with one text or several.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack, overload

from regard.answer.loaded import LoadedModel
from regard.api.options import SamplingOptions, completes
from regard.errors import MisuseError, nearest
from regard.text.turns import Message, read_messages

Turns = Sequence[Mapping[str, str]]
MOST = 256  # tokens of an answer, unless one says otherwise


class Converses(LoadedModel):
    """The part of `Model` that keeps turns."""

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
        from regard.answer.chat import chat_format, stream_answer  # imports torch
        from regard.decode.options import Sampling

        names = vars(Sampling())
        for name in options:
            if name not in names:
                raise MisuseError(f"chat: unknown option {name!r}{nearest(name, names)}")
        chosen: dict[str, Any] = {"max_tokens": MOST, **options}
        conversations, one = listed(messages)
        chat = chat_format(self, template)
        texts = [
            "".join(stream_answer(self, read_messages(each, "chat"), Sampling(**chosen), chat))
            for each in conversations
        ]
        return texts[0] if one else texts


def listed(messages: Any) -> tuple[list[Any], bool]:
    """Conversations as a list, and whether it is a single one that was given."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        got = type(messages).__name__
        raise MisuseError(
            f'chat: got {got}, expected messages: [{{"role": "user", "content": "Hi!"}}]'
        )
    rows = list(messages)
    one = bool(rows) and isinstance(rows[0], Mapping | Message)
    return [rows] if one else rows, one
