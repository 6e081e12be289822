"""Files are cut into passages that know their lines, and nothing of them is lost."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from refusals import refused
from regard.data.passages import Passage, cut, survey
from regard.errors import MisuseError


def words(text: str) -> int:
    return len(text.split())


def test_paragraphs_with_their_lines() -> None:
    text = "one two three\nfour five\n\n\nsix seven eight nine\n\nten eleven twelve thirteen\n"
    made = cut(text.encode(), words, budget=8)
    assert made.passages == [
        Passage("one two three\nfour five", 1, 2),
        Passage("six seven eight nine", 5, 5),
        Passage("ten eleven twelve thirteen", 7, 7),
    ]
    assert (made.lines, made.bad_lines) == (7, [])


def test_a_heading_goes_with_what_follows_and_never_with_what_stood_before() -> None:
    text = "short\n\n# Title\n\n## Sub\n\na b c d e f g h\n"
    made = cut(text.encode(), words, budget=16)
    assert [p.text for p in made.passages] == ["short", "# Title\n\n## Sub\n\na b c d e f g h"]
    assert [(p.first, p.last) for p in made.passages] == [(1, 1), (3, 7)]


def test_what_is_over_the_budget_is_cut_between_lines_then_sentences_then_words() -> None:
    lines = cut(b"a b c\nd e f\ng h i\n", words, budget=6)
    assert [p.text for p in lines.passages] == ["a b c\nd e f", "g h i"]
    sentences = cut(b"We saw it. They did not. It was late.", words, budget=6)
    assert [p.text for p in sentences.passages] == ["We saw it. They did not.", "It was late."]
    pieces = cut(b"a b c d e f g", words, budget=3)
    assert [p.text for p in pieces.passages] == ["a b c", "d e", "f g"]
    assert all((p.first, p.last) == (1, 1) for p in pieces.passages)
    letters = cut(b"abcdefg", len, budget=4)
    assert [p.text for p in letters.passages] == ["abc", "defg"]


def test_lines_that_are_no_text_are_counted_and_do_no_harm_to_others() -> None:
    data = b"\xef\xbb\xbfone\r\ntw\xffo\nthree\nfo\0ur\nfive"
    made = cut(data, words, budget=9)
    assert made.passages == [Passage("one\n\nthree\n\nfive", 1, 5)]
    assert (made.lines, made.bad_lines) == (5, [2, 4])


@settings(max_examples=60)
@given(st.text(alphabet="ab \n#.é", max_size=200), st.integers(1, 12))
def test_every_word_is_in_exactly_one_passage_within_the_budget(text: str, budget: int) -> None:
    made = cut(text.encode(), words, budget)
    assert "".join("".join(p.text for p in made.passages).split()) == "".join(text.split())
    lines = text.split("\n")
    for passage in made.passages:
        assert 0 < words(passage.text) <= budget
        own = "".join("".join(lines[passage.first - 1 : passage.last]).split())
        assert "".join(passage.text.split()) in own


def test_a_survey_takes_text_and_counts_the_rest(tmp_path: Path) -> None:
    for name in ("b.md", "a.TXT", "sub/c.rst", "x.png", "y.png", "Makefile", ".git/d.md", ".e.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("text")
    (tmp_path / "link.md").symlink_to(tmp_path / "b.md")
    (tmp_path / "made").mkdir()
    (tmp_path / "made/inner.md").write_text("text")
    found = survey(tmp_path, without=tmp_path / "made")
    assert list(found.files) == ["a.TXT", "b.md", "sub/c.rst"]
    assert dict(found.other) == {".png": 2, "no suffix": 1}
    with refused(MisuseError, problem="no such folder"):
        survey(tmp_path / "absent")
    with refused(MisuseError, problem="is a file"):
        survey(tmp_path / "b.md")
