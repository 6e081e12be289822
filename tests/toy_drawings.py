"""A recipe that learns to draw in seconds, and not well: for tests of runs that draw."""

from pathlib import Path

RECIPE = """objective = "draw"
[data]
scenes = "en"
validation = 60
max_tokens = 20
[tokenizer]
kind = "words"
size = 200
[draw]
made = 400
[model]
preset = "tiny"
d_model = 32
encoder_layers = 1
decoder_layers = 2
heads = 2
ffn_size = 64
norm_order = "pre"
positions = "learned"
max_length = 66
dropout = 0.0
[train]
steps = 60
token_budget = 1200
schedule = "cosine"
warmup = 6
rate = 0.01
label_smoothing = 0.0
validate_every = 30
bleu_sentences = 5
threads = 1
workers = 1
precision = "fp32"
[decode]
beam = 1
temperature = 1.0
"""


def recipe(folder: Path) -> Path:
    """The recipe as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "scenes.toml"
    path.write_text(RECIPE, encoding="utf-8")
    return path
