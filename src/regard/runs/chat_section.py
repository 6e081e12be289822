"""The section [chat] of a recipe: how the turns of objective "chat" become one text."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ChatSection:
    """Of objective "chat": how turns become one text (text/chat_template.py)."""

    template: Literal["", "plain", "chatml", "llama3", "llama2", "zephyr"] = ""  # "": found
