"""Readers and cleaning: every class of bad line counted exactly, flat memory, clear refusals."""

import gzip
import json
import re
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refusals import refused
from regard.data.corpus import (
    DEFAULT_LIMITS,
    Limits,
    Pair,
    Problem,
    Report,
    read_pairs,
    split_for_validation,
)
from regard.errors import DataError, MisuseError


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read(
    source: Path, target: Path | None = None, limits: Limits = DEFAULT_LIMITS
) -> tuple[list[Pair], Report]:
    report = Report()
    return list(read_pairs(source, target, report, limits)), report


GOOD_SOURCE, GOOD_TARGET = "the animal sleeps", "das Tier schläft"


def test_a_tenth_of_broken_lines_is_counted_by_class_with_line_numbers(tmp_path: Path) -> None:
    source = [GOOD_SOURCE.encode()] * 100
    target = [GOOD_TARGET.encode()] * 100
    source[2] = b"caf\xe9"  # Latin-1
    target[16] = b"\xff\xfe\xfa"
    source[9] = b""
    target[29] = b" \t "
    target[39] = b"das\x00Tier"
    source[49] = b"x" * 2001
    target[58] = b"y" * (1 << 20)
    source[69] = b"a"
    target[69] = b"b" * 21
    source += [b"left alone"] * 2
    write(tmp_path / "s.txt", b"\n".join(source) + b"\n")
    write(tmp_path / "t.txt", b"\n".join(target))
    pairs, report = read(tmp_path / "s.txt", tmp_path / "t.txt")
    assert (report.total, report.kept, len(pairs)) == (102, 92, 92)
    assert report.first_lines == {
        Problem.ENCODING: [3, 17],
        Problem.EMPTY: [10, 30],
        Problem.NUL: [40],
        Problem.TOO_LONG: [50, 59],
        Problem.RATIO: [70],
        Problem.SURPLUS: [101, 102],
    }
    assert report.bad == {problem: len(n) for problem, n in report.first_lines.items()}
    assert report.longer == str(tmp_path / "s.txt")
    assert pairs[0] == Pair(GOOD_SOURCE, GOOD_TARGET, 1)
    assert [pair.line for pair in pairs[:4]] == [1, 2, 4, 5]
    assert all((pair.source, pair.target) == (GOOD_SOURCE, GOOD_TARGET) for pair in pairs)
    assert report.lines()[0] == "102 lines read, 92 kept, 10 left out."
    assert "too long: 2 lines (50, 59)." in report.lines()
    assert f"in {tmp_path / 's.txt'}: 2 lines (101, 102)." in report.lines()[1]


def test_the_longer_file_is_named_whichever_it_is(tmp_path: Path) -> None:
    write(tmp_path / "s", b"a\n")
    write(tmp_path / "t", b"b\nc\n")
    _, report = read(tmp_path / "s", tmp_path / "t")
    assert (report.total, report.kept, report.longer) == (2, 1, str(tmp_path / "t"))


def test_only_the_first_five_line_numbers_are_kept(tmp_path: Path) -> None:
    rows = [b"a\tb"] * 10 + [b"no tab"] * 7
    _, report = read(write(tmp_path / "c.tsv", b"\n".join(rows)))
    assert report.bad == {Problem.MALFORMED: 7}
    assert report.lines()[-1] == "malformed row: 7 lines (11, 12, 13, 14, 15, …)."


@pytest.mark.parametrize("zipped", ["", ".gz"])
def test_the_three_formats_give_the_same_pairs(tmp_path: Path, zipped: str) -> None:
    texts = [("the animal", "das Tier"), ("a street", "eine Straße")]
    expected = [Pair(*texts[0], 1), Pair(*texts[1], 2)]
    sides = [tmp_path / f"en{zipped}", tmp_path / f"de{zipped}"]
    for n, side in enumerate(sides):
        write(side, "\n".join(t[n] for t in texts).encode())
    assert read(*sides)[0] == expected
    rows = "".join(f"{s}\t{t}\tthird column\n" for s, t in texts)
    assert read(write(tmp_path / f"c.tsv{zipped}", rows.encode()))[0] == expected
    for shape in (
        lambda s, t: {"source": s, "target": t, "id": 7},
        lambda s, t: {"src": s, "tgt": t},
        lambda s, t: {"translation": {"en": s, "de": t}},
    ):
        rows = "".join(json.dumps(shape(*pair)) + "\n" for pair in texts)
        assert read(write(tmp_path / f"c.jsonl{zipped}", rows.encode()))[0] == expected


