"""Every family's tables, row by row: what is dropped, exchanged, left over or named otherwise."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import parity.test_bart as bart
import parity.test_bert as bert
import parity.test_distilbert as distilbert
import parity.test_gpt2 as gpt2
import parity.test_llama as llama
import parity.test_marian as marian
import parity.test_mistral as mistral
import parity.test_qwen2 as qwen2
import parity.test_roberta as roberta
import parity.test_t5 as t5
import parity.test_vit as vit
import parity.twins as twins
import regard.checkpoint.published as published
from regard.checkpoint.families.family import Family
from regard.checkpoint.names import RenameRow
from regard.checkpoint.published import FAMILIES, load_published
from regard.errors import CheckpointError
from regard.model.transformer import Transformer

# a family, a point, what differs → its twin; two layers in each stack where the shape allows it
CASES: dict[str, Callable[[], Any]] = {
    **{f"bert.{head}": lambda head=head: bert.twin(head, "one") for head in bert.HEADS},
    "bert.own output": lambda: bert.twin("masked", "one", tie_word_embeddings=False),
    **{f"distilbert.{h}": lambda h=h: distilbert.twin(h, "one") for h in distilbert.HEADS},
    "distilbert.own output": lambda: distilbert.twin("masked", "one", tie_word_embeddings=False),
    **{f"roberta.{head}": lambda head=head: roberta.twin(head, "one") for head in roberta.HEADS},
    "roberta.own output": lambda: roberta.twin("masked", "one", tie_word_embeddings=False),
    "xlm-roberta.classes": lambda: roberta.twin_of_xlm("classes"),
    **{f"vit.{head}": lambda head=head: vit.twin(head, "one") for head in vit.HEADS},
    "vit.few biases": lambda: vit.twin("classes", "two"),
    "gpt2.tied": lambda: gpt2.twin("one"),
    "gpt2.own output": lambda: gpt2.twin("own head"),
    "llama.tied": lambda: llama.twin("tied"),
    "llama.own output": lambda: llama.twin("one head each"),
    "llama.biases": lambda: llama.twin("grouped"),
    "mistral.own output": lambda: mistral.twin("grouped"),
    "qwen2.tied": lambda: qwen2.twin("tied"),
    "qwen2.own output": lambda: qwen2.twin("grouped"),
    "t5.1.0": lambda: t5.twin("1.0", "one", tied=True),
    "t5.1.1": lambda: t5.twin("1.1", "one", tied=False),
    **{f"marian.{t}": lambda t=t: marian.twin("three", **marian.TIES[t]) for t in marian.TIES},
    **{f"bart.{t}": lambda t=t: bart.twin("one", **bart.TIES[t]) for t in bart.TIES},
}
# families whose files name the trunk with a prefix under a head and without one alone
PREFIXED = [name for name in CASES if FAMILIES[name.partition(".")[0]].prefix]
Folder = Callable[[str], Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The folder of a case, written once, to be read only.

    Its norms have large weights. With small ones the vectors of a text are nearly equal, attention
    has nothing to choose from, and W_Q in the place of W_K hardly shows.
    """

    @cache
    def made(case: str) -> Path:
        twin, place = CASES[case](), tmp_path_factory.mktemp("case")
        twins.redraw(twin)
        with torch.no_grad():
            for name, parameter in twin.named_parameters():
                if parameter.dim() == 1 and name.endswith("weight"):
                    parameter *= 3
        twin.save_pretrained(place)
        return place

    return made


@pytest.fixture(autouse=True)
def _shapes_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of loads of the same few specs."""
    monkeypatch.setattr(published, "weights_of", cache(published.weights_of))


@pytest.fixture
def _headers_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that change tables and no file."""
    monkeypatch.setattr(published, "find_weights", cache(published.find_weights))


def test_every_family_has_a_case() -> None:
    assert {case.partition(".")[0] for case in CASES} == FAMILIES.keys()


