"""Encoders of pictures trained in seconds, from scratch and on a published ViT."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from PIL import Image

import drawn
import folders
import regard
from halting import digest, go, go_with_halts
from refusals import refused
from regard.checkpoint.files import read_own_json
from regard.convert.convert import convert
from regard.errors import ConfigError, MisuseError
from regard.fit.job import code_of
from regard.fit.train import Request
from regard.runs.folder import RunFolder
from regard.runs.log import read_log
from regard.runs.recipe import make_recipe
from regard.training.shared import can_share

SCRATCH = (
    "model.preset=vit-tiny",
    "model.image_size=12",
    "model.patch_size=3",
    "model.channels=1",
    "model.d_model=32",
    "model.encoder_layers=2",
    "model.heads=2",
    "model.ffn_size=64",
    "model.dropout=0.0",
)
AUGMENTED = ("see.crop=1", "see.flip=true", "see.erase=0.3")


def ask(folder: Path, *changes: str, steps: int = 150, colour: bool = False) -> Request:
    if not (folder / "pictures").exists():
        drawn.write_folder(folder / "pictures", 240, colour=colour)
    (folder / "r.toml").write_text(
        f'objective = "see"\n[data]\nimages = "{folder}/pictures"\nvalidation = 24\n'
        f'[train]\nsteps = {steps}\ntoken_budget = 408\nschedule = "constant"\nrate = 0.002\n'
        "warmup = 5\nvalidate_every = 50\nlabel_smoothing = 0.0\nthreads = 1\nworkers = 1\n"
        'precision = "fp32"\n'
    )
    return Request(recipe=folder / "r.toml", assignments=changes, folder=folder / "run")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One from scratch."""
    folder = tmp_path_factory.mktemp("see")
    lines = go(ask(folder, *SCRATCH, *AUGMENTED[::2]))
    (folder / "said").write_text("\n".join(lines))
    return folder / "run"


@pytest.mark.end_to_end
def test_it_learns_what_was_drawn(run: Path) -> None:
    said = (run.parent / "said").read_text()
    assert "240 pictures with 3 labels: across 80, down 80, square 80." in said
    assert "12 × 12 pixels, grey; 16 patches of 3 × 3 and a class token are 17 tokens" in said
    model = regard.load(run, device="cpu")
    assert model.tasks == ("see",) and model.labels == drawn.LABELS
    rows, labels = drawn.pictures(60, seed=9)
    seen = [best[0].label for best in model.see(list(rows))]
    assert np.mean([a == b for a, b in zip(seen, labels, strict=True)]) > 0.9
    checks = [r for r in read_log(run / "log.jsonl") if r["kind"] == "validation"]
    assert [r["step"] for r in checks] == [50, 100, 150] and checks[-1]["accuracy"] > 0.8


@pytest.mark.end_to_end
@torch.no_grad()
def test_transformers_reads_what_convert_writes(run: Path, tmp_path: Path) -> None:
    convert(run, tmp_path / "hf", "hf")
    theirs = transformers.ViTForImageClassification.from_pretrained(tmp_path / "hf").eval()
    pixels = torch.randn(5, 1, 12, 12, generator=torch.Generator().manual_seed(2))
    ours = regard.load(run, "cpu")
    assert (ours.logits(pixels=pixels) - theirs(pixels).logits).abs().max() < 1e-5
    assert theirs.config.id2label == dict(enumerate(drawn.LABELS))
    # a file, by their preparation and by ours
    file = next((run.parent / "pictures/square").iterdir())
    prepared = transformers.ViTImageProcessor.from_pretrained(tmp_path / "hf")
    grey = np.asarray(Image.open(file))[:, :, None]
    values = prepared(grey, return_tensors="pt", input_data_format="channels_last")
    best = regard.load(tmp_path / "hf", "cpu").see(file)[0]
    expected = theirs(values["pixel_values"]).logits.softmax(-1)[0]
    assert best.probability == pytest.approx(float(expected.max()), abs=1e-5)
    assert best.label == theirs.config.id2label[int(expected.argmax())]
    assert best == regard.load(run, "cpu").see(file)[0]


@pytest.mark.end_to_end
@pytest.mark.parametrize("start", ["scratch", "published"])
def test_thirty_steps_are_those_of_transformers(start: str, tmp_path: Path) -> None:
    """From the same weights, on the same batches, with the same optimizer; dropout 0."""
    keys = SCRATCH
    if start == "published":
        folders.vit(tmp_path / "start")
        keys = (f"train.start_from={tmp_path / 'start'}", "model.dropout=0.0")
    request = ask(tmp_path, *keys, *AUGMENTED, steps=30, colour=start == "published")
    with_rate_0 = (*keys, "train.rate=0.0", "train.steps=1")
    go(Request(recipe=request.recipe, assignments=with_rate_0, folder=tmp_path / "still"))
    convert(tmp_path / "still", tmp_path / "hf", "hf")
    twin = transformers.ViTForImageClassification.from_pretrained(tmp_path / "hf").train()
    go(request)
    run = RunFolder(tmp_path / "run")
    recipe = make_recipe(read_own_json(run.recipe), "recipe")
    batches = code_of(recipe).load(run, recipe).batches(0, 0)
    optimizer = torch.optim.Adam(twin.parameters(), betas=(0.9, 0.98), eps=1e-9)
    losses = {}
    for step in range(1, 31):
        batch = next(batches)[1]
        loss = twin(batch["pixels"], labels=batch["labels"]).loss
        losses[step] = float(loss)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), recipe.train.clip)
        optimizer.param_groups[0]["lr"] = 0.002 * min(1.0, step / 5)
        optimizer.step()
    ours = {r["step"]: r["plain_loss"] for r in read_log(run.log) if r["kind"] == "train"}
    assert set(ours) >= {1, 10, 20, 30} and ours[30] < ours[1]
    assert ours == pytest.approx({step: losses[step] for step in ours}, abs=1e-4)


