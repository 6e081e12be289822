"""Going on with a text: greedy, sampled or searched, whole or piece by piece as it is made."""

from collections.abc import Iterator, Sequence

from regard.answer.loaded import LoadedModel
from regard.answer.prompt import one_text, text_of
from regard.bundle.generation_settings import GenerationSettings
from regard.decode.options import DecodingOptions
from regard.decode.prompt_beam import best_continuations
from regard.decode.sample import Sampling, continued
from regard.errors import MisuseError

UNFINISHED = "\ufffd"  # how a decoder shows bytes that are no whole character yet


def stream_text(model: LoadedModel, prompt: str, sampling: Sampling) -> Iterator[str]:
    """Pieces of text that follow the prompt; together they are the completion."""
    tokenizer, settings = model.tokenizer_for("complete"), model.bundle.settings
    ids = list(tokenizer.encode(one_text(prompt, "complete")).ids)
    if not ids and settings.bos is not None:
        ids = [settings.bos]
    if not ids:
        raise MisuseError("complete: the prompt is empty; give a text to go on with")
    yield from stream_ids(model, ids, sampling, settings.ends)


def stream_ids(
    model: LoadedModel, ids: Sequence[int], sampling: Sampling, ends: Sequence[int]
) -> Iterator[str]:
    """The same after the ids of a prompt, up to one of `ends`.

    A token may be half a character, and what it looks like may depend on the one before; so all
    ids so far are decoded each time, and a piece is given once it can no longer change. A beam
    search knows its text at the end only.
    """
    tokenizer, completion = model.tokenizer_for("complete"), list[int]()
    before = shown = len(text_of(tokenizer, ids))
    text = ""
    for token in _tokens(model, ids, sampling, ends):
        completion.append(token)
        text = text_of(tokenizer, [*ids, *completion])
        if len(text) > shown and not text.endswith(UNFINISHED):
            yield text[shown:]
            shown = len(text)
    if len(text) > max(shown, before):
        yield text[shown:]


def _tokens(
    model: LoadedModel, prompt: Sequence[int], sampling: Sampling, ends: Sequence[int]
) -> Iterator[int]:
    settings = model.bundle.settings
    decoding = decoding_after(len(prompt), settings, sampling)
    network, rules = model.transformer, settings.rules
    if decoding.beam > 1:
        return iter(best_continuations(network, prompt, ends, decoding, rules)[0].ids)
    return continued(network, prompt, ends, sampling, rules, decoding)


def decoding_after(
    length: int, settings: GenerationSettings, sampling: Sampling
) -> DecodingOptions:
    """The folder's search for a prompt of so many tokens, with what was chosen."""
    search, published = settings.search, settings.search.convention == "transformers"
    searched = published and sampling.temperature == 0  # the beam of a run is for translations
    beam = sampling.beam or (search.beam if searched else 1)
    # Published settings count the prompt too; one token of it is taken off already.
    least = search.min_length + 1 - length if published else search.min_length
    least = max(0, min(least, sampling.max_tokens - 1))
    return DecodingOptions(
        beam,
        search.alpha,
        search.length_norm,
        search.stop,
        search.convention,
        max_length=sampling.max_tokens,
        min_length=least,
        no_repeat_ngram=search.no_repeat_ngram,
        repetition_penalty=search.repetition_penalty,
    )
