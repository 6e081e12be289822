"""Captions trained in seconds: own pictures, drawn scenes, grids; and the pass, beside torch.nn."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import captioned
import drawn
import regard
from halting import digest, go, go_with_halts
from refusals import refused
from regard.answer.caption import caption_colours
from regard.checkpoint.files import read_own_json
from regard.data.scenes.making import scenes
from regard.data.scenes.words import caption, statement_in
from regard.data.store import Store
from regard.decode.options import DecodingOptions
from regard.errors import ConfigError, DataError, MisuseError
from regard.fit.train import Request
from regard.model.spec import Spec, parameter_count
from regard.model.transformer import Transformer
from regard.prepare.captions import load_captions
from regard.runs.folder import RunFolder
from regard.runs.log import read_log
from regard.runs.recipe import make_recipe

SCENES = (
    *("model.image_size=48", "model.patch_size=6", "model.channels=3", "caption.made=60"),
    *("data.max_tokens=32", "model.max_length=32"),
)


def ask(folder: Path, *changes: str, steps: int = 150, data: str = "") -> Request:
    if not data:
        captioned.write_folder(folder / "pictures", 240)
        data = f'images = "{folder}/pictures"\nvalidation = 24'
    made = captioned.recipe(folder, data, steps)
    return Request(recipe=made, assignments=(*captioned.MODEL, *changes), folder=folder / "run")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One on own pictures."""
    folder = tmp_path_factory.mktemp("caption")
    lines = go(ask(folder))
    (folder / "said").write_text("\n".join(lines))
    return folder / "run"


@pytest.mark.end_to_end
def test_it_learns_what_was_said(run: Path) -> None:
    said = (run.parent / "said").read_text()
    assert "captions.csv: 240 pictures." in said
    assert "12 × 12 pixels, grey; 16 patches of 3 × 3 and a class token are 17 tokens" in said
    model = regard.load(run, device="cpu")
    assert model.tasks == ("caption",)
    rows, expected = captioned.pictures(60, seed=9)
    told = [one.text for one in model.caption(list(rows))]
    right = np.mean([a == b for a, b in zip(told, expected, strict=True)])
    assert right > 0.9
    scores = model.evaluate(captioned.write_folder(run.parent / "test", 60, seed=9))
    assert scores.exact == pytest.approx(right)  # type: ignore[union-attr]
    checks = [r for r in read_log(run / "log.jsonl") if r["kind"] == "validation"]
    assert [r["step"] for r in checks] == [50, 100, 150] and checks[-1]["exact"] > 0.8


@pytest.mark.end_to_end
def test_pictures_are_given_in_every_way(run: Path) -> None:
    file = next((run.parent / "pictures").glob("*.png"))
    model, image = regard.load(run, "cpu"), Image.open(file)
    best = model.caption(file)
    for one in (str(file), file.read_bytes(), image, np.asarray(image)):
        assert model.caption(one) == best
    assert model.caption([file, image]) == [best, best] and model.caption([]) == []
    several = model.caption(file, n=3, beam=4)
    assert several.best.text == best.text and len(several) == 3
    assert [one.score for one in several] == sorted((o.score for o in several), reverse=True)
    assert model.caption(file, n=2) and len(model.caption([file], n=2)[0]) == 2
    with pytest.raises(MisuseError, match="it offers caption, logits"):
        model.see(file)
    with pytest.raises(MisuseError, match="expected a file, bytes"):
        model.caption([7])  # type: ignore[list-item]


@pytest.mark.end_to_end
def test_the_engine_writes_what_the_plain_pass_prefers(run: Path) -> None:
    """Greedy, token by token, with the whole target computed anew each time."""
    model = regard.load(run, "cpu")
    network, codec, prepared = model.transformer, model.bundle.codec, model.bundle.pixels
    rows, _ = captioned.pictures(8, seed=4)
    colours = [row[:, :, None] for row in rows]
    search = DecodingOptions(beam=1)
    together = caption_colours(network, codec, prepared, colours, search)
    with torch.inference_mode():
        for picture, found in zip(colours, together, strict=True):
            pixels = torch.from_numpy(prepared.numbers(picture[None]))
            ids = [codec.frame.start]
            while ids[-1] != codec.frame.end and len(ids) < 16:
                logits = network(pixels, torch.tensor([ids]))
                ids.append(int(logits[0, -1].argmax()))
            assert list(found[0].ids) == [i for i in ids[1:] if i != codec.frame.end]
            alone = caption_colours(network, codec, prepared, [picture], search)
            assert alone == [found]
    assert (
        model.logits(pixels=pixels, target=[ids]) - network(pixels, torch.tensor([ids]))
    ).abs().max() < 1e-5
    with pytest.raises(MisuseError, match="give target"):
        model.logits(pixels=pixels)


