"""A walk through every kind of model: its equations hold in numpy, its ends are `transformers`'."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import special

import folders
from explain.test_walk import find, softmax, values
from regard.api.load import load
from regard.api.model import Model
from regard.draw.worksheet.worksheet import Matrix, Worksheet
from regard.errors import MisuseError
from regard.explain.traced_pass import trace_pass
from regard.explain.walk import walk

TEXT, QUERY, HEAD = "the red cat sat on a mat", 3, 2  # the query counts from 1
Twin = tuple[Any, Model]


MAKE: dict[str, Callable[[Path], Any]] = {
    "gpt2": folders.gpt2,
    "llama": folders.llama,
    "bert": lambda folder: folders.bert(folder, "MaskedLM"),
    "classes": lambda folder: folders.bert(
        folder, "SequenceClassification", id2label=folders.LABELS
    ),
    "labels": lambda folder: folders.bert(
        folder, "TokenClassification", "distilbert", id2label=folders.LABELS
    ),
    "t5": folders.t5,
    "flan": lambda folder: folders.t5(
        folder, feed_forward_proj="gated-gelu", tie_word_embeddings=False
    ),
    "marian": folders.marian,
    "bart": folders.bart,
}
BOTH = ("t5", "flan", "marian", "bart")
CASES = [
    *((name, "decoder") for name in ("gpt2", "llama", *BOTH)),
    *((name, "encoder") for name in ("bert", "classes", "labels", *BOTH)),
    *((name, "cross") for name in BOTH),
]
each_case = pytest.mark.parametrize(("name", "kind"), CASES)


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Twin]:
    root = tmp_path_factory.mktemp("twins")
    made = {name: make(root / name) for name, make in MAKE.items()}
    for theirs in made.values():
        theirs.set_attn_implementation("eager")
    return {name: (theirs.eval(), load(root / name, "cpu")) for name, theirs in made.items()}


def answer_of(name: str) -> str | None:
    given = {"gpt2": " a dog", "llama": " a dog", **dict.fromkeys(BOTH, "a dog sat")}
    return given.get(name)


@torch.no_grad()
def theirs_of(name: str, twin: Twin) -> Any:
    """What the twin says to the same tokens."""
    theirs, model = twin
    sides = trace_pass(model, TEXT, answer_of(name)).sides
    rows = {side: torch.tensor([tokens.ids]) for side, tokens in sides.items()}
    if len(rows) == 2:
        return theirs(rows["source"], decoder_input_ids=rows["target"], output_attentions=True)
    return theirs(*rows.values(), output_attentions=True)


def walked(name: str, kind: str, layer: int, twin: Twin) -> Worksheet:
    return walk(twin[1], TEXT, kind, layer, HEAD, str(QUERY), answer_of(name))


def weights_of(model: Model, stack: str, layer: int, part: str) -> dict[str, np.ndarray]:
    prefix = f"{stack}.layers.{layer}.{part}."
    state = model.transformer.state_dict()
    return {k.removeprefix(prefix): v.numpy() for k, v in state.items() if k.startswith(prefix)}


def linear(x: np.ndarray, weights: dict[str, np.ndarray], name: str) -> np.ndarray:
    return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", np.zeros(1))


def normed(x: np.ndarray, weights: dict[str, np.ndarray], model: Model) -> np.ndarray:
    gain, shift = weights["weight"], weights.get("bias", np.zeros(1))
    x = x.astype(np.float64)
    if model.spec.norm == "layer":
        x = x - x.mean(axis=-1, keepdims=True)
    result: np.ndarray = (
        gain * x / np.sqrt((x**2).mean(-1, keepdims=True) + model.spec.norm_epsilon)
    )
    return result + shift


def activated(z: np.ndarray, name: str) -> np.ndarray:
    by_name = {
        "relu": lambda: np.maximum(0, z),
        "gelu": lambda: z * special.ndtr(z),
        "gelu_tanh": lambda: z / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))),
        "silu": lambda: z * special.expit(z),
    }
    return np.asarray(by_name[name]())


def turned(x: np.ndarray, base: float) -> np.ndarray:
    """Rotary positions as complex numbers: (a + ib) e^{iθ}."""
    half = x.shape[1] // 2
    theta = np.arange(len(x))[:, None] * base ** (-2 * np.arange(half) / x.shape[1])
    pairs = (x[:, :half] + 1j * x[:, half:]) * np.exp(1j * theta)
    return np.concatenate((pairs.real, pairs.imag), axis=1)


def near(one: np.ndarray, other: np.ndarray) -> bool:
    """Equal to about five digits of the largest."""
    return bool(np.abs(one - other).max() < 2e-5 * max(1.0, float(np.abs(other).max())))


@each_case
def test_the_input_is_the_sum_of_its_parts(name: str, kind: str, twins: dict[str, Twin]) -> None:
    model, sheet = twins[name][1], walked(name, kind, 1, twins[name])
    spec, titles = model.spec, [step.title for step in sheet.steps]
    embedding = "source_embedding" if kind == "encoder" else "target_embedding"
    state = {k: v.numpy() for k, v in model.transformer.state_dict().items()}
    ids = find(sheet, "Tokens")[0].values[:, 1]
    e = values(sheet, "Embedding")
    assert e.tolist() == state[f"{embedding}.weight"][ids].tolist()
    x = e * np.sqrt(spec.d_model) if spec.embedding_scale else e
    assert spec.embedding_scale == any(title.startswith("Times √d_model") for title in titles)
    if spec.segments:
        assert near(values(sheet, "Segment"), state[f"{embedding}.segments"][[0] * len(ids)])
        x = x + values(sheet, "Segment")
    if spec.positions in ("learned", "halves"):
        pe = values(sheet, "Position")
        if spec.positions == "learned":
            assert pe.tolist() == state[f"{embedding}.positions.table"][: len(ids)].tolist()
        else:
            angle = np.arange(len(ids))[:, None] / 10000 ** (np.arange(0, 20, 2) / 20)
            assert near(pe, np.concatenate((np.sin(angle), np.cos(angle)), axis=1))
        x = x + pe
        assert near(values(sheet, "Word and place"), x)
    else:
        assert not find(sheet, "Position") and "Word and place together" not in titles
    if spec.embedding_norm:
        weights = {p: state[f"{embedding}.norm.{p}"] for p in ("weight", "bias")}
        x = values(sheet, "Norm of the embedding")
        assert near(x, normed(values(sheet, "Word and place"), weights, model))
    first = values(sheet, "Norm before the attention") if spec.norm_order == "pre" else x
    if kind != "cross":  # which begins with the self-attention's result
        assert near(first, layer_input(model, kind, x))


def layer_input(model: Model, stack: str, x: np.ndarray) -> np.ndarray:
    if model.spec.norm_order == "post":
        return x
    return normed(x, weights_of(model, stack, 0, "attention_norm.norm"), model)


@each_case
def test_the_attention_is_theirs(name: str, kind: str, twins: dict[str, Twin]) -> None:
    """Projections, rotation, scores, distances, mask and softmax, then the twin's own weights."""
    theirs, model = twins[name]
    spec, sheet = model.spec, walked(name, kind, 2, twins[name])
    stack, part = ("encoder", "attention") if kind == "encoder" else ("decoder", "attention")
    mine = weights_of(model, stack, 1, "cross" if kind == "cross" else part)
    size, shared = spec.k, spec.heads // spec.groups
    own, others = slice((HEAD - 1) * size, HEAD * size), (HEAD - 1) // shared
    kept = slice(others * size, (others + 1) * size)
    q, k, v = (matrix.values for matrix in find(sheet, "Queries, keys"))
    reads = (
        values(sheet, "Norm before the attention")
        if spec.norm_order == "pre"
        else values(sheet, "Masked self-attention" if kind == "cross" else "Layer 1 of the")
    )
    memory = values(sheet, "The memory: the encoder") if kind == "cross" else reads
    assert near(q, linear(reads, mine, "query")[:, own])
    assert near(k, linear(memory, mine, "key")[:, kept])
    assert near(v, linear(memory, mine, "value")[:, kept])
    if spec.positions == "rotary":
        q, k = turned(q, spec.rotary_base), turned(k, spec.rotary_base)
        seen_q, seen_k = (matrix.values for matrix in find(sheet, "Queries and keys are turned"))
        assert near(seen_q, q) and near(seen_k, k)
    scores = values(sheet, "Scores: every")
    assert near(scores, q @ k.T)
    if spec.score_scale:
        scores = values(sheet, "Divided by √d_k")
        assert near(scores, q @ k.T / np.sqrt(size))
    else:
        assert find(sheet, "Not divided by") == []
    if spec.positions == "relative" and kind != "cross":
        bias = values(sheet, "Relative positions")
        first = getattr(theirs, stack).block[0].layer[0].SelfAttention
        with torch.no_grad():
            expected = first.compute_bias(len(q), len(k))[0, HEAD - 1].numpy()
        assert near(bias, expected)
        scores = values(sheet, "Scores with their distances")
        assert near(scores, values(sheet, "Scores: every") + bias)
    if kind == "decoder":
        scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)
        assert values(sheet, "Mask") == pytest.approx(scores)
    weights = values(sheet, "Softmax")
    assert weights == pytest.approx(softmax(scores), abs=1e-6)
    out = theirs_of(name, twins[name])
    if name in BOTH:
        layers = {"cross": "cross_attentions"}.get(kind, f"{kind}_attentions")
        expected = getattr(out, layers)[1]
    else:
        expected = out.attentions[1]
    assert weights == pytest.approx(expected[0, HEAD - 1].numpy(), abs=1e-5)
    o = values(sheet, "W_O mixes")
    assert near(o, linear(values(sheet, "Concat"), mine, "output"))


