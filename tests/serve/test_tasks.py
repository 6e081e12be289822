"""Every other task over HTTP, by the official client of OpenAI and in our own dialect."""

import base64
import io
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
from PIL import Image

import folders
import library
import regard
from http_server import PATIENCE, RunningServer, serving
from regard.search.index import index_folder
from regard.serve.calls import CallThread, ModelCall, embed

pytestmark = pytest.mark.end_to_end
HEADS = {
    "bert": "",
    "fill": "MaskedLM",
    "classes": "SequenceClassification",
    "tags": "TokenClassification",
    "spans": "QuestionAnswering",
}
PROMPTS = ["the cat sat on", "one", "a red house is not the blue sea", "mat"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    folders.gpt2(root / "gpt2")
    folders.vit(root / "vit")
    for name, head in HEADS.items():
        more = {"id2label": folders.LABELS} if name in ("classes", "tags") else {}
        folders.bert(root / name, head, **more)
    index_folder(library.write(root / "texts"), root / "index", root / "bert")
    return root


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[RunningServer]:
    models = [str(root / name) for name in ("gpt2", *HEADS, "vit")]
    with serving(*models, "--index", str(root / "index")) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: RunningServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.address + "/v1", api_key="none", max_retries=0)


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["gpt2", *HEADS, "vit"]
    assert client.models.retrieve("gpt2").owned_by == "regard"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt5")


def test_completions_are_the_offline_ones(client: openai.OpenAI, root: Path) -> None:
    offline = regard.load(root / "gpt2", "cpu", engine="torch")
    several = client.completions.create(
        model="gpt2", prompt=PROMPTS, max_tokens=12, temperature=0, stop=["house"]
    )
    expected = offline.complete(PROMPTS, max_tokens=12, stop_text="house")
    assert [choice.text for choice in several.choices] == expected
    assert several.usage is not None and several.usage.completion_tokens > 8
    drawn = client.completions.create(
        model="gpt2", prompt="the cat", max_tokens=8, temperature=1.5, top_p=0.9, seed=3, n=3
    )
    options = {"temperature": 1.5, "top_p": 0.9, "seed": 3, "n": 3, "max_tokens": 8}
    texts = [one.text for one in offline.completions("the cat", **options)]
    assert [choice.text for choice in drawn.choices] == texts
    assert drawn.usage is not None and drawn.usage.prompt_tokens == 2  # read once, not n times
    best = client.completions.create(
        model="gpt2", prompt="the cat", max_tokens=8, temperature=0, n=2
    )
    texts = [one.text for one in offline.completions("the cat", n=2, max_tokens=8)]
    assert [choice.text for choice in best.choices] == texts


def test_streams_side_by_side_are_what_each_is_alone(client: openai.OpenAI, root: Path) -> None:
    offline = regard.load(root / "gpt2", "cpu", engine="torch")

    def ask(number: int) -> tuple[str, int, str | None]:
        told = client.completions.create(
            model="gpt2",
            prompt=PROMPTS[number % 4],
            max_tokens=12 + number % 3,
            temperature=number % 2,
            seed=7,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(told)
        assert chunks[-1].usage is not None and not chunks[-1].choices
        text = "".join(chunk.choices[0].text for chunk in chunks[:-1])
        return text, chunks[-1].usage.completion_tokens, chunks[-2].choices[0].finish_reason

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, range(24)))
    for number, (text, tokens, reason) in enumerate(answers):
        options = {"temperature": 1.0, "seed": 7} if number % 2 else {}
        most = 12 + number % 3
        assert text == offline.complete(PROMPTS[number % 4], max_tokens=most, **options)
        assert reason in ("stop", "length") and 0 < tokens <= most


def test_a_conversation_whole_and_piece_by_piece(client: openai.OpenAI, root: Path) -> None:
    offline = regard.load(root / "gpt2", "cpu", engine="torch")
    said = [{"role": "user", "content": "the cat"}]
    expected = offline.chat(said, max_tokens=10)
    options = {"model": "gpt2", "messages": said, "max_tokens": 10, "temperature": 0}
    whole = client.chat.completions.create(**options)
    assert whole.choices[0].message.content == expected
    pieces = list(client.chat.completions.create(**options, stream=True))
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == expected
    parts = [{"role": "user", "content": [{"type": "text", "text": "the cat"}]}]
    again = client.chat.completions.create(**options | {"messages": parts})
    assert again.choices[0].message.content == expected


def test_vectors_are_the_offline_ones(
    client: openai.OpenAI, server: RunningServer, root: Path
) -> None:
    offline = regard.load(root / "bert", "cpu").embed(PROMPTS)
    answer = client.embeddings.create(model="bert", input=PROMPTS)
    assert np.array_equal(np.array([row.embedding for row in answer.data], np.float32), offline)
    asked = {"model": "bert", "input": "one", "encoding_format": "base64"}
    row = server.post("/v1/embeddings", asked).json()["data"][0]["embedding"]
    one = np.frombuffer(base64.b64decode(row), np.float32)
    assert np.abs(one - offline[1]).max() < 1e-6
    assert answer.usage.prompt_tokens > 8


