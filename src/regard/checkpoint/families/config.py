"""Reading a config.json key by key, and what becomes of the keys that nobody asks for.

known to change what a model computes    refused; families/config_keys.py has the list
known to be harmless                     passed over
unknown                                  named, and refused by those who load strictly
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from regard.errors import CheckpointError, shown

# Keys that change nothing of the numbers: who wrote the file, how it was trained, how text is made.
HARMLESS = {
    "_name_or_path", "_num_labels", "temperature", "top_k", "top_p", "repetition_penalty",
    "num_return_sequences", "architectures", "transformers_version", "torch_dtype", "dtype",
    "use_cache", "id2label", "label2id", "num_labels", "problem_type", "initializer_range",
    "initializer_factor", "gradient_checkpointing", "output_past", "bos_token_id",
    "eos_token_id", "pad_token_id", "sep_token_id", "cls_token_id", "mask_token_id",
    "unk_token_id", "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id",
    "bad_words_ids", "prefix", "max_length", "min_length", "num_beams", "do_sample",
    "early_stopping", "length_penalty", "no_repeat_ngram_size", "task_specific_params",
    "finetuning_task", "language", "return_dict", "output_attentions", "output_hidden_states",
    "is_encoder_decoder", "chunk_size_feed_forward", "model_type", "tokenizer_class",
    "attention_dropout", "hidden_dropout", "dropout", "classifier_dropout",
    "_attn_implementation_autoset", "_model_name_or_path", "torchscript", "use_bfloat16",
    "unsloth_version", "transformers.js_config", "model_max_length",
}  # fmt: skip

# Keys by which a config would choose code; anywhere in it, with any value, they are refused.
CODE = {
    "auto_map", "trust_remote_code", "custom_pipelines", "custom_generate", "code_revision",
    "_attn_implementation_internal", "_experts_implementation_internal",
}  # fmt: skip
# Keys that name a way to compute the same numbers; those of transformers itself are passed over.
KERNELS = {"_attn_implementation", "attn_implementation"}
OWN_KERNELS = ("eager", "sdpa", "flash_attention_2", "flex_attention", None)

MOST_TOLD = 6  # keys that one message names


def refuse_code(values: Mapping[str, Any], where: str) -> None:
    """Refuse a config that asks for code; regard imports nothing that a file names."""
    for request in requests_for_code(values):
        raise CheckpointError(
            f"{where}: {request}; regard runs none that comes with a checkpoint, so it cannot know "
            "what this model computes"
        )


def requests_for_code(values: Mapping[str, Any]) -> Iterator[str]:
    """What in a config, at any depth, asks for code."""
    waiting: list[Any] = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, Mapping):
            waiting += value.values()
            for key, inner in value.items():
                if key in CODE and inner not in (None, False, {}, []):
                    yield f"{key} asks for code"
                if key in KERNELS and inner not in OWN_KERNELS:
                    yield f"{key} asks for a kernel from elsewhere"


def listed(told: Sequence[str]) -> str:
    """Some keys in one line."""
    more = len(told) - MOST_TOLD
    return ", ".join([*told[:MOST_TOLD], f"and {more} more"] if more > 0 else told)


class Config:
    """A config.json, read key by key; it knows which keys were never asked for."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values, self.where = dict(values), where
        self._read: set[str] = set()

    def _get(self, key: str, default: Any, kind: Any = object, words: str = "") -> Any:
        """What the key holds, of this kind; a flag is no number."""
        self._read.add(key)
        value = self._values.get(key)
        value = default if value is None else value
        if value is None:
            raise CheckpointError(self.where, f"key {key!r} is missing")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, int | float)):
            raise CheckpointError(f"{self.where}: {key}", got=value, expected=words)
        return value

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self._values.get(key) is not None

    def agrees(self, values: Mapping[str, Any]) -> bool:
        """Whether these keys hold these values."""
        return all(self._values.get(key) == value for key, value in values.items())

    def number(self, key: str, default: int | None = None, within: range | None = None) -> int:
        words = f"a whole number from {within[0]} to {within[-1]}" if within else "a whole number"
        value = int(self._get(key, default, int, words))
        if within is not None and value not in within:
            raise CheckpointError(f"{self.where}: {key}", got=value, expected=words)
        return value

    def real(self, key: str, default: float | None = None) -> float:
        return float(self._get(key, default, int | float, "a number"))

    def flag(self, key: str, default: bool | None = None) -> bool:
        return bool(self._get(key, default, bool, "true or false"))

    def text(self, key: str, default: str | None = None) -> str:
        return str(self._get(key, default, str, "a text"))

    def choice(self, key: str, choices: Mapping[str, str], default: str | None = None) -> str:
        """The value that `choices` gives for what the key holds."""
        words = f"one of {', '.join(choices)}"
        value = self._get(key, default, str, words)
        if value not in choices:
            raise CheckpointError(f"{self.where}: {key}", got=value, expected=words)
        return choices[value]

    def table(self, key: str) -> Mapping[str, Any]:
        """A nested object; empty where the key is missing."""
        value: Mapping[str, Any] = self._get(key, {}, Mapping, "an object")
        return value

    def expect(self, key: str, value: Any) -> None:
        """Insist on the one value that regard computes."""
        got = self._get(key, value)
        if got != value:
            raise CheckpointError(f"{self.where}: {key}", f"regard runs {value!r} only", got=got)

    def expect_null(self, key: str) -> None:
        """Insist on null, and on a file that says so: left out, the key may mean something else."""
        self._read.add(key)
        got = self._values.get(key, "nothing")
        if got is not None:
            raise CheckpointError(f"{self.where}: {key}", "regard runs null only", got=got)

    def expect_equal(self, key: str, other: str) -> None:
        """Insist that two sizes are one; the first may be left out."""
        wanted = self.number(other)
        got = self.number(key, wanted)
        if got != wanted:
            advice = "regard runs models where they are equal"
            raise CheckpointError(self.where, f"{key} is {got}, {other} is {wanted}", advice=advice)

    def labels(self) -> int:
        """How many classes the head has: as many as it has names for, two by default."""
        names = self._values.get("id2label")
        if isinstance(names, Mapping):
            return len(names)
        return self.number("num_labels", 2)

    def architecture(self) -> str:
        """The first class name that the file gives itself; only compared, never looked up."""
        named = self._values.get("architectures")
        first = named[0] if isinstance(named, list) and named else ""
        return first if isinstance(first, str) else ""

    def use_names(self, aliases: Mapping[str, str]) -> None:
        """Read a key under the name that its family gives it; with both, they must agree."""
        for alias, key in aliases.items():
            value = self._values.get(alias)
            if value is None:
                continue
            if self._values.setdefault(key, value) != value:
                problem = f"{alias} is {shown(value)}, {key} is {shown(self._values[key])}"
                raise CheckpointError(self.where, problem, advice="they are two names of one key")
            self._read.add(alias)

    def refuse_the_rest(self) -> None:
        """Insist that every key was read."""
        self.refuse(self._rest(()), "regard does not know what these keys ask for")

    def unknown(self, harmless: Iterable[str], changing: Container[str]) -> tuple[str, ...]:
        """The keys that nobody knows; those of `changing` that nobody has read are refused."""
        rest = self._rest(harmless)
        refused = [key for key in rest if key in changing]
        self.refuse(refused, "these keys change what a model computes, and regard does not do it")
        return tuple(rest)

    def refuse(self, keys: Sequence[str], why: str) -> None:
        """An error that names the keys; none if there are none."""
        if keys:
            raise CheckpointError(self.where, f"{why}: {listed(self.told(keys))}")

    def told(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Keys with their values, fit for a terminal."""
        return tuple(f"{shown(key)[1:-1]} = {shown(self._values[key])}" for key in keys)

    def _rest(self, harmless: Iterable[str]) -> list[str]:
        """The keys that nobody read, that say something, and that are not harmless."""
        understood = self._read | HARMLESS | KERNELS | set(harmless)
        return sorted(
            key
            for key, value in self._values.items()
            if key not in understood and value not in (None, False, "", 0, [], {})
        )
