"""Files and HTML: only their texts are translated, everything else stays as it is."""

import time
from pathlib import Path

import pytest

from refusals import refused
from regard.errors import DataError
from regard.serve.files import read_file, read_html


def loud(name: str, content: str) -> tuple[list[str], str]:
    """The texts of a file, and the file with each in capitals."""
    found = read_file(name, content.encode())
    return found.texts, found.write([text.upper() for text in found.texts])


def test_html_keeps_its_tags_where_they_stand() -> None:
    page = (
        '<!DOCTYPE html>\n<p class="a">Hello <b>red</b> cat.</p><script>var a = "x < y";</script>'
        '<!-- no --><pre>code</pre><i translate="no">Ada</i><br/>&lt;one&gt; &amp; two'
    )
    texts, written = loud("a.html", page)
    assert texts == ["Hello", "red", "cat.", "<one> & two"]
    assert written == page.replace("Hello", "HELLO").replace(">red", ">RED").replace(
        "cat.", "CAT."
    ).replace("&lt;one&gt; &amp; two", "&lt;ONE&gt; &amp; TWO")


def test_a_translation_cannot_bring_tags() -> None:
    page = read_html("<p>one</p>")
    assert page.write(["<script>"]) == "<p>&lt;script&gt;</p>"
    assert page.write(["two"]) == "<p>two</p>"  # and may be written again


def test_lines_of_a_text() -> None:
    assert loud("a.txt", "one\r\n\n  two\n") == (["one", "  two"], "ONE\r\n\n  TWO\n")


def test_a_catalogue_is_no_name_of_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.po"
    secret.write_text('msgid "secret"\nmsgstr ""\n')
    with refused(DataError, subject="file"):
        read_file("a.po", str(secret).encode())


def test_markdown_keeps_marks_code_and_addresses() -> None:
    page = """# The cat

A *red* house, see [the tree](http://example.org/tree).
It goes on
> quoted text
> goes on

- one item
- `code` and words

| a cell | another |
|---|---|
| three | `four` |

```
the code
```
"""
    texts, written = loud("a.md", page)
    assert "the tree" in texts and "It goes on" not in texts  # a part of its paragraph
    assert ". It goes on" in texts and "a cell" in texts and "quoted text goes on" in texts
    assert "[THE TREE](http://example.org/tree)" in written and "*RED*" in written
    assert "```\nthe code\n```" in written and "`code`" in written and "`four`" in written
    assert "# THE CAT" in written and "- ONE ITEM" in written and "| A CELL | ANOTHER |" in written
    assert read_file("a.md", page.encode()).write(texts).count("|") == page.count("|")


def test_subtitles_keep_their_times() -> None:
    titles = "1\n00:00:01,000 --> 00:00:02,500\nThe cat\nsat.\n\n"
    titles += "2\n00:00:03,000 --> 00:00:04,000\nOne\n\n"
    texts, written = loud("a.srt", titles)
    assert texts == ["The cat sat.", "One"]
    assert written == titles.replace("The cat\nsat.", "THE CAT SAT.").replace("One", "ONE")


def test_a_catalogue_is_filled_in() -> None:
    catalogue = (
        'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "one"\nmsgstr ""\n\n'
        'msgid "two"\nmsgstr "zwei"\n\n#, fuzzy\nmsgid "red"\nmsgstr "blau"\n'
    )
    texts, written = loud("a.po", catalogue)
    assert texts == ["one", "red"]
    assert 'msgid "one"\nmsgstr "ONE"' in written and 'msgstr "zwei"' in written
    assert 'msgstr "RED"' in written and "fuzzy" not in written


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.exe", b"a", ".exe"),
        ("a", b"a", "a"),
        ("a.txt", b"\xff\xfe", "UTF-8"),
        ("a.srt", b"1\nno times\n", ".srt"),
        ("a.po", b"nonsense\nand more\n", ".po"),
        ("a.srt", b"1\n99999999999999:00:00,000 --> 99999999999999:00:01,000\nx\n", ".srt"),
        ("a.srt", b"1\n" + b"9" * 5000 + b":00:00,000 --> 00:00:01,000\nx\n", ".srt"),
    ],
)
def test_what_is_no_such_file_is_refused(name: str, content: bytes, words: str) -> None:
    with refused(DataError, subject="file") as caught:
        read_file(name, content)
    assert words in str(caught.value)


def test_a_page_of_very_many_tags_is_refused() -> None:
    """Of fewer, a text that is deep inside of others takes as long as another."""
    texts, written = loud("a.html", "<b>a" * 2000 + "<br>b" * 2000)
    assert len(texts) == 4000 and written.count("<b>A") == 2000
    with refused(DataError, subject="html", problem="20,000"):
        read_html("<b>a" * 20_001)


@pytest.mark.long
def test_time_does_not_grow_with_the_depth_of_a_page() -> None:
    """It took minutes, with the depth squared."""
    begun = time.monotonic()
    loud("a.html", "<b>a" * 19_000)
    assert time.monotonic() - begun < 60
