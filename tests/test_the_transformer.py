"""docs/the_transformer.py, the paper in one file, against the core: the same model, twice."""

import ast
import importlib.util
import math
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import toy
from decode.searching import END, make, search_with, sentences
from regard.data.batch import make_batch
from regard.decode.engine import Hypothesis
from regard.decode.options import DecodingOptions
from regard.model.masks import look_ahead
from regard.model.positions import sinusoids
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.text.special import Special
from regard.training.losses import translation_loss
from regard.training.schedule import noam

FILE = Path(__file__).parent.parent / "docs/the_transformer.py"
TIED = ("target_embedding.weight", "output.weight")  # the same as source_embedding.weight
PAPER = DecodingOptions(beam=4, alpha=0.6, length_norm="paper", stop="exact")
# Of the core's weights: what they are called in the file.
RENAMED = (
    ("source_embedding.weight", "embedding.E"),
    (".layers.", "."),
    ("attention_norm.norm.", "norms.0."),
    ("attention.query", "attention.W_Q"),
    ("cross.query", "cross.W_Q"),
    (".key", ".W_K"),
    (".value", ".W_V"),
    (".output", ".W_O"),
    ("feed_forward.inner", "ffn.W_1"),
    ("feed_forward.outer", "ffn.W_2"),
)


