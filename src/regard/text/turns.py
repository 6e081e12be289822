"""Messages of a conversation. In: what a file or a caller says. Out: turns that fit each other.

[{"role": "system", "content": …}]           may come first: how to answer
{"role": "user", …}, {"role": "assistant", …}    question and answer, in turn
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regard.errors import DataError

SYSTEM, USER, ASSISTANT = ROLES = ("system", "user", "assistant")
SHOWN = 40  # characters of what somebody else wrote


@dataclass(frozen=True)
class Message:
    """Who says what."""

    role: str
    content: str


def read_messages(values: object, where: str) -> list[Message]:
    """The messages, or an error that says which one is wrong; `where` is what it begins with."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes) or not values:
        got = "nothing" if values in (None, [], ()) else type(values).__name__
        raise DataError(f"{where}: messages", f"got {got}", expected="a list of role and content")
    messages = [_message(value, f"{where}: message {n}") for n, value in enumerate(values, 1)]
    for n, (message, expected) in enumerate(zip(messages, _order(messages), strict=True), 1):
        if message.role != expected:
            raise DataError(
                f"{where}: message {n}",
                f"role {message.role}",
                expected=f"{expected}: a system message stands first if at all, then user and "
                "assistant take turns",
            )
    return messages


def _order(messages: Sequence[Message]) -> list[str]:
    """The roles that so many messages should have."""
    first = [SYSTEM] if messages[0].role == SYSTEM else []
    rest = len(messages) - len(first)
    return [*first, *(ROLES[1 + n % 2] for n in range(rest))]


def _message(value: object, where: str) -> Message:
    if isinstance(value, Message):
        value = vars(value)
    if not isinstance(value, Mapping):
        raise DataError(where, got=type(value), expected="role and content")
    role, content = value.get("role"), value.get("content")
    if role not in ROLES:
        raise DataError(where, f"role {str(role)[:SHOWN]!r}", expected=f"one of {', '.join(ROLES)}")
    if not isinstance(content, str):
        raise DataError(f"{where}: content", got=type(content), expected="a text")
    if not content.strip():
        raise DataError(f"{where}: content", f"the text of this {role} is empty")
    return Message(str(role), content)


def without_oldest(messages: Sequence[Message]) -> list[Message]:
    """The same without the first question and its answer; what a system message says stays."""
    first = [message for message in messages[:1] if message.role == SYSTEM]
    return [*first, *messages[len(first) + 2 :]]


def up_to_answer(messages: Sequence[Message]) -> list[Message]:
    """The same up to the last answer."""
    last = max((n for n, m in enumerate(messages, 1) if m.role == ASSISTANT), default=0)
    return list(messages[:last])