@torch.no_grad()
def test_the_pass_is_that_of_torch() -> None:
    """ViT's encoder and a decoder over it, with the layers of torch.nn and the same weights."""
    spec = Spec(
        vocabulary=11, d_model=16, encoder_layers=2, decoder_layers=2, heads=2, ffn_size=24,
        image_size=8, patch_size=4, channels=3, norm_order="pre", activation="gelu",
        positions="learned", max_length=7, dropout=0.0,
    )  # fmt: skip
    ours = Transformer(spec, seed=3).eval()
    assert sum(p.numel() for p in ours.parameters()) == parameter_count(spec)
    for weight in ours.parameters():
        weight += 0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1))
    usual = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(16, 2, 24, **usual), 2, nn.LayerNorm(16), False
    ).eval()
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(16, 2, 24, **usual), 2, nn.LayerNorm(16)
    ).eval()
    assert ours.encoder is not None and ours.decoder is not None and ours.patches is not None
    for theirs, mine in ((encoder, ours.encoder), (decoder, ours.decoder)):
        theirs.norm.load_state_dict(mine.norm.state_dict())  # type: ignore[union-attr]
        for one, other in zip(theirs.layers, mine.layers, strict=True):
            _attention(one.self_attn, other.attention)
            one.norm1.load_state_dict(other.attention_norm.norm.state_dict())
            last = "norm2"
            if mine is ours.decoder:
                _attention(one.multihead_attn, other.cross)
                one.norm2.load_state_dict(other.cross_norm.norm.state_dict())
                last = "norm3"
            one.linear1.load_state_dict(other.feed_forward.inner.state_dict())
            one.linear2.load_state_dict(other.feed_forward.outer.state_dict())
            getattr(one, last).load_state_dict(other.feed_forward_norm.norm.state_dict())
    chance = torch.Generator().manual_seed(5)
    pixels, ids = torch.randn(3, 3, 8, 8, generator=chance), torch.tensor([[1, 5, 9, 2]] * 3)
    patch = nn.Conv2d(3, 16, 4, 4)
    patch.weight.copy_(ours.patches.map.weight.view(16, 3, 4, 4))
    patch.bias.copy_(ours.patches.map.bias)  # type: ignore[union-attr]
    token = ours.patches.token.expand(3, 1, -1)
    x = torch.cat((token, patch(pixels).flatten(2).transpose(1, 2)), 1) + ours.patches.table
    memory = encoder(x)
    assert (memory - ours.see(pixels)).abs().max() < 1e-5
    assert ours.target_embedding is not None and ours.target_embedding.positions is not None
    y = ours.target_embedding.weight[ids] * 4 + ours.target_embedding.positions(4, 0)
    hidden = decoder(y, memory, tgt_mask=nn.Transformer.generate_square_subsequent_mask(4))
    assert ours.output is not None
    logits = hidden @ ours.output.weight.T
    assert (logits - ours(pixels, ids)).abs().max() < 1e-4


def _attention(theirs: nn.MultiheadAttention, mine: nn.Module) -> None:
    maps = [mine.query, mine.key, mine.value]
    theirs.in_proj_weight.copy_(torch.cat([m.weight for m in maps]))  # type: ignore[arg-type]
    theirs.in_proj_bias.copy_(torch.cat([m.bias for m in maps]))  # type: ignore[arg-type]
    theirs.out_proj.load_state_dict(mine.output.state_dict())


def test_a_spec_has_words_on_one_side_or_on_both() -> None:
    picture = {"image_size": 8, "patch_size": 4}
    Spec(vocabulary=0, decoder_layers=0, **picture)
    Spec(vocabulary=9, **picture)
    with pytest.raises(ConfigError, match="vocabulary"):
        Spec(vocabulary=0, **picture)
    with pytest.raises(ConfigError, match="vocabulary"):
        Spec(vocabulary=9, decoder_layers=0, **picture)
    with pytest.raises(ConfigError, match="nothing looks at the image"):
        Spec(vocabulary=9, encoder_layers=0, **picture)


def test_positions_of_patches_may_begin_as_sinusoids_of_row_and_column() -> None:
    shape = {"vocabulary": 9, "d_model": 8, "heads": 2, "image_size": 12, "patch_size": 4}
    waves = Transformer(Spec(**shape)).patches
    learned = Transformer(Spec(**shape, positions="learned")).patches
    assert waves is not None and learned is not None
    assert learned.table.std() < 0.05
    grid = waves.table[1:].detach().view(3, 3, 8)
    for row in range(3):
        for column in range(3):
            for half, place in ((0, row), (4, column)):
                told = grid[row, column, half : half + 4].numpy()
                angles = np.array([place, place / 10])  # 100^(2i / 4)
                expected = np.stack([np.sin(angles), np.cos(angles)], axis=1).ravel()
                np.testing.assert_allclose(told, expected, atol=1e-6)
    with refused(ConfigError, subject="d_model", expected="a multiple of 4"):
        Spec(**{**shape, "d_model": 6})


@pytest.mark.end_to_end
def test_resume_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = ("train.validate_every=10", "train.loaders=2")
    for name in ("straight", "halted"):
        (tmp_path / name).mkdir()
    go(ask(tmp_path / "straight", *keys, steps=30))
    with monkeypatch.context() as patch:
        go_with_halts(ask(tmp_path / "halted", *keys, steps=30), [1, 13, 25], patch)
    assert digest(tmp_path / "halted/run") == digest(tmp_path / "straight/run")