@pytest.fixture(scope="module")
def file() -> ModuleType:
    spec = importlib.util.spec_from_file_location("the_transformer", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["the_transformer"] = module  # dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def core() -> Transformer:
    """The paper's model, small, with random weights of a size that makes attention sharp."""
    shape = {"encoder_layers": 2, "decoder_layers": 2, "ffn_size": 40, "dropout": 0.0}
    return make("post", vocabulary=71, tie="all", attention_bias=False, **shape)


def the_same(file: ModuleType, model: Transformer) -> torch.nn.Module:
    """The file's model with the core's weights; every weight of both finds its partner."""
    spec = model.spec
    sizes = file.Sizes(spec.vocabulary, spec.encoder_layers, spec.d_model, spec.ffn_size, 4, 0.0)
    other = file.Transformer(sizes).double()
    weights = {name: w for name, w in model.state_dict().items() if name not in TIED}
    other.load_state_dict({renamed(name): weight for name, weight in weights.items()})
    return other.eval()


def renamed(name: str) -> str:
    for ours, theirs in RENAMED:
        name = name.replace(ours, theirs)
    last = 2 if "decoder" in name else 1  # the norm of the feed-forward network
    name = name.replace("feed_forward_norm.norm.", f"norms.{last}.")
    name = name.replace("cross_norm.norm.", "norms.1.")
    if "norms." in name:
        name = name.replace("weight", "gamma").replace("bias", "beta")
    return name


def test_the_file_is_short_and_needs_torch_alone() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported - set(sys.stdlib_module_names) == {"torch"}


def test_logits_loss_and_gradient_are_those_of_the_core(file: ModuleType) -> None:
    model = core()
    other = the_same(file, model)
    rows = [row[:-1] for row in sentences(12, 71)]
    batch = make_batch(list(zip(rows[:6], rows[6:], strict=True)), Special())
    source, target = batch["source"], batch["target_in"]
    real = batch["target_real"]
    mine = other(source, target)
    torch.testing.assert_close(
        mine[real], model(source, target, batch["source_real"])[real], rtol=0, atol=1e-6
    )
    loss = translation_loss(model, batch, 0.1).smoothed / batch.targets
    theirs = file.smoothed_loss(mine, batch["target_out"])
    torch.testing.assert_close(theirs, loss, rtol=0, atol=1e-6)
    loss.backward()
    theirs.backward()
    gradients = dict(other.named_parameters())
    compared = 0
    for name, weight in model.named_parameters():
        torch.testing.assert_close(gradients[renamed(name)].grad, weight.grad, rtol=0, atol=1e-6)
        compared += 1
    assert compared == len(gradients)


def test_parts_without_weights_are_those_of_the_core(file: ModuleType) -> None:
    torch.testing.assert_close(file.positional_encoding(50, 12), sinusoids(50, 12), rtol=0, atol=0)
    assert file.look_ahead_mask(5).equal(look_ahead(5, 5, torch.device("cpu")))
    for step in (1, 399, 400, 401, 5000):
        assert math.isclose(file.noam(step, 512, 400), noam(step, 512, 400))


@pytest.fixture(scope="module")
def learned(file: ModuleType) -> tuple[torch.nn.Module, Any]:
    """The file's model of its smallest size, by its own batches, steps and rate; its vocabulary."""
    torch.manual_seed(1)
    pairs = toy.pairs(300)
    vocabulary = file.Vocabulary([text for pair in pairs for text in pair])
    model = file.Transformer(file.Sizes(len(vocabulary.words), N=1, D=32, F=64, h=4, dropout=0.0))
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    ids = [(vocabulary.encode(source), vocabulary.encode(target)) for source, target in pairs]
    batches = file.batches(ids, 256, random.Random(1))
    losses = [
        file.train_step(model, adam, *next(batches), file.noam(step, 32, warmup=100))
        for step in range(1, 251)
    ]
    assert sum(losses[-10:]) < 0.6 * sum(losses[:10])
    return model.eval(), vocabulary


def test_it_learns_a_toy_language(file: ModuleType, learned: tuple[torch.nn.Module, Any]) -> None:
    model, vocabulary = learned
    unseen = [pair for pair in toy.pairs(60, seed=2) if pair not in toy.pairs(300)]
    sources = file.padded([[*vocabulary.encode(source), END] for source, _ in unseen])
    outputs = [vocabulary.decode(row) for row in file.greedy(model, sources)]
    right = sum(out == target for out, (_, target) in zip(outputs, unseen, strict=True))
    assert len(unseen) > 20 and right > 0.5 * len(unseen)


def test_it_translates_as_the_core_does(
    file: ModuleType, learned: tuple[torch.nn.Module, Any]
) -> None:
    """Greedy and beam of the file and of the torch engine (which equals decode/reference.py), on
    sentences that were learned and on ids at random, whose outputs are long and end or not."""
    model, vocabulary = learned
    theirs = as_core(model, len(vocabulary.words))
    rows = [[*vocabulary.encode(source), END] for source, _ in toy.pairs(8, seed=3)]
    rows += sentences(8, len(vocabulary.words), longest=9, seed=3)
    batched = file.greedy(model, file.padded(rows))
    beams = [file.beam_search(model, torch.tensor([row])) for row in rows]
    assert batched == ids(search_with(theirs, rows, DecodingOptions(beam=1)))
    assert beams == ids(search_with(theirs, rows, PAPER))
    assert len({len(output) for output in beams}) > 3


def as_core(model: torch.nn.Module, vocabulary: int) -> Transformer:
    """A model of the core with the file's weights."""
    spec = Spec(
        vocabulary, d_model=32, encoder_layers=1, decoder_layers=1, heads=4, ffn_size=64,
        attention_bias=False, dropout=0.0,
    )  # fmt: skip
    theirs = Transformer(spec)
    weights = model.state_dict()
    tied = dict.fromkeys(TIED, "embedding.E")
    names = {name: tied.get(name) or renamed(name) for name in theirs.state_dict()}
    theirs.load_state_dict({name: weights[other] for name, other in names.items()})
    return theirs.eval()


def ids(found: list[list[Hypothesis]]) -> list[list[int]]:
    return [list(hypotheses[0].ids) for hypotheses in found]


def test_a_token_behind_the_end_is_none_of_the_output(file: ModuleType) -> None:
    assert file.until_end([5, 6, END, 7, END]) == [5, 6]
    assert file.until_end([5, 6]) == [5, 6]


def test_it_runs_as_a_script(
    file: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name, seed in (("train", 1), ("dev", 2)):
        lines = "".join(f"{source}\t{target}\n" for source, target in toy.pairs(50, seed))
        (tmp_path / f"{name}.tsv").write_text(lines, encoding="utf-8")
    arguments = ["the_transformer.py", str(tmp_path), "--minutes", "0", "--text", "red cat"]
    monkeypatch.setattr(sys, "argv", arguments)
    file.main()
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].startswith("red cat → ") and "of 50 sentences" in printed[-2]


def test_words_come_back_as_they_were(file: ModuleType) -> None:
    text = "The animal didn't cross, it was half-asleep."
    vocabulary = file.Vocabulary([text])
    assert vocabulary.decode(vocabulary.encode(text)) == text
    assert vocabulary.encode("zebra") == [file.UNKNOWN]