@each_case
def test_what_comes_after_the_attention(name: str, kind: str, twins: dict[str, Twin]) -> None:
    """The feed-forward network of the last layer, its sum and norms."""
    model, sheet = twins[name][1], walked(name, kind, 2, twins[name])
    spec, stack = model.spec, "encoder" if kind == "encoder" else "decoder"
    feed = weights_of(model, stack, 1, "feed_forward")
    norm = weights_of(model, stack, 1, "feed_forward_norm.norm")
    hidden, out = (values(sheet, f"Feed-forward network: the {part}") for part in ("hid", "out"))
    sums = [step.parts[0] for step in sheet.steps if step.title in ("Add", "Norm")]
    assert all(isinstance(part, Matrix) for part in sums)
    tables = [part.values for part in sums if isinstance(part, Matrix)]
    if spec.norm_order == "pre":
        reads, before = values(sheet, "Norm before the feed-forward"), tables[0]
        if kind == "decoder" and name in BOTH:
            before = values(sheet, "Cross-attention of this layer")
        assert near(reads, normed(before, norm, model))
    else:
        reads = before = tables[1]
        if kind == "decoder" and name in BOTH:
            reads = before = values(sheet, "Cross-attention of this layer")
    inner = activated(linear(reads, feed, "inner"), spec.activation)
    if spec.gated:
        assert near(values(sheet, "Feed-forward network: what may"), inner)
        gate = values(sheet, "Feed-forward network: the gate")
        assert near(gate, linear(reads, feed, "gate"))
        inner = inner * gate
    assert near(hidden, inner) and near(out, linear(hidden, feed, "outer"))
    added = tables[1] if spec.norm_order == "pre" else tables[2]
    assert near(added, before + out)
    state = {k: v.numpy() for k, v in model.transformer.state_dict().items()}
    if spec.norm_order == "pre":
        last = {
            part: state[f"{stack}.norm.{part}"]
            for part in ("weight", "bias")
            if f"{stack}.norm.{part}" in state
        }
        assert near(values(sheet, "The last norm"), normed(added, last, model))
    else:
        assert near(tables[3], normed(added, norm, model))