@pytest.mark.end_to_end
@pytest.mark.parametrize("language", ["en", "de"])
def test_scenes_are_drawn_as_they_were_told(language: str, tmp_path: Path) -> None:
    lines = go(ask(tmp_path, *SCENES, steps=3, data=f'scenes = "{language}"'))
    assert "60 pictures to train on, 15 held out for validation (drawn scenes)" in "\n".join(lines)
    data = load_captions(RunFolder(tmp_path / "run"))
    first = next(scenes("train", 1))
    assert (data.colours(data.train, range(1))[0] == first.picture).all()
    words = data.tokenizer.decode(data.train["target"][0].tolist())
    assert words == caption(first.statement, language).text  # type: ignore[arg-type]
    assert all(statement_in(one, language) for one in data.captions)  # type: ignore[arg-type]
    assert regard.load(tmp_path / "run", "cpu").caption(first.picture).text is not None


@pytest.mark.end_to_end
def test_labelled_pictures_become_grids(tmp_path: Path) -> None:
    drawn.write_folder(tmp_path / "labelled", 90)
    names = [f"{name} line" for name in drawn.LABELS]
    for label, name in zip(drawn.LABELS, names, strict=True):
        (tmp_path / "labelled" / label).rename(tmp_path / "labelled" / name)
    keys = (
        "model.image_size=24",
        "caption.made=40",
        f"caption.names={names}",
        "data.max_tokens=32",
    )
    data = f'images = "{tmp_path}/labelled"'
    go(ask(tmp_path, *keys, "model.max_length=32", steps=3, data=data))
    kept = load_captions(RunFolder(tmp_path / "run"))
    assert isinstance(kept.train, Store) and len(kept.train) == 40 and len(kept.valid) == 10
    assert kept.colours(kept.train, range(2)).shape == (2, 24, 24, 1)
    assert any(" above " in one or " left " in one for one in kept.captions)
    scores = regard.load(tmp_path / "run", "cpu").evaluate(tmp_path / "labelled")
    assert scores.pictures == 2000 and 0 <= scores.on_object <= 1  # type: ignore[union-attr, operator]


def test_recipes_are_checked(tmp_path: Path) -> None:
    def made(**sections: object) -> None:
        make_recipe({"objective": "caption", **sections}, "r")

    data = {"scenes": "en", "max_tokens": 20}
    whole = {"preset": "vit-tiny", "image_size": 8, "patch_size": 2, "decoder_layers": 1}
    made(data=data, model=whole)
    for needed in ("image_size", "patch_size", "decoder_layers"):
        with pytest.raises(ConfigError, match=f"{needed} is not given"):
            made(data=data, model={k: v for k, v in whole.items() if k != needed})
    with pytest.raises(ConfigError, match="caption needs pictures"):
        made(data={"phrasebook": "de"}, model=whole)
    with pytest.raises(ConfigError, match="scenes are drawn"):
        made(data={**data, "images": "x"}, model=whole)
    with pytest.raises(ConfigError, match="begins from chance"):
        made(data=data, model=whole, train={"start_from": "v"})
    with pytest.raises(ConfigError, match="max_length 10 learned positions"):
        made(data=data, model={**whole, "max_length": 10})
    with pytest.raises(ConfigError, match="cannot be halved"):
        odd = {**whole, "image_size": 9, "patch_size": 3}
        made(data={**data, "scenes": "", "images": "x"}, model=odd, caption={"names": list("abc")})
    for key, value in {"made": -1, "white": 0.0, "names": ["a", "b"]}.items():
        with pytest.raises(ConfigError, match=key):
            made(data=data, model=whole, caption={key: value})


@pytest.mark.end_to_end
def test_data_that_teaches_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with refused(MisuseError, expected="captions.csv"):
        go(ask(tmp_path, data=f'images = "{tmp_path}/none"'))
    (tmp_path / "a.idx").write_bytes(b"")
    with refused(MisuseError, expected="a table with the columns file and caption"):
        go(ask(tmp_path, data=f'images = "{tmp_path}/a.idx"'))
    captioned.write_folder(tmp_path / "p", 40)
    with refused(DataError, advice="raise data.max_tokens"):
        keys = ("data.max_tokens=2",)
        go(ask(tmp_path, *keys, data=f'images = "{tmp_path}/p"\nvalidation = 8'))
    for number in range(30):
        (tmp_path / "p" / f"{number:03}.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match="more than half of its pictures"):
        go(ask(tmp_path, data=f'images = "{tmp_path}/p"\nvalidation = 8'))


@pytest.mark.end_to_end
@pytest.mark.needs("bf16")
def test_bf16_writes_captions_too(tmp_path: Path) -> None:
    go(ask(tmp_path, "train.precision=bf16", steps=3))
    spec = read_own_json(tmp_path / "run/spec.json")
    assert spec["image_size"] == 12 and spec["decoder_layers"] == 1