def family_of(case: str) -> Family:
    return FAMILIES[case.partition(".")[0]]


def copy(source: Path, folder: Path, tensors: dict[str, Tensor]) -> Path:
    """A folder with the config of another one and these tensors."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text((source / "config.json").read_text())
    save_file({n: t.contiguous() for n, t in tensors.items()}, folder / "model.safetensors")
    return folder


@torch.no_grad()
def answers(model: Transformer) -> Tensor:
    """All that a model says to one input, in a row; of a trunk its vectors, pooled and not."""
    spec, chance = model.spec, torch.Generator().manual_seed(1)
    if spec.image_size:
        size = (2, spec.channels, spec.image_size, spec.image_size)
        memory = model.see(torch.randn(size, generator=chance))
    elif spec.encoder_layers:
        ids, real = twins.ids_and_mask(spec.vocabulary)
        if spec.decoder_layers:
            return model(ids, ids.flip(1), real).flatten()
        segments = ids % spec.segments if spec.segments else None
        memory = model.encode(ids, real, None, segments)
    else:
        ids, _ = twins.ids_and_mask(spec.vocabulary)
        return model.token_logits(model.decode(ids)).flatten()
    if spec.head != "none":
        return model.answer(memory).flatten()
    pooled = model.pooler(memory) if model.pooler else memory[:, 0]
    return torch.cat((memory.flatten(), pooled.flatten()))


def with_rows(family: Family, rows: Iterable[RenameRow]) -> Family:
    return replace(family, rows=lambda _, rows=tuple(rows): rows)


@pytest.mark.usefixtures("_headers_are_read_once")
@pytest.mark.parametrize("case", CASES)
def test_a_table_without_any_one_of_its_rows_is_noticed(
    case: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    family, place = family_of(case), folder(case)
    rows = list(family.rows(load_published(place).spec))
    assert len(rows) > 18
    for dropped in rows:
        kept = with_rows(family, (row for row in rows if row is not dropped))
        monkeypatch.setitem(FAMILIES, family.name, kept)
        with pytest.raises(CheckpointError) as refusal:
            load_published(place)
        assert any(repr(name) in str(refusal.value) for name in (dropped.theirs, *dropped.names))


def exchanged(
    rows: list[RenameRow], shapes: dict[str, torch.Size]
) -> Iterator[tuple[RenameRow, list[RenameRow]]]:
    """Tables in which two neighbours of one shape have each other's place, or W_Q is W_K."""
    alike: dict[Any, list[RenameRow]] = {}
    for row in rows:
        alike.setdefault((row.how, row.shape, shapes[row.names[0]], len(row.names)), []).append(row)
    pairs = [pair for group in alike.values() for pair in pairwise(group)]
    for one, two in pairs:
        swap = {one: replace(one, ours=two.ours), two: replace(two, ours=one.ours)}
        yield one, [swap.get(row, row) for row in rows]
    for row in rows:
        if len(row.names) > 1:
            query, key, *rest = row.names
            turned = replace(row, ours=(key, query, *rest))
            yield row, [turned if other is row else other for other in rows]


