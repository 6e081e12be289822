"""Vectors that are compared: losses against torch's, ranks against scipy's, runs in seconds."""

import random
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

import regard
from fit.test_classify_training import OWN, fresh
from halting import digest, go, go_with_halts
from regard.cli.evaluate_readers import evaluate_texts
from regard.data.batch import Batch, pad_rows
from regard.errors import ConfigError, DataError, MisuseError
from regard.fit.objectives.similar import spearman
from regard.fit.train import Request
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.runs.log import read_log
from regard.runs.recipe import make_recipe
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.losses import Similarity
from regard.training.shared import can_share
from regard.training.worker_process import packed, unpacked


def pair_batch() -> Batch:
    text, text_real = pad_rows([[1, 7, 9, 2], [1, 8, 2], [1, 5, 6, 7, 2]], 0)
    second, second_real = pad_rows([[1, 7, 2], [1, 11, 12, 2], [1, 9, 2]], 0)
    tensors = {"text": text, "text_real": text_real, "second": second, "second_real": second_real}
    return Batch({**tensors, "score": torch.tensor([1.0, 0.2, 0.5])}, (3, 4, 5))


def encoder() -> Transformer:
    spec = preset(
        "tiny", 16, d_model=8, heads=2, ffn_size=12, encoder_layers=1, decoder_layers=0,
        head="none", dropout=0.0,
    )  # fmt: skip
    return Transformer(spec, seed=1).double().eval()