@each_case
def test_the_walk_ends_where_they_end(name: str, kind: str, twins: dict[str, Twin]) -> None:
    """The logits of the last step are the twin's, with their probabilities."""
    model, sheet = twins[name][1], walked(name, kind, 1, twins[name])
    logits = theirs_of(name, twins[name]).logits[0].numpy()
    if kind == "encoder" and name in BOTH:
        assert sheet.steps[-1].title == "The memory is ready"
        return
    last = sheet.steps[-1].parts[0]
    assert isinstance(last, Matrix)
    if name == "classes":
        assert last.values[:, 0] == pytest.approx(logits, abs=1e-5)
        assert last.values[:, 1] == pytest.approx(softmax(logits), abs=1e-6)
        assert list(last.rows) == list(folders.LABELS.values())
        return
    row = logits[QUERY - 1]
    if name == "labels":
        assert last.values[:, 0] == pytest.approx(row, abs=1e-5)
        return
    assert last.values[:, 0] == pytest.approx(np.sort(row)[::-1][:10], abs=2e-5)
    assert last.values[:, 1] == pytest.approx(np.sort(softmax(row))[::-1][:10], abs=1e-5)
    if model.spec.output_transform or model.spec.output_scale:
        title = "Before the logits" if model.spec.output_transform else "Divided by √d_model"
        prepared = values(sheet, title)[QUERY - 1]
        output = model.transformer.output
        assert output is not None
        matrix = output.weight.detach().numpy()
        bias = 0 if output.bias is None else output.bias.detach().numpy()
        assert np.sort(prepared @ matrix.T + bias)[::-1][:10] == pytest.approx(
            last.values[:, 0], abs=2e-5
        )


