"""Published models at work, against the `transformers` library's own generation and numbers."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

import folders
import regard
import small_models
from in_memory import with_settings
from regard.answer.classify import class_probabilities
from regard.answer.text_inputs import fitting
from regard.api.model import Model
from regard.bundle.bundle import open_bundle
from regard.bundle.generation_settings import read_settings
from regard.bundle.named import is_hub_name
from regard.decode.options import Rules, Sampling
from regard.decode.sample import narrowed
from regard.errors import CheckpointError, ConfigError, DataError, MisuseError
from regard.explain.encoder import explain_label

TEXT = "the cat sat on the red mat."


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("published")


@pytest.fixture(scope="module")
def models(root: Path) -> dict[str, tuple[Any, Model]]:
    """Each kind of model: their twin and ours."""
    made = {
        "bert": folders.bert(root / "bert", "MaskedLM"),
        "distilbert": folders.bert(root / "distilbert", "MaskedLM", "distilbert"),
        "classes": folders.bert(
            root / "classes", "SequenceClassification", id2label=folders.LABELS
        ),
        "labels": folders.bert(root / "labels", "TokenClassification", id2label=folders.LABELS),
        "trunk": folders.bert(root / "trunk", ""),
        "gpt2": folders.gpt2(root / "gpt2"),
        "llama": folders.llama(root / "llama"),
        "t5": folders.t5(root / "t5"),
        "marian": folders.marian(root / "marian", num_beams=3),
        "vit": folders.vit(root / "vit"),
    }
    # With "auto" the faster engine answers, which may round to int8.
    ours = {name: regard.load(root / name, device="cpu", engine="torch") for name in made}
    return {name: (made[name], ours[name]) for name in made}


OFFERS = {
    "bert": ("fill", "embed"),
    "distilbert": ("fill", "embed"),
    "classes": ("classify", "embed"),
    "labels": ("tag", "classify", "embed"),
    "trunk": ("embed",),
    "gpt2": ("complete",),
    "llama": ("complete",),
    "t5": ("generate",),
    "marian": ("translate",),
    "vit": ("see",),
}
CALLS = {
    "fill": lambda m: m.fill("a [MASK]"),
    "tag": lambda m: m.tag("a"),
    "classify": lambda m: m.classify("a"),
    "complete": lambda m: m.complete("a"),
    "generate": lambda m: m.generate("a"),
    "translate": lambda m: m.translate("a"),
    "see": lambda m: m.see("a.png"),
}


@pytest.mark.parametrize("name", OFFERS)
def test_a_task_that_is_not_offered_names_those_that_are(
    name: str, models: dict[str, tuple[Any, Model]]
) -> None:
    model = models[name][1]
    assert model.tasks == OFFERS[name]
    for task, call in CALLS.items():
        if task not in OFFERS[name]:
            expected = rf"{task}: .*does not offer it; it offers {', '.join(OFFERS[name])}, logits"
            with pytest.raises(MisuseError, match=expected):
                call(model)


@pytest.mark.parametrize("name", [n for n in OFFERS if n not in ("vit", "trunk")])
def test_logits_need_no_tokenizer_and_equal_theirs(
    name: str, models: dict[str, tuple[Any, Model]], tmp_path: Path
) -> None:
    theirs, loaded = models[name]
    for file in ("config.json", "model.safetensors"):
        (tmp_path / file).write_bytes((loaded.folder / file).read_bytes())
    ours = regard.load(tmp_path, device="cpu")
    assert ours.tokenizer is None
    ids = [[3, 7, 9, 11, 8], [6, 12, 5, 3, 3]]
    mask = [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    given: dict[str, Any] = dict(
        input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask), use_cache=False
    )
    asked: dict[str, Any] = {}
    if name in ("t5", "marian"):
        asked["target"] = [[0, 4, 5], [0, 6, 7]]
        given["decoder_input_ids"] = torch.tensor(asked["target"])
    if name not in ("t5", "marian", "gpt2", "llama"):
        given.pop("use_cache")
    with torch.no_grad():
        expected = theirs(**given).logits
    got = ours.logits(ids, mask, **asked)
    if name in ("t5", "marian", "classes"):
        assert (got - expected).abs().max() < 1e-5
    else:
        real = torch.tensor(mask).bool()
        assert (got - expected)[real].abs().max() < 1e-5
    with pytest.raises(DataError, match=r"has no tokenizer files.*`logits` works without"):
        CALLS[ours.tasks[0]](ours)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "vit"])
def test_pickled_weights_are_read_when_allowed(
    name: str, models: dict[str, tuple[Any, Model]], tmp_path: Path
) -> None:
    """A folder as it was before safetensors: the twin's own state dict, by torch.save."""
    theirs, safe = models[name]
    (tmp_path / "config.json").write_bytes((safe.folder / "config.json").read_bytes())
    state = theirs.state_dict()  # tied matrices stand in it more than once
    if name == "vit":  # in memory the library has other names than in files
        state = load_file(safe.folder / "model.safetensors")
    torch.save(state, tmp_path / "pytorch_model.bin")
    with pytest.raises(
        CheckpointError, match="regard convert .*--allow-pickle.* allow_pickle=True"
    ):
        regard.load(tmp_path, device="cpu")
    ours = regard.load(tmp_path, device="cpu", allow_pickle=True)
    ids, target, pixels = [[3, 7, 9]], torch.tensor([[0, 4, 5]]), torch.randn(1, 3, 12, 12)
    with torch.no_grad():
        if name == "vit":
            got, expected = ours.logits(pixels=pixels), theirs(pixels).logits
        elif name == "t5":
            got = ours.logits(ids, target=target)
            expected = theirs(torch.tensor(ids), decoder_input_ids=target).logits
        else:
            got, expected = ours.logits(ids), theirs(torch.tensor(ids)).logits
    assert (got - expected).abs().max() < 1e-5


