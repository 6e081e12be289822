"""Equations, dots and filters: rows worked out by hand, and the numbers are those of the pass."""

import math

import numpy as np
import pytest
import torch

from in_memory import model_of
from refusals import refused
from regard.api.model import Model
from regard.decode.options import DecodingOptions
from regard.errors import MisuseError
from regard.explain.heads import AttentionMap, attend
from regard.explain.views import attention_filter, dots, equations, find_word, told_apart
from regard.model.presets import preset
from regard.model.trace import Trace
from regard.model.transformer import Transformer
from regard.text.tokenizer import Tokenizer

TEXT, OUTPUT = "the old house", "das alte Haus"
# Two heads whose mean is the notes' row for "bank": (0.25, 0.70, 0.05).
MONEY = AttentionMap(
    np.array(
        [
            [[1.0, 0.0, 0.0], [0.30, 0.60, 0.10], [0.0, 0.5, 0.5]],
            [[0.0, 1.0, 0.0], [0.20, 0.80, 0.00], [0.0, 0.5, 0.5]],
        ]
    ),
    ["money", "bank", "grows"],
    ["money", "bank", "grows"],
    "encoder",
    1,
)


def row(weights: list[float]) -> AttentionMap:
    words = [f"w{i}" for i in range(len(weights))]
    return AttentionMap(np.array([[weights]]), ["it"], words, "cross", 1)


@pytest.fixture(scope="module")
def model() -> Model:
    tokenizer = Tokenizer.train([TEXT, OUTPUT], size=270)
    transformer = Transformer(preset("tiny", tokenizer.size)).eval()
    return model_of(transformer, tokenizer, DecodingOptions(beam=1, max_length=5))


def test_the_equation_of_the_notes() -> None:
    assert str(equations(MONEY, word="bank")[0]) == "bank = 0.25 money + 0.70 bank + 0.05 grows"
    assert [str(line) for line in equations(MONEY, head=2)] == [
        "money = 1.00 bank",
        "bank = 0.20 money + 0.80 bank",
        "grows = 0.50 bank + 0.50 grows",
    ]


def test_small_terms_are_folded_into_others() -> None:
    # 0.004 + 0.004 + 0.002 = 0.01: each would be written 0.00, together they count.
    small = row([0.55, 0.004, 0.44, 0.004, 0.002])
    (line,) = equations(small)
    assert str(line) == "it = 0.55 w0 + 0.44 w2 + 0.01 others"
    assert line.others == pytest.approx(0.01)
    (line,) = equations(small, every=True)
    assert str(line) == "it = 0.55 w0 + 0.00 w1 + 0.44 w2 + 0.00 w3 + 0.00 w4"
    assert line.others == 0
    assert "others" not in str(equations(row([0.998, 0.002]))[0])  # it would be written 0.00


def test_exactly_at_the_threshold_a_term_stays() -> None:
    assert str(equations(row([0.995, 0.005]))[0]).endswith("+ 0.01 w1")


def test_written_coefficients_sum_to_one_to_rounding(model: Model) -> None:
    found = attend(model, TEXT, OUTPUT)
    for kind in ("encoder", "cross", "decoder"):
        for line in equations(found.map(kind)):
            written = [float(summand.split()[0]) for summand in line.summands()]
            assert sum(written) == pytest.approx(1, abs=0.005 * len(written) + 0.005)
            assert sum(w for w, _ in line.terms) + line.others == pytest.approx(1)


def test_words_that_come_twice_are_told_apart() -> None:
    assert told_apart(["the", "bank", "the"]) == ["the₁", "bank", "the₂"]
    twice = AttentionMap(np.array([[[0.2, 0.3, 0.5]] * 3]), *[["a", "b", "a"]] * 2, "encoder", 1)
    assert [str(line) for line in equations(twice, word="a")] == [
        "a₁ = 0.20 a₁ + 0.30 b + 0.50 a₂",
        "a₂ = 0.20 a₁ + 0.30 b + 0.50 a₂",
    ]


@pytest.mark.parametrize(
    ("wanted", "places"),
    [("bank", [1]), ("BANK", [1]), ("tired", [4]), ("tired.", [4]), ("the", [0, 3]), ("5", [4]),
     ("the₂", [3]), ("7", [2]), ("</s>", [5])],
)  # fmt: skip
def test_a_word_is_found_as_written_or_nearly_or_by_position(
    wanted: str, places: list[int]
) -> None:
    # "7" is a word of this text, so it means the word and not the position.
    assert find_word(["the", "bank", "7", "the", "tired.", "</s>"], wanted) == places


def test_among_pieces_a_word_has_several_places() -> None:
    pieces = ["▁The", "▁cro", "c", "od", "ile", ".", "▁sat", "</s>"]
    assert find_word(pieces, "crocodile") == [1, 2, 3, 4]
    assert find_word(pieces, "sat") == [6] and find_word(pieces, "the") == [0]
    with refused(MisuseError, problem="'lesat' is not in the text"):
        find_word(pieces, "lesat")


def test_a_wrong_word_names_the_words() -> None:
    words = ["money", "bank", "grows"]
    with pytest.raises(MisuseError, match="'river' is not in the text, .* 1 money, 2 bank, 3 gr"):
        find_word(words, "river")
    for beyond in ("4", "0"):
        with pytest.raises(MisuseError, match=f"position {beyond}, the text has 3"):
            find_word(words, beyond)
    for nothing in ("", " ", "!"):
        with refused(MisuseError, expected="1 money"):
            find_word(words, nothing)


def test_dots_have_the_source_down_the_side_and_the_target_across() -> None:
    weights = np.array([[[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]])
    cross = AttentionMap(weights, ["मुझे", "पसंद", "है"], ["I", "like"], "cross", 1)
    turned = dots(cross)
    assert turned.rows == ["I", "like"] and turned.columns == ["मुझे", "पसंद", "है"]
    assert turned.weights.tolist() == [[0.9, 0.2, 0.5], [0.1, 0.8, 0.5]]
    assert turned.weights.sum(axis=0) == pytest.approx(1)


def test_a_filter_is_the_head_of_the_pass(model: Model) -> None:
    special = model.tokenizer.special
    source = torch.tensor([[*model.tokenizer.encode(TEXT), special.eos]])
    target = torch.tensor([[special.bos, *model.tokenizer.encode(OUTPUT)]])
    trace = Trace()
    with torch.no_grad():
        model.transformer(source, target, trace=trace)
    q, k = (trace[f"encoder.1.self.{name}"][0, 2].double().numpy() for name in "qk")
    got = attention_filter(attend(model, TEXT, OUTPUT, pieces=True), "encoder", 2, 3)
    assert got.d_k == model.transformer.spec.k == q.shape[1]  # the head's size, not the tokens'
    assert got.products == pytest.approx(q @ k.T, abs=1e-5)
    assert got.scores == pytest.approx(got.products / math.sqrt(got.d_k), abs=1e-5)
    exponentials = np.exp(got.scores)
    assert got.weights == pytest.approx(
        exponentials / exponentials.sum(axis=1, keepdims=True), abs=1e-6
    )
    assert attention_filter(attend(model, TEXT, OUTPUT, pieces=True)).head == 1


def test_a_filter_of_the_decoder_has_nothing_where_the_mask_forbids(model: Model) -> None:
    got = attention_filter(attend(model, TEXT, OUTPUT, pieces=True), "decoder")
    above = np.triu(np.ones(got.scores.shape, dtype=bool), k=1)
    for table in (got.products, got.scores, got.weights):
        assert (np.isnan(table) == above).all()
    assert np.nansum(got.weights, axis=1) == pytest.approx(1)
