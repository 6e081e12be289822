"""Is a tokenizer.json safe to run? In: the file's values. Out: nothing, or a named error.

A file of this kind is a small program: steps that rewrite and cut text, some by patterns. Three of
its powers are bounded here, since a file from elsewhere must not stop the machine:

    a pattern such as (a+)+ takes exponential time     no endless repetition of a repetition
    forty steps "a" → "aa" make 2⁴⁰ letters of one     few steps, none makes text longer by much
    ids of 10¹², a vocabulary without end              bounds on every table
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.text.kinds import WORDS_SPLIT
from regard.text.published_files import (
    MAX_MERGES,
    MAX_TOKEN,
    MAX_VOCABULARY,
    broken,
    check_vocabulary,
)

MAX_STEPS = 8
MAX_PATTERN = 2_000
MAX_WORD = 1_000  # characters of one word that WordPiece looks at: it takes quadratic time
PARTS = ("normalizer", "pre_tokenizer", "decoder", "post_processor")
MODELS = ("BPE", "WordPiece", "Unigram", "WordLevel")

# Comments and free spacing can hide a group from this reader; calls and references go backwards.
_HIDING = re.compile(r"\(\?#|\(\?[a-z-]*x|\\[gkQ1-9]")
_SIGN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\??|[)|*+?]|\{(?:\d+(?:,\d*)?|,\d+)\}|.", re.DOTALL
)


def check_tokenizer_file(path: Path, values: object) -> dict[str, Any]:
    """The values of a tokenizer.json, if all of it is within bounds."""
    if not isinstance(values, dict) or not isinstance(values.get("model"), dict):
        raise broken(path, "is no tokenizer file: it has no model")
    _check_model(path, values["model"])
    added = values.get("added_tokens") or []
    if not isinstance(added, list) or len(added) > MAX_VOCABULARY:
        raise broken(path, f"added_tokens is no list of at most {MAX_VOCABULARY:,}")
    for token in added:
        text, i = (token.get("content"), token.get("id")) if isinstance(token, dict) else ("", -1)
        if not isinstance(text, str) or not 0 < len(text) <= MAX_TOKEN:
            raise broken(path, f"added_tokens: an entry has no text of 1 to {MAX_TOKEN} characters")
        if not isinstance(i, int) or not 0 <= i < MAX_VOCABULARY:
            raise broken(path, f"added_tokens: {text[:40]!r} has the id {i!r}, which is none")
    for part in PARTS:
        steps = [step for step in _objects(values.get(part)) if "type" in step]
        inner = [step for step in steps if step["type"] != "Sequence"]
        if len(inner) > MAX_STEPS:
            raise broken(path, f"{part} has {len(inner)} steps, expected at most {MAX_STEPS}")
        for step in inner:
            _check_step(path, part, step)
    return values


def _check_model(path: Path, model: dict[str, Any]) -> None:
    kind, vocabulary = model.get("type"), model.get("vocab")
    if kind is not None and kind not in MODELS:
        raise broken(path, f"its model is {kind!r}, expected one of {', '.join(MODELS)}")
    if isinstance(vocabulary, list):  # Unigram: pairs of a piece and its score
        pieces = [p[0] if isinstance(p, list) and len(p) == 2 else None for p in vocabulary]
        if not 0 < len(pieces) <= MAX_VOCABULARY or not all(
            isinstance(piece, str) and len(piece) <= MAX_TOKEN for piece in pieces
        ):
            raise broken(path, "its vocabulary is no list of pieces and scores within bounds")
    else:
        check_vocabulary(path, vocabulary)
    merges = model.get("merges") or []
    if not isinstance(merges, list) or len(merges) > MAX_MERGES:
        raise broken(path, f"merges is no list of at most {MAX_MERGES:,}")
    if model.get("dropout"):
        raise broken(path, "its model leaves out merges at random (dropout), as only training does")
    word = model.get("max_input_chars_per_word") or 0
    if not isinstance(word, int) or word > MAX_WORD:
        raise broken(path, f"max_input_chars_per_word is {word!r}, expected at most {MAX_WORD}")


def _check_step(path: Path, part: str, step: dict[str, Any]) -> None:
    pattern = step.get("pattern")
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    plain = pattern.get("String") if isinstance(pattern, dict) else None
    if isinstance(regex, str) and regex != WORDS_SPLIT and is_slow(regex):  # ours is linear
        raise broken(path, f"{part}: the pattern {regex[:60]!r} can take exponential time")
    content = step.get("content")
    if step["type"] == "Replace" and isinstance(content, str):
        room = max(len(plain), 1) if isinstance(plain, str) else 1
        if len(content) > room:
            raise broken(path, f"{part}: replaces {room} characters by {len(content)}")
    prepended = step.get("prepend")
    if isinstance(prepended, str) and len(prepended) > 1:
        raise broken(path, f"{part}: puts {len(prepended)} characters before a text, expected 1")


def _objects(value: object) -> Iterator[dict[str, Any]]:
    """Every object within a value; the JSON reader has bounded how deep they lie."""
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        for item in inner:  # type: ignore[attr-defined]
            yield from _objects(item)


def is_slow(pattern: str) -> bool:
    """Whether a group that repeats without end holds a repetition or a choice.

    >>> is_slow("(a+)+"), is_slow("(a|aa)*"), is_slow(r"(?:'s|'t)?|\\\\s+(?!\\\\S)")
    (True, True, False)
    """
    if len(pattern) > MAX_PATTERN or _HIDING.search(pattern):
        return True
    signs = _SIGN.findall(pattern)
    groups = [False]  # for each open group: does it hold a repetition or a choice?
    for n, sign in enumerate(signs):
        if sign in ("(", "(?"):
            groups.append(False)
        elif sign == ")":
            inner = groups.pop() if len(groups) > 1 else False
            if inner and n + 1 < len(signs) and _is_repetition(signs[n + 1]):
                return True
            groups[-1] |= inner
        elif sign == "|" or sign in "*+?" or (len(sign) > 2 and sign[0] == "{"):
            groups[-1] = True
    return False


def _is_repetition(sign: str) -> bool:
    """More than once: * + {2,} {2,9}; not ? and not {1}."""
    return sign in ("*", "+") or (len(sign) > 2 and sign[0] == "{" and sign != "{1}")
