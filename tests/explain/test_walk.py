"""A walk: its numbers are the trace's, its equations hold in numpy, the trace changes nothing."""

from typing import Any

import numpy as np
import pytest
import torch

from in_memory import model_of
from regard.api.model import Model
from regard.decode.options import DecodingOptions
from regard.draw.worksheet.worksheet import Line, Matrix, Sum, Worksheet
from regard.errors import MisuseError
from regard.explain.traced_pass import trace_pass
from regard.explain.walk import walk
from regard.model.kernels import plain_kernels
from regard.model.presets import preset
from regard.model.trace import Trace
from regard.model.transformer import Transformer
from regard.text.tokenizer import Tokenizer

TEXT, OUTPUT = "the old house.", "das alte Haus 7."
VARIANTS: list[dict[str, Any]] = [
    {},
    {"norm_order": "pre"},
    {"positions": "learned", "max_length": 60, "activation": "gelu", "kv_heads": 2},
    {"norm_order": "pre", "head_size": 24, "tie": "none"},
]
SMALL = {"d_model": 32, "ffn_size": 48, "encoder_layers": 3, "decoder_layers": 3}
KINDS = ["encoder", "decoder", "cross"]
ids = pytest.mark.parametrize("changes", VARIANTS, ids=str)


def make(changes: dict[str, Any]) -> Model:
    tokenizer = Tokenizer.train([TEXT, OUTPUT], size=290)
    transformer = Transformer(preset("tiny", tokenizer.size, **{**SMALL, **changes})).eval()
    with torch.no_grad():  # norms and biases that do nothing would hide a forgotten one
        for parameter in transformer.parameters():
            if parameter.ndim == 1:
                parameter += 0.1 * torch.randn(parameter.shape)
    return model_of(transformer, tokenizer, DecodingOptions(beam=1, max_length=5))


def both_sides(model: Model) -> tuple[torch.Tensor, torch.Tensor]:
    tokenizer = model.bundle.own_tokenizer
    special = tokenizer.special
    source = torch.tensor([[*tokenizer.encode(TEXT), special.eos]])
    return source, torch.tensor([[special.bos, *tokenizer.encode(OUTPUT)]])


def find(sheet: Worksheet, title: str) -> list[Matrix]:
    """The matrices of the one step whose title begins so."""
    (step,) = [step for step in sheet.steps if step.title.startswith(title)]
    return [part for part in step.parts if isinstance(part, Matrix)]


def values(sheet: Worksheet, title: str) -> np.ndarray:
    (matrix,) = find(sheet, title)
    return matrix.values


@ids
def test_a_traced_pass_is_the_plain_pass(changes: dict[str, Any]) -> None:
    """The explicit path (that of plain kernels) gives the same bits, the fused one 1e-5."""
    model = make(changes)
    done = trace_pass(model, TEXT, OUTPUT)
    traced = done.trace["logits"]
    with torch.enable_grad(), plain_kernels(model.transformer):
        explicit = model.transformer(*both_sides(model)).detach()
    assert torch.equal(explicit, traced)
    with torch.inference_mode():
        fused = model.transformer(*both_sides(model))
    assert torch.allclose(fused, traced, atol=1e-5)


def sub_layer(stack: str, layer: int, part: str, pre: bool) -> list[str]:
    """What the trace calls the numbers of one sub-layer, in the order of the worksheet."""
    name = f"{stack}.{layer}.{part}"
    own = ["hidden", "output"]
    if part != "ffn":
        # Q, K, V, S, s, w, Z, all heads, C, o; the decoder's own attention has its mask before w.
        mask = ["masked"] if (stack, part) == ("decoder", "self") else []
        own = ["q", "k", "v", "products", "scores", *mask, "weights", "heads", "heads", "concat"]
        own.append("output")
    around = (["input"], ["add"]) if pre else ([], ["add", "norm"])
    names = [f"{name}.{word}" for word in (*around[0], *own, *around[1])]
    if part == "cross":
        names.insert(1 if pre else 0, "encoder.output")
    return names


def recorded(kind: str, layer: int, pre: bool, last: int) -> list[str]:
    side, stack = ("source", "encoder") if kind == "encoder" else ("target", "decoder")
    names = [f"{side}.{word}" for word in ("rows", "embedding", "position", "sum")]
    if layer > 1:
        names.append(f"{stack}.{layer - 2}.ffn.norm")
    if kind == "cross":
        names.append(f"decoder.{layer - 1}.self.norm")
    names += sub_layer(stack, layer - 1, "cross" if kind == "cross" else "self", pre)
    if kind == "decoder":
        names.append(f"decoder.{layer - 1}.cross.norm")
    names += sub_layer(stack, layer - 1, "ffn", pre)
    if layer < last:
        names.append(f"{stack}.{last - 1}.ffn.norm")
    return names + ([f"{stack}.output"] if pre else [])


