"""Conversations as models were trained to read them. In: messages. Out: one text, and its ids.

    plain     User: Hi.⏎Assistant: Hello.</s>⏎           whoever knows no other format
    chatml    <|im_start|>user⏎Hi.<|im_end|>⏎<|im_start|>assistant⏎Hello.<|im_end|>⏎
    llama3    <|start_header_id|>user<|end_header_id|>⏎⏎Hi.<|eot_id|>…
    llama2    <s>[INST] Hi. [/INST] Hello. </s>
    zephyr    <|user|>⏎Hi.</s>⏎<|assistant|>⏎Hello.</s>⏎

A published folder brings its format as code (jinja), which is never run: a format is a row of the
table below, told by the special tokens that a tokenizer has. Those of llama2 and zephyr are no
special tokens, so these two are chosen by name. What counts in training, and what a model makes, is
the answer with the token that ends it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from regard.errors import DataError, MisuseError, nearest
from regard.text.published import PublishedTokenizer
from regard.text.turns import ASSISTANT, SYSTEM, Message


@dataclass(frozen=True)
class Template:
    """One format: what stands before and after a message.

    {bos} and {eos} are the tokens of the folder, {frame} is what its tokenizer puts before texts.
    """

    name: str
    system: tuple[str, str]
    user: tuple[str, str]
    cue: str  # what asks for an answer
    end: str  # of an answer: the token that ends it …
    after: str = ""  # … and what comes before the next turn
    answer: tuple[str, str] = ("", "")  # around its text; the model makes this too
    begin: str = ""
    system_in_user: bool = False  # whether it stands inside the first question
    stripped: bool = False  # whether contents lose the white space around them
    told_by: tuple[str, ...] = ()  # special tokens
    stop: str = ""  # a text that no answer holds: the beginning of the next question


_HEADER = "<|start_header_id|>{}<|end_header_id|>\n\n"
TEMPLATES: dict[str, Template] = {
    row.name: row
    for row in (
        Template(
            "plain",
            system=("", "\n\n"),
            user=("User: ", "\n"),
            cue="Assistant:",
            answer=(" ", ""),
            end="{eos}",
            after="\n",
            begin="{frame}",
            stop="\nUser:",
        ),
        Template(
            "chatml",
            system=("<|im_start|>system\n", "<|im_end|>\n"),
            user=("<|im_start|>user\n", "<|im_end|>\n"),
            cue="<|im_start|>assistant\n",
            end="<|im_end|>",
            after="\n",
            told_by=("<|im_start|>", "<|im_end|>"),
        ),
        Template(
            "llama3",
            system=(_HEADER.format("system"), "<|eot_id|>"),
            user=(_HEADER.format("user"), "<|eot_id|>"),
            cue=_HEADER.format("assistant"),
            end="<|eot_id|>",
            begin="{bos}",
            stripped=True,
            told_by=("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
        ),
        Template(
            "llama2",
            system=("<<SYS>>\n", "\n<</SYS>>\n\n"),
            user=("{bos}[INST] ", " [/INST]"),
            cue="",
            answer=(" ", " "),
            end="{eos}",
            system_in_user=True,
            stripped=True,
        ),
        Template(
            "zephyr",
            system=("<|system|>\n", "{eos}\n"),
            user=("<|user|>\n", "{eos}\n"),
            cue="<|assistant|>\n",
            end="{eos}",
            after="\n",
        ),
    )
}


def find_template(tokenizer: PublishedTokenizer, name: str = "") -> Template:
    """The one of that name; without a name, the one whose special tokens are there."""
    if name:
        if name not in TEMPLATES:
            raise MisuseError("template", f"{name!r} is not known", advice=nearest(name, TEMPLATES))
        return TEMPLATES[name]
    special = set(tokenizer.codec.special)
    told = (row for row in TEMPLATES.values() if row.told_by and special.issuperset(row.told_by))
    return next(told, TEMPLATES["plain"])


@dataclass(frozen=True)
class ChatFormat:
    """A template with the tokenizer that it is for."""

    template: Template
    tokenizer: PublishedTokenizer

    def __post_init__(self) -> None:
        if self._row.end not in self.tokenizer.codec.special:
            raise DataError(
                f"chat: the template {self.template.name} needs {self._row.end or 'an end token'}, "
                "which the tokenizer does not have; without it no answer would end"
            )

    @property
    def end(self) -> int:
        """The id of the token that ends an answer."""
        return self.tokenizer.codec.special[self._row.end]

    def text(self, messages: Sequence[Message], ask: bool = False) -> str:
        """All of it; `ask`: up to where the next answer begins."""
        return "".join(text for text, _ in self._parts(messages, ask))

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The ids up to where the next answer begins."""
        return self.tokenizer.cut(self.text(messages, ask=True))

    def example(self, messages: Sequence[Message]) -> tuple[list[int], list[int]]:
        """The ids of a whole conversation, and of each 1 if it belongs to an answer, else 0.

        It is cut as one text; where an answer begins and ends, the ids of the text so far say.
        """
        parts = self._parts(messages)
        ids = self.tokenizer.cut("".join(text for text, _ in parts))
        is_answer, so_far = [0] * len(ids), ""
        for text, counts in parts:
            if counts:
                first, last = self._shared(ids, so_far), self._shared(ids, so_far + text)
                is_answer[first:last] = [1] * (last - first)
            so_far += text
        return ids, is_answer

    def _shared(self, ids: Sequence[int], beginning: str) -> int:
        """How many of the ids come out too when the text is cut up to there."""
        cut = self.tokenizer.cut(beginning)
        pairs = zip(ids, cut, strict=False)
        return next((n for n, (one, other) in enumerate(pairs) if one != other), len(cut))

    def _parts(self, messages: Sequence[Message], ask: bool = False) -> list[tuple[str, bool]]:
        """Text after text, and whether it is an answer."""
        row, within = self._row, ""
        parts = [(row.begin, False)]
        for message in messages:
            self._check(message)
            if message.role == SYSTEM and row.system_in_user:
                within = message.content.join(row.system)
                continue
            content = within + message.content
            content, within = content.strip() if row.stripped else content, ""
            if message.role == ASSISTANT:
                answer = content.join(row.answer) + row.end
                parts += [(row.cue, False), (answer, True), (row.after, False)]
            else:
                frame = row.system if message.role == SYSTEM else row.user
                parts += [(content.join(frame), False)]
        return [*parts, (row.cue, False)] if ask else parts

    def _check(self, message: Message) -> None:
        """What is said holds nothing that would be taken for a part of the format."""
        special = self._special.search(message.content)
        if special:
            raise DataError(
                f"chat: {message.role}: the text holds {special[0]}, a special token that "
                "begins or ends something else; take it out"
            )

    @cached_property
    def _special(self) -> re.Pattern[str]:
        longest_first = sorted(self.tokenizer.codec.special, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)))

    @cached_property
    def _row(self) -> Template:
        """The template with the folder's own tokens."""
        tokens, roles = self.tokenizer.codec.tokens, self.tokenizer.roles
        texts = {f"{{{r}}}": tokens[roles[r]] if r in roles else "" for r in ("bos", "eos")}
        texts["{frame}"] = "".join(tokens[i] for i in self.tokenizer.encode("").ids)

        def filled(text: str) -> str:
            for name, token in texts.items():
                text = text.replace(name, token)
            return text

        row = self.template
        return replace(
            row,
            begin=filled(row.begin),
            end=filled(row.end),
            system=(filled(row.system[0]), filled(row.system[1])),
            user=(filled(row.user[0]), filled(row.user[1])),
        )
