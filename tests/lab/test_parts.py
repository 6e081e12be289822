"""The parts of experiments against numbers worked out otherwise."""

import math

import pytest
import torch
from torch.nn import functional as F

from regard.data.phrasebook.corpus import Word
from regard.lab import variants
from regard.lab.demo_words import spelled
from regard.lab.experiments import bank, heads, norm, order, positions_why, quadratic, scale
from regard.lab.experiments.residual import gradients, likeness
from regard.lab.lesson import lesson_of, words_in
from regard.model.attention import explicit_attention
from regard.model.masks import Mask
from regard.model.positions import sinusoids
from regard.model.spec import Spec
from regard.model.transformer import Transformer


def small() -> Transformer:
    spec = Spec(
        40, d_model=16, encoder_layers=2, decoder_layers=1, heads=2, ffn_size=24, dropout=0.0
    )
    return Transformer(spec)


def test_bare_attention_is_torchs_of_the_vectors_themselves() -> None:
    x = torch.randn(2, 5, 16)
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    allowed = real[:, None, :].expand(2, 5, 5)
    wanted = F.scaled_dot_product_attention(x, x, x, attn_mask=allowed)
    assert torch.allclose(variants.BareAttention()(x, Mask(real)), wanted, atol=1e-6)


def test_batch_norm_is_torchs_over_all_words() -> None:
    x = torch.randn(3, 4, 16)
    normed = variants.BatchNorm(16)(x).flatten(0, 1)
    rows = x.flatten(0, 1)
    wanted = (rows - rows.mean(0)) / (rows.var(0, unbiased=False) + 1e-5).sqrt()
    assert torch.allclose(normed, wanted, atol=1e-5)


def test_an_unmasked_decoder_sees_the_next_word_and_a_masked_one_does_not() -> None:
    source, target = torch.randint(4, 40, (1, 5)), torch.tensor([[1, 5, 6]])
    other = torch.tensor([[1, 5, 7]])  # the last word differs
    for change, sees in ((None, False), (variants.unmasked, True)):
        model = small().eval()
        if change is not None:
            change(model)
        with torch.no_grad():
            first, second = (model(source, words)[0, 0] for words in (target, other))
        assert torch.equal(first, second) != sees


def test_a_variant_without_residual_keeps_nothing_of_its_input() -> None:
    model = small()
    variants.without_residual(model)
    assert model.encoder is not None
    for around in (p for p in model.modules() if isinstance(p, variants.OnlyNorm)):
        zeros = around(torch.randn(1, 3, 16), torch.zeros_like)
        assert torch.equal(zeros, torch.zeros(1, 3, 16))  # β, since the sub-layer gave nothing
    variants.without_either(small())


def test_undivided_scores_are_products() -> None:
    model = small().eval()
    words = torch.randint(4, 40, (1, 5))
    with torch.no_grad():
        before = model.encode(words)
        variants.undivided(model)
        assert model.encoder is not None
        for layer in model.encoder.layers:  # √d_k in W_Q takes it back
            layer.attention.query.weight /= math.sqrt(8)
            layer.attention.query.bias /= math.sqrt(8)
        assert torch.allclose(model.encode(words), before, atol=1e-5)


def test_position_tables_by_hand() -> None:
    assert variants.raw_count(4, 2).tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert variants.share_of_length(3, 1).flatten().tolist() == [0, 0.5, 1]
    assert variants.binary_digits(6, 3)[5].tolist() == [1, 0, 1]
    assert variants.one_sine(2, 1)[1].item() == pytest.approx(math.sin(1))
    fixed = variants.FixedPositions(variants.raw_count, 2)
    assert fixed(2, 3)[:, 0].tolist() == [3, 4]
    assert fixed.at(torch.tensor([[2, 0]]))[0, :, 0].tolist() == [2, 0]


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("raw count", {"bounded", "relative"}),
        ("one sine", {"unique", "relative"}),
        ("binary digits", {"smooth", "relative"}),
        ("sinusoids", set()),
    ],
)
def test_the_properties_of_positions(name: str, missing: set[str]) -> None:
    has = positions_why.properties(positions_why.TABLES[name])
    assert {prop for prop, there in has.items() if not there} == missing


