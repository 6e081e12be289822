"""What commands print as JSON is JSON: it has neither NaN nor infinity, which Python would write.

An infinite number becomes null. NaN in an answer is an error: a model that computes it is damaged,
or its numbers overflow. A report about something else may have gaps, and they are null too.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from regard.errors import CheckpointError


def valid_json(value: Any, *, indent: int | None = None, gaps: bool = False) -> str:
    """A value as JSON, on one line unless it is indented; letters as they are."""
    plain = _valid(value, gaps)
    text = json.dumps(plain, indent=indent, ensure_ascii=False, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half a character, as names that are no text have
        return json.dumps(plain, indent=indent, allow_nan=False)
    return text


def _valid(value: Any, gaps: bool) -> Any:
    if isinstance(value, Mapping):
        return {key: _valid(inner, gaps) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_valid(inner, gaps) for inner in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if math.isnan(value) and not gaps:
        raise CheckpointError(
            "the answer holds NaN, which is no number: the model's weights are damaged or its "
            "numbers overflow; `regard doctor` and `regard verify` look at it"
        )
    return None