def test_the_direction_of_the_first_row_holds_for_the_file(tmp_path: Path) -> None:
    rows = b'{"translation": {"en": "one", "de": "eins"}}\n'
    rows += b'{"translation": {"de": "zwei", "en": "two"}}\n'
    pairs, report = read(write(tmp_path / "c.jsonl", rows))
    assert [(p.source, p.target) for p in pairs] == [("one", "eins"), ("two", "zwei")]
    assert "source = 'en', target = 'de'." in report.lines()


def test_broken_json_rows_are_malformed_and_the_rest_goes_on(tmp_path: Path) -> None:
    good = b'{"source": "a", "target": "b"}'
    rows = [
        *[good] * 10,
        b"{",
        b"",
        b'["a", "b"]',
        b'{"source": 1, "target": "b"}',
        b'{"source": "a"}',
        b"[" * 100_000,
        b"9" * 5000,
        b'{"translation": {"en": "a"}}',
        b'{"source": "a\\ud800", "target": "b"}',
        good,
    ]
    pairs, report = read(write(tmp_path / "c.jsonl", b"\n".join(rows)))
    assert report.bad == {Problem.MALFORMED: 8, Problem.ENCODING: 1}
    assert report.first_lines[Problem.ENCODING] == [19]
    assert pairs[-1].line == 20


def test_line_ends_marks_and_white_space(tmp_path: Path) -> None:
    source = "\ufeff one \r\ntwo\u2028still two\u0085\x0b too\rtoo\nthree".encode()
    write(tmp_path / "s", source)
    write(tmp_path / "t", b"eins\r\nzwei\ndrei\n")
    pairs, report = read(tmp_path / "s", tmp_path / "t")
    assert [pair.source for pair in pairs] == [
        "one",
        "two\u2028still two\u0085\x0b too\rtoo",
        "three",
    ]
    assert [pair.target for pair in pairs] == ["eins", "zwei", "drei"]
    assert (report.total, report.bad) == (3, {})


def test_the_ratio_is_not_asked_of_short_pairs(tmp_path: Path) -> None:
    rows = ["a\t" + "b" * 20, "a\t" + "b" * 21, "abc\t" + "b" * 27, "abc\t" + "b" * 28]
    _, report = read(write(tmp_path / "c.tsv", "\n".join(rows).encode()))
    assert report.first_lines == {Problem.RATIO: [2, 4]}
    _, report = read(tmp_path / "c.tsv", limits=Limits(max_ratio=30.0))
    assert report.bad == {}


def test_limits_may_be_wider_than_the_block_that_is_read(tmp_path: Path) -> None:
    long = "x" * 1_500_000
    path = write(tmp_path / "c.tsv", f"{long}\t{long}\n".encode())
    with pytest.raises(DataError, match="no usable pair"):
        read(path)
    assert read(path, limits=Limits(max_characters=1_500_000))[1].kept == 1


def test_more_than_half_bad_is_refused_and_half_is_not(tmp_path: Path) -> None:
    assert read(write(tmp_path / "half.tsv", b"a\tb\nbad\n"))[1].kept == 1
    with pytest.raises(DataError, match=r"more than half") as caught:
        read(write(tmp_path / "most.tsv", b"a\tb\nbad\nbad\n"))
    assert "3 lines read, 1 kept, 2 left out." in str(caught.value)
    assert "malformed row: 2 lines (2, 3)" in str(caught.value)