def test_formulas_say_what_a_model_has(twins: dict[str, Twin]) -> None:
    def formulas(name: str, kind: str) -> list[str]:
        return [step.equation for step in walked(name, kind, 1, twins[name]).steps]

    llama = formulas("llama", "decoder")
    assert "Q = y W_Q,  K = y W_K,  V = y W_V" in llama and "o = C W_O" in llama
    assert "a = SiLU(y W_1)" in llama and "h = a ⊙ g" in llama
    assert "y = RMSNorm(x) = γ · x / √(mean of x² + ε)" in llama
    assert llama[-1] == "logits = x W,  p = softmax(logits)"
    gpt2 = formulas("gpt2", "decoder")
    assert "Q = y W_Q + b_Q,  K = y W_K + b_K,  V = y W_V + b_V" in gpt2
    assert "x = e + PE" in gpt2 and "h = GELU(y W_1 + b_1)" in gpt2
    assert formulas("bart", "decoder")[-1] == "logits = x Eᵀ + b,  p = softmax(logits)"
    assert formulas("bert", "encoder")[-2] == "y = LayerNorm(GELU(x W_T + b_T))"
    assert "v = tanh(x W_P + b_P)" in formulas("classes", "encoder")
    assert formulas("t5", "decoder")[-1] == "logits = y Eᵀ,  p = softmax(logits)"


def test_without_a_kind_it_is_the_one_there_is(twins: dict[str, Twin]) -> None:
    assert walk(twins["gpt2"][1], TEXT, max_tokens=1).title.startswith("Masked self-attention")
    assert walk(twins["t5"][1], TEXT).title.startswith("Encoder self-attention")
    own = walk(twins["gpt2"][1], TEXT, max_tokens=2)
    assert own.subtitle == f"{TEXT} → {twins['gpt2'][1].complete(TEXT, max_tokens=2)}"
    with pytest.raises(MisuseError, match="this model has decoder self-attention only"):
        walk(twins["gpt2"][1], TEXT, "cross")
    grouped = find_note(walk(twins["llama"][1], TEXT, head=4), "Queries, keys")
    assert "Heads share K and V by 3s; this is K and V 2." in grouped


def find_note(sheet: Worksheet, title: str) -> str:
    (note,) = [step.note for step in sheet.steps if step.title.startswith(title)]
    return note