def test_calls_together_say_that_their_last_bits_may_differ(root: Path) -> None:
    model = regard.load(root / "bert", "cpu")
    alone = [embed(model, {"texts": [text]})["vectors"] for text in PROMPTS]
    for exact in (True, False):
        answers: dict[int, dict[str, Any]] = {}
        thread = CallThread(
            model,
            lambda said, heard=answers: heard.update({said["id"]: said["answer"]}),
            print,
            exact,
        )
        calls = [ModelCall(n, "embed", {"texts": [text]}) for n, text in enumerate(PROMPTS)]
        calls.append(ModelCall(4, "embed", {"texts": ["one"]}, wanted=False))
        with thread._there:  # all of them wait when the thread looks
            for call in calls:
                thread.add(call)
        end = time.monotonic() + PATIENCE
        while len(answers) < 4:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert {answers[n]["exact"] for n in range(4)} == {exact} and 4 not in answers
        if exact:
            assert [answers[n]["vectors"] for n in range(4)] == alone


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"model": "gpt5"}, openai.NotFoundError),
        ({"model": "bert"}, openai.NotFoundError),
        ({"prompt": [1, 2]}, openai.BadRequestError),
        ({"prompt": "cat " * 80}, openai.BadRequestError),
        ({"presence_penalty": 1.0}, openai.BadRequestError),
        ({"temperature": 9.0}, openai.UnprocessableEntityError),
    ],
    ids=str,
)
def test_refusals_are_the_errors_of_the_client(
    options: dict[str, object], kind: type[openai.APIStatusError], client: openai.OpenAI
) -> None:
    asked = {"model": "gpt2", "prompt": "the", "max_tokens": 3} | options
    with pytest.raises(kind) as caught:
        client.completions.create(**asked)
    assert isinstance(caught.value.body, dict) and caught.value.body["message"]
    with pytest.raises(kind):
        client.completions.create(**asked, stream=True)


def test_labels_tags_words_and_answers(server: RunningServer, root: Path) -> None:
    def offline(name: str) -> regard.Model:
        return regard.load(root / name, "cpu")

    texts = ["the cat sat", "a bad dog"]
    labels = server.post("/v1/classify", {"text": texts, "top": 2}).json()["labels"]
    expected = offline("classes").classify(texts, top=2)
    assert [[one["label"] for one in row] for row in labels] == [
        [one.label for one in row] for row in expected
    ]
    tags = server.post("/v1/tag", {"text": "the cat sat"}).json()["tags"][0]
    assert [one["tag"] for one in tags] == [one.tag for one in offline("tags").tag("the cat sat")]
    words = server.post("/v1/fill", {"text": "the [MASK] sat", "top": 3}).json()["masks"][0][0]
    found = offline("fill").fill("the [MASK] sat", top=3)[0]
    assert [one["word"] for one in words] == [one.word for one in found]
    context = "the cat sat on the mat"
    asked = {"question": "the?", "context": context, "threshold": 1e9}
    answers = server.post("/v1/answer", asked).json()["answers"][0]
    assert answers[0]["text"] == offline("spans").answer("the?", context, threshold=1e9).best.text


def test_labels_of_pictures(server: RunningServer, root: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (40, 30, 3), np.uint8)
    files = []
    for form in ("PNG", "JPEG"):
        file = io.BytesIO()
        Image.fromarray(noise).save(file, form)
        files.append(file.getvalue())
    expected = [[one.label for one in row] for row in regard.load(root / "vit", "cpu").see(files)]
    asked = {"picture": [base64.b64encode(file).decode() for file in files], "top": 2}
    labels = server.post("/v1/see", asked).json()["labels"]
    assert [[one["label"] for one in row] for row in labels] == [row[:2] for row in expected]
    assert server.post("/v1/see", {"picture": asked["picture"][0]}).json()["labels"]
    for wrong in ("not base64!", base64.b64encode(b"no picture").decode()):
        answer = server.post("/v1/see", {"picture": wrong})
        assert answer.status_code == 400, answer.text
    # The bytes of a picture are no tokens: this one would be more than a server takes at once.
    loud = np.random.default_rng(1).integers(0, 256, (480, 640, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(loud).save(file, "PNG")
    answer = server.post("/v1/see", {"picture": base64.b64encode(file.getvalue()).decode()})
    assert answer.status_code == 200, answer.text


def test_similar_summaries_and_passages(server: RunningServer, root: Path) -> None:
    offline = regard.load(root / "bert", "cpu")
    asked = {"first": "cat", "second": ["dog", "a cat"], "model": "bert"}
    cosines = server.post("/v1/similar", asked).json()["similarities"]
    assert np.allclose(cosines, offline.similar("cat", ["dog", "a cat"]), atol=1e-6)
    text = "The cat sat. The dog is red. One bird is on the sea. The house is blue."
    summary = server.post("/v1/summarize", {"text": text, "model": "bert"}).json()["summaries"][0]
    assert summary["text"] == offline.summarize(text) and summary["way"] == "extracted"
    matches = server.post("/v1/search", {"query": "cat", "top": 2, "mode": "hybrid"}).json()
    assert len(matches["matches"]) == 2 and matches["matches"][0]["file"]


def test_explanations_are_numbers(server: RunningServer) -> None:
    shown = server.post("/v1/explain", {"model": "bert", "text": "the cat sat"}).json()
    assert shown["view"] == "attention" and shown["kind"] == "encoder"
    assert len(shown["weights"]) == len(shown["rows"]) >= 3
    words = server.post("/v1/explain", {"model": "classes", "text": "a bad dog"}).json()
    assert words["view"] == "words" and len(words["gradients"]) == len(words["words"]) == 3
    wrong = server.post("/v1/explain", {"model": "bert", "text": "a cat", "layer": 9})
    assert wrong.status_code == 400
