"""A small language with trees, for tests of parsers: who, what is done, to whom or where."""

import random
from pathlib import Path

RECIPE = """objective = "parse"
[data]
texts = "{file}"
validation = 20
[tokenizer]
kind = "words"
size = 60
[model]
preset = "tiny"
d_model = 32
encoder_layers = 1
decoder_layers = 1
heads = 2
ffn_size = 64
norm_order = "pre"
positions = "rotary"
dropout = 0.0
[train]
steps = 80
token_budget = 1200
schedule = "cosine"
warmup = 10
rate = 0.01
label_smoothing = 0.0
validate_every = 40
bleu_sentences = 10
threads = 1
workers = 1
precision = "fp32"
[decode]
beam = 1
"""


def noun_phrase(chance: random.Random) -> str:
    words = [f"(DT {chance.choice(['the', 'a'])})"]
    words += [f"(JJ {chance.choice(['red', 'old', 'big'])})"] if chance.random() < 0.4 else []
    return f"(NP {' '.join(words)} (NN {chance.choice(['dog', 'cat', 'bird', 'man'])}))"


def sentence(chance: random.Random, clauses: int = 1) -> str:
    """One or several clauses, each in the one before it."""
    subject = noun_phrase(chance)
    if clauses > 1:
        verb, inner = chance.choice(["says", "thinks"]), sentence(chance, clauses - 1)
        return f"(S {subject} (VP (VB {verb}) (SBAR (IN that) {inner})))"
    if chance.random() < 0.5:
        return f"(S {subject} (VP (VB {chance.choice(['sees', 'likes'])}) {noun_phrase(chance)}))"
    where = f"(PP (IN {chance.choice(['on', 'near'])}) {noun_phrase(chance)})"
    return f"(S {subject} (VP (VB {chance.choice(['sits', 'sleeps'])}) {where}))"


def write(file: Path, count: int = 240, seed: int = 1) -> Path:
    """A bracket file of so many trees, with a full stop each."""
    chance = random.Random(seed)
    trees = [sentence(chance, chance.choice([1, 1, 1, 2, 3])) for _ in range(count)]
    file.write_text("".join(f"( {tree[:-1]} (. .)) )\n" for tree in trees), encoding="utf-8")
    return file


def recipe(folder: Path) -> Path:
    """A recipe on trees of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    file = write(folder / "trees.mrg")
    path = folder / "trees.toml"
    path.write_text(RECIPE.format(file=file.as_posix()), encoding="utf-8")
    return path
