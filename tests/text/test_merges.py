"""Merges with `</w>`: against the algorithm as its paper writes it, and the library's own model."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from refusals import refused
from regard.datasets.find import find
from regard.datasets.table import named
from regard.errors import ConfigError, DataError
from regard.runs.recipe import make_recipe
from regard.text.merges import read_merges
from regard.text.tokenizer import Tokenizer

CODES = "#version: 0.2\nl o\nlo w</w>\nlo w\ne r</w>\nn e\n"
TEXTS = ["low lower new", "never slow"]


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    path = tmp_path / "small.codes"
    path.write_text(CODES)
    return path


def cut_by_the_paper(word: str, merges: Sequence[tuple[str, str]]) -> list[str]:
    """Sennrich et al. 2016: again and again the merge that was learned first, wherever it fits."""
    pieces = [*word[:-1], f"{word[-1]}</w>"]
    for left, right in merges:
        joined = list[str]()
        for piece in pieces:
            if joined and (joined[-1], piece) == (left, right):
                joined[-1] = left + right
            else:
                joined.append(piece)
        pieces = joined
    return pieces


def test_a_small_file_by_hand(codes: Path) -> None:
    tokenizer = Tokenizer.train(TEXTS, "merges", codes=codes)
    ids = tokenizer.encode("low  lower new\tslow")
    assert [tokenizer.tokens[i] for i in ids] == [
        *("low</w>", "low", "er</w>", "ne", "w</w>", "s", "low</w>")
    ]
    assert tokenizer.decode(ids) == "low lower new slow"
    assert tokenizer.pieces(ids)[:3] == ["low▁", "low", "er▁"]
    groups = tokenizer.word_groups([*ids, tokenizer.special.eos])
    assert [word for word, _ in groups] == ["low", "lower", "new", "slow", "</s>"]
    assert [n for _, positions in groups for n in positions] == list(range(len(ids) + 1))
    assert tokenizer.pieces(tokenizer.encode("lox"))[-1] == "<unk>"  # no text showed an x
    assert "low" in tokenizer.whole_words().values()
    # 4 special ones; l o w e r n v s, each inside a word and at its end; 5 merges
    assert tokenizer.size == 4 + 2 * 8 + 5


def test_the_file_brings_back_the_kind(codes: Path, tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(TEXTS, "merges", codes=codes)
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (loaded.kind, loaded.tokens) == ("merges", tokenizer.tokens)
    assert loaded.encode("slower news") == tokenizer.encode("slower news")


def test_learned_merges_cut_as_the_paper_does() -> None:
    texts = [f"{a}{b}{c}" for a in ("low", "slow", "new", "wid") for b in ("", "er", "est")
             for c in ("", "s", " </s>x")]  # fmt: skip
    tokenizer = Tokenizer.train(texts * 3, "merges", size=70)
    merges = [(a, b) for a, b in json.loads(tokenizer.written())["model"]["merges"]]
    assert len(merges) > 20
    for text in texts:
        cut = [piece for word in text.split() for piece in cut_by_the_paper(word, merges)]
        assert [tokenizer.tokens[i] for i in tokenizer.encode(text)] == cut
    assert tokenizer.special.eos not in tokenizer.encode("</s>x </s>")


def test_a_merge_that_makes_a_special_token_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "spelled.codes"
    path.write_text("#version: 0.2\n/ s\n< /s\n</s >\n</s> x</w>\n")
    tokenizer = Tokenizer.train(["</s>x"], "merges", codes=path)
    assert [tokenizer.tokens[i] for i in tokenizer.encode("</s>x")] == ["</s", ">", "x</w>"]
    tokenizer.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").tokens == tokenizer.tokens


def test_dropout_cuts_otherwise_and_joins_the_same(codes: Path) -> None:
    cutter = Tokenizer.train(TEXTS, "merges", codes=codes).with_dropout(0.5)
    cuts = {tuple(cutter.encode("lower")) for _ in range(200)}
    assert len(cuts) > 1 and {cutter.decode(ids) for ids in cuts} == {"lower"}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("l o\n", "does not begin with that line"),
        ("", "does not begin with that line"),
        ("#version: 0.2\n", "holds no merge"),
        ("#version: 0.2\nl o w\n", "line 2 is no merge of two pieces"),
        ("#version: 0.2\nl o\no</w> w\n", "line 3 is no merge of two pieces"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "x.codes"
    path.write_text(content)
    with refused(DataError, problem=problem, expected="#version: 0.2"):
        read_merges(path)
    with refused(DataError, problem="cannot be read"):
        read_merges(tmp_path / "none.codes")


def test_a_recipe_names_the_file() -> None:
    tables = {"data": {"phrasebook": "de"}, "tokenizer": {"kind": "merges", "codes": "a.codes"}}
    assert make_recipe(tables, "r.toml").tokenizer.codes == Path("a.codes")
    tables["tokenizer"]["kind"] = "bytes"
    with pytest.raises(ConfigError, match='merges is of no use to kind "bytes"'):
        make_recipe(tables, "r.toml")


def test_the_published_merges_of_multi30k() -> None:
    folder = find(named("multi30k-tok"))
    if folder is None or not (codes := folder / "bpe-10000.codes").is_file():
        pytest.skip("multi30k-tok with bpe-10000.codes is not on this machine")
    lines = list[str]()
    for name in named("multi30k-tok").train:
        with gzip.open(folder / name, "rt", encoding="utf-8") as file:
            lines += [line.rstrip("\n") for line in file]
    ours = Tokenizer.train(lines, "merges", codes=codes)
    merges = [(a, b) for a, b in map(str.split, codes.read_text("utf-8").splitlines()[1:])]
    made = {f"{a}{b}" for a, b in merges} | {piece for pair in merges for piece in pair}
    made |= {form for line in lines for x in line if x != " " for form in (x, f"{x}</w>")}
    vocabulary = {piece: i for i, piece in enumerate(sorted(made))}
    theirs = Backend(models.BPE(vocabulary, merges, end_of_word_suffix="</w>"))
    theirs.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    expected = [encoding.tokens for encoding in theirs.encode_batch(lines)]
    tokens = ours.tokens
    wrong = [
        (row, cut)
        for ids, cut in zip(ours.encode_batch(lines), expected, strict=True)
        if (row := [tokens[i] for i in ids]) != cut
    ]
    assert len(lines) == 58_000 and not wrong[:1]
    words = sorted({word for line in lines[::500] for word in line.split()})
    for word in words[::20]:
        assert [tokens[i] for i in ours.encode(word)] == cut_by_the_paper(word, merges)
