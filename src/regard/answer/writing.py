"""How a model that makes text is asked for a summary: what it reads, how much, how it searches.

All of it is data of the model's folder: `task_specific_params.summarization` of config.json (T5:
the prefix "summarize: "; BART: lengths and beam), or the task that a run was trained on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from regard.answer.chat import answer_all, chat_format
from regard.answer.complete import Completer
from regard.answer.loaded import LoadedModel
from regard.answer.translate import decoding_with
from regard.bundle.generation_settings import task_settings
from regard.decode.options import DecodingOptions, Sampling
from regard.runs.columns import data_of
from regard.runs.folder import read_texts
from regard.text.published import PublishedTokenizer
from regard.text.turns import USER, Message

USUAL_ROOM = 512  # tokens, where positions have no end
ANSWER = 80  # tokens of a decoder, unless a length is given
AFTER = "\n\nTL;DR:"  # what follows the text for a decoder
REQUEST = "Summarize this text:\n\n"  # … or comes before it in a chat


@dataclass(frozen=True)
class TextWriter:
    """`write` takes texts and the fewest and most tokens, or None; `count` counts tokens."""

    way: Literal["written", "continued"]
    room: int  # the most tokens that it reads
    count: Callable[[str], int]
    write: Callable[[Sequence[str], tuple[int, int] | None], list[str]]


def writer_of(model: LoadedModel, **search: Any) -> TextWriter | None:
    """Of a model that makes text; None of any other."""
    tasks = set(model.tasks)
    if tasks & {"generate", "translate"}:
        return _of_both(model, search)
    return _of_decoder(model, "chat" in tasks) if "complete" in tasks else None


def _of_both(model: LoadedModel, changes: dict[str, Any]) -> TextWriter:
    prefix, usual = _asked(model)
    translator, task = model.translator, "summarize"
    search = decoding_with(usual, task, **changes)
    encode = translator.codec.encode
    end = len(encode([""])[0])
    before = len(encode([prefix])[0]) - end

    def write(texts: Sequence[str], bounds: tuple[int, int] | None) -> list[str]:
        options = search if bounds is None else bounded(search, bounds)
        asked = [prefix + text for text in texts]
        answers = translator.translations(asked, task, split=False, **vars(options))
        return [best[0].text for best in answers]

    def count(text: str) -> int:
        return len(encode([text])[0]) - end

    return TextWriter("written", max(1, _room(model) - before - end), count, write)


def bounded(search: DecodingOptions, bounds: tuple[int, int]) -> DecodingOptions:
    """The same with a fewest and a most number of tokens."""
    return replace(search, min_length=bounds[0], max_length=bounds[1])


def _asked(model: LoadedModel) -> tuple[str, DecodingOptions]:
    """What stands before a text, and how is searched."""
    bundle = model.bundle
    usual = bundle.settings.search
    if not bundle.is_run:
        return task_settings(bundle.path, "summarization", usual)
    file = bundle.run.data / "tasks.jsonl"
    rows = read_texts(file, prefix=str, metric=str) if file.is_file() else []
    summaries = [row for row in rows if row["metric"] == "rouge"] or rows
    return (summaries[0]["prefix"] if len(summaries) == 1 else ""), usual


def _room(model: LoadedModel) -> int:
    """The most tokens of a source, its end too: what it was trained on, else what it can hold."""
    bundle = model.bundle
    if bundle.is_own_translator:
        data = data_of(bundle.run)
        return min(bundle.limit or USUAL_ROOM, data.max_tokens if data else USUAL_ROOM)
    if bundle.is_run:
        return bundle.encoder_file.limit
    tokenizer = bundle.tokenizer
    told = tokenizer.max_length if isinstance(tokenizer, PublishedTokenizer) else None
    limits = [most for most in (bundle.limit, told) if most is not None]
    return min(limits, default=USUAL_ROOM)


def _of_decoder(model: LoadedModel, is_chat: bool) -> TextWriter:
    tokenizer = model.tokenizer_for("complete")
    room = model.bundle.longest_text or 4 * USUAL_ROOM

    def count(text: str) -> int:
        return len(tokenizer.encode(text).ids)

    def write(texts: Sequence[str], bounds: tuple[int, int] | None) -> list[str]:
        most = ANSWER if bounds is None else bounds[1]
        if is_chat:
            sampling, chat = Sampling(max_tokens=most), chat_format(model)
            asked = [[Message(USER, REQUEST + text)] for text in texts]
            return answer_all(model, asked, sampling, chat)
        completer = Completer(model, Sampling(max_tokens=most, stop_text="\n\n"))
        answers = completer.completions([text + AFTER for text in texts])
        return [best[0].text.strip() for best in answers]

    spare = count(AFTER) + count(REQUEST) + 2 * ANSWER
    return TextWriter("continued", max(room - spare, room // 2), count, write)
