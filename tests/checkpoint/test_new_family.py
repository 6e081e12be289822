"""A new family of published checkpoints is one file and one row: here ELECTRA.

The file is written next to the test and imported by name, as those of checkpoint/families are.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import folders
import parity.twins as twins
import regard
from halting import go
from refusals import refused
from regard.bundle.bundle import open_bundle
from regard.bundle.doctor import examine
from regard.bundle.hub import _lacks
from regard.bundle.tasks import TASKS
from regard.checkpoint.published import FAMILIES, load_published, save_published
from regard.convert.convert import convert
from regard.errors import CheckpointError, MisuseError
from regard.fit.train import Request
from regard.prepare.start import open_start

FILE = '''
"""ELECTRA: BERT without a pooler; one of its two models fills gaps, the other finds them."""

from regard.checkpoint.families.bert import FIELDS, FIXED, LAYER
from regard.checkpoint.families.family import Family
from regard.checkpoint.families.fields import WORDS, encoder_head, label_names, named_by
from regard.checkpoint.names import RenameRow, paired, stacked

HEADS = {"generator_predictions.dense.weight": "tokens", "classifier.weight": "labels"}
WORD_TABLE, OUTPUT = "embeddings.word_embeddings.weight", "generator_lm_head"


def _computed(config, names, read):
    return encoder_head(config, named_by(HEADS, names), config.flag("tie_word_embeddings", True))


def _written(spec):
    return {"id2label": label_names(spec)}


def _rows(spec):
    yield RenameRow(WORD_TABLE, "source_embedding.weight")
    yield RenameRow("embeddings.position_embeddings.weight", "source_embedding.positions.table")
    yield RenameRow("embeddings.token_type_embeddings.weight", "source_embedding.segments")
    yield from paired("embeddings.", "source_embedding.", {"LayerNorm": "norm"})
    yield from stacked("encoder.layer.", "encoder.layers.", spec.encoder_layers, LAYER)
    if spec.head == "tokens":
        transform = {"dense": "transform", "LayerNorm": "norm"}
        yield from paired("generator_predictions.", "output.", transform)
        yield RenameRow(f"{OUTPUT}.bias", "output.bias")
    elif spec.head == "labels":
        yield from paired("", "classifier.", {"classifier": "map"})


ELECTRA = Family(
    "electra",
    architectures={
        "tokens": "ElectraForMaskedLM",
        "labels": "ElectraForTokenClassification",
        "none": "ElectraModel",
    },
    sign=r"generator_predictions\\.dense\\.weight",
    fields=FIELDS,
    fixed=FIXED,
    computed=_computed,
    written=_written,
    rows=_rows,
    prefix="electra.",
    heads=("generator_", "classifier."),
    new_heads={"tokens": WORDS},
    equal={"embedding_size": "hidden_size"},
    harmless=(
        "summary_activation", "summary_last_dropout", "summary_type", "summary_use_proj",
    ),
    dropped={r"generator_lm_head\\.weight": "the embedding once more"},
    copies={f"{OUTPUT}.weight": WORD_TABLE},
)
'''


@pytest.fixture(autouse=True)
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the file and the row."""
    (tmp_path / "electra.py").write_text(FILE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(FAMILIES, "electra", import_module("electra").ELECTRA)


def write(folder: Path, kind: str, **more: Any) -> Any:
    """A tiny ELECTRA with a vocabulary, and its twin."""
    folder.mkdir(parents=True)
    shape = dict(embedding_size=20, hidden_size=20, num_attention_heads=5, num_hidden_layers=2)
    longest = dict(intermediate_size=37, max_position_embeddings=23)
    size = folders.write_words(folder)
    config = transformers.ElectraConfig(vocab_size=size, **shape, **longest, **more)
    twin = getattr(transformers, f"Electra{kind}")(config)
    twins.save_twin(twin, folder)
    return twin


def difference(folder: Path, twin: Any) -> float:
    """The largest between our logits and those of `transformers`."""
    ids, real = twins.ids_and_mask(80)
    with torch.no_grad():
        theirs = twin(ids, attention_mask=real.long()).logits
        ours = load_published(folder)
        return twins.closest(ours.answer(ours.encode(ids, real)), theirs, real)


def test_it_loads_and_comes_back(tmp_path: Path) -> None:
    twin = write(tmp_path / "a", "ForMaskedLM")
    assert difference(tmp_path / "a", twin) < 1e-5
    save_published(load_published(tmp_path / "a"), FAMILIES["electra"], tmp_path / "b")
    theirs = transformers.ElectraForMaskedLM.from_pretrained(tmp_path / "b").eval()
    assert difference(tmp_path / "b", theirs) == difference(tmp_path / "a", twin)
    for to, again in (("native", "hf"), ("hf", "native")):
        once = convert(tmp_path / "a", tmp_path / to / "once", to)
        twice = convert(tmp_path / to / "once", tmp_path / to / "twice", again)
        assert once.same_bits and twice.same_bits and once.family == twice.family == "electra"
        assert difference(tmp_path / to / "twice", twin) < 1e-5


def test_a_bundle_knows_what_it_is(tmp_path: Path) -> None:
    write(tmp_path / "words", "ForMaskedLM")
    write(tmp_path / "labels", "ForTokenClassification", num_labels=3)
    write(tmp_path / "bare", "Model")
    bundles = {name: open_bundle(tmp_path / name) for name in ("words", "labels", "bare")}
    tasks = {name: bundle.tasks for name, bundle in bundles.items()}
    assert tasks["words"] == ("fill", "embed") and tasks["bare"] == ("embed",)
    assert tasks["labels"] == ("tag", "classify", "embed")
    assert str(bundles["bare"]).endswith("(electra with head 'none')")
    assert len(bundles["labels"].labels.names) == bundles["labels"].spec.classes == 3
    with refused(MisuseError, subject="fill", advice="it offers embed, logits"):
        bundles["bare"].demand("fill")
    model = regard.load(tmp_path / "words", device="cpu")
    assert model.fill("the [MASK] sat on the mat.") and model.embed(["a cat"]).shape == (1, 20)


def test_the_doctor_and_the_hub_know_it(tmp_path: Path) -> None:
    write(tmp_path / "words", "ForMaskedLM")
    write(tmp_path / "bare", "Model")
    diagnosis = examine(tmp_path / "words")
    assert diagnosis.runs and diagnosis.family == "electra"
    assert diagnosis.how == TASKS["fill"].command.format(tmp_path / "words")
    assert examine(tmp_path / "bare").how == TASKS["embed"].command.format(tmp_path / "bare")
    (tmp_path / "words/config.json").unlink()
    assert examine(tmp_path / "words").family == "electra"
    assert _lacks(tmp_path / "bare")  # it may be an encoder of sentences
    (tmp_path / "bare/modules.json").write_text("[]")
    assert not _lacks(tmp_path / "bare")


def test_what_its_row_does_not_say_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "m", "ForSequenceClassification")  # another kind of head
    with refused(CheckpointError, problem="belong to no part of this model"):
        load_published(tmp_path / "m")


