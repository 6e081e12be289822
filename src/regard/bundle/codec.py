"""Text ↔ rows of ids as an engine wants them, for a tokenizer of ours or a published one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.bundle.generation_settings import GenerationSettings
from regard.decode.engine import Frame, Row
from regard.errors import CheckpointError
from regard.text.published import PublishedTokenizer
from regard.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Codec:
    """How texts become rows and rows texts."""

    frame: Frame
    encode: Callable[[Sequence[str]], list[list[int]]]  # sources, each with its end token
    encode_target: Callable[[str], list[int]]  # an output, without start and end
    decode: Callable[[Sequence[Row]], list[str]]
    pieces: Callable[[Row], list[str]]  # a readable label for each id
    vocabulary: Callable[[int], list[str]]  # a name of its own for each of so many ids


def own_codec(tokenizer: Tokenizer) -> Codec:
    """Of a run: the paper's frame, one vocabulary for both sides."""
    special = tokenizer.special

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [[*row, special.eos] for row in tokenizer.encode_batch(texts)]

    return Codec(
        Frame(special.pad, special.bos, special.eos),
        encode,
        tokenizer.encode,
        tokenizer.decode_batch,
        tokenizer.pieces,
        lambda size: one_name_each(tokenizer.tokens, size),
    )


def published_codec(tokenizer: PublishedTokenizer, settings: GenerationSettings) -> Codec:
    """Of a published folder: start, end and padding as it says."""
    frame = frame_of(settings)

    def text_of(ids: Row) -> str:
        # Rows of the table beyond the vocabulary have no text.
        return tokenizer.decode([i for i in ids if i < tokenizer.size])

    def encode_target(text: str) -> list[int]:
        ids = list(tokenizer.encode_target(text).ids)
        return ids[:-1] if ids and ids[-1] == frame.end else ids

    return Codec(
        frame,
        lambda texts: [list(tokenizer.encode(text).ids) for text in texts],
        encode_target,
        lambda rows: [text_of(row) for row in rows],
        tokenizer.pieces,
        lambda size: one_name_each(tokenizer.codec.tokens, size),
    )


def frame_of(settings: GenerationSettings) -> Frame:
    """Padding, start and end, each as the folder says."""
    if settings.start is None or not settings.ends:
        raise CheckpointError(
            "generate: neither generation_config.json nor config.json names "
            "decoder_start_token_id and eos_token_id; add them to generation_config.json"
        )
    pad = settings.start if settings.pad is None else settings.pad
    return Frame(pad, settings.start, settings.ends[0])


def one_name_each(tokens: Sequence[str], size: int) -> list[str]:
    """The tokens, one for each of `size` ids: holes and rows without a token get a name.

    >>> one_name_each(["<s>", "", "a"], 4)
    ['<s>', '<row 1>', 'a', '<row 3>']
    """
    names = [token or f"<row {i}>" for i, token in enumerate(tokens)]
    return names + [f"<row {i}>" for i in range(len(names), size)]
