"""Translations over HTTP: LibreTranslate's dialect and our own, against the offline answers."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.request import urlopen

import pytest
import requests
from libretranslatepy import LibreTranslateAPI

import regard
from http_server import RunningServer, events, serving

TEXTS = [
    "How are you?",
    "Thank you. I like eating ice-cream.",
    "They went to the bank to feed the ducks.",
    "The animal didn't cross the street because it was too tired.",
    "He sat on the bank of the river.",
    "We are friends.",
    "",
]
pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with serving("demo-de", "--exact") as running:
        yield running


@pytest.fixture(scope="module")
def offline() -> regard.Model:
    return regard.load("demo-de", "cpu", engine="torch")


def test_the_client_of_libretranslate_works_unchanged(server: RunningServer) -> None:
    client = LibreTranslateAPI(server.address)
    assert client.translate("How are you?", "en", "de") == "Wie geht es dir?"
    assert client.languages() == [
        {"code": "de", "name": "German", "targets": []},
        {"code": "en", "name": "English", "targets": ["de"]},
    ]
    assert client.detect("Das ist ein schöner Tag, und wir gehen spazieren.")[0]["language"] == "de"


def test_json_and_forms_one_text_and_several(server: RunningServer) -> None:
    asked = {"q": "Thank you.", "source": "en", "target": "de"}
    form = requests.post(server.address + "/translate", data=asked, timeout=60)
    assert form.json() == server.post("/translate", asked).json() == {"translatedText": "Danke."}
    several = asked | {"q": ["Thank you.", "How are you?"], "source": "auto", "alternatives": 1}
    body = server.post("/translate", several).json()
    assert body["translatedText"] == ["Danke.", "Wie geht es dir?"]
    assert [guess["language"] for guess in body["detectedLanguage"]] == ["en", "en"]
    assert [len(row) for row in body["alternatives"]] == [1, 1]
    settings = server.get("/frontend/settings").json()
    assert not settings["keyRequired"] and settings["language"]["target"]["code"] == "de"


def test_in_the_middle_of_a_full_batch_the_answer_is_the_offline_one(
    server: RunningServer, offline: regard.Model
) -> None:
    """Byte for byte, with scores, whatever the others ask for meanwhile."""
    options = [{}, {"beam": 1}, {"n_best": 3}, {"beam": 1, "temperature": 0.8, "seed": 5}]
    asked = [(text, given) for given in options for text in TEXTS] * 2

    def ask(pair: tuple[str, dict[str, float]]) -> list[dict[str, object]]:
        answer = server.post("/v1/translate", {"text": pair[0], **pair[1]})
        assert answer.status_code == 200, answer.text
        assert answer.headers["regard-exact"] == "yes"
        return list(answer.json()["texts"][0]["translations"])

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, asked))
    for (text, given), answer in zip(asked, answers, strict=True):
        expected = offline.translations(text, **given)
        assert [(one["text"], one["score"]) for one in answer] == [
            (one.text, one.score) for one in expected
        ]


def test_texts_are_streamed_as_they_are_done(server: RunningServer) -> None:
    told = events(server.post("/v1/translate", {"text": TEXTS, "stream": True}, stream=True))
    assert told[-1] == "[DONE]" and told[-2]["usage"]["output"] > 10
    assert sorted(piece["index"] for piece in told[:-2]) == list(range(len(TEXTS)))
    whole = server.post("/v1/translate", {"text": TEXTS}).json()["texts"]
    assert sorted(told[:-2], key=lambda piece: piece["index"]) == whole


def test_alignments_are_words_by_words(server: RunningServer) -> None:
    asked = {"text": "How are you?", "alignments": True}
    alignment = server.post("/v1/translate", asked).json()["texts"][0]["alignment"]
    assert alignment["rows"] == ["Wie", "geht", "es", "dir?", "</s>"]
    assert alignment["columns"] == ["How", "are", "you?", "</s>"]
    assert all(abs(sum(row) - 1) < 1e-4 for row in alignment["weights"])


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/v1/translate", {"text": 5}, 422, "text"),
        ("/v1/translate", {"text": "a", "beam": 10_000}, 422, "beam"),
        ("/v1/translate", {"text": "a", "beem": 2}, 422, "beem"),
        ("/v1/translate", {"text": "a", "stream": True, "alignments": True}, 400, "alignments"),
        ("/v1/translate", {"text": "a", "n_best": 3, "beam": 2}, 400, "n_best"),
        ("/v1/translate", {"text": "a " * 3000, "split": False}, 400, "at most 1,024"),
        ("/v1/translate", {"text": "a", "model": "other"}, 404, "demo-de"),
        ("/v1/translate", {"text": "a", "target": "fr"}, 400, "en-de"),
        ("/translate", {"q": "a", "source": "en", "target": "fr"}, 400, "en-de"),
        ("/translate", {"q": "a", "source": "en"}, 400, "target"),
        ("/translate", [1], 400, "body"),
        ("/nowhere", {}, 404, "not found"),
    ],
)
def test_what_cannot_be_done_is_said(
    path: str, body: object, status: int, words: str, server: RunningServer
) -> None:
    answer = server.post(path, body)
    error = answer.json()["error"]
    assert answer.status_code == status
    assert words in (error["message"] if path.startswith("/v1") else error)


def test_an_error_of_one_request_is_nobody_elses(server: RunningServer) -> None:
    """A prefix that does not fit was found in the batch, and ended whatever was in it."""
    wrong = {"text": "We.", "prefix": "Das ist ein langer Anfang, der nicht passt", "max_length": 2}
    with ThreadPoolExecutor(8) as pool:
        right = [
            pool.submit(server.post, "/v1/translate", {"text": text})
            for text in TEXTS
            for _ in "12"
        ]
        refused = [pool.submit(server.post, "/v1/translate", wrong) for _ in range(4)]
        assert {one.result().status_code for one in right} == {200}
        assert {one.result().status_code for one in refused} == {400}
        assert "prefix" in refused[0].result().json()["error"]["message"]


def test_what_is_no_json_is_said(server: RunningServer) -> None:
    headers = {"content-type": "application/json"}
    for text in ("{", "9" * 5000, '{"text": "\\ud800"}', "NaN"):
        for path in ("/v1/translate", "/translate"):
            answer = server.post(path, data=text, headers=headers)
            assert answer.status_code in (400, 422), (path, text, answer.text)
    broken = server.post("/v1/translate", data="{", headers=headers).json()["error"]
    assert broken["message"] == "body: is no JSON"
    capitals = {"content-type": "Application/JSON"}
    asked = '{"q": "Thank you.", "source": "en", "target": "de"}'
    answer = server.post("/translate", data=asked, headers=capitals)
    assert answer.json() == {"translatedText": "Danke."}


def test_metrics_and_log_hold_no_texts(server: RunningServer) -> None:
    server.post("/translate", {"q": "astronomer", "source": "en", "target": "de", "api_key": "kk"})
    server.get("/secretplace", headers={"X-Request-ID": "mine.1"})
    text = server.get("/metrics").text
    assert 'regard_requests_total{route="/translate",status="200"}' in text
    assert 'route="other",status="404"' in text
    assert not [word for word in ("astronomer", "kk", "127.0.0.1", "secretplace") if word in text]
    logged = "".join(server.errors)
    assert " POST /translate 200 " in logged and "mine.1" in logged
    assert "astronomer" not in logged and "secretplace" not in logged


def test_a_request_has_its_number(server: RunningServer) -> None:
    given = server.get("/healthz", headers={"X-Request-ID": "a-1"}).headers["x-request-id"]
    assert given == "a-1"
    strange = server.get("/healthz", headers={"X-Request-ID": "a b"}).headers["x-request-id"]
    assert len(strange) == 32


def test_every_route_and_field_is_described(server: RunningServer) -> None:
    schema = server.get("/openapi.json").json()
    asked = schema["components"]["schemas"]["TranslateRequest"]["properties"]
    assert asked["text"]["examples"] and asked["n_best"]["description"]
    assert "requestBody" in schema["paths"]["/translate"]["post"]
    assert len(json.dumps(schema)) > 5000


def test_html_and_files(server: RunningServer) -> None:
    html = "<p>How are you? <b>Thank you.</b></p>"
    asked = {"q": html, "source": "en", "target": "de", "format": "html"}
    body = server.post("/translate", asked | {"alternatives": 1}).json()
    assert body["translatedText"] == "<p>Wie geht es dir? <b>Danke.</b></p>"
    assert body["alternatives"][0].startswith("<p>") and len(body["alternatives"]) == 1
    for name, content, expected in (
        ("a.txt", "How are you?\n\nThank you.\n", "Wie geht es dir?\n\nDanke.\n"),
        ("a.html", html, "<p>Wie geht es dir? <b>Danke.</b></p>"),
    ):
        files, fields = {"file": (name, content)}, {"source": "en", "target": "de"}
        place = server.address + "/translate_file"
        told = requests.post(place, files=files, data=fields, timeout=60).json()
        with urlopen(told["translatedFileUrl"]) as file:
            assert file.read().decode() == expected
        plain = {"Accept": "application/octet-stream"}
        itself = requests.post(place, files=files, data=fields, headers=plain, timeout=60)
        assert itself.text == expected
    unknown = requests.post(place, files={"file": ("a.pdf", "x")}, data=fields, timeout=60)
    assert unknown.status_code == 400 and ".pdf" in unknown.json()["error"]