def test_padding_before_a_text_changes_nothing(models: dict[str, tuple[Any, Model]]) -> None:
    for name in ("gpt2", "llama"):
        model = models[name][1]
        padded = model.logits([[0, 0, 5, 6, 7]], [[0, 0, 1, 1, 1]])[0, 2:]
        assert (padded - model.logits([5, 6, 7])[0]).abs().max() < 1e-5


def test_wrong_ids_are_named(models: dict[str, tuple[Any, Model]]) -> None:
    bert, t5, vit = (models[name][1] for name in ("bert", "t5", "vit"))
    with pytest.raises(MisuseError, match="ids: got numbers from 1 to 9999, expected 0 to"):
        bert.logits([1, 9999])
    with pytest.raises(MisuseError, match="rows of whole numbers, all of one length"):
        bert.logits([[1, 2], [3]])
    with pytest.raises(MisuseError, match="got shape .*float"):
        bert.logits([[1.5]])
    with pytest.raises(MisuseError, match=r"mask: got shape \(1, 1\)"):
        bert.logits([[1, 2]], [[1]])
    with pytest.raises(MisuseError, match="mask: expected rows of 0 and 1"):
        bert.logits([[1, 2]], mask="x")
    with pytest.raises(MisuseError, match="pixels: expected an array of numbers"):
        vit.logits(pixels="x")
    with pytest.raises(MisuseError, match="give target=… too"):
        t5.logits([1, 2])
    with pytest.raises(MisuseError, match="target is for models with"):
        bert.logits([1, 2], target=[1])
    with pytest.raises(MisuseError, match="reads images: give pixels"):
        vit.logits([1, 2])
    with pytest.raises(MisuseError, match="reads text: give ids"):
        bert.logits(pixels=torch.zeros(1, 3, 12, 12))
    with pytest.raises(MisuseError, match="has no head"):
        models["trunk"][1].logits([1, 2])


@pytest.mark.parametrize("name", ["bert", "distilbert"])
def test_fill_equals_their_softmax(name: str, models: dict[str, tuple[Any, Model]]) -> None:
    theirs, ours = models[name]
    found = ours.fill("the [MASK] sat on [MASK] mat.", top=3)
    assert ours.tokenizer is not None
    ids = torch.tensor([ours.tokenizer.encode("the [MASK] sat on [MASK] mat.").ids])
    with torch.no_grad():
        p = theirs(ids).logits[0].softmax(-1)
    places = (ids[0] == 4).nonzero().flatten().tolist()
    assert len(found) == len(places) == 2
    for row, place in zip(found, places, strict=True):
        best = p[place].topk(3)
        assert [c.id for c in row] == best.indices.tolist()
        assert [c.probability for c in row] == pytest.approx(best.values.tolist(), abs=1e-6)
    first = found[0][0]
    assert first.text == f"the {first.word} sat on [MASK] mat." or first.word.startswith("##")