def vectors(model: Transformer, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Each text alone, without padding: the mean of its tokens' vectors."""
    sides = []
    for text, real in (("text", batch["text_real"]), ("second", batch["second_real"])):
        both = zip(batch[text], real, strict=True)
        rows = [model.encode(i[r][None])[0].mean(dim=0) for i, r in both]
        sides.append(torch.stack(rows))
    return sides[0], sides[1]


def test_a_score_is_torchs_mean_square_of_cosines() -> None:
    model, batch = encoder(), pair_batch()
    cosines = nn.CosineSimilarity(dim=-1)(*vectors(model, batch))
    expected = nn.MSELoss(reduction="sum")(cosines, batch["score"].double())
    torch.testing.assert_close(Similarity()(model, batch).smoothed, expected)


def test_negatives_are_torchs_cross_entropy_over_a_batch() -> None:
    model, batch = encoder(), pair_batch()
    u, v = vectors(model, batch)
    table = torch.stack([nn.CosineSimilarity(dim=-1)(u, one[None]) for one in v], dim=1)
    expected = nn.CrossEntropyLoss(reduction="sum")(20 * table, torch.arange(3))
    torch.testing.assert_close(Similarity(negatives=True)(model, batch).smoothed, expected)


@pytest.mark.skipif(not can_share(), reason="several workers are for Linux")
def test_two_workers_find_the_gradient_of_one() -> None:
    results = []
    for count in (1, 2):
        model = encoder()
        with closing(DataParallel(model, Similarity(), Compute(workers=count), seed=3)) as workers:
            means = workers.gradients(1, [pair_batch()])
            gradients = [w.grad.clone() for w in model.parameters() if w.grad is not None]
        results.append((means.plain, gradients))
    assert results[0][0] == pytest.approx(results[1][0], abs=1e-9)
    for one, two in zip(results[0][1], results[1][1], strict=True):
        torch.testing.assert_close(one, two)


def test_an_objective_travels() -> None:
    assert unpacked(packed(Similarity("cls", True, 5.0))) == Similarity("cls", True, 5.0)


def test_ranks_are_scipys() -> None:
    chance = np.random.default_rng(1)
    one, other = chance.normal(size=100), chance.integers(0, 6, 100)  # with many ties
    assert spearman(one, other) == pytest.approx(stats.spearmanr(one, other).statistic)
    assert spearman(np.ones(5), np.arange(5)) == 0.0


def ask(folder: Path, *changes: str) -> Request:
    """Texts are alike as far as they name the same animals and colours."""
    chance, rows = random.Random(1), []
    words = ["cat", "dog", "bird", "house", "tree", "sea"]
    for _ in range(240):
        one, other = chance.sample(words, 2), chance.sample(words, 2)
        other = one[::-1] if chance.random() < 0.4 else other
        same = len({*one} & {*other}) / 2
        rows.append((f"the {' '.join(one)}", f"a {' '.join(other)}", f"{5 * same:g}"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "t.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    (folder / "r.toml").write_text(
        f'objective = "similar"\n[data]\ntexts = "{folder}/t.tsv"\nvalidation = 40\npair = "pair"\n'
        '[train]\nsteps = 80\ntoken_budget = 600\nschedule = "constant"\nrate = 0.003\nwarmup = 5\n'
        'validate_every = 40\nthreads = 1\nworkers = 1\nprecision = "fp32"\n'
    )
    return Request(recipe=folder / "r.toml", assignments=changes, folder=folder / "run")


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", ["own", "bert", "distilbert"])
def test_cosines_learn_to_rank(name: str, tmp_path: Path) -> None:
    keys = OWN if name == "own" else (f"train.start_from={fresh(tmp_path / 'start', name)}",)
    go(ask(tmp_path, *keys))
    model = regard.load(tmp_path / "run", device="cpu")
    assert model.tasks == ("embed",)
    u, same, other = model.embed(["the cat dog", "a dog cat", "a sea tree"])
    cosine = [float(u @ v / np.linalg.norm(u) / np.linalg.norm(v)) for v in (same, other)]
    assert cosine[0] > cosine[1] + 0.2
    checks = [r for r in read_log(tmp_path / "run/log.jsonl") if r["kind"] == "validation"]
    assert checks[-1]["spearman"] > 0.7
    with pytest.raises(MisuseError, match="classify: .* it offers embed, logits"):
        model.classify("the cat")
    with pytest.raises(MisuseError, match="evaluate: .* offers embed; scored are translations"):
        evaluate_texts(tmp_path / "run", None, {}, "cpu", None, None, False)


@pytest.mark.end_to_end
@pytest.mark.parametrize("loss", ["score", "negatives"])
def test_resume_is_exact(loss: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = (*OWN, f"similar.loss={loss}", "train.steps=20", "train.validate_every=10")
    go(ask(tmp_path / "straight", *keys))
    go_with_halts(ask(tmp_path / "halted", *keys), [1, 13], monkeypatch)
    assert digest(tmp_path / "halted/run") == digest(tmp_path / "straight/run")


def test_what_has_no_score_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"row \d+: score '5', expected a number from 0 to 1"):
        go(ask(tmp_path, *OWN, "similar.high=1"))
    base = {"objective": "similar", "data": {"texts": "t.tsv"}}
    with pytest.raises(ConfigError, match="pair: similar compares two texts"):
        make_recipe(base, "r")


@pytest.mark.end_to_end
def test_few_labels_become_pairs_then_a_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both runs draw the same rows; the first resumes to the bit, the second begins with it."""
    chance, words = random.Random(2), {"glad": ["cat", "dog", "bird"], "sad": ["house", "sea"]}
    rows = [(f"the {chance.choice(words[k])} is {n}", k) for n in range(40) for k in words]
    (tmp_path / "t.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    start = fresh(tmp_path / "start", "bert")
    common = (
        f'[data]\ntexts = "{tmp_path}/t.tsv"\ntext = "1"\nlabel = "2"\nfew = 6\nvalidation = 16\n'
        'max_tokens = 20\n[train]\nschedule = "constant"\nrate = 0.003\nwarmup = 2\nthreads = 1\n'
        'workers = 1\nprecision = "fp32"\ntoken_budget = 400\n'
    )
    pairs = f'steps = 16\nvalidate_every = 8\nstart_from = "{start}"\n[similar]\nlabel_pairs = 4\n'
    (tmp_path / "pairs.toml").write_text(f'objective = "similar"\n{common}{pairs}high = 1.0\n')
    straight, halted = tmp_path / "straight", tmp_path / "halted"
    said = go(Request(recipe=tmp_path / "pairs.toml", folder=straight / "run"))
    assert any("96 texts to train on" in line for line in said)  # 12 rows, 4 pairs of each kind
    asked = Request(recipe=tmp_path / "pairs.toml", folder=halted / "run")
    go_with_halts(asked, [3, 11], monkeypatch)
    assert digest(halted / "run") == digest(straight / "run")
    head = f'steps = 30\nvalidate_every = 30\nstart_from = "{straight}/run"\n'
    (tmp_path / "head.toml").write_text(f'objective = "classify"\n{common}{head}')
    said = go(Request(recipe=tmp_path / "head.toml", folder=tmp_path / "head"))
    assert any("12 texts to train on" in line for line in said)
    checks = [r for r in read_log(tmp_path / "head/log.jsonl") if r["kind"] == "validation"]
    assert checks[-1]["accuracy"] > 0.9
    with pytest.raises(ConfigError, match="label_pairs makes the pairs"):
        make_recipe(
            {"objective": "similar", "data": {"texts": "t", "pair": "p"},
             "similar": {"label_pairs": 2}}, "r",
        )  # fmt: skip
