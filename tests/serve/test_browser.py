"""The page at / in a real browser; where there is none, one line says so."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import folders
import library
import regard
from http_server import RunningServer, serving
from regard.search.index import index_folder
from regard.serve.keys import add_key

pytestmark = pytest.mark.end_to_end
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# It asks nobody, and runs where a container has no sandbox of its own.
OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
# How strongly each of some words is shaded.
STRENGTHS = "all => all.map((w) => parseFloat(w.style.backgroundColor.split('/')[1] ?? '0'))"
PATIENCE = 60_000  # milliseconds, on a machine that has other things to do


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("page")
    folders.gpt2(root / "gpt2")
    folders.bert(root / "labels", "SequenceClassification", id2label=folders.LABELS)
    index_folder(library.write(root / "texts"), root / "index", root / "labels")
    return root


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[RunningServer]:
    models = ["demo-de", "demo-hi", *(str(root / name) for name in ("gpt2", "labels"))]
    with serving(*models, "--engine", "torch", "--index", str(root / "index")) as running:
        yield running


@pytest.fixture
def page(browser: Browser, server: RunningServer) -> Iterator[Page]:
    """A window of its own; no script failed in it, and it asked nobody else."""
    context = browser.new_context(viewport={"width": 900, "height": 800})
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda said: "Refused to" in said.text and wrong.append(said.text))
    opened.on("request", lambda one: one.url.startswith(server.address) or wrong.append(one.url))
    opened.goto(server.address)
    yield opened
    context.close()
    assert not wrong, wrong


def test_a_translation_shows_what_each_word_looked_at(page: Page, server: RunningServer) -> None:
    page.get_by_role("combobox", name="to", exact=True).select_option("German")
    page.get_by_role("textbox", name="Text", exact=True).fill("How are you?\n\nThank you.")
    page.get_by_role("button", name="Translate").click()
    words = page.locator(".output .word")
    expect(words.first).to_be_visible()
    asked = {"model": "demo-de", "text": ["How are you?", "Thank you."], "alignments": True}
    first, second = server.post("/v1/translate", asked).json()["texts"]
    shown = [one["alignment"] for one in (first, second)]
    assert words.all_inner_texts() == [word for one in shown for word in one["rows"]]
    for way in ("hover", "focus"):  # by the pointer, and by the keyboard
        getattr(words.nth(1), way)()
        source = page.locator(".source").first.locator(".word")
        colours = source.evaluate_all(STRENGTHS)
        weights = shown[0]["weights"][1]
        assert colours == pytest.approx([0.65 * w / max(weights) for w in weights], abs=1e-3)


def test_the_language_chooses_the_model(page: Page) -> None:
    page.get_by_role("combobox", name="to", exact=True).select_option("Hindi")
    page.get_by_role("textbox", name="Text", exact=True).fill("I like eating ice-cream.")
    page.get_by_role("textbox", name="Text", exact=True).press("Control+Enter")
    expect(page.locator(".output").first).to_contain_text(re.compile("[\u0900-\u097f]"))


def test_tabs_by_the_keyboard(page: Page) -> None:
    titles = page.get_by_role("tab").all_inner_texts()
    assert titles == ["Translate", "Complete", "Chat", "Classify", "Search"]
    page.get_by_role("tab", name="Translate").focus()
    for title in (*titles[1:], titles[0]):  # around, and at the first again
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name=title)).to_be_focused()
        expect(page.get_by_role("tabpanel")).to_have_count(1)
        expect(page.get_by_role("tabpanel")).to_have_accessible_name(title)


def test_a_text_goes_on_and_is_what_the_model_says(page: Page, root: Path) -> None:
    page.get_by_role("tab", name="Complete").click()
    page.get_by_label("Beginning").fill("the cat sat on")
    page.get_by_label("tokens").fill("12")
    page.get_by_label("temperature").first.fill("0")
    page.get_by_role("button", name="Go on").click()
    offline = regard.load(root / "gpt2", "cpu", engine="torch")
    expected = offline.complete("the cat sat on", max_tokens=12)
    answer = page.locator("#panel-complete .answer")
    expect(answer).to_have_text("the cat sat on" + expected)
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def test_a_conversation_remembers_its_turns(page: Page) -> None:
    page.get_by_role("tab", name="Chat").click()
    bodies: list[int] = []
    page.on("request", lambda one: one.post_data and bodies.append(one.post_data.count('"role"')))
    for number, text in enumerate(("the cat", "a red house"), 1):
        page.get_by_label("You").fill(text)
        page.get_by_label("You").press("Control+Enter")
        expect(page.locator(".turn")).to_have_count(2 * number)
        expect(page.get_by_role("button", name="Send")).to_be_enabled()
    assert bodies == [1, 3]
    page.get_by_role("button", name="Begin anew").click()
    expect(page.locator(".turn")).to_have_count(0)


def test_labels_and_passages(page: Page, root: Path) -> None:
    page.get_by_role("tab", name="Classify").click()
    page.get_by_role("tabpanel").get_by_label("Texts").fill("the cat sat")
    page.get_by_role("button", name="Label").click()
    best = regard.load(root / "labels", "cpu").classify("the cat sat")[0]
    expect(page.locator(".bar").first).to_have_text(f"{best.label}{100 * best.probability:.1f} %")
    page.get_by_role("tab", name="Search").click()
    page.get_by_label("Look for").fill("red cat")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("blockquote")).not_to_have_count(0)


def test_what_is_refused_is_said(page: Page) -> None:
    page.get_by_role("tab", name="Complete").click()
    page.get_by_label("Beginning").fill("the cat " * 3000)
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("alert")).to_contain_text("tokens")
    expect(page.get_by_role("button", name="Go on")).to_be_enabled()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone_shows_it_without_scrolling_sideways(
    browser: Browser, server: RunningServer, scheme: str
) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 360, "height": 640})
    page = context.new_page()
    page.goto(server.address)
    page.get_by_role("tab", name="Translate").wait_for(timeout=PATIENCE)
    expect(page.locator("#load tr")).to_have_count(4, timeout=PATIENCE)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is (scheme == "light")
    context.close()


def test_a_browser_asks_for_the_key(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    key = add_key(file, "ada")
    with serving("demo-de", "--engine", "torch", "--keys", str(file)) as server:
        answer = server.get("/")
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Basic ")
        known = browser.new_context(http_credentials={"username": "ada", "password": key})
        page = known.new_page()
        page.goto(server.address)
        page.get_by_role("tab", name="Translate").wait_for(timeout=PATIENCE)
        page.get_by_role("button", name="Translate").click()
        expect(page.locator(".output").first).to_contain_text("Bank", timeout=PATIENCE)
