"""How a published model wants its text made: generation_config.json, or else keys of config.json.

decoder_start_token_id   what an output starts from (Marian: pad)
eos_token_id             what ends it, one id or several
forced_bos_token_id      what it begins with, forced_eos_token_id: that it must end
bad_words_ids            what is never output (OPUS-MT: pad), renormalize_logits: p sums to 1 then
num_beams, length_penalty, early_stopping, max_length, max_new_tokens     the search
min_length, no_repeat_ngram_size, repetition_penalty                      what it may not repeat
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.checkpoint.families.config import Config
from regard.checkpoint.files import read_config_file
from regard.decode.options import DecodingOptions, Rules
from regard.errors import CheckpointError, shown

SIZES = range(2**31)
SPECIAL = ("pad", "bos", "eos", "decoder_start", "forced_bos", "forced_eos")
# Settings that would change the text, with the values that ask for nothing.
NOT_DONE: dict[str, tuple[Any, ...]] = {
    "encoder_repetition_penalty": (None, 1, 1.0),
    "encoder_no_repeat_ngram_size": (None, 0),
    "diversity_penalty": (None, 0, 0.0),
    "min_new_tokens": (None, 0),
    "suppress_tokens": (None, []),
    "begin_suppress_tokens": (None, []),
    "exponential_decay_length_penalty": (None,),
    "sequence_bias": (None,),
    "guidance_scale": (None, 1, 1.0),
    "do_sample": (None, False),  # a draw is asked for by whoever wants one
    "num_beam_groups": (None, 0, 1),
    "penalty_alpha": (None, 0, 0.0),
    "constraints": (None, []),
    "force_words_ids": (None, []),
    "forced_decoder_ids": (None, []),
    "stop_strings": (None, "", []),
    "token_healing": (None, False),
    "dola_layers": (None,),
    "watermarking_config": (None, {}),
    "max_time": (None,),
}
# What belongs to a draw → the option of our commands that asks for it.
DRAWS = {"temperature": "--temperature", "top_k": "--top-k", "top_p": "--top-p"}
# What `_search` and `read_settings` read, where it stands in a config.json.
SAID = re.compile(
    r"\w+_token_id|bad_words_ids|renormalize_logits|max_length|max_new_tokens|num_beams"
    r"|length_penalty|early_stopping|min_length|no_repeat_ngram_size|repetition_penalty"
)
MOST_PREFIX = 200  # characters before a text
NOT_DRAWN = ("min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h")  # 0 or 1: nothing


@dataclass(frozen=True)
class GenerationSettings:
    """What the folder says about making text; `ignored` names what regard does not do of `file`.

    A run only has `search`, its recipe's [decode]; its ids are the tokenizer's (bundle/codec.py).
    """

    start: int | None = None
    ends: tuple[int, ...] = ()
    pad: int | None = None
    bos: int | None = None
    rules: Rules = Rules()
    search: DecodingOptions = DecodingOptions()
    ignored: tuple[str, ...] = ()
    file: str = "generation_config.json"

    @property
    def warning(self) -> str:
        """A sentence about what is ignored; empty where nothing is."""
        listed = ", ".join(self.ignored)
        return f"{self.file} asks for {listed}: not done by regard" if listed else ""


def settings_as_said(folder: Path) -> dict[str, Any]:
    """All that a folder says about making text, for one generation_config.json of its own."""
    values, where = _stated(folder)
    is_config = where.name == "config.json"  # whose other keys are the model's
    return {
        key: value
        for key, value in values.items()
        if not is_config or SAID.fullmatch(key) or key in NOT_DONE
    }


def _stated(folder: Path) -> tuple[Mapping[str, Any], Path]:
    """The keys, and the file that most of them stand in; a run has no config.json."""
    config, own = folder / "config.json", folder / "generation_config.json"
    values = read_config_file(folder) if config.is_file() or not own.is_file() else {}
    if not own.is_file():
        return values, config
    # Ids may stand in config.json only; the other keys there are the model's.
    ids = {k: v for k, v in values.items() if k.endswith("_token_id") or k == "bad_words_ids"}
    stated = read_config_file(folder, own.name)
    return ids | {k: v for k, v in stated.items() if v is not None}, own


def task_settings(folder: Path, task: str, usual: DecodingOptions) -> tuple[str, DecodingOptions]:
    """What config.json says about one task (`task_specific_params`): what stands before a text, and
    how is searched; nothing and `usual` where it says nothing."""
    stated = read_config_file(folder).get("task_specific_params")
    own = stated.get(task) if isinstance(stated, dict) else None
    if not isinstance(own, dict):
        return "", usual
    where = folder / "config.json"
    prefix = own.get("prefix") or ""
    if not isinstance(prefix, str) or len(prefix) > MOST_PREFIX:
        expected = f"a text of at most {MOST_PREFIX} characters"
        subject = f"{where}: task_specific_params: {task}: prefix"
        raise CheckpointError(subject, got=prefix, expected=expected)
    return prefix, _search({**_stated(folder)[0], **own}, where)


def read_settings(folder: Path, vocabulary: int) -> GenerationSettings:
    """The settings of a published folder.

    An id outside of the vocabulary counts as absent and is named in `ignored`: a small model often
    keeps the ids of the large one, and its logits are right nevertheless.
    """
    return settings_of(*_stated(folder), vocabulary)


def settings_of(said: Mapping[str, Any], where: Path, vocabulary: int) -> GenerationSettings:
    """The settings that these keys of a file are."""
    values, outside = _within(said, vocabulary, where)
    pad, start = _id(values, "pad_token_id"), _id(values, "decoder_start_token_id")
    ends, forced = tuple(values["eos_token_id"]), tuple(values["forced_eos_token_id"])
    if ends and not set(forced) <= set(ends):
        raise CheckpointError(where, f"forced_eos_token_id {forced} is not eos_token_id {ends}")
    if forced and not ends:
        outside += (f"forced_eos_token_id = {forced[0]} (there is no eos_token_id)",)
    return GenerationSettings(
        start=pad if start is None else start,
        ends=ends,
        pad=pad,
        bos=_id(values, "bos_token_id"),
        rules=Rules(
            never=tuple(values["bad_words_ids"]),
            first=_id(values, "forced_bos_token_id"),
            must_end=bool(forced and ends),
            also_ends=ends[1:],
            shares_out=values.get("renormalize_logits") is True,
        ),
        search=_search(values, where),
        ignored=(*_not_done(values), *outside),
        file=where.name,
    )


def _not_done(values: Mapping[str, Any]) -> Iterator[str]:
    """The settings that regard does not do; of a draw, how to ask for it."""
    for key, nothing in NOT_DONE.items():
        if key not in values or values[key] in nothing:
            continue
        yield f"{key} = {shown(values[key])}" + (_draw(values) if key == "do_sample" else "")


def _draw(values: Mapping[str, Any]) -> str:
    """The options that draw as the folder says, and what none of them does."""
    stated = {key: values[key] for key in DRAWS if isinstance(values.get(key), int | float)}
    options = {"temperature": 1.0} | {key: value for key, value in stated.items() if value}
    asked_for = " ".join(f"{DRAWS[key]} {shown(value)}" for key, value in options.items())
    further = [k for k in NOT_DRAWN if values.get(k) not in (None, 0, 0.0, 1, 1.0)]
    without = f", without {', '.join(further)}" if further else ""
    return f" ({asked_for} does it{without})"


def _within(
    values: Mapping[str, Any], vocabulary: int, where: Path
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The values with each kind of id as a list of those in the vocabulary; and what is not."""
    listed = {f"{name}_token_id": values.get(f"{name}_token_id") for name in SPECIAL}
    listed["bad_words_ids"] = _words(values.get("bad_words_ids"), where)
    kept: dict[str, list[int]] = {}
    outside = []
    for key, value in listed.items():
        ids = [] if value is None else value if isinstance(value, list) else [value]
        for i in ids:
            if isinstance(i, bool) or not isinstance(i, int):
                raise CheckpointError(f"{where}: {key}", got=i, expected="an id")
        kept[key] = [i for i in ids if 0 <= i < vocabulary]
        outside += [f"{key} = {i}" for i in ids if not 0 <= i < vocabulary]
    said = f"(outside of the vocabulary, 0 to {vocabulary - 1})"
    return {**values, **kept}, tuple(f"{one} {said}" for one in outside)