@pytest.mark.end_to_end
def test_training_starts_from_it_and_goes_back_to_it(tmp_path: Path) -> None:
    write(tmp_path / "bare", "Model")
    assert open_start(tmp_path / "bare").family.name == "electra"
    (tmp_path / "t.txt").write_text("".join(f"{line}\n" for line in folders.LINES[:200]))
    (tmp_path / "r.toml").write_text(
        f'objective = "fill"\n[data]\ntexts = "{tmp_path}/t.txt"\nvalidation = 20\n'
        f'[train]\nstart_from = "{tmp_path}/bare"\nsteps = 3\ntoken_budget = 400\n'
        'schedule = "constant"\nrate = 0.001\nwarmup = 1\nthreads = 1\nworkers = 1\n'
        'precision = "fp32"\n'
    )
    go(Request(recipe=tmp_path / "r.toml", assignments=(), folder=tmp_path / "run"))
    assert examine(tmp_path / "run").how == TASKS["fill"].command.format(tmp_path / "run")
    spec = open_bundle(tmp_path / "run").spec
    assert (spec.head, spec.output_transform, spec.output_bias) == ("tokens", True, True)
    assert convert(tmp_path / "run", tmp_path / "hf", "hf").family == "electra"
    theirs = transformers.ElectraForMaskedLM.from_pretrained(tmp_path / "hf").eval()
    assert difference(tmp_path / "hf", theirs) < 1e-5