def test_fill_says_what_is_missing(models: dict[str, tuple[Any, Model]]) -> None:
    with pytest.raises(MisuseError, match=r"the text has no \[MASK\]"):
        models["bert"][1].fill(TEXT)
    with pytest.raises(MisuseError, match="tokens, this model reads at most 23; shorten it"):
        models["bert"][1].fill("[MASK] " * 30)
    with pytest.raises(MisuseError, match="top: got 0"):
        models["bert"][1].fill("a [MASK]", top=0)


WRONG = {
    'bert.fill(["a [MASK]", 3])': "fill: number 2 of the texts is int, expected a text",
    'classes.classify({"a": "b"})': "classify: got a table (dict), expected a text or several",
    'classes.classify("a", pair=3)': "classify: got int, expected a text or several",
    "gpt2.complete(3)": "complete: got int, expected a text or several",
    'gpt2.complete("a", temperature=1.0, top_k=2.5)': "top_k: got 2.5, expected a whole number",
    'gpt2.complete("a", temperature="hot")': "temperature: got 'hot', expected a number",
    'gpt2.complete("a", max_tokens=None)': "max_tokens: got None, expected a whole number",
    'gpt2.complete("a", n=2.0)': "n: got 2.0, expected a whole number",
    'gpt2.complete("a", stop_text=["b", 3])': "stop_text: got 3, expected a text to stop before",
    'gpt2.complete("a", window=3)': "window: got 3, expected True or False",
    "gpt2.stream(3)": "complete: got int, expected a text",
    "vit.logits(pixels=3.0)": "pixels: got an image of shape ()",
}


def test_wrong_types_are_named(models: dict[str, tuple[Any, Model]], root: Path) -> None:
    """In a process of its own: here, while tests run, annotations are checked before."""
    program = ["import regard"]
    for name in ("bert", "classes", "gpt2", "vit"):
        program.append(f"{name} = regard.load({str(root / name)!r}, device='cpu')")
    for call in WRONG:
        program.append(f"try: {call}\nexcept regard.errors.MisuseError as error: print(error)")
    source = "\n".join(program)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert not done.stderr
    for line, message in zip(done.stdout.splitlines(), WRONG.values(), strict=True):
        assert message in line


def test_a_text_without_tokens_is_refused(models: dict[str, tuple[Any, Model]]) -> None:
    model = models["classes"][1]
    assert model.tokenizer is not None
    nothing = replace(model.tokenizer.encode("a"), ids=(), segments=())
    with pytest.raises(MisuseError, match="classify: the text has no tokens; give a text"):
        fitting(nothing, model.transformer, "classify")


def test_classify_equals_their_softmax(models: dict[str, tuple[Any, Model]]) -> None:
    theirs, ours = models["classes"]
    assert ours.tokenizer is not None
    encoded = ours.tokenizer.encode("the cat", "the dog")
    with torch.no_grad():
        p = theirs(
            torch.tensor([encoded.ids]), token_type_ids=torch.tensor([encoded.segments])
        ).logits[0].softmax(-1)  # fmt: skip
    found = ours.classify("the cat", pair="the dog")
    assert {f.label: f.probability for f in found} == pytest.approx(
        {folders.LABELS[i]: float(p[i]) for i in range(3)}, abs=1e-6
    )
    assert [f.probability for f in found] == sorted((f.probability for f in found), reverse=True)
    assert len(ours.classify("the cat", top=1)) == 1


def test_a_pair_is_refused_by_a_model_with_one_segment(tmp_path: Path) -> None:
    heads: Any = dict(id2label=folders.LABELS, type_vocab_size=1)
    theirs = folders.bert(tmp_path / "one", "SequenceClassification", **heads)
    ours = regard.load(tmp_path / "one", device="cpu")
    assert ours.tokenizer is not None
    with torch.no_grad():
        p = theirs(torch.tensor([ours.tokenizer.encode("the cat").ids])).logits[0].softmax(-1)
    best = ours.classify("the cat")[0]
    assert best.probability == pytest.approx(float(p.max()), abs=1e-6)
    pair: Any = ("the cat", "the dog")
    asked = [
        lambda: ours.classify("the cat", pair="the dog"),
        lambda: class_probabilities(ours, ["a cat", pair]),
        lambda: explain_label(ours, "the cat", pair="the dog"),
    ]
    for ask in asked:
        with pytest.raises(MisuseError, match="segment 1, this model has 1 segment.*one text"):
            ask()


