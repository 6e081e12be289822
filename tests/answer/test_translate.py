"""Lines in, lines out: with an engine that mirrors its input, so that every answer is known."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.answer import translate
from regard.answer.translate import EMPTY, Reading, Translation, Translator, decoding_with, joined
from regard.bundle.codec import Codec
from regard.decode.engine import Frame, Hypothesis, Layout, Pending, Row
from regard.decode.options import DecodingOptions
from regard.errors import DataError, MisuseError
from regard.text.sentences import split_sentences

END = 0x110000  # one more than the last character


class Mirror:
    """Answers with the source backwards; the n-th best has n - 1 marks at its end."""

    name, layout = "mirror", Layout()

    def __init__(self) -> None:
        self.rows: list[tuple[int, ...]] = []
        self.log: list[str] = []

    def submit(
        self, sources: Sequence[Row], search: DecodingOptions, prefixes: Sequence[Row] = ()
    ) -> Pending:
        self.rows += [tuple(source) for source in sources]
        self.log.append(f"submit {len(sources)}")
        given = prefixes or [()] * len(sources)

        def answers() -> list[list[Hypothesis]]:
            self.log.append("wait")
            return [
                [
                    Hypothesis((*prefix, *source[-2::-1], *[ord("!")] * n), -n, -0.5 * n - 1, True)
                    for n in range(search.n_best)
                ]
                for source, prefix in zip(sources, given, strict=True)
            ]

        return answers

    def score(self, sources: Sequence[Row], targets: Sequence[Row]) -> list[list[float]]:
        raise NotImplementedError

    def close(self) -> None:
        pass


def encode(texts: Sequence[str]) -> list[list[int]]:
    for text in texts:
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise DataError("text: half a character")
    return [[*map(ord, text), END] for text in texts]


CODEC = Codec(
    Frame(END, END, END),
    encode,
    lambda text: [*map(ord, text)],
    lambda rows: ["".join(map(chr, row)) for row in rows],
    lambda row: [str(i) for i in row],
    lambda size: [str(i) for i in range(size)],
)


def make(limit: int | None = None) -> tuple[Translator, Mirror]:
    engine = Mirror()
    return Translator(CODEC, DecodingOptions(), limit, lambda search, prefixed: engine), engine


LINES = st.lists(
    st.text(st.sampled_from("aB. !?।\n\t\r\x00\x1b\"'(😀אبक\u202e\u2028"), max_size=30), max_size=12
)


@settings(max_examples=150, deadline=None)
@given(LINES)
def test_line_n_belongs_to_line_n(lines: list[str]) -> None:
    """Each sentence is mirrored in its place, and the whitespace between them stays."""
    translator, _ = make()
    found = translator.translations(lines)
    assert len(found) == len(lines)
    for line, answers in zip(lines, found, strict=True):
        parts = split_sentences(line)
        expected = [p[::-1] if n % 2 else p for n, p in enumerate(parts)]
        assert answers[0].text == ("".join(expected) if line.strip() else "")


def test_blank_lines_stay_blank_and_whole_lines_are_left_alone() -> None:
    translator, engine = make()
    assert translator.translations(["", "  \t"]) == [[EMPTY], [EMPTY]]
    assert engine.rows == []
    assert translator.translations([" One. Two. "], split=False)[0][0].text == " .owT .enO "


def test_repeated_sentences_are_searched_once() -> None:
    translator, engine = make()
    texts = ["One. Two. One.", "Two.", "One."]
    found = [answers[0].text for answers in translator.translations(texts)]
    assert found == [".enO .owT .enO", ".owT", ".enO"]
    assert len(engine.rows) == 2
    translator.translations(["One.", "One."], temperature=1.0, seed=1)  # each draws for itself
    assert len(engine.rows) == 4


def test_one_chunk_is_submitted_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translate, "CHUNK", 2)
    translator, engine = make()
    done: list[int] = []
    texts = ["a", "bb", "ccc", "dddd", "eeeee", ""]
    found = translator.translations(texts, advance=done.append)
    assert [answers[0].text for answers in found] == [text[::-1] for text in texts]
    assert engine.log == ["submit 2", "submit 2", "wait", "submit 1", "wait", "wait"]
    assert [len(row) for row in engine.rows] == [6, 5, 4, 3, 2]  # the longest first
    assert sum(done) == len(texts)


def test_a_sentence_that_does_not_fit_is_named_and_never_cut() -> None:
    translator, _ = make(limit=10)
    assert translator.translations(["123456789", "A bc. D ef. G hi."])[0][0].text == "987654321"
    message = r"line 3: a sentence of 11 tokens, this model reads at most 10 .*divide it$"
    with pytest.raises(DataError, match=message):
        translator.translations(["a", "", "1234567890"])
    with pytest.raises(DataError, match="line 7: .*or let the line be split into sentences"):
        translator.translations(["A bc. D ef. G hi."], split=False, first_line=7)


def test_half_a_character_is_named_with_its_line() -> None:
    translator, _ = make()
    with pytest.raises(DataError, match="line 2: text: half a character"):
        translator.translations(["fine.", "a\ud800b", "fine too."])


def test_the_best_combinations_of_a_paragraph() -> None:
    """Against all combinations, sorted."""
    scores = [[-0.1, -0.7, -0.8], [-0.2, -0.3], [-0.05, -2.0, -2.5]]
    found = [
        [Translation(f"{n}{k}", score, 2 * score, True, (n, k)) for k, score in enumerate(row)]
        for n, row in enumerate(scores)
    ]
    got = joined([">", "a", " ", "b", "\t", "c", "<"], found, DecodingOptions(beam=5, n_best=5))
    every = sorted(itertools.product(*found), key=lambda row: -sum(a.score for a in row))[:5]
    assert [answer.text for answer in got] == [
        f">{a.text} {b.text}\t{c.text}<" for a, b, c in every
    ]
    assert [answer.score for answer in got] == pytest.approx(
        [sum(a.score for a in row) for row in every]
    )
    assert got[0].ids == (0, 0, 1, 0, 2, 0) and got[0].log_probability == pytest.approx(-0.7)


def test_what_is_cut_off_comes_last_or_by_its_score() -> None:
    ended, cut = Translation("a", -2.0, -2.0, True, (1,)), Translation("b", -1.0, -1.0, False, (2,))
    decoding = DecodingOptions(beam=4, n_best=4)
    for convention, expected in (("regard", "aa bb ab ba"), ("transformers", "bb ab ba aa")):
        order = replace(decoding, convention=convention)
        best = [ended, cut] if convention == "regard" else [cut, ended]
        texts = [each.text for each in joined(["", "x", "", "y", ""], [best, best], order)]
        assert [sorted(text) for text in texts] == [sorted(text) for text in expected.split()]


@settings(max_examples=50, deadline=None)
@given(LINES, st.integers(1, 5))
def test_n_best_lists_are_sorted_and_distinct(lines: list[str], count: int) -> None:
    translator, _ = make()
    for answers in translator.translations(lines, n_best=count):
        texts, scores = [a.text for a in answers], [a.score for a in answers]
        assert len(set(texts)) == len(texts) <= count
        assert scores == sorted(scores, reverse=True)


def test_a_paragraph_of_a_megabyte() -> None:
    """Linear: 50,000 sentences are joined, not added up one by one; n-best lists too."""
    text = "This is a sentence. " * 50_000
    translator, engine = make()
    answers = translator.translations([text], n_best=2)[0]
    assert answers[0].text == ".ecnetnes a si sihT " * 50_000 and len(answers) == 2
    assert len(engine.rows) == 1


def test_a_prefix_begins_every_output_and_nothing_is_split() -> None:
    translator, _ = make()
    assert translator.translations(["One. Two."], prefix="x")[0][0].text == "x.owT .enO"
    found = translator.translations(["ab", "ab", "cd"], prefix=["x", "y", ""])
    assert [answers[0].text for answers in found] == ["xba", "yba", "dc"]
    with pytest.raises(MisuseError, match="prefix: got 2 for 1 text;"):
        translator.translations(["a"], prefix=["x", "y"])


def test_the_beam_follows_what_is_asked_for() -> None:
    assert decoding_with(DecodingOptions(), "translate", temperature=0.8).beam == 1
    assert decoding_with(DecodingOptions(), "translate", n_best=7).beam == 7
    assert decoding_with(DecodingOptions(), "translate", n_best=3).beam == 4
    with pytest.raises(MisuseError, match="3 are more than a beam of 2"):
        decoding_with(DecodingOptions(), "translate", n_best=3, beam=2)
    with pytest.raises(MisuseError, match="unknown option 'beem'; did you mean \"beam\""):
        decoding_with(DecodingOptions(), "translate", beem=3)
    with pytest.raises(MisuseError, match='did you mean "prefix"'):
        decoding_with(DecodingOptions(), "translate", perfix="a")
    assert Reading().split


def test_of_equal_texts_the_best_stays_at_its_place() -> None:
    scores = {"A": -1.0, "B": -2.0}
    row = [Translation(t, s, s, True, ()) for t, s in (("A", -1.0), ("B", -2.0), ("A", -3.0))]
    found = joined(["", "x", ""], [row], DecodingOptions(n_best=3))
    assert [(answer.text, answer.score) for answer in found] == list(scores.items())