@pytest.mark.parametrize("name", ["empty.tsv", "empty.tsv.gz"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="no usable pair"):
        read(write(tmp_path / name, b""))


def test_misuse_is_told_at_once(tmp_path: Path) -> None:
    text, rows = write(tmp_path / "a.en", b"a\n"), write(tmp_path / "a.tsv", b"a\tb\n")
    (tmp_path / "link").symlink_to(text)
    cases: list[tuple[Path, Path | None, str]] = [
        (text, None, "one side only"),
        (text, text, "the same file"),
        (text, tmp_path / "link", "the same file"),
        (rows, text, "holds both sides"),
        (text, rows, "one sentence per line"),
    ]
    for source, target, says in cases:
        with pytest.raises(MisuseError, match=says):
            read_pairs(source, target, Report())


def test_absent_files_and_folders_are_told_at_once(tmp_path: Path) -> None:
    write(tmp_path / "corpus.tsv", b"a\tb\n")
    with refused(DataError, subject="corpsu.tsv", problem="no such file", advice="corpus.tsv?"):
        read_pairs(tmp_path / "corpsu.tsv", None, Report())
    with refused(DataError, problem="no such file"):
        read_pairs(tmp_path / "none" / "corpus.tsv", None, Report())
    (tmp_path / "folder.tsv").mkdir()
    with refused(DataError, problem="is a folder"):
        read_pairs(tmp_path / "folder.tsv", None, Report())


def test_a_truncated_archive_says_how_far_it_was_read(tmp_path: Path) -> None:
    rows = b"".join(b"%d\tb\n" % i for i in range(50_000))
    path = write(tmp_path / "c.tsv.gz", rows)
    path.write_bytes(path.read_bytes()[:-1000])
    report = Report()
    with refused(DataError, problem="broken after 49,509 lines") as caught:
        for _ in read_pairs(path, None, report):
            pass
    assert f"after {report.total:,} lines" in str(caught.value) and report.total > 1000
    path.write_bytes(b"not zipped")
    with refused(DataError, problem="broken after 0 lines"):
        read(path)


def test_utf_16_is_named(tmp_path: Path) -> None:
    with refused(DataError, problem="UTF-16"):
        read(write(tmp_path / "c.tsv", "a\tb\n".encode("utf-16")))


def test_memory_stays_flat_in_a_long_file_and_in_a_long_line(tmp_path: Path) -> None:
    row = b"the animal did not cross the street\tdas Tier ging nicht\n"
    rows = (row * 2000)[:100_000].rpartition(b"\n")[0] + b"\n"
    with gzip.open(tmp_path / "c.tsv.gz", "wb", compresslevel=1) as file:
        for _ in range(10):
            file.write(rows)
        for _ in range(500):  # one line of 50 MB
            file.write(b"x" * 100_000)
        file.write(b"\n" + rows)
    report = Report()
    tracemalloc.start()
    try:
        kept = sum(1 for _ in read_pairs(tmp_path / "c.tsv.gz", None, report))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept == 11 * rows.count(b"\n")
    assert report.first_lines == {Problem.TOO_LONG: [10 * rows.count(b"\n") + 1]}
    assert peak < 8_000_000


@given(st.binary(max_size=300))
@example(b"\r\r")
@example(b"\xff\xfe")
def test_any_bytes_are_counted_never_a_crash(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("c.tsv", "c.jsonl"):
            path, report = Path(folder) / name, Report()
            path.write_bytes(content)
            try:
                for pair in read_pairs(path, None, report):
                    assert pair.source and pair.target
            except DataError as error:
                if re.search(r"is UTF-16|lines end in \\r alone", str(error)):
                    continue  # the whole file is refused, and no line counted
            except MisuseError as error:
                assert "which column" in str(error)
                continue
            lines = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
            assert report.total == lines == report.kept + sum(report.bad.values())


def test_validation_is_chosen_by_the_text_alone() -> None:
    sources = [f"sentence number {i}" for i in range(20_000)]
    chosen = [s for s in sources if split_for_validation(s, fraction=0.1, seed=1)]
    assert abs(len(chosen) - 2000) < 5 * (20_000 * 0.1 * 0.9) ** 0.5  # five standard deviations
    assert chosen == [s for s in sources if split_for_validation(s, fraction=0.1, seed=1)]
    assert all(split_for_validation(f" {s.upper()} ", fraction=0.1, seed=1) for s in chosen)
    assert chosen != [s for s in sources if split_for_validation(s, fraction=0.1, seed=2)]
    assert not any(split_for_validation(s, fraction=0.0) for s in sources)
    assert all(split_for_validation(s, fraction=1.0) for s in sources)
    more = {s for s in sources if split_for_validation(s, fraction=0.2, seed=1)}
    assert more > set(chosen)  # a larger share only adds
