"""Text in, text out, with an encoder–decoder model of a published family: T5's tasks, or Marian's
translation. The searches are those of `translate`; start, end and rules come from the folder."""

from collections.abc import Sequence
from typing import Any

from regard.answer.translate import Translation, Translator


def generate_texts(
    translator: Translator, texts: Sequence[str], **options: Any
) -> list[list[Translation]]:
    """The `n_best` outputs for each text, which is never split; a blank text stays empty."""
    return translator.translations(texts, "generate", **({"split": False} | options))
