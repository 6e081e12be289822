"""Masked-language training in seconds: from scratch, and on BERT and DistilBERT."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import folders
import regard
from halting import digest, go, go_with_halts
from regard.answer.pseudo_perplexity import pseudo_perplexity
from regard.checkpoint.published import load_published
from regard.convert.convert import convert
from regard.data.batch import IGNORED, text_batch
from regard.errors import ConfigError, MisuseError
from regard.fit.objectives.fill import masking_of
from regard.fit.train import Request
from regard.runs.log import read_log
from regard.runs.sections import DataSection
from regard.text.published import load_tokenizer
from regard.training.losses import Filling

OWN = (
    "model.preset=tiny",
    "model.d_model=32",
    "model.encoder_layers=1",
    "model.heads=2",
    "model.ffn_size=64",
    "model.norm_order=pre",
    "tokenizer.size=320",
    "tokenizer.kind=words",
)


def texts(count: int) -> list[str]:
    """A colour comes with its animal: red cat, blue dog, and both give each other away."""
    chance = random.Random(1)
    pairs = [("red", "cat"), ("blue", "dog"), ("good", "bird")]
    rows = []
    for _ in range(count):
        colour, animal = chance.choice(pairs)
        rows.append(f"the {colour} {animal} sat on the {chance.choice(['mat', 'house', 'tree'])}")
    return rows


def ask(folder: Path, *changes: str) -> Request:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "t.txt").write_text("".join(f"{text} {n}\n" for n, text in enumerate(texts(300))))
    (folder / "r.toml").write_text(
        f'objective = "fill"\n[data]\ntexts = "{folder}/t.txt"\nvalidation = 30\nmask = 0.3\n'
        '[train]\nsteps = 120\ntoken_budget = 800\nschedule = "constant"\nrate = 0.004\n'
        "warmup = 5\nvalidate_every = 60\nlabel_smoothing = 0.0\nthreads = 1\nworkers = 1\n"
        'precision = "fp32"\nbleu_sentences = 5\n'
    )
    return Request(recipe=folder / "r.toml", assignments=changes, folder=folder / "run")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    root, trained = tmp_path_factory.mktemp("fillers"), dict[str, Path]()

    def run(name: str) -> Path:
        if name not in trained:
            keys = OWN
            if name != "own":
                head = "Model" if name == "bert" else "ForMaskedLM"
                start = folders.fresh(root / name / "start", name, 1, head)
                # After 180 steps it is just being learned (p from 0.51 to 0.97, by the seed), after
                # 400 it is known (0.99 with each seed).
                keys = (f"train.start_from={start}", "data.whole_words=true", "train.steps=400")
            go(ask(root / name, *keys))
            trained[name] = root / name / "run"
        return trained[name]

    return run


DISTILBERT = pytest.param("distilbert", marks=pytest.mark.long)


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", ["own", "bert", DISTILBERT, "roberta"])
def test_it_learns_which_words_go_together(name: str, runs: Callable[[str], Path]) -> None:
    run = runs(name)
    model = regard.load(run, device="cpu")
    assert model.tasks == ("fill", "embed")
    for colour, animal in [("red", "cat"), ("blue", "dog"), ("good", "bird")]:
        best = model.fill(f"the {colour} [MASK] sat on the mat")[0][0]
        assert best.word == animal and best.probability > 0.5
    checks = [r for r in read_log(run / "log.jsonl") if r["kind"] == "validation"]
    assert checks[-1]["pseudo_perplexity"] < checks[0]["pseudo_perplexity"]
    with pytest.raises(MisuseError, match="classify: .* it offers fill, embed, logits"):
        model.classify("the cat")


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", ["bert", DISTILBERT, "roberta"])
def test_transformers_reads_what_convert_writes(
    name: str, runs: Callable[[str], Path], tmp_path: Path
) -> None:
    convert(runs(name), tmp_path / "hf", "hf")
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "hf").eval()
    model = regard.load(runs(name), device="cpu")
    ids = model.tokenizer.encode("the red [MASK] sat").ids
    with torch.no_grad():
        expected = theirs(input_ids=torch.tensor([ids])).logits
    assert (model.logits([list(ids)]) - expected).abs().max() < 1e-4


@pytest.mark.end_to_end
def test_resume_hides_the_same_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = (*OWN, "train.steps=30", "train.validate_every=10", "train.loaders=2")
    go(ask(tmp_path / "straight", *keys))
    go_with_halts(ask(tmp_path / "halted", *keys), [1, 13, 25], monkeypatch)
    assert digest(tmp_path / "halted/run") == digest(tmp_path / "straight/run")


def test_loss_and_pseudo_perplexity_are_those_of_transformers(tmp_path: Path) -> None:
    theirs = folders.bert(tmp_path / "m", "MaskedLM").eval()
    ours = load_published(tmp_path / "m").eval()
    rows = [[2, 9, 10, 11, 3], [2, 12, 13, 3]]
    batch = text_batch(rows, [5, 4], pad=0)
    labels = torch.full_like(batch["text"], IGNORED)
    labels[0, 2], labels[1, 1] = 10, 12
    batch["text"][0, 2] = 4
    real = batch["text_real"].long()
    inputs = {"input_ids": batch["text"], "attention_mask": real, "labels": labels}
    loss = Filling()(ours, batch.having(text_labels=labels)).smoothed / 2
    torch.testing.assert_close(loss, theirs(**inputs).loss, atol=1e-5, rtol=1e-5)
    total, count = 0.0, 0  # one token at a time, by their model
    for row in rows:
        for place in range(1, len(row) - 1):
            hidden = torch.tensor([row])
            hidden[0, place] = 4
            with torch.no_grad():
                p = theirs(input_ids=hidden).logits[0, place].log_softmax(dim=-1)
            total, count = total - float(p[row[place]]), count + 1
    surprise = pseudo_perplexity(ours, rows, [5, 4], lambda i: i > 4, mask=4, pad=0, token_budget=6)
    assert surprise == pytest.approx(np.exp(total / count), rel=1e-4)


def test_pieces_that_go_on_are_known(tmp_path: Path) -> None:
    folders.bert(tmp_path / "m", "MaskedLM")
    tokenizer = load_tokenizer(tmp_path / "m")
    assert tokenizer is not None
    rule = masking_of(tokenizer, DataSection(phrasebook="de", whole_words=True))
    pieces = tokenizer.pieces(range(tokenizer.size))
    assert {p for p, later in zip(pieces, rule.continues, strict=True) if later} == {
        f"##{chr(97 + n)}" for n in range(26)
    }
    assert rule.mask == pieces.index("[MASK]") and pieces.index("[CLS]") not in rule.ordinary


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="mask: got 0.0, expected 0 < share < 1"):
        DataSection(phrasebook="de", mask=0.0)
