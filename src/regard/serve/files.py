"""Files to translate, each read by a library of its kind, so that all but the text stays as it is.

.txt          line by line
.md           paragraphs, headings, items and cells of tables (markdown-it); code stays
.html, .htm   each run of text between two tags (Beautiful Soup, with Python's own parser); code,
              style, and what a page marks with translate="no" stay
.srt          what is said, in its time (srt)
.po           msgid → msgstr, those that are empty or fuzzy (polib)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.element import Doctype, NavigableString, PageElement

from regard.errors import DataError

WriteFile = Callable[[list[str]], str]  # the translations, in order → the file
TextRun = tuple[int, int, str]  # where it begins and ends, its text
UNTOUCHED = {"script", "style", "code", "pre", "kbd", "samp", "var", "textarea", "template"}
MOST_TAGS = 20_000  # of a request: Beautiful Soup takes seconds for them


@dataclass(frozen=True)
class FileTexts:
    """The texts of a file, and how it is written again with others in their places."""

    texts: list[str]
    write: WriteFile


def read_plain(content: str) -> FileTexts:
    lines = content.split("\n")
    places = [n for n, line in enumerate(lines) if line.strip()]

    def write(texts: list[str]) -> str:
        changed = list(lines)
        for place, text in zip(places, texts, strict=True):
            end = "\r" if lines[place].endswith("\r") else ""
            changed[place] = text.rstrip("\r") + end
        return "\n".join(changed)

    return FileTexts([lines[n].rstrip("\r") for n in places], write)


class PlainDoctype(Doctype):
    """As it stands: the library would add the end of a line."""

    SUFFIX = ">"


class PageText(NavigableString):
    """A run of text, which may be written as another; to replace it would search its siblings."""

    shown: str | None = None

    def output_ready(self, formatter: Any = "minimal") -> str:
        """It, or what is shown in its place."""
        if self.shown is None:
            return super().output_ready(formatter)
        return self.format_string(self.shown, formatter)


def read_html(content: str) -> FileTexts:
    """A page or a piece of one: tags stay where they stand, and white space around a text."""
    if content.count("<") > MOST_TAGS:
        raise DataError("html", f"more than {MOST_TAGS:,} tags", advice="divide it")
    classes: dict[type[PageElement], type[PageElement]] = {
        Doctype: PlainDoctype,
        NavigableString: PageText,
    }
    soup = BeautifulSoup(content, "html.parser", element_classes=classes)
    untouched = {id(soup): False}  # each tag, by its parent's answer and its own
    places: list[PageText] = []
    for node in soup.descendants:
        inside = untouched[id(node.parent)]
        if isinstance(node, Tag):
            own = node.name in UNTOUCHED or node.get("translate") == "no"
            untouched[id(node)] = inside or own
        elif type(node) is PageText and not inside and node.strip():
            places.append(node)

    def write(texts: list[str]) -> str:
        for place, text in zip(places, texts, strict=True):
            begin = place[: len(place) - len(place.lstrip())]
            place.shown = f"{begin}{text}{place[len(place.rstrip()) :]}"
        return soup.decode(formatter="minimal")

    return FileTexts([place.strip() for place in places], write)


def read_srt(content: str) -> FileTexts:
    import srt

    try:
        titles = list(srt.parse(content))
    except (srt.SRTParseError, ValueError, OverflowError) as error:  # the latter two: its times
        raise DataError("file", f"is no .srt: {str(error)[:100]}") from None

    def write(texts: list[str]) -> str:
        for title, text in zip(titles, texts, strict=True):
            title.content = text
        return str(srt.compose(titles, reindex=False))

    return FileTexts([" ".join(title.content.split()) for title in titles], write)


def read_po(content: str) -> FileTexts:
    import polib

    try:
        # It would read a file of this machine that the content is the name of: no name ends so.
        catalogue = polib.pofile(content + "\n")
    except (OSError, ValueError, IndexError) as error:
        raise DataError("file", f"is no .po: {str(error)[:100]}") from None
    left = [entry for entry in catalogue if _is_open(entry)]

    def write(texts: list[str]) -> str:
        for entry, text in zip(left, texts, strict=True):
            entry.msgstr = text
            entry.flags = [flag for flag in entry.flags if flag != "fuzzy"]
        return str(catalogue)

    return FileTexts([entry.msgid for entry in left], write)


def _is_open(entry: object) -> bool:
    said = vars(entry)
    plural = bool(said.get("msgid_plural"))  # how many forms there are depends on the language
    is_fuzzy = "fuzzy" in said.get("flags", ())
    return not plural and not said.get("obsolete") and (not said["msgstr"] or is_fuzzy)


def read_markdown(content: str) -> FileTexts:
    """Runs of text, told by markdown-it; marks, code, addresses and all between them stay.

    A run that goes over several lines becomes one line. Text that is written with escapes is not
    found in its line again, and stays as it is.
    """
    from markdown_it import MarkdownIt

    begins = [0]
    for line in content.split("\n"):
        begins.append(begins[-1] + len(line) + 1)
    runs: list[TextRun] = []
    searched: dict[int, int] = {}  # of a block by its first line: cells of a row share theirs
    for token in MarkdownIt("commonmark").enable("table").parse(content):
        if token.type == "inline" and token.map is not None:
            first, last = token.map
            place, end = searched.get(first, begins[first]), min(len(content), begins[last])
            found, searched[first] = _runs(content, token.children or [], place, end)
            runs += found

    def write(given: list[str]) -> str:
        written, at = "", 0
        for (begin, end, _), text in zip(runs, given, strict=True):
            written += content[at:begin] + text
            at = end
        return written + content[at:]

    return FileTexts([text for _, _, text in runs], write)


def _runs(content: str, children: Sequence[Any], at: int, end: int) -> tuple[list[TextRun], int]:
    """Texts that only ends of lines stand between, found again one after the other."""
    runs: list[TextRun] = []
    begun: tuple[int, list[str]] | None = None
    addresses: list[str] = []
    for child in [*children, None]:
        if child is not None and child.type == "softbreak":
            continue
        text = child.content.strip() if child is not None and child.type == "text" else ""
        place = content.find(text, at, end) if text else -1
        if place >= 0:
            begun = (begun[0], [*begun[1], text]) if begun else (place, [text])
            at = place + len(text)
            continue
        if begun and _has_words(begun[1]):
            runs.append((begun[0], at, " ".join(begun[1])))
        begun = None
        if child is not None:
            at = _behind(content, child, addresses, at, end)
    return runs, at


def _behind(content: str, child: Any, addresses: list[str], at: int, end: int) -> int:
    """Where what is no text is over: code, an image, the address of a link."""
    if child.type == "link_open":
        addresses.append(str(child.attrs.get("href", "")))
        return at
    passed = addresses.pop() if child.type == "link_close" and addresses else child.content
    if child.type == "image":
        passed = str(child.attrs.get("src", ""))
    found = content.find(passed, at, end) if passed else -1
    return found + len(passed) if found >= 0 else at


def _has_words(texts: list[str]) -> bool:
    whole = " ".join(texts)
    return any(letter.isalpha() for letter in whole) and "://" not in whole


READERS: dict[str, Callable[[str], FileTexts]] = {
    ".txt": read_plain,
    ".md": read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".srt": read_srt,
    ".po": read_po,
}
KINDS = {".html": "text/html", ".htm": "text/html", ".md": "text/markdown"}


def read_file(name: str, content: bytes) -> FileTexts:
    """The texts of a file by the end of its name."""
    ending = PurePosixPath(name).suffix.lower()
    if ending not in READERS:
        raise DataError("file", got=ending or name[:80], expected=f"one of {', '.join(READERS)}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError("file", "is no UTF-8", advice="save it as UTF-8") from None
    return READERS[ending](text)
