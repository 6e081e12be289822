"""What a folder says about making text: done, or named; nothing of it is passed over in silence."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import folders
from regard.bundle.generation_settings import GenerationSettings, read_settings
from regard.checkpoint.families.config_keys import config_keys
from regard.cli.main import group

# Keys of transformers' generation that change no text: what is handed back, and how it is computed.
PASSED = {
    "_from_model_config", "transformers_version", "use_cache", "return_dict_in_generate",
    "output_attentions", "output_hidden_states", "output_logits", "output_scores",
    "num_return_sequences",  # how many texts, not which
    "renormalize_logits",  # a part of the search, tested with it
    "cache_config", "cache_implementation", "max_cache_len", "compile_config", "disable_compile",
    "continuous_batching_config", "prefill_chunk_size", "low_memory",
    "remove_invalid_values",  # NaN ends a load here
    # a small model guesses, the model itself decides: the text is that without it
    "assistant_confidence_threshold", "assistant_early_exit", "assistant_ensemble_weight",
    "assistant_lookbehind", "target_lookbehind", "is_assistant", "max_matching_ngram_size",
    "num_assistant_tokens", "num_assistant_tokens_schedule", "prompt_lookup_num_tokens",
    "speculation_type", "use_mtp",
}  # fmt: skip
# Keys that only a draw reads, or only some searches.
BESIDE: dict[str, dict[str, Any]] = {
    **{key: {"do_sample": True} for key in ("temperature", "top_k", "top_p", "min_p", "typical_p")},
    **{key: {"do_sample": True} for key in ("epsilon_cutoff", "eta_cutoff", "top_h")},
    "forced_eos_token_id": {"eos_token_id": 3},
}
VALUES: dict[str, list[Any]] = {"bad_words_ids": [[[3]]], "early_stopping": [True, "never"]}


def settings(folder: Path, **keys: Any) -> GenerationSettings:
    (folder / "config.json").write_text("{}")
    (folder / "generation_config.json").write_text(json.dumps(keys))
    return read_settings(folder, 10)


@pytest.mark.parametrize("key", sorted(config_keys().generation - PASSED))
def test_every_key_is_done_or_named(key: str, tmp_path: Path) -> None:
    more = BESIDE.get(key, {})
    plain = settings(tmp_path, **more)
    for value in VALUES.get(key, [True] if key in ("do_sample", "token_healing") else [3]):
        assert settings(tmp_path, **more, **{key: value}) != plain


def test_a_draw_is_named_with_the_options_that_do_it(tmp_path: Path) -> None:
    drawn = dict(do_sample=True, temperature=0.6, top_p=0.9)
    told = "do_sample = True (--temperature 0.6 --top-p 0.9 does it)"
    assert settings(tmp_path, **drawn).ignored == (told,)
    assert settings(tmp_path, do_sample=True, top_k=0, min_p=0.1).ignored == (
        "do_sample = True (--temperature 1.0 does it, without min_p)",
    )
    assert settings(tmp_path, do_sample=False, temperature=0.6).ignored == ()


def test_a_value_that_moves_the_cursor_is_shown_in_plain_letters(tmp_path: Path) -> None:
    assert settings(tmp_path, stop_strings=["\x1b[2J"]).warning.isprintable()


def test_a_decoder_that_draws_says_so_on_standard_error(tmp_path: Path) -> None:
    folders.gpt2(tmp_path / "m")
    file = tmp_path / "m/generation_config.json"
    drawn = {"do_sample": True, "temperature": 0.7, "top_k": 5}
    file.write_text(json.dumps(json.loads(file.read_text()) | drawn))
    words = ["complete", str(tmp_path / "m"), "the cat", "--max-tokens", "3"]
    asked = CliRunner().invoke(group, words, catch_exceptions=False)
    assert "do_sample = True (--temperature 0.7 --top-k 5 does it)" in asked.stderr
    assert "do_sample" not in asked.stdout and asked.stdout.startswith("the cat")