def test_a_rotation_foretells_sinusoids_and_no_matrix_foretells_bits() -> None:
    long, short = sinusoids(512, 64).double(), sinusoids(256, 64).double()
    assert positions_why.linear_error(long, short) < 1e-4
    bits = variants.binary_digits(512, 64).double()
    assert positions_why.linear_error(bits, bits[:256]) > 0.1


def test_the_gradient_of_the_softmax_is_autograds_by_hand() -> None:
    """Two keys, scores s: weights σ(±(s1 - s2)), and ∂/∂s of w · c is w1 w2 (c1 - c2)."""
    figures = scale.softmax_figures(4, 256, seed=1)
    assert figures["variance, plain"] == pytest.approx(4 * figures["variance, divided"], rel=1e-5)
    assert 0 < figures["entropy, plain"] < figures["entropy, divided"] < math.log(scale.KEYS)


def test_bytes_are_those_of_what_is_made() -> None:
    q = torch.zeros(1, 2, 8, 4)
    with quadratic.BytesMade() as made:
        q @ q.transpose(-2, -1)  # (1, 2, 8, 8); the transposed one is a view
    assert made.total == 2 * 8 * 8 * 4
    with quadratic.BytesMade() as made:
        explicit_attention(q, q, q, Mask())
    assert made.total >= 3 * 2 * 8 * 8 * 4  # products, scores, weights


def test_layer_norm_does_not_notice_padding() -> None:
    model = small().eval()
    assert max(norm.moved_by_padding(model, 1).values()) < 1e-5
    variants.with_batch_norm(model)
    assert norm.moved_by_company(model, 1) > 0.01


def test_what_order_asks_has_the_same_words_in_another_order() -> None:
    pairs = order.same_words(lesson_of(("order",)))
    assert len(pairs) > 50
    for one, other in pairs:
        assert one != other and sorted(one.lower()[:-1].split()) == sorted(
            other.lower()[:-1].split()
        )


def test_gradients_come_back_and_words_that_are_alike_have_a_cosine_of_one() -> None:
    spec = Spec(
        100, d_model=16, encoder_layers=2, decoder_layers=0, heads=2, ffn_size=24, head="none",
        dropout=0.0,
    )  # fmt: skip
    model = Transformer(spec)
    assert all(0 < norm < math.inf for norm in gradients(model, 1))
    assert -1 <= likeness(model, 1) < 0.99
    assert model.source_embedding is not None
    with torch.no_grad():
        weight = model.source_embedding.weight
        weight.copy_(weight[0].clone().expand_as(weight))  # all words are one
        variants.without_positions(model)
    assert likeness(model, 1) == pytest.approx(1.0)


def test_pieces_are_put_to_their_words() -> None:
    pieces = ["▁The", "▁anim", "al", "▁didn", "'", "t", ".", "</s>"]
    assert spelled(pieces, ["The", "animal", "didn't", "."]) == [[0], [1, 2], [3, 4, 5], [6]]
    assert spelled(pieces, ["The", "animals", "didn't", "."]) is None


def test_relations_come_from_the_grammar() -> None:
    words = [
        Word("The", "determiner", slot="A.determiner"),
        Word("dog", "noun", slot="A"),
        Word("sees", "verb", "singular", "V", ("A",)),
        Word("it", "pronoun", slot="@", agrees_with=("B",)),
        Word("ball", "noun", slot="B"),
    ]
    assert heads.cases_of(words, heads.ARTICLE) == [(0, 1)]
    assert heads.cases_of(words, heads.VERB) == [(2, 1)]
    assert heads.cases_of(words, heads.IT) == [(3, 4)]


def test_vectors_that_are_all_the_same_are_a_guess() -> None:
    senses = ["Bank"] * 3 + ["Ufer"] * 3
    assert bank.neighbour_accuracy(torch.ones(6, 4), senses) == pytest.approx(2 / 5)
    apart = torch.tensor([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3)
    assert bank.neighbour_accuracy(apart, senses) == 1.0
    assert bank.cosines(apart, senses) == (1.0, 0.0)


def test_a_lesson_asks_for_nothing_that_it_trains_on() -> None:
    lesson = lesson_of(("order",), longest=7)
    assert not {e.source for e in lesson.train} & {e.source for e in lesson.test}
    assert max(map(words_in, (*lesson.train, *lesson.test))) <= 7
