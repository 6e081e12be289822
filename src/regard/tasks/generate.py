"""Text in, text out, with an encoder–decoder model of a published family: T5's tasks, or Marian's
translation. The searches are those of `translate`; start, end and rules come from the folder."""

from collections.abc import Callable, Sequence
from functools import partial

from regard.decode.hypothesis import Search
from regard.errors import CheckpointError
from regard.model.transformer import Transformer
from regard.tasks.prompt import fitting, text_of
from regard.tasks.settings import Settings
from regard.tasks.translate import EMPTY, Frame, Translation, answers_of, search_ids
from regard.text.published import PublishedTokenizer


def generate_texts(
    model: Transformer,
    tokenizer: PublishedTokenizer,
    settings: Settings,
    texts: Sequence[str],
    search: Search,
    advance: Callable[[int], None] = lambda count: None,
) -> list[list[Translation]]:
    """The `n_best` outputs for each text; a blank text stays empty."""
    filled = [i for i, text in enumerate(texts) if text.strip()]
    ids = {i: list(fitting(tokenizer.encode(texts[i]), model, "text").ids) for i in filled}
    found = search_ids(model, ids, frame_of(settings), search, settings.rules, advance)
    read = partial(text_of, tokenizer)
    return [answers_of(found[i], read) if i in found else [EMPTY] for i in range(len(texts))]


def frame_of(settings: Settings) -> Frame:
    """Padding, start and end, each as the folder says."""
    if settings.start is None or not settings.ends:
        raise CheckpointError(
            "generate: neither generation_config.json nor config.json names "
            "decoder_start_token_id and eos_token_id; add them to generation_config.json"
        )
    pad = settings.start if settings.pad is None else settings.pad
    return Frame(pad, settings.start, settings.ends[0])
