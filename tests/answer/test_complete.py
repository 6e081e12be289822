"""Going on with texts: several continuations, stop texts, windows, and what is said when wrong."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

import folders
import regard
from regard.answer.complete import UNFINISHED, GrowingText, held_back
from regard.api.model import Model
from regard.decode.options import Sampling
from regard.errors import CheckpointError, ConfigError, MisuseError
from regard.text.encoder_tokenizer import save_for_decoder
from regard.text.published import IdSequence, PublishedTokenizer, load_tokenizer
from regard.text.tokenizer import Tokenizer

PROMPTS = [
    "the cat sat on",
    "one",
    "two birds — naïve 猫",
    "a red house is not the blue sea",
    "mat",
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("decoders")
    folders.gpt2(root / "gpt2")
    folders.llama(root / "llama")
    return root


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def model(request: pytest.FixtureRequest, root: Path) -> Model:
    return regard.load(root / request.param, "cpu", engine="torch")


def changed(folder: Path, target: Path, **config: object) -> Path:
    """A copy with other keys in its config.json."""
    target.mkdir()
    for file in folder.iterdir():
        if file.is_file():
            (target / file.name).write_bytes(file.read_bytes())
    values = json.loads((target / "config.json").read_text()) | config
    (target / "config.json").write_text(json.dumps(values))
    (target / "generation_config.json").unlink(missing_ok=True)
    return target


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"temperature": 1.1, "seed": 3},
        {"temperature": 0.7, "top_p": 0.9, "seed": 4},
        {"beam": 3},
    ],
    ids=str,
)
def test_many_prompts_are_each_alone(options: dict[str, float], model: Model) -> None:
    texts = [model.complete(prompt, max_tokens=12, **options) for prompt in PROMPTS]
    assert model.complete(PROMPTS, max_tokens=12, **options) == texts
    assert model.complete(PROMPTS[::-1], max_tokens=12, **options) == texts[::-1]
    assert ["".join(model.stream(p, max_tokens=12, **options)) for p in PROMPTS] == texts


def test_several_continuations(model: Model) -> None:
    drawn = model.completions("the cat", n=4, temperature=1.5, seed=1, max_tokens=8)
    assert len(drawn) == 4 == len({one.text for one in drawn})
    assert drawn[0].text == model.complete("the cat", temperature=1.5, seed=1, max_tokens=8)
    assert all(one.log_probability < 0 for one in drawn)
    both = model.completions(["one", "the cat"], n=4, temperature=1.5, seed=1, max_tokens=8)
    assert [one.text for one in both[1]] == [one.text for one in drawn]
    best = model.completions("the cat", n=3, max_tokens=8)  # of a beam as wide
    assert best == model.completions("the cat", n=3, beam=3, max_tokens=8)
    assert [one.score for one in best] == sorted((one.score for one in best), reverse=True)
    with pytest.raises(ConfigError, match="n: 3 are more than a beam of 2 can hold"):
        model.completions("the cat", n=3, beam=2)
    with pytest.raises(MisuseError, match="one text can be streamed"):
        model.stream("the cat", n=2)


@pytest.mark.parametrize("first", [1, 4, 9])
def test_a_text_ends_before_a_stop_text(first: int, model: Model) -> None:
    """Also where it begins or ends within a token, and whatever the stream has shown by then."""
    options = {"temperature": 1.0, "seed": 2, "max_tokens": 25}
    whole = model.complete("the cat", **options)
    stop = whole[first : first + 3]
    expected = whole[: whole.index(stop)]
    assert expected != whole
    assert model.complete("the cat", stop_text=stop, **options) == expected
    assert model.complete("the cat", stop_text=["nowhere", stop, whole[-2:]], **options) == expected
    several = model.completions(["one", "the cat"], stop_text=[stop], **options)
    assert several[1].best.text == expected and several[1].best.finished
    pieces = list(model.stream("the cat", stop_text=stop, **options))
    assert "".join(pieces) == expected
    beam = model.complete("the cat", beam=3, max_tokens=25)
    assert (
        model.complete("the cat", beam=3, max_tokens=25, stop_text=beam[4:6])
        == (beam[: beam.index(beam[4:6])])
    )


def test_a_stream_shows_whole_characters_and_no_beginning_of_a_stop_text(root: Path) -> None:
    tokenizer = regard.load(root / "gpt2", "cpu", engine="torch").tokenizer_for("complete")
    text = "naïve 猫 — 🙂 wordless\n"
    ids = tokenizer.encode(text).ids
    assert len(ids) > len(text)  # several tokens for some characters
    growing = GrowingText(tokenizer, tokenizer.encode("the ").ids, ["wordy", "\n\n"])
    pieces = [growing.add(token) for token in ids]
    assert not any(UNFINISHED in piece for piece in pieces)
    assert "".join(pieces) == text[:-1] and growing.rest() == "\n"
    held = "".join(pieces[: [p.endswith("s") for p in pieces].index(True)])
    assert not held.endswith("w")
    assert held_back("a wor", ["wordy"]) == 3 and held_back("word", ["x"]) == held_back("", []) == 0
    half = GrowingText(tokenizer, [5], [])
    assert half.add(tokenizer.encode("猫").ids[0]) == "" and half.rest() == UNFINISHED


@pytest.mark.parametrize("name", ["gpt2", "llama", "characters", "words"])
def test_a_stream_is_the_text_of_all_its_tokens(name: str, root: Path, tmp_path: Path) -> None:
    """Whatever ids come, halves of characters and special ones too; few are decoded at a time."""
    if name in ("gpt2", "llama"):
        tokenizer = regard.load(root / name, "cpu", engine="torch").tokenizer_for("complete")
    else:
        texts = ["one red cat", "two blue birds — mat"]
        save_for_decoder(Tokenizer.train(texts, name, 60), tmp_path)
        tokenizer = load_tokenizer(tmp_path)
    chance = random.Random(7)
    lengths: list[int] = []

    class Watched(PublishedTokenizer):
        def decode(self, ids: IdSequence) -> str:
            row = list(ids)
            lengths.append(len(row))
            return super().decode(row)

    tokenizer = Watched(tokenizer.codec, tokenizer.roles, tokenizer.max_length)
    for _ in range(20):
        prompt, ids = ([chance.randrange(tokenizer.size + 3) for _ in range(n)] for n in (6, 60))
        growing = GrowingText(tokenizer, prompt, [])
        lengths.clear()
        pieces = [growing.add(token) for token in ids]
        assert sum(lengths) < 20 * len(ids)
        assert "".join([*pieces, growing.rest()]) == growing.of(ids)[0]


def sliding(model: Model, prompt: Sequence[int], window: int, count: int) -> list[int]:
    """Greedy, each token by a pass over the window; its first quarter goes when it is full."""
    context, out = list(prompt), []
    with torch.inference_mode():
        for _ in range(count):
            if len(context) >= window:
                context = context[len(context) - window + window // 4 :]
            x = model.transformer.decode(torch.tensor([context]))
            token = int(model.transformer.token_logits(x[:, -1]).argmax())
            context.append(token)
            out.append(token)
    return out


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_window_slides(name: str, root: Path, tmp_path: Path) -> None:
    more = {"max_position_embeddings": 40} if name == "llama" else {}
    folder = changed(root / name, tmp_path / name, eos_token_id=None, **more)
    model = regard.load(folder, "cpu", engine="torch")
    window = {"gpt2": 61, "llama": 40}[name]
    for prompt in ("the cat", "the red mat " * 40):
        ids = list(model.tokenizer_for("complete").encode(prompt).ids)
        expected = sliding(model, ids, window, 70)
        (answer,) = model.completions(prompt, window=True, max_tokens=70)
        assert list(answer.ids) == expected and not answer.finished
        assert "".join(model.stream(prompt, window=True, max_tokens=70)) == answer.text
    short = model.completions(["one", prompt], window=True, max_tokens=5)
    assert short[0] == model.completions("one", max_tokens=5)
    drawn = [
        model.complete(prompt, window=True, max_tokens=70, temperature=1.0, seed=seed)
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    with pytest.raises(MisuseError, match="window: a beam search does not slide"):
        model.complete(prompt, window=True, beam=2)


def test_a_prompt_that_is_too_long_is_named(root: Path) -> None:
    model = regard.load(root / "gpt2", "cpu", engine="torch")
    words = "prompt 2 of 3 has 183 tokens, this model reads 61, so 0 are left .*--window"
    with pytest.raises(MisuseError, match=words):
        model.complete(["a", "猫" * 61, "b"])


def test_without_an_end_token_a_text_goes_on(root: Path, tmp_path: Path) -> None:
    folder = changed(root / "llama", tmp_path / "m", eos_token_id=None, bos_token_id=None)
    model = regard.load(folder, "cpu", engine="torch")
    assert model.bundle.settings.ends == ()
    for options in ({}, {"beam": 3}, {"temperature": 1.0, "seed": 1}):
        (answer,) = model.completions("the cat", max_tokens=40, **options)
        assert len(answer.ids) == 40 and not answer.finished


def test_an_empty_prompt_without_a_first_token_is_named(root: Path, tmp_path: Path) -> None:
    model = regard.load(changed(root / "gpt2", tmp_path / "m", bos_token_id=None), "cpu")
    with pytest.raises(MisuseError, match="prompt 2 of 2 is empty; give a text"):
        model.complete(["a", ""])


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(root: Path, tmp_path: Path) -> None:
    folder = changed(root / "gpt2", tmp_path / "m")
    pieces = json.loads((folder / "vocab.json").read_text())
    (folder / "vocab.json").write_text(json.dumps({**pieces, "more": len(pieces)}))
    with pytest.raises(
        CheckpointError, match=f"tokenizer knows {len(pieces) + 1} tokens, the weig"
    ):
        regard.load(folder, "cpu")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n": 0}, "n: got 0"),
        ({"n": 10_001}, "n: got 10001, expected at most 10,000"),
        ({"stop_text": ""}, "stop_text: got '', expected a text"),
        ({"stop_text": ("a", "")}, "stop_text: got '', expected a text"),
    ],
)
def test_wrong_options_are_named(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Sampling(**wrong)  # type: ignore[arg-type]
