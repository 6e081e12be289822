"""Beam search against `transformers`' own, token by token, on tiny twins with 20 prompts each.

Settings are written as generation_config.json, read as those of any published folder, and searched
with; their `generate` gets the same settings. Every output is theirs, finished or cut off: at the
length limit they compare scores (`convention = "transformers"` of decode/options.py).

Where ours is another search, with the test that shows it or why there is none:
- where penalties forbid every token, theirs goes on with impossible ones, ours ends
  (`test_when_nothing_is_possible_ours_ends`);
- theirs adds log p in float32, ours in float64: outputs whose scores are equal to 7 digits may
  change places. The twins are drawn so that no case is so close.
"""

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import folders
import regard
from decode.plain import unchecked
from decode.searching import search_with
from regard.answer.complete import decoding_after
from regard.bundle.generation_settings import GenerationSettings, read_settings
from regard.checkpoint.published import load_published
from regard.decode.constraints import Constraints
from regard.decode.engine import Frame, Hypothesis
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import NO_RULES, DecodingOptions, Sampling
from regard.decode.reference import ReferenceSearch, SourceSentence
from regard.engines.work import prompt_frame
from regard.errors import ConfigError
from regard.model.transformer import Transformer

V, PROMPTS, LIMIT = 96, 20, 10  # LIMIT: output tokens, the end token counted
MOST = Sampling(max_tokens=LIMIT)
LENGTHS = (1, 2, 5, 8)  # of prompts
Output = tuple[list[int], bool]  # without the end token, and whether there was one


def t5() -> Any:
    shape = dict(d_model=20, d_kv=7, d_ff=37, num_layers=2, num_heads=3)
    ids = dict(decoder_start_token_id=0, eos_token_id=1, pad_token_id=0)
    config = transformers.T5Config(vocab_size=V, tie_word_embeddings=False, **shape, **ids)
    return transformers.T5ForConditionalGeneration(config)


def marian() -> Any:
    sides = ("encoder", "decoder")
    shape = {f"{side}_{key}": n for side in sides for key, n in MARIAN.items()}
    ids = dict(decoder_start_token_id=V - 1, eos_token_id=0, pad_token_id=V - 1)
    config = transformers.MarianConfig(
        vocab_size=V, d_model=20, max_position_embeddings=64, forced_eos_token_id=None,
        **shape, **ids,
    )  # fmt: skip
    return transformers.MarianMTModel(config)


def bart() -> Any:
    sides = ("encoder", "decoder")
    shape = {f"{side}_{key}": n for side in sides for key, n in MARIAN.items()}
    ids = dict(decoder_start_token_id=2, eos_token_id=2, pad_token_id=1)
    config = transformers.BartConfig(
        vocab_size=V, d_model=20, max_position_embeddings=64, forced_eos_token_id=None,
        **shape, **ids,
    )  # fmt: skip
    return transformers.BartForConditionalGeneration(config)


def gpt2() -> Any:
    shape = dict(n_embd=24, n_head=3, n_layer=2, n_positions=61)
    ids = dict(bos_token_id=0, eos_token_id=0, pad_token_id=0)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=V, **shape, **ids))


MARIAN = {"layers": 2, "attention_heads": 5, "ffn_dim": 31}
MAKE = {"t5": t5, "marian": marian, "bart": bart, "gpt2": gpt2}
# Seeds whose outputs differ from prompt to prompt; some end, some are cut off.
SEEDS = {"t5": 12, "marian": 26, "bart": 7, "gpt2": 24}


def lively(twin: Any, seed: int) -> Any:
    """Every number drawn anew, so that no distribution is flat and outputs vary and end."""
    chance, end = torch.Generator().manual_seed(seed), twin.config.eos_token_id
    with torch.no_grad():
        for name, parameter in twin.named_parameters():
            noise = torch.randn(parameter.shape, generator=chance)
            if not parameter.requires_grad:
                continue  # a formula's table
            if parameter.dim() == 1:
                is_scale = not name.endswith("bias")
                parameter.copy_(0.1 * noise + is_scale)
            else:
                strength = 4 if "encoder_attn" in name else 2  # Marian's, or all sources are alike
                parameter.copy_(strength * noise / parameter.shape[1] ** 0.5)
        twin.get_output_embeddings().weight[end] *= 3
        if "final_logits_bias" in twin.state_dict():
            twin.final_logits_bias[0, end] = 1.0
    return twin.eval()


