"""The first wrong line and its cause: each slip is made by hand and must be recognised.

The sheet is The/cat/sat: scores (2, 0, 2), (0, 2, 2), (2, 2, 4); divided by √4 = 2; weights
(.4223, .1554, .4223), (.1554, .4223, .4223), (.2119, .2119, .5761); V = E.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from regard.draw.worksheet.worksheet import Mark, Worksheet
from regard.explain.by_hand.sheet import walk_sheet

CAT = "words = ['The', 'cat', 'sat']\nE = [[1,0,1,0],[0,1,0,1],[1,1,1,1]]\n"
Walk = Callable[[str], Worksheet]


@pytest.fixture
def walk(tmp_path: Path) -> Walk:
    def run(text: str) -> Worksheet:
        path = tmp_path / "sheet.toml"
        path.write_text(text, encoding="utf-8")
        return walk_sheet(path)

    return run


def marks(sheet: Worksheet) -> list[Mark]:
    return [step.mark for step in sheet.steps if step.mark is not None]


def blamed(sheet: Worksheet) -> str:
    (mark,) = (mark for mark in marks(sheet) if mark.verdict == "wrong")
    return mark.message


@pytest.mark.parametrize(
    ("yours", "cause"),
    [
        # Q·Kᵀ
        ("scores.The = [1, 0, 1]", "already divided by √d_k = √4 = 2"),
        ("scores.The = [3, 0, 2]", "1 was added three times instead of twice"),
        ("scores.The = [1, 0, 2]", "1 was added once instead of twice"),
        ("scores.The = [-2, 0, 2]", "The → The: you wrote −2, it is 2: the sign is wrong"),
        ("scores.cat = [2, 0, 2]", 'this is the row of "The"'),
        # ÷ √d_k: 2/4 = 0.5, 2/3 = 0.6667, 2/√3 = 1.1547, 2·2 = 4
        ("scaled.The = [2, 0, 2]", "the scores were not divided by √d_k = √4 = 2"),
        ("scaled.The = [0.5, 0, 0.5]", "divided by d_k = 4, not by √d_k"),
        ("scaled.The = [0.6667, 0, 0.6667]", "divided by 3, the number of words, not by"),
        ("scaled.The = [1.1547, 0, 1.1547]", "divided by √3, the root of the number of words"),
        ("scaled.The = [4, 0, 4]", "multiplied by √d_k"),
        # softmax: e²/(2e² + 1) = 0.4683; 2/(2 + 1 + 2) = 0.4; 3/7 = 0.4286
        ("weights.The = [0.4683, 0.0634, 0.4683]", "not divided by √d_k = √4 = 2"),
        ("weights.The = [0.40, 0.20, 0.40]", "2 was taken in place of e"),
        ("weights.The = [0.4286, 0.1429, 0.4286]", "e was taken as 3"),
        ("weights.The = [0.5, 0, 0.5]", "divided by their sum, without exponentials"),
        ("weights.The = [2.7183, 1, 2.7183]", "exponentials were not divided by their sum"),
        # e^−1/(2e^−1 + 1) = 0.2119
        ("weights.The = [0.2119, 0.5761, 0.2119]", "softmax was taken of −score"),
        # the column of The: e^1, e^0, e^1 over its own sum is 0.4223, 0.1554, 0.4223; of sat:
        # e^1, e^1, e^2 over 12.8256: 0.2119, 0.2119, 0.5761
        ("weights.sat = [0.4223, 0.4223, 0.5761]", "over columns, not over rows"),
        ("weights.The = [0.4232, 0.1554, 0.4223]", "the digits 2 and 3 are exchanged"),
        ("weights.The = [0.4223, 0.1553, 0.4223]", "cut off after 4 decimals, not rounded"),
        ("weights.The = [0.4223, 0.16, 0.4223]", "you wrote 0.16, it is 0.1554: rounded to 2"),
        ("weights.The = [0.4223, 0.1554, 0.4221]", "the last digit; a row must sum to 1, yours"),
        ("weights.The = [0.2119, 0.1554, 0.4223]", 'this is the number of "sat"'),
        ("weights.The = [0, 0, 1]", "none of the usual slips gives this"),
        # Σ w·v: 0.4223 + 0.4223 = 0.8446 and 0.1554 + 0.4223 = 0.5777
        (
            "output.The = [1.2669, 0.5777, 0.8446, 0.5777]",
            "you wrote 1.2669, it is 0.8446: 0.4223 was added three times instead of twice",
        ),
        # 4 × 0.4223 = 1.6892
        ("output.The = [1.6892, 0.5777, 0.8446, 0.5777]", "added four times instead of twice"),
        ("output.The = [0.8446, 0.4223, 0.8446, 0.5777]", 'the part of "cat", 0.1554, was left'),
        # 0.4223 − 0.1554 = 0.2669
        ("output.The = [0.8446, 0.2669, 0.8446, 0.5777]", "0.1554, has the wrong sign"),
        ("output.The = [8.446, 0.5777, 0.8446, 0.5777]", "decimal point is too far to the right"),
        ("output.The = [0.8446, 0.5777, 0.8446, 0.7999]", "0.5777: none of the usual slips"),
        # (1 + 0 + 1)/3 = 0.6667 everywhere; 2 without dividing
        ("output.The = [0.6667, 0.6667, 0.6667, 0.6667]", "averaged, not weighted"),
        ("output.The = [2, 2, 2, 2]", "added up without weights"),
        # 1·(1,0,1,0) + 0·(0,1,0,1) + 1·(1,1,1,1) = (2, 1, 2, 1)
        ("output.The = [2, 1, 2, 1]", "scaled scores were used as weights"),
        # weights of the column of The: 0.4223, 0.1554, 0.2119: 0.6342 and 0.3673
        ("output.The = [0.6342, 0.3673, 0.6342, 0.3673]", "from a column, not from a row"),
        # V of The in place of V of sat: 0.8446 and 0.1554
        ("output.The = [0.8446, 0.1554, 0.8446, 0.1554]", 'V of "The" was used for "sat"'),
        ("output.The = [1.8446, 0.5777, 1.8446, 0.5777]", "own input was already added"),
    ],
)
def test_a_slip_is_recognised(walk: Walk, yours: str, cause: str) -> None:
    assert cause in blamed(walk(f"{CAT}[yours]\n{yours}"))


@pytest.mark.parametrize(
    ("yours", "cause"),
    [
        # cat may see The and cat: scaled 0 and 1, so 1/(1 + e) = 0.2689 and 0.7311
        ("weights.cat = [0.1554, 0.4223, 0.4223]", "the mask was forgotten"),
        ("weights.cat = [0.1554, 0.4223, 0]", "applied after the softmax"),
        # e^0, e^1, e^0: 1/(e + 2) = 0.2119
        ("weights.cat = [0.2119, 0.5761, 0.2119]", "set to 0, not to −∞"),
        ("weights.cat = [0, 0.5, 0.5]", "hides the earlier words"),
        ("masked.cat = [0, 1, 1]", "the mask was forgotten"),
        ("masked.cat = [0, 1, 0]", "hidden scores were set to 0"),
        ("masked.sat = [1, 1, -inf]", "you wrote −∞, it is 2"),
        ("masked.cat = [0, 1, -100]", "you wrote −100, it is −∞"),
        ("masked.cat = [0, 1, 7]", "you wrote 7, it is −∞: the mask hides this score"),
    ],
)
def test_a_slip_with_the_mask_is_recognised(walk: Walk, yours: str, cause: str) -> None:
    assert cause in blamed(walk(f"{CAT}mask = 'look-ahead'\n[yours]\n{yours}"))


def test_a_number_far_below_zero_may_stand_for_minus_infinity(walk: Walk) -> None:
    # e^-1e9 = 0 in double precision: cat's weights are 1/(1 + e) = 0.2689 and 0.7311 as with −∞
    yours = "masked.cat = [0, 1, -1e9]\nweights.cat = [0.2689, 0.7311, 0]"
    sheet = walk(f"{CAT}mask = 'look-ahead'\n[yours]\n{yours}")
    assert sheet.subtitle == "Your results are right."


@pytest.mark.parametrize(
    ("yours", "cause"),
    [
        # (1,2)·[[1,2],[3,4]] = (7, 10); ·[[1,3],[2,4]] = (5, 11); W_K = [[0,1],[1,0]] gives (2, 1)
        ("Q = [[5, 11], [2, 4]]", "W_Q was used with rows and columns exchanged (and so for 2"),
        ("Q = [[2, 1], [1, 0]]", "W_K was used, not W_Q"),
        ("Q = [[1, 2], [0, 1]]", "it was not multiplied by W_Q"),
        # 10 = 1·2 + 2·4: without 1·2 it is 8
        ("Q = [[7, 8], [3, 4]]", "the product of column 1, 2, was left out"),
        # Q = (7,10), (3,4); K = (2,1), (1,0): Q·Kᵀ = (24, 7), (10, 3)
        ("scores = [[24, 10], [7, 3]]", "rows and columns are exchanged"),
        ("scores = [[149, 61], [61, 25]]", "this is Q·Qᵀ"),
        # (7 + 2) + (10 + 1) = 20, (7 + 1) + (10 + 0) = 18
        ("scores.a = [20, 18]", "added, not multiplied"),
    ],
)
def test_a_slip_with_projections_is_recognised(walk: Walk, yours: str, cause: str) -> None:
    text = "words = ['a', 'b']\nE = [[1,2],[0,1]]\nW_Q = [[1,2],[3,4]]\nW_K = [[0,1],[1,0]]\n"
    assert cause in blamed(walk(f"{text}[yours]\n{yours}"))


@pytest.mark.parametrize(
    ("yours", "cause"),
    [
        # position 1, d = 4: sin 1 = 0.8415, cos 1 = 0.5403, sin 0.01 = 0.0100, cos 0.01 = 1.0000
        ("P = [[0.8415,0.5403,0.01,1.0],[0.9093,-0.4161,0.02,0.9998]]", "counted from 1"),
        ("P.b = [0.5403, 0.8415, 1.0, 0.0100]", "sine and cosine are exchanged"),
        # i where 2i belongs: 10000^(1/4) = 10: cos(1/10) = 0.9950, sin(1/100), cos(1/1000)
        ("P.b = [0.8415, 0.9950, 0.0100, 1.0000]", "for column i; both columns of a pair"),
        # pair 1 with exponent 1/4: sin(1/10) = 0.0998, cos(1/10) = 0.9950
        ("P.b = [0.8415, 0.5403, 0.0998, 0.9950]", "for pair i, not 2i/d"),
        ("X.b = [1, 1, 1, 1]", "the positions were not added"),
        ("Q.b = [1, 1, 1, 1]", "the positions are missing: this is E·W_Q"),
        # (1.8415, 1.5403, 1.0100, 2.0000) − (1,1,1,1): only P
        ("X.b = [0.8415, 1.5403, 1.0100, 2.0000]", "E, 1.0000, was left out"),
    ],
)
def test_a_slip_with_positions_is_recognised(walk: Walk, yours: str, cause: str) -> None:
    text = "words = ['a', 'b']\nE = [[0,0,0,0],[1,1,1,1]]\npositions = true\n"
    assert cause in blamed(walk(f"{text}[yours]\n{yours}"))


@pytest.mark.parametrize(
    ("yours", "cause"),
    [
        # One word: its weight is 1, so output = E = (1, 2, 3, 6), add = (2, 4, 6, 12): mean 6,
        # deviations (−4, −2, 0, 6), variance 56/4 = 14, √14 = 3.7417; with n − 1: √(56/3) = 4.3205
        ("add = [1, 2, 3, 6]", "the input was not added"),
        ("norm = [-1.0690, -0.5345, 0, 1.6035]", "it is 1.6036: cut off"),
        ("norm = [2, 4, 6, 12]", "nothing was normalised"),
        ("norm = [-4, -2, 0, 6]", "nothing was divided"),
        ("norm = [0.5345, 1.0690, 1.6036, 3.2071]", "the mean was not subtracted"),
        ("norm = [-0.2857, -0.1429, 0, 0.4286]", "by the variance, not by its root"),
        ("norm = [-0.9258, -0.4629, 0, 1.3887]", "divided by n − 1, not by n"),
    ],
)
def test_a_slip_with_add_and_norm_is_recognised(walk: Walk, yours: str, cause: str) -> None:
    text = "E = [[1, 2, 3, 6]]\nadd = true\nnorm = true\n[yours]\n"
    assert cause in blamed(walk(text + yours))


def test_the_notes_sheet_is_blamed_where_it_is_wrong() -> None:
    sheet = walk_sheet(Path("the-cat-sat-notes"))
    verdicts = [mark.verdict for mark in marks(sheet)]
    assert verdicts == ["wrong", "right", "right", "wrong", "wrong"]
    embedding, _, _, weights, output = (mark.message for mark in marks(sheet))
    assert "only the sheet's gives your scores (2, 0, 2)" in embedding
    # 0.4223 + 0.1554 + 0.4221 = 0.9998
    assert "you wrote 0.4221, it is 0.4223" in weights and "yours sums to 0.9998" in weights
    # 3 × 0.4223 = 1.2669
    assert "you wrote 1.2669, it is 0.8446: 0.4223 was added three times" in output
    assert "you wrote 0.7999, it is 0.5777: none of the usual slips gives this" in output
    assert sheet.subtitle == "Your results: the first wrong line is in step 1."
    last = sheet.steps[-1]
    assert last.title == "What to correct" and len(last.parts) == 4


def test_three_for_e() -> None:
    # (3, 2): 3³/(3³ + 3²) = 3/4, where e³/(e³ + e²) = 0.7311
    message = blamed(walk_sheet(Path("scaling")))
    assert message.startswith("query: you wrote (0.75, 0.25), it is (0.7311, 0.2689): e was taken")


def test_only_the_first_wrong_line_is_blamed(walk: Walk) -> None:
    # not divided; the softmax of (2, 0, 2) is (0.4683, 0.0634, 0.4683); 2 × 0.46831 = 0.9366 and
    # 0.06338 + 0.46831 = 0.5317: both follow
    sheet = walk(
        f"""{CAT}[yours]
        scaled.The = [2, 0, 2]
        weights.The = [0.4683, 0.0634, 0.4683]
        output.The = [0.9366, 0.5317, 0.9366, 0.5317]"""
    )
    assert [mark.verdict for mark in marks(sheet)] == ["wrong", "unchecked", "unchecked"]
    assert "follow from your line above" in marks(sheet)[1].message
    assert len(sheet.steps[-1].parts) == 1


def test_a_later_line_that_does_not_follow_is_blamed_too(walk: Walk) -> None:
    sheet = walk(f"{CAT}[yours]\nscaled.The = [2, 0, 2]\nweights.The = [0.4683, 0.1, 0.4683]\n")
    assert [mark.verdict for mark in marks(sheet)] == ["wrong", "wrong"]


def test_rounding_on_the_way_is_not_a_mistake(walk: Walk) -> None:
    # 0.42 + 0.42 = 0.84 and 0.16 + 0.42 = 0.58, written with three decimals; exactly 0.845, 0.578
    sheet = walk(
        f"""{CAT}[yours]
        weights.The = [0.42, 0.16, 0.42]
        output.The = [0.840, 0.580, 0.840, 0.580]"""
    )
    assert [mark.verdict for mark in marks(sheet)] == ["right", "right"]
    assert sheet.subtitle == "Your results are right."


def test_trailing_zeros_count(walk: Walk) -> None:
    # 0.4223 rounds to 0.4; 0.40 would be a claim about the second decimal
    assert marks(walk(f"{CAT}[yours]\nweights.The = [0.4, 0.2, 0.4]"))[0].verdict == "right"
    assert marks(walk(f"{CAT}[yours]\nweights.The = [0.40, 0.20, 0.40]"))[0].verdict == "wrong"