def test_classify_labels_each_token(models: dict[str, tuple[Any, Model]]) -> None:
    theirs, ours = models["labels"]
    assert ours.tokenizer is not None
    encoded = ours.tokenizer.encode("the cat.")
    with torch.no_grad():
        p = theirs(torch.tensor([encoded.ids])).logits[0].softmax(-1)[1:-1]
    found = ours.classify("the cat.")
    assert [f.piece for f in found] == ["the", "cat", "."]
    assert [f.label for f in found] == [folders.LABELS[int(row.argmax())] for row in p]
    assert [f.probability for f in found] == pytest.approx(p.max(-1).values.tolist(), abs=1e-6)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
@pytest.mark.parametrize("prompt", [TEXT, "the", "two birds — naïve 猫"])
def test_greedy_completion_is_theirs(
    name: str, prompt: str, models: dict[str, tuple[Any, Model]]
) -> None:
    theirs, ours = models[name]
    assert ours.tokenizer is not None
    ids = list(ours.tokenizer.encode(prompt).ids)
    out = theirs.generate(torch.tensor([ids]), max_new_tokens=20, do_sample=False)[0].tolist()
    assert out[: len(ids)] == ids
    new = out[len(ids) :]
    ends = ours.bundle.settings.ends
    new = new[:-1] if new and new[-1] in ends else new
    whole = ours.tokenizer.decode(out)
    before = ours.tokenizer.decode(ids)
    pieces = list(ours.stream(prompt, max_tokens=20))
    assert "".join(pieces) == whole[len(before) :] == ours.complete(prompt, max_tokens=20)
    assert len(new) <= 5 or len(pieces) > 1


def test_completion_ends_where_the_positions_end(models: dict[str, tuple[Any, Model]]) -> None:
    model = models["gpt2"][1]
    with pytest.raises(MisuseError, match="183 tokens, this model reads 61, so 0 are left"):
        model.complete("猫" * 61)
    assert model.complete("猫" * 19, max_tokens=1000)  # 57 bytes: no more than 4 tokens fit


def test_an_empty_prompt_starts_from_the_first_token(
    models: dict[str, tuple[Any, Model]],
) -> None:
    theirs, ours = models["gpt2"]
    out = theirs.generate(torch.tensor([[0]]), max_new_tokens=8, do_sample=False)[0].tolist()
    assert ours.tokenizer is not None
    assert ours.complete("", max_tokens=8) == ours.tokenizer.decode(out)