@dataclass
class Twins:
    """A model of theirs, its folder, and the same model of ours."""

    name: str
    folder: Path

    def __post_init__(self) -> None:
        self.theirs = lively(MAKE[self.name](), SEEDS[self.name])
        self.theirs.save_pretrained(self.folder)
        self.theirs.generation_config = transformers.GenerationConfig()
        self.theirs.double()
        self.ours: Transformer = load_published(self.folder).double().eval()
        config, names = self.theirs.config, ("eos", "pad", "decoder_start")
        values = {f"{name}_token_id": vars(config).get(f"{name}_token_id") for name in names}
        self.ids = {key: value for key, value in values.items() if value is not None}
        self.has_encoder = config.is_encoder_decoder

    @cached_property
    def plain(self) -> list[list[Output]]:
        return self.expected(3, dict(num_beams=3, max_new_tokens=LIMIT))

    @cached_property
    def prompts(self) -> list[list[int]]:
        chance = torch.Generator().manual_seed(3)
        lengths = [LENGTHS[i % len(LENGTHS)] for i in range(PROMPTS)]
        drawn = [torch.randint(4, 90, (n,), generator=chance).tolist() for n in lengths]
        return [[*ids, self.ids["eos_token_id"]] if self.has_encoder else ids for ids in drawn]

    def expected(self, count: int, settings: dict[str, Any]) -> list[list[Output]]:
        """What their generate finds: the best `count` for each prompt.

        Prompts of one length together: penalties of theirs would count padding as a part of them.
        """
        settings = self.ids | settings
        config = transformers.GenerationConfig(**settings, num_return_sequences=count)
        answers: dict[int, list[Output]] = {}
        for length in {len(prompt) for prompt in self.prompts}:
            places = [i for i, prompt in enumerate(self.prompts) if len(prompt) == length]
            rows = torch.tensor([self.prompts[i] for i in places])
            before = 1 if self.has_encoder else length
            with torch.no_grad():
                found = self.theirs.generate(
                    rows, attention_mask=torch.ones_like(rows), generation_config=config
                )[:, before:].tolist()
            for number, i in enumerate(places):
                own = found[number * count : (number + 1) * count]
                answers[i] = [ended(row, settings["eos_token_id"]) for row in own]
        return [answers[i] for i in range(len(self.prompts))]

    def found(self, count: int, settings: dict[str, Any], **more: Any) -> list[list[Output]]:
        """What ours finds with the settings as those of the folder, and `more` options."""
        read = self.read(settings)
        with unchecked():
            answers = self.search(read, replace(read.search, n_best=count, **more))
        return [[(list(h.ids), h.finished) for h in hypotheses] for hypotheses in answers]

    def search(self, read: GenerationSettings, search: DecodingOptions) -> list[list[Hypothesis]]:
        if self.has_encoder:
            return search_with(self.ours, self.prompts, search, read.rules, frame=frame_of(read))
        # Those of one length together: a least length counts the prompt too.
        answers: dict[int, list[Hypothesis]] = {}
        for length in {len(prompt) for prompt in self.prompts}:
            places = [i for i, prompt in enumerate(self.prompts) if len(prompt) == length]
            after = decoding_after(length, replace(read, search=search), MOST)
            after = replace(after, beam=search.beam, n_best=search.n_best)
            rows = [self.prompts[i] for i in places]
            frame = prompt_frame(read)
            found = search_with(self.ours, rows, after, read.rules, frame=frame)
            answers |= dict(zip(places, found, strict=True))
        return [answers[i] for i in range(len(self.prompts))]

    def greedy(self, settings: dict[str, Any]) -> list[list[int]]:
        """Without a beam; a decoder streams too."""
        read = self.read(settings)
        with unchecked():
            answers = [list(hypotheses[0].ids) for hypotheses in self.search(read, read.search)]
            if not self.has_encoder:
                engine = TorchEngine(self.ours, prompt_frame(read), read.rules)
                for prompt, ids in zip(self.prompts, answers, strict=True):
                    after = decoding_after(len(prompt), read, MOST)
                    assert list(engine.stream(prompt, after)) == ids
                engine.close()
        return answers

    def read(self, settings: dict[str, Any]) -> GenerationSettings:
        """The settings as a folder's."""
        file = self.folder / "generation_config.json"
        file.write_text(json.dumps(self.ids | settings))
        read = read_settings(self.folder, V)
        assert not read.ignored and read.search.convention == "transformers"
        return read


def ended(row: list[int], ends: int | list[int]) -> Output:
    """Until the first end token."""
    ends = ends if isinstance(ends, list) else [ends]
    places = [i for i, token in enumerate(row) if token in ends]
    return (row[: places[0]], True) if places else (row, False)


def frame_of(read: GenerationSettings) -> Frame:
    assert read.start is not None and read.pad is not None
    return Frame(read.pad, read.start, read.ends[0])


