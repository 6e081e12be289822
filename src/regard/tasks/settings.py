"""How a published model wants its text made: generation_config.json, or else keys of config.json.

decoder_start_token_id   what an output starts from (Marian: pad)
eos_token_id             what ends it, one id or several
forced_bos_token_id      what it begins with, forced_eos_token_id: that it must end
bad_words_ids            what is never output (OPUS-MT: pad)
num_beams, length_penalty, early_stopping, max_length, max_new_tokens     the search
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.careful import read_json
from regard.decode.hypothesis import Search
from regard.decode.rules import Rules
from regard.errors import CheckpointError

MAX_BYTES = 4 * 1024 * 1024
# Settings that would change the text, with the values that ask for nothing.
NOT_DONE: dict[str, tuple[Any, ...]] = {
    "repetition_penalty": (None, 1, 1.0),
    "encoder_repetition_penalty": (None, 1, 1.0),
    "no_repeat_ngram_size": (None, 0),
    "encoder_no_repeat_ngram_size": (None, 0),
    "diversity_penalty": (None, 0, 0.0),
    "min_length": (None, 0),
    "min_new_tokens": (None, 0),
    "suppress_tokens": (None, []),
    "begin_suppress_tokens": (None, []),
    "exponential_decay_length_penalty": (None,),
    "sequence_bias": (None,),
    "guidance_scale": (None, 1, 1.0),
}


@dataclass(frozen=True)
class Settings:
    """What the folder says about making text; `ignored` names what regard does not do of `file`."""

    start: int | None = None
    ends: tuple[int, ...] = ()
    pad: int | None = None
    bos: int | None = None
    rules: Rules = Rules()
    search: Search = Search()
    ignored: tuple[str, ...] = ()
    file: str = "generation_config.json"


def read_settings(folder: Path, vocabulary: int) -> Settings:
    """The settings of a published folder, every id checked against the vocabulary."""
    values: Mapping[str, Any] = read_json(folder / "config.json", MAX_BYTES)
    where = folder / "config.json"
    if (folder / "generation_config.json").is_file():
        where = folder / "generation_config.json"
        # Special ids may stand in config.json only; the other keys there are the model's.
        special = {k: v for k, v in values.items() if k.endswith("_token_id")}
        values = special | {k: v for k, v in read_json(where, MAX_BYTES).items() if v is not None}
    pad = _id(values, "pad_token_id", vocabulary, where)
    start = _id(values, "decoder_start_token_id", vocabulary, where)
    ends = _ids(values.get("eos_token_id"), "eos_token_id", vocabulary, where)
    forced = _ids(values.get("forced_eos_token_id"), "forced_eos_token_id", vocabulary, where)
    if forced and not set(forced) <= set(ends):
        raise CheckpointError(f"{where}: forced_eos_token_id {forced} is not eos_token_id {ends}")
    return Settings(
        start=pad if start is None else start,
        ends=ends,
        pad=pad,
        bos=_id(values, "bos_token_id", vocabulary, where),
        rules=Rules(
            never=_never(values.get("bad_words_ids"), vocabulary, where),
            first=_id(values, "forced_bos_token_id", vocabulary, where),
            must_end=bool(forced),
        ),
        search=_search(values, where),
        ignored=tuple(
            f"{key} = {values[key]}"
            for key, nothing in NOT_DONE.items()
            if key in values and values[key] not in nothing
        ),
        file=where.name,
    )


def _id(values: Mapping[str, Any], key: str, vocabulary: int, where: Path) -> int | None:
    found = _ids(values.get(key), key, vocabulary, where)
    return found[0] if found else None


def _ids(value: Any, key: str, vocabulary: int, where: Path) -> tuple[int, ...]:
    """One id or a list of them; each within the vocabulary."""
    if value is None:
        return ()
    found = value if isinstance(value, list) else [value]
    for i in found:
        if isinstance(i, bool) or not isinstance(i, int) or not 0 <= i < vocabulary:
            raise CheckpointError(
                f"{where}: {key}: got {i!r}, expected an id from 0 to {vocabulary - 1}"
            )
    return tuple(found)


def _never(value: Any, vocabulary: int, where: Path) -> tuple[int, ...]:
    """Words of one token; longer ones would need a look back at every step."""
    words = [] if value is None else value
    if not isinstance(words, list) or not all(isinstance(w, list) and len(w) == 1 for w in words):
        raise CheckpointError(
            f"{where}: bad_words_ids: got {str(value)[:60]}, expected a list of lists of one id; "
            "words of several tokens are not supported"
        )
    return _ids([word[0] for word in words], "bad_words_ids", vocabulary, where)


def _search(values: Mapping[str, Any], where: Path) -> Search:
    """Their score is log p / n^length_penalty; their max_length counts the start token too."""
    beams = max(1, _number(values, "num_beams", 1, where))
    longest = _number(values, "max_length", 0, where) - 1
    longest = _number(values, "max_new_tokens", max(longest, 0), where)
    penalty = values.get("length_penalty", 1.0)
    if isinstance(penalty, bool) or not isinstance(penalty, int | float):
        raise CheckpointError(f"{where}: length_penalty: got {penalty!r}, expected a number")
    early = values.get("early_stopping")
    return Search(
        beam=beams,
        alpha=float(penalty),
        length_norm="power",
        stop="first-k" if early is True else "exact" if early == "never" else "likely",
        max_length=longest or None,
    )


def _number(values: Mapping[str, Any], key: str, default: int, where: Path) -> int:
    value = values.get(key)
    value = default if value is None else value
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise CheckpointError(f"{where}: {key}: got {value!r}, expected a whole number")
    return value