@pytest.mark.usefixtures("_headers_are_read_once")
@pytest.mark.parametrize(
    "case",
    [
        "bert.classes",
        "distilbert.masked",
        "roberta.classes",
        "vit.classes",
        "gpt2.own output",
        "llama.biases",
        "t5.1.0",
        "marian.none",
    ],
)
def test_two_rows_of_one_shape_in_each_others_place_change_the_answers(
    case: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    family, place = family_of(case), folder(case)
    model = load_published(place)
    expected = answers(model)
    shapes = {name: p.shape for name, p in model.named_parameters()}
    tables = list(exchanged(list(family.rows(model.spec)), shapes))
    assert len(tables) > 18
    for row, table in tables[:: 1 + len(tables) // 27]:  # a sample where there are many
        monkeypatch.setitem(FAMILIES, family.name, with_rows(family, table))
        assert twins.closest(answers(load_published(place)), expected) > 1e-2, row


def a_copy(of: str) -> Callable[[dict[str, Tensor]], Tensor]:
    return lambda tensors: tensors[of].clone()


def noise(*shape: int) -> Callable[[dict[str, Tensor]], Tensor]:
    return lambda _: torch.randn(shape)


def counted(_: dict[str, Tensor]) -> Tensor:
    return torch.arange(23)[None]


def look_ahead(_: dict[str, Tensor]) -> Tensor:
    return torch.ones(1, 1, 23, 23).tril()


def waves(_: dict[str, Tensor]) -> Tensor:
    """sin of all pairs, then cos of all pairs, of 67 positions."""
    angle = torch.arange(67)[:, None] / 10_000 ** (torch.arange(0, 14, 2) / 14)
    return torch.cat((angle.sin(), angle.cos()), dim=1)


ROBERTA_WORDS = "roberta.embeddings.word_embeddings.weight"
BERT_WORDS, MARIAN_WORDS = "bert.embeddings.word_embeddings.weight", "model.shared.weight"
CROSS = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
ROBERTA_POOLER = {
    "roberta.pooler.dense.weight": noise(20, 20),
    "roberta.pooler.dense.bias": noise(20),
}
# case → what real files of it hold beside the model: name → the tensor, given the others
LEFT_OVER: dict[str, dict[str, Callable[[dict[str, Tensor]], Tensor]]] = {
    "bert.masked": {
        "bert.embeddings.position_ids": counted,
        "cls.predictions.decoder.weight": a_copy(BERT_WORDS),
        "cls.predictions.decoder.bias": a_copy("cls.predictions.bias"),
        "cls.seq_relationship.weight": noise(2, 20),
        "cls.seq_relationship.bias": noise(2),
    },
    "bert.own output": {"cls.predictions.bias": a_copy("cls.predictions.decoder.bias")},
    "distilbert.masked": {"distilbert.embeddings.position_ids": counted},
    "roberta.masked": {
        "roberta.embeddings.position_ids": counted,
        "lm_head.decoder.weight": a_copy(ROBERTA_WORDS),
        "lm_head.decoder.bias": a_copy("lm_head.bias"),
    },
    "roberta.own output": {"lm_head.bias": a_copy("lm_head.decoder.bias")},
    "roberta.classes": ROBERTA_POOLER,
    "vit.classes": {
        "vit.pooler.dense.weight": noise(20, 20),
        "vit.pooler.dense.bias": noise(20),
        "vit.embeddings.mask_token": noise(1, 1, 20),
        "decoder.0.weight": noise(147, 20, 1, 1),
        "decoder.0.bias": noise(147),
    },
    "gpt2.tied": {
        "transformer.h.0.attn.bias": look_ahead,
        "transformer.h.1.attn.masked_bias": lambda _: torch.tensor(-1e4),
        "multiple_choice_head.summary.weight": noise(1, 15),
        "multiple_choice_head.summary.bias": noise(1),
    },
    "llama.own output": {
        "model.layers.1.self_attn.rotary_emb.inv_freq": noise(2),
        "model.rotary_emb.inv_freq": noise(2),
    },
    "t5.1.0": {
        "encoder.embed_tokens.weight": a_copy("shared.weight"),
        "decoder.embed_tokens.weight": a_copy("shared.weight"),
        CROSS: noise(7, 3),
    },
    "marian.all": {
        "model.encoder.embed_positions.weight": waves,
        "model.decoder.embed_positions.weight": waves,
        "model.encoder.embed_tokens.weight": a_copy(MARIAN_WORDS),
        "model.decoder.embed_tokens.weight": a_copy(MARIAN_WORDS),
    },
    "marian.target": {MARIAN_WORDS: noise(101, 14)},
    "bart.all": {
        "model.encoder.embed_tokens.weight": a_copy(MARIAN_WORDS),
        "model.decoder.embed_tokens.weight": a_copy(MARIAN_WORDS),
    },
    "bart.none": {MARIAN_WORDS: noise(101, 20)},
}


@pytest.mark.parametrize("case", LEFT_OVER)
def test_what_a_family_declares_as_dropped_changes_nothing(
    case: str, folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family, whole = family_of(case), load_file(folder(case) / "model.safetensors")
    left = {name: make(whole) for name, make in LEFT_OVER[case].items()}
    plain = {name: tensor for name, tensor in whole.items() if name not in left}
    expected = answers(load_published(copy(folder(case), tmp_path, plain)))
    assert torch.equal(
        answers(load_published(copy(folder(case), tmp_path, plain | left))), expected
    )
    # It is the declaration that lets them in: without it each is refused by its name.
    monkeypatch.setitem(FAMILIES, family.name, replace(family, dropped={}))
    for name, tensor in left.items():
        copy(folder(case), tmp_path, plain | {name: tensor})
        with pytest.raises(CheckpointError, match=re.escape(name.removeprefix(family.prefix))):
            load_published(tmp_path)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_each_declaration_is_met_by_some_file(family: Family) -> None:
    cases = [left for case, left in LEFT_OVER.items() if family_of(case).rows is family.rows]
    names = {name.removeprefix(family.prefix) for left in cases for name in left}
    for pattern, reason in family.dropped.items():
        assert any(re.fullmatch(pattern, name) for name in names), pattern
        assert len(reason) >= len("0, 1, 2, …")
    assert names >= family.copies.keys() | family.formulas.keys()


@pytest.mark.parametrize("case", CASES)
def test_what_no_family_declares_is_refused_by_its_name(
    case: str, folder: Folder, tmp_path: Path
) -> None:
    whole = load_file(folder(case) / "model.safetensors")
    last = max(whole)
    for name in ("extra", f"{last}_scale", f"{family_of(case).prefix}adapter.weight"):
        copy(folder(case), tmp_path, whole | {name: torch.zeros(2)})
        plain = name.removeprefix(family_of(case).prefix)
        with pytest.raises(CheckpointError, match=f"belong to no part .*{re.escape(repr(plain))}"):
            load_published(tmp_path)


@pytest.mark.parametrize("case", PREFIXED)
def test_the_prefix_may_be_missing_or_there(case: str, folder: Folder, tmp_path: Path) -> None:
    family, whole = family_of(case), load_file(folder(case) / "model.safetensors")
    bare = {name.removeprefix(family.prefix): tensor for name, tensor in whole.items()}
    full = {
        name if name.startswith(family.heads) else family.prefix + name: tensor
        for name, tensor in bare.items()
    }
    assert len({frozenset(names) for names in (bare, full, whole)}) == 2  # one of them is new
    expected = answers(load_published(folder(case)))
    for named in (bare, full):
        again = load_published(copy(folder(case), tmp_path, named))
        assert torch.equal(answers(again), expected)


LAYER_NORMS = [case for case in CASES if family_of(case).fixed.get("norm") != "rms"]


@pytest.mark.parametrize("case", LAYER_NORMS)
def test_norms_may_be_called_gamma_and_beta(case: str, folder: Folder, tmp_path: Path) -> None:
    whole = load_file(folder(case) / "model.safetensors")
    norm = r"((?:LayerNorm|layer_?norm\w*|ln_\w+)\.)"
    names = {
        name: re.sub(f"{norm}weight$", r"\1gamma", re.sub(f"{norm}bias$", r"\1beta", name))
        for name in whole
    }
    changed = [name for old, name in names.items() if name != old]
    layers = {match[0] for name in whole if (match := re.search(r"\w+\.\w*\.?\d+\.", name))}
    assert len(changed) >= 4 * len(layers)  # weight and bias of two norms a layer, or more
    old = copy(folder(case), tmp_path, {names[name]: tensor for name, tensor in whole.items()})
    expected = answers(load_published(folder(case)))
    assert torch.equal(answers(load_published(old)), expected)
