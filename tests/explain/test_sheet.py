"""Hand calculations: the notes' numbers, the model's own attention, and sheets refused."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from torch.nn import functional as F

from regard.draw.worksheet.html import worksheet_html
from regard.draw.worksheet.latex import worksheet_latex
from regard.draw.worksheet.terminal import TerminalSheet
from regard.draw.worksheet.worksheet import Line, Matrix, Sum, Worksheet, WorksheetStep
from regard.errors import ConfigError, MisuseError
from regard.explain.by_hand.reader import read_sheet
from regard.explain.by_hand.sheet import find_sheet, included, walk_sheet
from regard.explain.by_hand.steps import calculate
from regard.model.attention import explicit_attention
from regard.model.masks import Mask
from regard.model.trace import Trace

CAT = "words = ['The', 'cat', 'sat']\nE = [[1,0,1,0],[0,1,0,1],[1,1,1,1]]\n"
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def sheet(text: str) -> Path:
        path = tmp_path / "sheet.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return sheet


def step(sheet: Worksheet, title: str) -> WorksheetStep:
    return next(step for step in sheet.steps if step.title.startswith(title))


def matrix(sheet: Worksheet, title: str, name: str) -> np.ndarray:
    parts = step(sheet, title).parts
    return next(part.values for part in parts if isinstance(part, Matrix) and part.name == name)


def lines(step: WorksheetStep) -> list[str]:
    return [part.text for part in step.parts if isinstance(part, Line)]


def test_the_cat_sat() -> None:
    sheet = walk_sheet(Path("the-cat-sat"))
    # Q = K = E: (1,0,1,0)·(1,0,1,0) = 2, ·(0,1,0,1) = 0, ·(1,1,1,1) = 2; (1,1,1,1)² = 4
    assert matrix(sheet, "Scores", "scores").tolist() == [[2, 0, 2], [0, 2, 2], [2, 2, 4]]
    assert matrix(sheet, "Scores ÷", "scaled").tolist() == [[1, 0, 1], [0, 1, 1], [1, 1, 2]]
    # e = 2.71828: e/(2e + 1) = 0.42232, 1/(2e + 1) = 0.15536; e²/(e² + 2e) = 0.57612
    expected = [[0.4223, 0.1554, 0.4223], [0.1554, 0.4223, 0.4223], [0.2119, 0.2119, 0.5761]]
    assert matrix(sheet, "Softmax", "weights") == pytest.approx(np.array(expected), abs=5e-5)
    # The: 0.42232 + 0.42232 = 0.84464 and 0.15536 + 0.42232 = 0.57768
    expected = [[0.8446, 0.5777] * 2, [0.5777, 0.8446] * 2, [0.7881] * 4]
    assert matrix(sheet, "Output", "output") == pytest.approx(np.array(expected), abs=5e-5)
    assert sheet.subtitle == ""
    assert all(step.mark is None for step in sheet.steps)


def test_it_is_written_out_as_by_hand() -> None:
    sheet = walk_sheet(Path("the-cat-sat"))
    assert lines(step(sheet, "Scores"))[2] == "The · sat = 1·1 + 0·1 + 1·1 + 0·1 = 2"
    assert lines(step(sheet, "Scores ÷")) == ["2 / 2 = 1, 0 / 2 = 0, 2 / 2 = 1"]
    # 2e + 1 = 6.43656
    assert lines(step(sheet, "Softmax")) == [
        "The → The: e^1 / (e^1 + e^0 + e^1) = 2.7183 / 6.4366 = 0.4223",
        "The → cat: e^0 / (e^1 + e^0 + e^1) = 1 / 6.4366 = 0.1554",
        "The → sat: e^1 / (e^1 + e^0 + e^1) = 2.7183 / 6.4366 = 0.4223",
    ]
    sums = [part for part in step(sheet, "Output").parts if isinstance(part, Sum)]
    assert [part.name for part in sums] == ["The", "cat", "sat"]


def test_the_attention_filter_and_its_root_of_six() -> None:
    sheet = walk_sheet(Path("attention-filter"))
    weights = matrix(sheet, "Softmax", "weights")
    # Row "?": 74/√6 − 73/√6 = 0.40825 and e^−0.40825 = 0.66481; 64: e^−4.08248 = 0.01687;
    # 1/(1 + 0.66481 + 0.01687) = 0.59465, the rest is below 10⁻⁵
    assert weights[0] == pytest.approx([0, 0, 0.3953, 0.0100, 0, 0.5946], abs=5e-5)
    assert weights[4] == pytest.approx([0.0212, 0.0005, 0.0028, 0.0319, 0.8352, 0.1085], abs=5e-5)
    # Row "Hi": 73 − 89 = −16, e^(−16/√6) = 0.00146
    assert weights[5] == pytest.approx([0.9985, 0, 0, 0, 0.0015, 0], abs=5e-5)
    assert "6 is the number of words" in step(sheet, "Scores ÷").note


def test_masked_weights_are_dropped_and_renormalised() -> None:
    sheet = walk_sheet(Path("decoder-mask"))
    # 0.15/(0.15 + 0.75) = 1/6 and 0.75/0.9 = 5/6
    expected = [[1, 0, 0], [1 / 6, 5 / 6, 0], [0.1, 0.2, 0.7]]
    assert matrix(sheet, "Weights", "weights") == pytest.approx(np.array(expected))


@pytest.mark.parametrize(
    ("name", "products"),
    [
        ("money-bank", "0.2 · 0.05 · 0.1 = 0.001, but 0.25 · 0.2 · 0.1 = 0.005"),
        ("river-bank", "0.15 · 0.02 · 0.4 = 0.0012, but 0.2 · 0.01 · 0.05 = 0.0001"),
    ],
)
def test_weights_of_the_notes_need_two_projections(name: str, products: str) -> None:
    last = walk_sheet(Path(name)).steps[-1]
    assert last.mark is not None and last.mark.verdict == "wrong"
    assert products in lines(last)[0]


def test_weights_of_dot_products_pass_the_same_test(write: Write) -> None:
    # the weights of The/cat/sat, whose scores are symmetric: 0.1554 · 0.4223 · 0.2119 both ways
    text = """words = ["The", "cat", "sat"]
    symmetric = true
    weights = [[0.4223, 0.1554, 0.4223], [0.1554, 0.4223, 0.4223], [0.2119, 0.2119, 0.5761]]"""
    last = walk_sheet(write(text)).steps[-1]
    assert last.mark is not None and last.mark.verdict == "right"
    assert not last.parts


def test_the_values_of_the_last_sum() -> None:
    # V of sat = (0,1,1,0): 0.4223·(1,0,1,0) + 0.1554·(0,1,0,1) + 0.4223·(0,1,1,0)
    output = matrix(walk_sheet(Path("the-cat-sat-values")), "Output", "output")
    assert output[0] == pytest.approx([0.4223, 0.5777, 0.8446, 0.1554], abs=5e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_the_steps_are_those_of_the_model(write: Write, causal: bool) -> None:
    numbers = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(1)).round(decimals=3)
    q, k, v = numbers.double()
    rows = "\n".join(f"{name} = {m.tolist()}" for name, m in zip("QKV", (q, k, v), strict=True))
    mask = "mask = 'look-ahead'" if causal else ""
    values = calculate(read_sheet(write(f"{rows}\n{mask}")))
    trace = Trace()
    heads = [x[None, None] for x in (q, k, v)]
    output = explicit_attention(*heads, Mask(causal=causal), trace=trace)[0, 0]
    torch.testing.assert_close(values["scaled"], trace["scores"][0, 0])
    torch.testing.assert_close(values["weights"], trace["weights"][0, 0])
    torch.testing.assert_close(values["output"], output)
    torch.testing.assert_close(
        output, F.scaled_dot_product_attention(*heads, is_causal=causal)[0, 0]
    )


def test_positions_add_and_norm(write: Write) -> None:
    text = "E = [[0,0,0,0,0,0],[0,0,0,0,0,0]]\npositions = true\nadd = true\nnorm = true\n"
    values = calculate(read_sheet(write(text)))
    # sin 1 = 0.8415, cos 1 = 0.5403; 10000^(2/6) = 21.544: sin(1/21.544) = 0.0464
    expected = torch.tensor([0.8415, 0.5403, 0.0464, 0.9989, 0.0022, 1.0]).double()
    torch.testing.assert_close(values["X"][1], expected, atol=5e-5, rtol=0)
    assert torch.equal(values["add"], values["X"] + values["output"])
    deviation = values["add"] - values["add"].mean(dim=1, keepdim=True)
    root = (deviation.square().mean(dim=1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(values["norm"], deviation / root)


def test_projections_and_an_own_mask(write: Write) -> None:
    # (1,2)·W_Q = (1·1 + 2·3, 1·2 + 2·4) = (7, 10); K = E: 7·1 + 10·2 = 27, 7·0 + 10·1 = 10
    text = "E = [[1,2],[0,1]]\nW_Q = [[1,2],[3,4]]\nmask = [[1,0],[1,1]]\nscale = 2"
    values = calculate(read_sheet(write(text)))
    assert values["Q"].tolist() == [[7, 10], [3, 4]]
    assert values["scores"][0].tolist() == [27, 10]
    assert values["scaled"][0].tolist() == [13.5, 5]
    assert values["weights"][0].tolist() == [1, 0]


def test_queries_may_look_at_other_words(write: Write) -> None:
    text = """words = ["mag"]
    key_words = ["I", "like", "ice"]
    Q = [[1, 0]]
    E = [[1, 0], [1, 1], [0, 1]]
    [yours]
    V.ice = [0, 1]
    """
    sheet = walk_sheet(write(text))
    assert matrix(sheet, "Scores", "scores").tolist() == [[1, 1, 0]]
    assert step(sheet, "Values").mark is not None


@pytest.mark.parametrize("name", included())
def test_every_included_sheet_can_be_drawn(name: str) -> None:
    sheet = walk_sheet(Path(name))
    assert sheet.title in worksheet_html(sheet).replace("&#x27;", "'")
    assert r"\end{document}" in worksheet_latex(sheet)


def test_a_wrong_name_lists_the_included_sheets(tmp_path: Path) -> None:
    assert find_sheet(Path("scaling")).name == "scaling.toml"
    with pytest.raises(MisuseError, match=r'did you mean "the-cat-sat"\?.*decoder-mask'):
        walk_sheet(Path("the-cat-sit"))
    with pytest.raises(MisuseError, match="known: attention-filter, decoder-mask"):
        walk_sheet(tmp_path / "zzz.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nothing to calculate"),
        ("E = [[1, 0", "not valid TOML"),
        ("E = [[1, 0]]\nmaks = 'none'", "unknown key 'maks'; did you mean \"mask\""),
        (CAT + "[yours]\nouput = [[1]]", "yours: unknown key 'ouput'; did you mean \"output\""),
        (CAT + "W_Q = [[1,0],[0,1]]", "W_Q is 2 × 2 and E is 3 × 4"),
        ("Q = [[1,0]]\nK = [[1,0,1]]\nV = [[1]]", "Q is 1 × 2 and K is 1 × 3"),
        (CAT + "W_Q = [[1],[1],[1],[1]]", r"Q is 3 × 1 \(E·W_Q\) and K is 3 × 4 \(E·W_K\)"),
        ("Q = [[1]]\nK = [[1],[2]]\nV = [[1]]", "K is 2 × 1 and V is 1 × 1"),
        ("scores = [[1,2]]\nd_k = 2\nV = [[1]]", "scores is 1 × 2 and V is 1 × 1"),
        ("Q = [[1, 2]]", "K missing"),
        (CAT + "P = [[1,2,3,4]]", "P is 1 × 4 and E is 3 × 4"),
        (CAT + "mask = [[1,0,0],[1,1,0]]", "mask is 2 × 3 and the scores are 3 × 3"),
        (CAT + "mask = [[1,0,0],[0,0,0],[1,1,1]]", "mask: row 2 is all 0"),
        (CAT + "mask = [[2,0,0],[0,1,0],[1,1,1]]", "mask: expected only 1"),
        (CAT + "mask = 'lookahead'", "mask: got 'lookahead'"),
        ("scores = [[1, 2]]\nd_k = 1\nmask = 'look-ahead'", "mask: the scores are 1 × 2"),
        ("E = [[1, nan]]", "E: row 1, column 2: got NaN"),
        ("E = [[1, inf]]", "E: row 1, column 2: got Infinity"),
        ("E = [[1, 1e99999999999999999999]]", "E: row 1, column 2: got Infinity"),
        ("E = [[1, 1e13]]", "E: row 1, column 2: got 1E.13"),
        ("E = [[1, 'x']]", "E: row 1, column 2: got 'x'"),
        ("E = [[1, true]]", "E: row 1, column 2: got True"),
        ("E = [[1, [2]]]", "E: row 1, column 2"),
        ("E = [[1, 0], [1]]", "E: row 2 has 1 numbers and row 1 has 2"),
        ("E = [[1, 0], 1]", "E: row 2 is 1"),
        ("E = []", r"E: got \[\],"),
        ("E = [[]]", r"E: got \[\[\]\],"),
        ("E = 3", "E: got 3"),
        (f"E = [{[1] * 65}]", "E is 1 × 65; .* 64 × 64"),
        (f"E = {'[' * 5000}", "not valid TOML"),
        (f"E = [[{'9' * 5000}]]", "not valid TOML"),
        ("words = ['The']\nE = [[1], [2]]", "words: got 1 words for 2 rows of E"),
        ("words = 'The'\nE = [[1]]", "words: expected a list"),
        ("E = [[1,2,3]]\npositions = true", "positions: E is 1 × 3"),
        ("scores = [[1, 2]]", "d_k is not known"),
        ("scores = [[1, 2]]\nd_k = 0", "d_k: got 0"),
        ("Q = [[1]]\nK = [[1]]\nd_k = 4", "d_k is 4 and Q has 1 columns"),
        (CAT + "scale = 'root'", "scale: got 'root'"),
        (CAT + "scale = 0", "scale: got 0"),
        (CAT + "scale = 'sqrt(-1)'", "scale: got"),
        (CAT + "scores = [[1]]", "scores are given, so E would not be used"),
        ("Q = [[1]]\nK = [[1]]\nW_V = [[1]]", "E is not given, so W_V would not be used"),
        (CAT + "Q = [[1]]\nW_Q = [[1]]", "Q is given, so W_Q would not be used"),
        (CAT + "W_V = [[1],[1],[1],[1]]\nadd = true", "the output is 3 × 1 and E is 3 × 4"),
        ("Q = [[1]]\nK = [[1]]\nnorm = true", "norm: "),
        ("weights = [[0.5, 0.2]]", "weights: row 1 sums to 0.7"),
        ("weights = [[1.5, -0.5]]", "weights: row 1 holds -0.5"),
        ("weights = [[0, 1], [0, 1]]\nmask = 'look-ahead'", "hides every weight of row 1"),
        (CAT + "symmetric = true", "symmetric: "),
        (CAT + "[yours]\noutput = [[1,2,3,4]]", "yours.output is 1 × 4 and output is 3 × 4"),
        (CAT + "[yours]\noutput.The = [1,2]", "yours.output is 3 × 2 and output is 3 × 4"),
        (CAT + "[yours]\noutput.the = [1,2,3,4]", "no word 'the'; did you mean \"The\""),
        (CAT + "[yours]\nnorm.The = [1,2,3,4]", "yours.norm: this sheet has no such step"),
        (CAT + "[yours]\nweights.The = [nan,0,1]", "yours.weights: row 1, column 1: got NaN"),
        (CAT + "yours = 3", "expected a section"),
    ],
)
def test_a_wrong_sheet_is_refused_in_one_sentence(write: Write, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        walk_sheet(write(text))
    assert caught.value.exit_code == 2
    assert str(caught.value).splitlines() == [str(caught.value)]
    assert "sheet.toml" in str(caught.value)


whole = st.integers(-3, 3)


@settings(max_examples=25)
@given(st.lists(st.lists(whole, min_size=2, max_size=2), min_size=2, max_size=4), st.integers(2, 6))
def test_right_results_are_never_blamed_and_a_changed_number_is(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]], decimals: int
) -> None:
    path = tmp_path_factory.mktemp("sheets") / "sheet.toml"
    path.write_text(f"E = {rows}", encoding="utf-8")
    values = calculate(read_sheet(path))
    names = ("scores", "scaled", "weights", "output")
    own = {n: [[f"{float(x):.{decimals}f}" for x in r] for r in values[n]] for n in names}

    def verdicts() -> list[str]:
        text = "\n".join(f"{n} = {str(rows).replace(chr(39), '')}" for n, rows in own.items())
        path.write_text(f"E = {rows}\n[yours]\n{text}", encoding="utf-8")
        marks = [step.mark for step in walk_sheet(path).steps]
        return [mark.verdict for mark in marks if mark is not None]

    assert verdicts() == ["right"] * 4
    own["weights"][0][0] = f"{float(values['weights'][0, 0]) + 0.25:.{decimals}f}"
    assert verdicts()[:3] == ["right", "right", "wrong"]


def test_the_docs_show_the_real_worksheet_and_name_every_sheet() -> None:
    text = (Path(__file__).parents[2] / "docs/walk.md").read_text(encoding="utf-8")
    shown = text.split("$ regard walk --matrices the-cat-sat-notes\n")[1].split("\n```")[0]
    console = Console(file=StringIO(), width=80)
    console.print(TerminalSheet(walk_sheet(Path("the-cat-sat-notes"))))
    assert isinstance(console.file, StringIO)
    assert shown == console.file.getvalue().rstrip()
    assert all(f"`{name}`" in text for name in included())