def _id(values: Mapping[str, Any], key: str) -> int | None:
    ids: list[int] = values[key]
    return ids[0] if ids else None


def _words(value: Any, where: Path) -> list[Any]:
    """Words of one token; longer ones would need a look back at every step."""
    words = [] if value is None else value
    if not isinstance(words, list) or not all(isinstance(w, list) and len(w) == 1 for w in words):
        expected = "a list of lists of one id"
        advice = "words of several tokens are not supported"
        raise CheckpointError(
            f"{where}: bad_words_ids", got=value, expected=expected, advice=advice
        )
    return [word[0] for word in words]


def _search(values: Mapping[str, Any], where: Path) -> DecodingOptions:
    """Their score is log p / n^length_penalty; max_length and min_length count the start token."""
    config = Config(values, str(where))
    longest = max(config.number("max_length", 0, SIZES) - 1, 0)
    longest = config.number("max_new_tokens", longest, SIZES)
    least = max(config.number("min_length", 0, SIZES) - 1, 0)
    early = values.get("early_stopping")
    return DecodingOptions(
        beam=max(1, config.number("num_beams", 1, SIZES)),
        alpha=config.real("length_penalty", 1.0),
        length_norm="power",
        stop="first-k" if early is True else "exact" if early == "never" else "likely",
        convention="transformers",
        max_length=longest or None,
        min_length=min(least, longest - 1) if longest else least,
        no_repeat_ngram=config.number("no_repeat_ngram_size", 0, SIZES),
        repetition_penalty=config.real("repetition_penalty", 1.0),
    )