@ids
@pytest.mark.parametrize("layer", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_every_number_is_the_one_in_the_trace(
    changes: dict[str, Any], kind: str, layer: int
) -> None:
    model, trace = make(changes), Trace()
    with torch.inference_mode():
        model.transformer(*both_sides(model), trace=trace)
    sheet = walk(model, TEXT, kind, layer, head=3, word="2", answer=OUTPUT)
    tables = [part for step in sheet.steps for part in step.parts if isinstance(part, Matrix)]
    tokens, *tables = tables
    side = both_sides(model)[0 if kind == "encoder" else 1][0].tolist()
    assert tokens.values.tolist() == [[i + 1, token] for i, token in enumerate(side)]
    if kind != "encoder":
        *tables, best = tables
        order = trace["logits"][0, 1].argsort(descending=True)[:10]
        assert best.values[:, 0].tolist() == trace["logits"][0, 1][order].tolist()
        assert best.values[:, 1].tolist() == trace["probabilities"][0, 1][order].tolist()
        assert list(best.rows) == model.tokenizer.pieces(order.tolist())
    names = recorded(kind, layer, model.transformer.spec.norm_order == "pre", 3)
    assert len(tables) == len(names)
    for table, name in zip(tables, names, strict=True):
        expected = trace[name] if name.endswith(".position") else trace[name][0]
        if table.name.startswith("z of"):
            expected = expected[:, 1]  # the query, in all heads
        elif expected.ndim == 3:
            expected = expected[2]  # the head
        assert table.values.tolist() == expected.tolist(), (table.name, name)


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: np.ndarray = powers / powers.sum(axis=-1, keepdims=True)
    return result


@ids
@pytest.mark.parametrize("kind", KINDS)
def test_the_equations_hold_in_numpy(changes: dict[str, Any], kind: str) -> None:
    model = make(changes)
    sheet = walk(model, TEXT, kind, 1, head=3, word="2", answer=OUTPUT)
    spec, size = model.transformer.spec, model.transformer.spec.k
    e, x = values(sheet, "Embedding"), values(sheet, "Word and place")
    assert values(sheet, "Times √d_model") == pytest.approx(e * np.sqrt(32), rel=1e-6)
    assert x == pytest.approx(e * np.sqrt(32) + values(sheet, "Position"), abs=1e-5)
    q, k, v = (matrix.values for matrix in find(sheet, "Queries"))
    raw, scaled = values(sheet, "Scores"), values(sheet, "Divided")
    assert raw == pytest.approx(q @ k.T, abs=1e-5)
    assert scaled == pytest.approx(raw / np.sqrt(size), abs=1e-5)
    seen = scaled
    if kind == "decoder":
        seen = np.where(np.tri(len(q), dtype=bool), scaled, -np.inf)
        assert values(sheet, "Mask").tolist() == seen.tolist()
    weights = values(sheet, "Softmax")
    assert weights == pytest.approx(softmax(seen), abs=1e-6)
    assert values(sheet, "The same for every") == pytest.approx(weights @ v, abs=1e-5)
    (total,) = [part for step in sheet.steps for part in step.parts if isinstance(part, Sum)]
    assert total.total == pytest.approx(weights[1] @ v, abs=1e-5)
    assert total.total == pytest.approx(total.weights @ total.vectors, abs=1e-5)
    assert len(total.weights) == (2 if kind == "decoder" else len(k))
    concat = values(sheet, "Concat")
    assert concat[1].tolist() == values(sheet, "All heads").reshape(-1).tolist()
    assert concat[:, 2 * size : 3 * size].tolist() == values(sheet, "The same for every").tolist()
    if kind == "cross":
        return
    mine = getattr(model.transformer, kind).layers[0].attention.state_dict()
    w_o, b_o = mine["output.weight"].numpy(), mine["output.bias"].numpy()
    o = values(sheet, "W_O")
    assert o == pytest.approx(concat @ w_o.T + b_o, abs=1e-5)
    added = [matrix for step in sheet.steps if step.title == "Add" for matrix in step.parts]
    assert isinstance(added[0], Matrix) and added[0].values == pytest.approx(x + o, abs=1e-5)
    reads = values(sheet, "Norm before the attention") if spec.norm_order == "pre" else x
    w_q = mine["query.weight"].numpy()[2 * size : 3 * size]
    assert q == pytest.approx(
        reads @ w_q.T + mine["query.bias"].numpy()[2 * size : 3 * size], abs=1e-5
    )


def norm(x: np.ndarray, weights: dict[str, torch.Tensor]) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    result: np.ndarray = (
        weights["norm.weight"].numpy() * centred / spread + weights["norm.bias"].numpy()
    )
    return result


@pytest.mark.parametrize("order", ["pre", "post"])
def test_norm_ffn_and_logits_in_numpy(order: str) -> None:
    """One decoder layer, so that each step's input is a step of the sheet."""
    model = make({"norm_order": order, "decoder_layers": 1})
    sheet = walk(model, TEXT, "cross", 1, answer=OUTPUT)
    assert model.transformer.decoder is not None
    layer = model.transformer.decoder.layers[0]
    before = values(sheet, "Masked self-attention of this layer")
    steps = [step for step in sheet.steps if step.title in ("Add", "Norm")]
    found = [part.values for step in steps for part in step.parts if isinstance(part, Matrix)]
    feed = {name: tensor.numpy() for name, tensor in layer.feed_forward.state_dict().items()}
    cross_norm = layer.cross_norm.state_dict()
    ffn_norm = layer.feed_forward_norm.state_dict()
    hidden, out = (
        values(sheet, "Feed-forward network: the h"),
        values(sheet, "Feed-forward network: the o"),
    )
    if order == "pre":
        assert values(sheet, "Norm before the att") == pytest.approx(
            norm(before, cross_norm), abs=1e-5
        )
        middle, last = found
        reads = values(sheet, "Norm before the feed")
        assert reads == pytest.approx(norm(middle, ffn_norm), abs=1e-5)
        final = values(sheet, "The last norm")
    else:
        added, middle, last, final = found
        assert middle == pytest.approx(norm(added, cross_norm), abs=1e-5)
        assert final == pytest.approx(norm(last, ffn_norm), abs=1e-5)
        reads = middle
    inner = reads @ feed["inner.weight"].T + feed["inner.bias"]
    assert hidden == pytest.approx(np.maximum(0, inner), abs=1e-5)
    assert out == pytest.approx(hidden @ feed["outer.weight"].T + feed["outer.bias"], abs=1e-5)
    assert last == pytest.approx(middle + out, abs=1e-5)
    logits = final[0] @ model.transformer.output.weight.detach().numpy().T
    best = values(sheet, "Logits")
    assert best[:, 0] == pytest.approx(np.sort(logits)[::-1][:10], abs=1e-5)
    assert best[:, 1] == pytest.approx(np.sort(softmax(logits))[::-1][:10], abs=1e-6)


def test_the_positions_are_those_of_the_paper() -> None:
    """PE(1) for d_model 6 as in numbers.md: .8415 .5403 .0464 .9989 .0022 1.0000"""
    model = make({"d_model": 6, "heads": 2, "encoder_layers": 1})
    pe = values(walk(model, TEXT, answer=OUTPUT), "Position")
    assert pe[0].tolist() == [0, 1, 0, 1, 0, 1]
    expected = [0.8415, 0.5403, 0.0464, 0.9989, 0.0022, 1.0]
    assert pe[1] == pytest.approx(np.array(expected), abs=5e-5)


@pytest.fixture(scope="module")
def plain() -> Model:
    return make({})


def test_without_a_translation_it_is_the_models_own(plain: Model) -> None:
    assert walk(plain, TEXT).subtitle == f"{TEXT} → {plain.translate(TEXT)}"


def test_the_last_line_names_what_really_follows(plain: Model) -> None:
    sheet = walk(plain, TEXT, "decoder", 3, word="<s>", answer=OUTPUT)
    first = plain.tokenizer.pieces(plain.tokenizer.encode(OUTPUT))[0]
    assert sheet.steps[-1].parts[-1] == Line(f"The output goes on with {first}.")


@pytest.mark.parametrize(
    ("kind", "query", "word"),
    [
        ("encoder", None, "the"),
        ("encoder", "old", "old"),
        ("encoder", "House", "house."),  # case and punctuation do not matter
        ("encoder", "</s>", "</s>"),
        ("decoder", None, "<s>"),
        ("cross", "Haus", "Haus"),
        ("cross", "1", "<s>"),
        ("cross", "7000", None),
        ("cross", "7.", "7."),
        ("cross", "7", "7."),  # a number that is a word of the text is that word
    ],
)
def test_a_query_is_a_word_or_a_position(
    plain: Model, kind: str, query: str | None, word: str | None
) -> None:
    if word is None:
        with pytest.raises(MisuseError, match="expected a position"):
            walk(plain, TEXT, kind, word=query, answer=OUTPUT)
        return
    special = plain.tokenizer.special
    tail = [special.eos] if kind == "encoder" else []
    head = [] if kind == "encoder" else [special.bos]
    side = [*head, *plain.tokenizer.encode(TEXT if kind == "encoder" else OUTPUT), *tail]
    place = dict(plain.tokenizer.word_groups(side))[word][0]
    sheet = walk(plain, TEXT, kind, word=query, answer=OUTPUT)
    assert find(sheet, "Tokens")[0].highlight == place
    assert f"(position {place + 1} of {len(side)}" in sheet.title


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "  "}, "empty text"),
        ({"word": "99"}, "word: got '99', .*: the old house. </s>"),
        ({"word": "cat"}, "word: got 'cat'"),
        ({"word": "0"}, "expected a position from 1 to"),
        ({"word": ""}, "word: got ''"),
        ({"layer": 4}, "layer: got 4, the encoder .* 1 to 3"),
        ({"layer": 0, "kind": "cross"}, "layer: got 0, the decoder .* 1 to 3"),
        ({"head": 5}, "head: got 5, .* 1 to 4"),
        ({"kind": "both"}, "kind: got 'both', .* encoder, decoder, cross"),
    ],
)
def test_wrong_requests_end_in_a_sentence(
    plain: Model, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(MisuseError, match=message):
        walk(plain, **{"text": TEXT, "answer": OUTPUT, **options})