@pytest.mark.end_to_end
@pytest.mark.parametrize("loaders", [0, 2])
def test_resume_is_exact(loaders: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever chance does to a picture follows from seed, epoch and the picture."""
    keys = (*SCRATCH, *AUGMENTED, "train.validate_every=10", f"train.loaders={loaders}")
    for name in ("straight", "halted"):
        (tmp_path / name).mkdir()
    go(ask(tmp_path / "straight", *keys, steps=30))
    with monkeypatch.context() as patch:
        go_with_halts(ask(tmp_path / "halted", *keys, steps=30), [1, 13, 25], patch)
    assert digest(tmp_path / "halted/run") == digest(tmp_path / "straight/run")


@pytest.mark.end_to_end
@pytest.mark.parametrize("lora", [(), ("lora.rank=2",)], ids=["whole", "lora"])
def test_a_published_vit_is_started_from(lora: tuple[str, ...], tmp_path: Path) -> None:
    folders.vit(tmp_path / "start")
    lines = go(
        ask(tmp_path, f"train.start_from={tmp_path / 'start'}", *lora, steps=20, colour=True)
    )
    said = next(line for line in lines if line.startswith("Start:"))
    assert "weights from" in said
    assert any(line.startswith("LoRA:") for line in lines) == bool(lora)
    model = regard.load(tmp_path / "run", "cpu")
    assert model.spec.channels == 3 and model.labels == drawn.LABELS
    again = go(
        Request(
            recipe=tmp_path / "r.toml",
            assignments=(f"train.start_from={tmp_path / 'run'}", "train.rate=0.0", "train.steps=2"),
            folder=tmp_path / "second",
        )
    )
    assert "from chance" not in next(line for line in again if line.startswith("Start:"))
    file = next((tmp_path / "pictures/down").iterdir())
    assert regard.load(tmp_path / "second", "cpu").see(file) == model.see(file)


def test_recipes_are_checked() -> None:
    def made(**sections: object) -> None:
        make_recipe({"objective": "see", **sections}, "r")

    data = {"images": "x"}
    whole = {"preset": "vit-tiny", "image_size": 8, "patch_size": 2}
    made(data=data, model=whole)
    with pytest.raises(ConfigError, match="see needs images"):
        made(data={"phrasebook": "de"}, model=whole)
    with pytest.raises(ConfigError, match="image_size and patch_size are not given"):
        made(data=data, model={"preset": "vit-tiny"})
    with pytest.raises(ConfigError, match='take preset "vit-tiny"'):
        made(data=data)
    with pytest.raises(ConfigError, match="3 does not divide image_size 8"):
        made(data=data, model={**whole, "patch_size": 3})
    with pytest.raises(ConfigError, match="classes follows from the objective"):
        made(data=data, model={**whole, "classes": 3})
    with pytest.raises(ConfigError, match="the model is that of v; leave image_size out"):
        made(data=data, model={"image_size": 8}, train={"start_from": "v"})
    with pytest.raises(ConfigError, match="either images or texts"):
        made(data={"images": "x", "texts": "y"}, model=whole)
    for key, value in {"crop": -1, "erase": 1.5, "white": 0.0}.items():
        with refused(ConfigError, got=value):
            made(data=data, model=whole, see={key: value})
    with pytest.raises(ConfigError, match="two classes have one name"):
        made(data=data, model=whole, see={"names": ["a", "a"]})


def test_only_an_encoder_of_pictures_can_be_started_from(tmp_path: Path) -> None:
    folders.bert(tmp_path / "bert", "")
    with refused(ConfigError, subject="train.start_from", expected="a published ViT folder"):
        go(ask(tmp_path, f"train.start_from={tmp_path / 'bert'}"))


def test_a_model_of_pictures_says_what_it_offers(run: Path) -> None:
    with pytest.raises(MisuseError, match="classify: .* it offers see, logits"):
        regard.load(run, "cpu").classify("a")


@pytest.mark.end_to_end
@pytest.mark.skipif(not can_share(), reason="processes cannot share memory here")
def test_two_workers_learn_the_same(tmp_path: Path) -> None:
    """Pictures reach a worker process; the sums of gradients differ by rounding alone."""
    losses = []
    for workers in (1, 2):
        keys = (*SCRATCH, *AUGMENTED, f"train.workers={workers}")
        request = ask(tmp_path, *keys, steps=10)
        folder = tmp_path / str(workers)
        go(Request(recipe=request.recipe, assignments=keys, folder=folder))
        rows = [r for r in read_log(folder / "log.jsonl") if r["kind"] == "train"]
        losses.append([row["plain_loss"] for row in rows])
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


@pytest.mark.end_to_end
@pytest.mark.needs("bf16")
def test_bf16_reads_pictures_too(tmp_path: Path) -> None:
    go(ask(tmp_path, *SCRATCH, "train.precision=bf16", steps=3))
    assert regard.load(tmp_path / "run", "cpu").labels == drawn.LABELS