def test_the_same_seed_draws_the_same_text(models: dict[str, tuple[Any, Model]]) -> None:
    model = models["gpt2"][1]
    torch.manual_seed(7)
    before = torch.get_rng_state()
    texts = [model.complete(TEXT, temperature=1.5, seed=seed) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert torch.equal(before, torch.get_rng_state())  # the global chance is left alone


@pytest.mark.parametrize("k", [None, 3, 50])
@pytest.mark.parametrize("p", [None, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("temperature", [0.5, 1.7])
def test_the_choice_is_narrowed_as_theirs(
    k: int | None, p: float | None, temperature: float
) -> None:
    log_p = (3 * torch.randn(4, 20)).log_softmax(-1)
    ids = torch.zeros(4, 1, dtype=torch.long)
    scores = transformers.TemperatureLogitsWarper(temperature)(ids, log_p)
    if k is not None:
        scores = transformers.TopKLogitsWarper(k)(ids, scores)
    if p is not None and p < 1:
        scores = transformers.TopPLogitsWarper(p)(ids, scores)
    ours = narrowed(log_p, Sampling(temperature=temperature, top_k=k, top_p=p))
    assert torch.allclose(ours.exp(), scores.softmax(-1), atol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": -1}, "temperature: got -1"),
        ({"temperature": 1.0, "top_p": 0.0}, "top_p: got 0.0"),
        ({"temperature": 1.0, "top_k": 0}, "top_k: got 0"),
        ({"max_tokens": 0}, "max_tokens: got 0"),
        ({"seed": 3}, "seed: at temperature 0 nothing is drawn"),
        ({"temperature": 1.0, "seed": -3}, "seed: got -3"),
    ],
)
def test_wrong_sampling_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Sampling(**wrong)


def test_unknown_options_are_named(models: dict[str, tuple[Any, Model]]) -> None:
    with pytest.raises(MisuseError, match='unknown option .topk.; did you mean "top_k"'):
        models["gpt2"][1].complete("a", topk=3)
    with pytest.raises(MisuseError, match="generate: unknown option 'beams'"):
        models["t5"][1].generate("a", beams=3)


def their_ids(theirs: Any, ours: Model, text: str, **options: Any) -> list[int]:
    """Their output without start, end and padding."""
    assert ours.tokenizer is not None
    out = theirs.generate(torch.tensor([ours.tokenizer.encode(text).ids]), **options)[0].tolist()
    end = ours.bundle.settings.ends[0]
    return out[1 : out.index(end, 1)] if end in out[1:] else out[1:]


@pytest.mark.parametrize("text", [TEXT, "one", "a bad blue bird is not a good tree."])
def test_greedy_generation_is_theirs(text: str, models: dict[str, tuple[Any, Model]]) -> None:
    for name in ("t5", "marian"):
        theirs, ours = models[name]
        expected = their_ids(theirs, ours, text, max_length=24, num_beams=1, do_sample=False)
        found = ours.translations(text, beam=1, max_length=23)[0]
        assert list(found.ids) == expected
        assert found.finished or name == "t5"  # Marian is forced to end


@pytest.mark.parametrize("early", [False, True, "never"])
@pytest.mark.parametrize("penalty", [0.6, 1.0, 2.0])
@pytest.mark.parametrize("beams", [2, 4])
def test_beam_search_is_theirs(
    beams: int, penalty: float, early: bool | str, models: dict[str, tuple[Any, Model]]
) -> None:
    stop = {False: "likely", True: "first-k", "never": "exact"}[early]
    options = dict(num_beams=beams, length_penalty=penalty, early_stopping=early)
    for name in ("marian", "t5"):
        theirs, ours = models[name]
        for text in (TEXT, "one", "a bad blue bird is not a good tree."):
            forced = dict(forced_eos_token_id=ours.bundle.settings.ends[0])
            expected = their_ids(theirs, ours, text, max_length=13, **options, **forced)
            settings = replace(ours.bundle.settings, rules=Rules(must_end=True))
            ours = with_settings(ours, settings)
            search = dict(beam=beams, alpha=penalty, stop=stop, max_length=12)
            assert list(ours.translations(text, **search)[0].ids) == expected


def test_what_the_folder_asks_for_is_the_default(
    models: dict[str, tuple[Any, Model]], tmp_path: Path
) -> None:
    theirs, ours = models["marian"]
    assert ours.bundle.settings.search.beam == 3 and ours.bundle.settings.search.max_length == 23
    found = ours.translations([TEXT])[0][0]
    assert list(found.ids) == their_ids(theirs, ours, TEXT)
    pad = ours.bundle.settings.pad
    assert ours.bundle.settings.start == pad and ours.bundle.settings.rules.never == (pad,)
    assert ours.translate(["", TEXT]) == ["", ours.translate(TEXT)]


def test_pad_is_never_output(models: dict[str, tuple[Any, Model]], tmp_path: Path) -> None:
    """Marian with a bias that makes pad the likeliest token at every step."""
    theirs, ours = models["marian"]
    model = regard.load(ours.folder, device="cpu")
    pad = ours.bundle.settings.pad
    with torch.no_grad():
        model.transformer.output.bias[pad] = 100.0
    for beam in (1, 3):
        found = model.translations([TEXT], beam=beam, n_best=beam)[0]
        assert all(pad not in one.ids for one in found) and found[0].finished


def test_ids_beyond_the_vocabulary_have_no_text(models: dict[str, tuple[Any, Model]]) -> None:
    model = models["t5"][1]
    assert model.tokenizer is not None and model.tokenizer.size < model.spec.vocabulary
    beyond = model.spec.vocabulary - 1
    other = regard.load(model.folder, device="cpu")
    with torch.no_grad():
        other.transformer.output.weight[beyond] *= 50
    found = other.translations(TEXT)[0]
    assert beyond in found.ids and isinstance(found.text, str)


def test_see_equals_their_processor_and_softmax(
    models: dict[str, tuple[Any, Model]], tmp_path: Path
) -> None:
    theirs, ours = models["vit"]
    noise = np.random.default_rng(0).integers(0, 256, (31, 47, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    settings = dict(size={"height": 12, "width": 12}, image_mean=[0.4, 0.5, 0.6], resample=3)
    processor = ViTImageProcessorPil(**settings)
    processor.save_pretrained(ours.folder)
    pixels = torch.as_tensor(
        np.array(processor(Image.open(tmp_path / "noise.png"))["pixel_values"])
    )
    with torch.no_grad():
        expected = theirs(pixels.view(1, 3, 12, 12)).logits[0]
    assert (ours.logits(pixels=pixels.view(1, 3, 12, 12))[0] - expected).abs().max() < 1e-5
    p = expected.softmax(-1)
    found = ours.see(tmp_path / "noise.png")
    assert {f.label: f.probability for f in found} == pytest.approx(
        {folders.LABELS[i]: float(p[i]) for i in range(3)}, abs=1e-5
    )
    (tmp_path / "text.png").write_text("no image")
    with pytest.raises(DataError, match="not an image that Pillow can read"):
        ours.see(tmp_path / "text.png")
    with pytest.raises(DataError, match="no such file"):
        ours.see(tmp_path / "none.png")


def written(folder: Path, config: dict[str, Any], generation: dict[str, Any] | None) -> Path:
    (folder / "config.json").write_text(json.dumps(config))
    if generation is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation))
    return folder


def test_settings_of_old_folders_stand_in_config_json(tmp_path: Path) -> None:
    folder = written(tmp_path, {"eos_token_id": 0, "pad_token_id": 9, "num_beams": 6}, None)
    found = read_settings(folder, 10)
    assert (found.start, found.ends, found.pad, found.search.beam) == (9, (0,), 9, 6)


def test_settings_that_are_not_done_are_told(tmp_path: Path) -> None:
    folder = written(tmp_path, {}, {"diversity_penalty": 1.3, "min_length": 5, "max_length": 4})
    settings = read_settings(folder, 10)
    assert settings.ignored == ("diversity_penalty = 1.3",)
    assert settings.search.min_length == 2  # of 3: the end token needs a place


@pytest.mark.parametrize("wrong", [10, 50256, -1, [3, 10]])
def test_ids_outside_of_the_vocabulary_are_absent_and_told(wrong: Any, tmp_path: Path) -> None:
    generation = {"eos_token_id": wrong, "forced_eos_token_id": 10, "bad_words_ids": [[9], [10]]}
    found = read_settings(written(tmp_path, {"pad_token_id": wrong}, generation), 10)
    kept = (3,) if isinstance(wrong, list) else ()
    assert (found.ends, found.pad, found.rules.never) == (kept, kept[0] if kept else None, (9,))
    assert not found.rules.must_end
    number = wrong[-1] if isinstance(wrong, list) else wrong
    assert found.ignored == tuple(
        f"{key} = {i} (outside of the vocabulary, 0 to 9)"
        for key, i in {
            "pad_token_id": number,
            "eos_token_id": number,
            "forced_eos_token_id": 10,
            "bad_words_ids": 10,
        }.items()
    )


def test_a_small_model_may_keep_the_ids_of_the_large_one(tmp_path: Path) -> None:
    theirs = small_models.save("gpt2", tmp_path)
    assert theirs.config.eos_token_id == 50256 and theirs.config.vocab_size == 101
    ours = regard.load(tmp_path, device="cpu")
    ids = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        assert (ours.logits(ids) - theirs(ids).logits).abs().max() < 1e-5
    assert any("eos_token_id = 50256" in one for one in ours.bundle.settings.ignored)


def test_an_end_that_is_forced_needs_an_end(tmp_path: Path) -> None:
    found = read_settings(written(tmp_path, {"forced_eos_token_id": 3}, None), 10)
    assert not found.rules.must_end
    assert found.ignored == ("forced_eos_token_id = 3 (there is no eos_token_id)",)


def test_ids_of_config_json_count_beside_a_generation_config(tmp_path: Path) -> None:
    config = {"bad_words_ids": [[9]], "forced_eos_token_id": 0, "num_beams": 6}
    found = read_settings(written(tmp_path, config, {"eos_token_id": 0, "num_beams": 2}), 10)
    assert found.rules == Rules(never=(9,), must_end=True) and found.search.beam == 2


@pytest.mark.parametrize(
    ("generation", "message"),
    [
        ({"eos_token_id": ["a"]}, "eos_token_id: got 'a'"),
        ({"bad_words_ids": [[1, 2]]}, "words of several tokens are not supported"),
        ({"eos_token_id": 1, "forced_eos_token_id": 2}, "forced_eos_token_id"),
        ({"num_beams": "many"}, "num_beams: got 'many'"),
        ({"length_penalty": "x"}, "length_penalty: got 'x'"),
    ],
)
def test_wrong_settings_are_named(generation: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=message):
        read_settings(written(tmp_path, {}, generation), 10)


def test_a_foreign_tokenizer_is_refused(
    models: dict[str, tuple[Any, Model]], tmp_path: Path
) -> None:
    for file in ("config.json", "model.safetensors"):
        (tmp_path / file).write_bytes((models["trunk"][1].folder / file).read_bytes())
    folders.write_bytes(tmp_path, ["<|endoftext|>"])
    with pytest.raises(CheckpointError, match="its files belong to another model"):
        regard.load(tmp_path, device="cpu")


def test_a_name_of_the_hub_is_not_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    assert is_hub_name("google-bert/bert-base-uncased") and is_hub_name(Path("a/b"))
    for path in ("runs/demo", "gpt2", "/a/b", "a/b/c", "../a", "./a", "a/", "a/..", "runs"):
        assert not is_hub_name(path), path


def test_the_cache_of_the_hub_comes_first(
    models: dict[str, tuple[Any, Model]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    asked: list[bool] = []

    def download(
        name: str,
        allow_patterns: list[str],
        local_files_only: bool = False,
        revision: str | None = None,
        cached: bool = True,
    ) -> str:
        asked.append(local_files_only)
        assert name == "owner/name" and revision is None
        assert local_files_only or "*.safetensors" in allow_patterns
        assert not any("bin" in p or "py" in p for p in allow_patterns)  # no pickle, no code
        if local_files_only and not cached:
            raise LocalEntryNotFoundError("not in the cache")
        return str(models["bert"][1].folder)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert regard.load("owner/name", device="cpu").tasks == ("fill", "embed")
    assert asked == [True]
    monkeypatch.setattr(
        huggingface_hub, "snapshot_download", lambda *a, **k: download(*a, **k, cached=False)
    )
    assert regard.load("owner/name", device="cpu").tasks == ("fill", "embed")
    assert asked == [True, True, False]


def test_without_a_network_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(CheckpointError, match="the hub cannot be reached .*; try again with a net"):
        regard.load("owner/name")


def test_commands_for_runs_say_that_a_published_folder_is_none(
    models: dict[str, tuple[Any, Model]],
) -> None:
    with pytest.raises(MisuseError, match="a published model; this command reads the run"):
        _ = open_bundle(models["bert"][1].folder).run


def test_a_run_offers_translation_only(toy_run: Path) -> None:
    model = regard.load(toy_run, device="cpu")
    assert model.tasks == ("translate",)
    expected = r"{}: .* does not offer it; it offers translate, logits"
    with pytest.raises(MisuseError, match=expected.format("fill")):
        model.demand("fill")
    more = {"embed": lambda m: m.embed(["a"]), "complete": lambda m: list(m.stream("a", seed=1))}
    for task, call in [*CALLS.items(), *more.items()]:
        if task != "translate":
            with pytest.raises(MisuseError, match=expected.format(task)):
                call(model)


def test_a_run_gives_its_logits(toy_run: Path) -> None:
    """As its formula says: log softmax of them scores what the search finds."""
    model = regard.load(toy_run, device="cpu")
    source, target = model.tokenizer.encode("red cat"), [[1, 5, 6]]
    logits = model.logits([source], target=target)
    assert tuple(logits.shape) == (1, 3, model.transformer.spec.vocabulary)
    with torch.no_grad():
        expected = model.transformer(torch.tensor([source]), torch.tensor(target))
    assert (logits - expected).abs().max() < 1e-5
    with pytest.raises(MisuseError, match="give target=… too"):
        model.logits([source])


def test_a_converted_folder_is_the_same_model(
    models: dict[str, tuple[Any, Model]], tmp_path: Path
) -> None:
    from regard.checkpoint.converted import save_converted

    model = models["bert"][1]
    for file in ("config.json", "vocab.txt"):
        (tmp_path / file).write_bytes((model.folder / file).read_bytes())
    save_converted(model.transformer, "bert", tmp_path, "test")
    again = regard.load(tmp_path, device="cpu")
    assert again.tasks == model.tasks and again.fill("a [MASK]") == model.fill("a [MASK]")
