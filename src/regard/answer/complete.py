"""Going on with a text: greedy or sampled, whole or piece by piece as it is made."""

from collections.abc import Iterator

from regard.answer.loaded import LoadedModel
from regard.answer.prompt import one_text, text_of
from regard.decode.sample import Sampling, continued
from regard.errors import MisuseError

UNFINISHED = "\ufffd"  # how a decoder shows bytes that are no whole character yet


def stream_text(model: LoadedModel, prompt: str, sampling: Sampling) -> Iterator[str]:
    """Pieces of text that follow the prompt; together they are the completion.

    A token may be half a character, and what it looks like may depend on the one before; so all
    ids so far are decoded each time, and a piece is given once it can no longer change.
    """
    tokenizer, settings = model.tokenizer_for("complete"), model.bundle.settings
    ids = list(tokenizer.encode(one_text(prompt, "complete")).ids)
    if not ids and settings.bos is not None:
        ids = [settings.bos]
    if not ids:
        raise MisuseError("complete: the prompt is empty; give a text to go on with")
    completion: list[int] = []
    before = shown = len(text_of(tokenizer, ids))
    text = ""
    for token in continued(model.transformer, ids, settings.ends, sampling, settings.rules):
        completion.append(token)
        text = text_of(tokenizer, [*ids, *completion])
        if len(text) > shown and not text.endswith(UNFINISHED):
            yield text[shown:]
            shown = len(text)
    if len(text) > max(shown, before):
        yield text[shown:]
