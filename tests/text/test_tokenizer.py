"""The five kinds: exact round trips, no special ids from text, careful loading, quiet forks."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from refusals import refused
from regard.errors import DataError, MisuseError
from regard.text.special import Special
from regard.text.tokenizer import Tokenizer

LINES = [
    "the animal did not cross the street because it was too tired.",
    "das Tier überquerte die Straße nicht, weil es zu müde war.",
    "the street was wide; the animal was tired.",
    "<s> is how a page strikes text </s> and <pad> pads it <unk>",
] * 10
KINDS = ["bytes", "gpt2", "unigram", "merges", "words", "characters"]


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return Tokenizer.train(iter(LINES), kind=request.param, size=400)


BYTES = Tokenizer.train(LINES, size=400)
GPT2 = Tokenizer.train(LINES, kind="gpt2", size=400)
CHARACTERS = Tokenizer.train(LINES, kind="characters", size=400)


@settings(max_examples=300)
@given(st.text())
@example("")
@example(" ")
@example("   two leading, two trailing  ")
@example("</s>")
@example(" <s><pad><unk> ")
@example("a\r\nb\u2028c\u0085\x00\ufeff")
@example("नमस्ते 🙂 e\u0301")
def test_bytes_come_back_exactly(text: str) -> None:
    for kind in (BYTES, GPT2):
        ids = kind.encode(text)
        assert kind.decode(ids) == text
        assert not set(ids) & set(kind.special.ids)


def test_gpt2_cuts_as_the_library_does_for_gpt2() -> None:
    theirs, every = pre_tokenizers.ByteLevel(add_prefix_space=False), GPT2.tokens
    for text in [*LINES, "don't 1984's  two\n\nlines नमस्ते"]:
        cuts = ["".join(spelled) for spelled, _ in theirs.pre_tokenize_str(" " + text)]
        tokens = [every[i] for i in GPT2.encode(text)]
        whole, ends = "".join(tokens), {0}
        for token in tokens:
            ends.add(max(ends) + len(token))
        assert whole == "".join(cuts)
        assert ends >= {len("".join(cuts[:n])) for n in range(len(cuts))}  # no token crosses a cut
    assert len(GPT2.encode("नमस्ते")) >= len(BYTES.encode("नमस्ते"))


@given(st.text(alphabet=sorted(set("".join(LINES)))))
def test_known_characters_come_back_exactly(text: str) -> None:
    ids = CHARACTERS.encode(text)
    assert CHARACTERS.decode(ids) == text
    assert len(ids) == len(text)


def test_text_never_becomes_a_special_token(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    for each in (tokenizer, Tokenizer.load(tmp_path / "tokenizer.json")):
        for text in ["<s>", "</s>", "<pad>", "a</s>b <s> <pad><unk>", " </s>"]:
            ids = each.encode(text)
            assert not {each.special.pad, each.special.bos, each.special.eos} & set(ids)
            assert each.encode_batch([text, "the"]) == [ids, each.encode("the")]


def test_the_file_brings_back_the_same_tokenizer(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    loaded = Tokenizer.load(path)
    assert (loaded.kind, loaded.size, loaded.special) == (
        tokenizer.kind,
        tokenizer.size,
        Special(pad=0, bos=1, eos=2, unk=3),
    )
    assert loaded.encode_batch(LINES[:4]) == tokenizer.encode_batch(LINES[:4])
    assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.json"]


@pytest.mark.parametrize("kind", ["bytes", "gpt2", "unigram", "words"])
def test_a_word_is_the_same_piece_at_the_start_and_inside(kind: str) -> None:
    tokenizer = Tokenizer.train(LINES, kind=kind, size=400)
    the = tokenizer.encode("the")
    assert tokenizer.encode("the the") == the + the


def test_the_one_space_in_front_is_taken_away_once() -> None:
    assert BYTES.pieces(BYTES.encode("the")) == ["▁the"]
    assert BYTES.pieces(BYTES.encode(" the")) == ["▁", "▁the"]
    assert BYTES.decode(BYTES.encode(" the")) == " the"


def test_decode_skips_special_ids(tokenizer: Tokenizer) -> None:
    ids = [1, *tokenizer.encode("the street"), 3, 2, 0, 0]
    assert tokenizer.decode(ids) == "the street"
    assert tokenizer.decode(np.array(ids, dtype=np.uint16)) == "the street"
    assert tokenizer.decode_batch([ids, []]) == ["the street", ""]


def test_unigram_keeps_spaces_and_marks_the_unknown() -> None:
    tokenizer = Tokenizer.train(LINES, kind="unigram", size=400)
    assert tokenizer.decode(tokenizer.encode("  the  street ")) == "  the  street "
    assert tokenizer.special.unk in tokenizer.encode("the 🙂")


def test_words_are_cut_at_punctuation_and_joined_readably() -> None:
    text = 'He said: "I don\'t know (yet), well-known friend!" So?'
    tokenizer = Tokenizer.train([text], kind="words", size=100)
    ids = tokenizer.encode(text)
    assert tokenizer.pieces(ids)[:6] == ["He", "said", ":", '"', "I", "don't"]
    assert tokenizer.decode(ids) == text
    assert tokenizer.pieces(tokenizer.encode("He lied")) == ["He", "<unk>"]
    assert tokenizer.word_groups(ids)[:3] == [("He", [0]), ("said", [1]), (":", [2])]


def test_pieces_show_half_characters_and_white_space() -> None:
    ids = [1, *BYTES.encode("the €\n\t"), 2]
    assert BYTES.pieces(ids) == ["<s>", "▁the", "▁", "‹e2›", "‹82›", "‹ac›", "\\n", "\\t", "</s>"]


def test_word_groups_partition_the_positions() -> None:
    ids = [1, *BYTES.encode("the zebra, €5"), 2]
    groups = BYTES.word_groups(ids)
    assert [word for word, _ in groups] == ["<s>", "the", "zebra,", "€5", "</s>"]
    assert [i for _, positions in groups for i in positions] == list(range(len(ids)))
    groups = CHARACTERS.word_groups(CHARACTERS.encode("it was "))
    assert groups == [("it", [0, 1]), ("was", [2, 3, 4, 5]), ("▁", [6])]


@given(st.text())
def test_word_groups_spell_the_words_of_ascii_text(text: str) -> None:
    text = text.encode("ascii", errors="ignore").decode()
    text = "".join(c for c in text if c.isprintable())
    ids = BYTES.encode(text)
    groups = BYTES.word_groups(ids)
    assert [word for word, _ in groups if word.strip("▁")] == text.split()
    assert [i for _, positions in groups for i in positions] == list(range(len(ids)))


def test_the_same_text_gives_the_same_vocabulary(tmp_path: Path) -> None:
    for kind in ("bytes", "gpt2", "words", "characters"):
        Tokenizer.train(LINES, kind=kind, size=300).save(tmp_path / "a")
        Tokenizer.train(LINES, kind=kind, size=300).save(tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("kind", "size", "says"),
    [
        ("bytes", 259, "at least 260"),
        ("words", 4, "at least 5"),
        ("byte", 300, 'did you mean "bytes"'),
        ("unigram", 10, "Raise the size"),
    ],
)
def test_misuse_of_training_is_explained(kind: str, size: int, says: str) -> None:
    with pytest.raises(MisuseError, match=says):
        Tokenizer.train(LINES, kind=kind, size=size)


def test_the_smallest_byte_vocabulary_still_spells_everything() -> None:
    tokenizer = Tokenizer.train(LINES, size=260)
    assert tokenizer.size == 260
    assert tokenizer.decode(tokenizer.encode("Straße 🙂")) == "Straße 🙂"


@pytest.mark.parametrize("kind", KINDS)
def test_training_needs_text(kind: str) -> None:
    with pytest.raises(DataError, match="no text"):
        Tokenizer.train(["", "  "], kind=kind, size=300)


def test_an_error_of_the_reader_passes_through_training() -> None:
    def broken() -> Iterator[str]:
        yield "one"
        raise DataError("line 2")

    with pytest.raises(DataError, match="line 2"):
        Tokenizer.train(broken(), size=300)


def test_lone_surrogates_are_explained() -> None:
    with pytest.raises(DataError, match=r"character 1 .* U\+D800"):
        BYTES.encode("a\ud800")
    with pytest.raises(DataError, match=r"U\+DC80"):
        BYTES.encode_batch(["fine", "\udc80"])
    with pytest.raises(DataError, match=r"U\+D800"):
        Tokenizer.train(["a\ud800"], size=300)


@pytest.mark.parametrize("wrong", [-1, 400])
def test_a_foreign_id_is_an_error_not_silence(wrong: int) -> None:
    with pytest.raises(DataError, match=rf"id {wrong} is not in this vocabulary of {BYTES.size}"):
        BYTES.decode([5, wrong])


def _changed(key: str, value: object) -> str:
    return json.dumps(json.loads(BYTES._backend.to_str()) | {key: value})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not a tokenizer file"),
        (b"{", "is not a tokenizer file"),
        (b"\xff\xfe", "cannot be read"),
        (_changed("added_tokens", []).encode(), "marks ids"),
        (_changed("decoder", None).encode(), "BPE model that regard did not write"),
        (BYTES._backend.to_str().replace("<pad>", "<pat>").encode(), "has no <pad>"),
        (BYTES._backend.to_str()[:-100].encode(), "is not a tokenizer file"),
    ],
)
def test_a_broken_file_is_explained(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=says) as caught:
        Tokenizer.load(path)
    assert str(path) in str(caught.value) and "train the tokenizer again" in str(caught.value)


def test_an_absent_file_and_an_unwritable_place_are_explained(tmp_path: Path) -> None:
    with refused(DataError, problem="No such file"):
        Tokenizer.load(tmp_path / "none.json")
    with refused(DataError, problem="cannot write"):
        (tmp_path / "a file").touch()
        BYTES.save(tmp_path / "a file" / "tokenizer.json")


def test_a_file_whose_text_spells_a_special_token_is_refused(tmp_path: Path) -> None:
    content = json.loads(Tokenizer.train(LINES, kind="unigram", size=400)._backend.to_str())
    content["pre_tokenizer"] = content["pre_tokenizer"]["pretokenizers"][0]  # no cut at < and >
    (tmp_path / "t.json").write_text(json.dumps(content))
    with refused(DataError, problem="spells special tokens"):
        Tokenizer.load(tmp_path / "t.json")


FORK = """
import os
from regard.text.tokenizer import Tokenizer
tokenizer = Tokenizer.train(["the animal"] * 300, size=300)
tokenizer.encode_batch(["the animal"] * 300)
child = os.fork()
assert tokenizer.decode_batch(tokenizer.encode_batch(["the animal"] * 300)) == ["the animal"] * 300
assert ("TOKENIZERS_PARALLELISM" in os.environ) == (child == 0)
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_file_with_holes_in_its_ids_is_refused(tmp_path: Path) -> None:
    content = json.loads(BYTES._backend.to_str())
    content["model"]["vocab"]["far"] = 9999
    (tmp_path / "t.json").write_text(json.dumps(content))
    with refused(DataError, problem="holes"):
        Tokenizer.load(tmp_path / "t.json")


HUGE = """
import resource, sys
from pathlib import Path
from regard.errors import DataError
from regard.text.tokenizer import Tokenizer

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    Tokenizer.load(Path(sys.argv[1]))
except DataError as error:
    assert "holes" in str(error)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory in units of Linux")
def test_a_huge_id_takes_no_memory(tmp_path: Path) -> None:
    """The library would list every hole up to it: gigabytes."""
    content = json.loads(BYTES._backend.to_str())
    content["model"]["vocab"]["far"] = 2**31
    (tmp_path / "t.json").write_text(json.dumps(content))
    done = subprocess.run(
        [sys.executable, "-c", HUGE, str(tmp_path / "t.json")],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 100_000  # kilobytes


def test_a_fork_is_quiet_and_does_not_hang() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


def test_text_imports_no_torch() -> None:
    code = "import sys, regard.text.tokenizer; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=20).returncode == 0