@pytest.fixture(scope="module", params=MAKE)
def twins(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Twins:
    return Twins(request.param, tmp_path_factory.mktemp(request.param))


def searched(beam: int, penalty: float, early: bool | str) -> dict[str, Any]:
    options = dict(num_beams=beam, length_penalty=penalty, early_stopping=early)
    return {**options, "max_new_tokens": LIMIT}


@pytest.mark.parametrize("early", [True, False, "never"])
@pytest.mark.parametrize("penalty", [0.6, 1.0, 2.0, -0.5])
@pytest.mark.parametrize("beam", [3, 5])
def test_every_beam_is_theirs(beam: int, penalty: float, early: bool | str, twins: Twins) -> None:
    settings = searched(beam, penalty, early)
    assert twins.found(3, settings) == twins.expected(3, settings)


def test_the_twins_show_what_the_convention_changes(twins: Twins) -> None:
    """Some outputs end, some are cut off; and some are cut off that ours would put last."""
    settings = searched(3, 2.0, False)
    expected = twins.expected(3, settings)
    assert len({tuple(outputs[0][0]) for outputs in expected}) > 12
    assert 3 < sum(outputs[0][1] for outputs in expected) < 17
    own = twins.found(3, settings, convention="regard")
    assert sum(one != other for one, other in zip(own, expected, strict=True)) > 2
    finished = [[ended for _, ended in outputs] for outputs in own]
    assert finished == [sorted(outputs, reverse=True) for outputs in finished]


EXTRA: dict[str, dict[str, Any]] = {
    "first": {"forced_bos_token_id": 7},
    "last": {"forced_eos_token_id": "its own"},
    "no token twice": {"no_repeat_ngram_size": 1},
    "no pair twice": {"no_repeat_ngram_size": 2},
    "no three twice": {"no_repeat_ngram_size": 3},
    "penalty": {"repetition_penalty": 1.4},
    "reward": {"repetition_penalty": 0.7},
    "least": {"min_length": 7},
    "never": {"bad_words_ids": [[5], [9], [11]]},
    "shared out": {"bad_words_ids": [[5], [9], [36]], "renormalize_logits": True},
    "two ends": {"eos_token_id": "its own and 20 more"},
    "all": {
        "repetition_penalty": 1.2,
        "no_repeat_ngram_size": 2,
        "min_length": 4,
        "renormalize_logits": True,
    },
}


def with_own_ids(extra: str, twins: Twins, **more: Any) -> dict[str, Any]:
    end = twins.ids["eos_token_id"]
    own = {"its own": end, "its own and 20 more": [end, *range(40, 60)]}
    return {k: own.get(v, v) if isinstance(v, str) else v for k, v in EXTRA[extra].items()} | more


@pytest.mark.parametrize("extra", EXTRA)
def test_penalties_and_forced_tokens_are_theirs(extra: str, twins: Twins) -> None:
    plain: dict[str, Any] = dict(num_beams=3, max_new_tokens=LIMIT)
    settings = with_own_ids(extra, twins, **plain)
    expected = twins.expected(3, settings)
    assert twins.found(3, settings) == expected
    assert expected != twins.plain  # it shows
    settings["num_beams"] = 1
    assert twins.greedy(settings) == [outputs[0][0] for outputs in twins.expected(1, settings)]


def test_the_reference_search_is_theirs_too(twins: Twins) -> None:
    """The one written for reading, which knows encoder–decoders only; everything at once."""
    if not twins.has_encoder:
        pytest.skip("it has no decoder-only models")
    settings = with_own_ids("all", twins, **searched(3, 2.0, False))
    read = twins.read(settings)
    search = replace(read.search, n_best=3)
    with unchecked():
        for prompt, expected in zip(twins.prompts[:4], twins.expected(3, settings), strict=False):
            sentence = SourceSentence(twins.ours, tuple(prompt), frame_of(read))
            found = ReferenceSearch(sentence, search, read.rules).run()
            assert [(list(h.ids), h.finished) for h in found] == expected


def test_a_folder_that_asks_for_a_beam_completes_with_it(tmp_path: Path) -> None:
    theirs = folders.gpt2(tmp_path / "gpt2")
    settings = dict(eos_token_id=0, pad_token_id=0, num_beams=3, repetition_penalty=1.3)
    (tmp_path / "gpt2" / "generation_config.json").write_text(json.dumps(settings))
    ours = regard.load(tmp_path / "gpt2", device="cpu")
    assert ours.tokenizer is not None and not ours.bundle.settings.ignored
    config = transformers.GenerationConfig(**settings, max_new_tokens=8)
    for prompt in ("the cat", "a red house is", "one"):
        ids = ours.tokenizer.encode(prompt).ids
        row = torch.tensor([ids])
        out = theirs.generate(row, attention_mask=torch.ones_like(row), generation_config=config)
        expected = ours.tokenizer.decode(out[0].tolist())
        assert prompt + ours.complete(prompt, max_tokens=8) == expected
        greedy = ours.complete(prompt, max_tokens=8, beam=1)
        assert prompt + greedy != expected
    with pytest.raises(ConfigError, match="beam: got 3; a draw has none"):
        ours.complete("the", beam=3, temperature=0.5)


def test_when_nothing_is_possible_ours_ends() -> None:
    """Every token used up and none may come twice: theirs would go on with one of them."""
    constraints = Constraints(
        DecodingOptions(beam=3, convention="transformers", no_repeat_ngram=1), NO_RULES, 2, (0,)
    )
    logits, outputs = torch.randn(1, 64), torch.arange(1, 64)[None]
    total = constraints.apply(logits, outputs, outputs > 0, torch.tensor([99]))
    assert logits[0].argmax() == 2 and float(logits[0, 2] - total[0]) == 0.0
    everything = torch.arange(64)[None]
    theirs = transformers.NoRepeatNGramLogitsProcessor(1)(everything, torch.randn(1, 64))
    assert (theirs == -torch.inf).all()
