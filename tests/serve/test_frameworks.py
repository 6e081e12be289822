"""LangChain's and LlamaIndex's classes for servers that speak as OpenAI does, unchanged.

They are no dependency of the tests (LlamaIndex wants another release of transformers and of
openai); where they are installed, these run. Tried with langchain-openai PINS_LC and with
llama-index-llms-openai-like PINS_LL, llama-index-embeddings-openai-like PINS_LE:

    python -m venv others && others/bin/pip install langchain-openai llama-index-llms-openai-like \
      llama-index-embeddings-openai-like pytest && others/bin/pip install -e ".[dev]" --no-deps
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import folders
import regard
from http_server import RunningServer, serving

pytestmark = pytest.mark.end_to_end
TEXTS = ["the cat sat on", "a red house"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("frameworks")
    folders.gpt2(root / "gpt2")
    folders.bert(root / "bert", "")
    return root


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[RunningServer]:
    with serving(str(root / "gpt2"), str(root / "bert"), "--engine", "torch") as running:
        yield running


def test_langchain_talks_streams_and_embeds(server: RunningServer, root: Path) -> None:
    library = pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")
    there = {"base_url": f"{server.address}/v1", "api_key": "none", "max_retries": 0}
    offline = regard.load(root / "gpt2", "cpu", engine="torch")

    chat = library.ChatOpenAI(model="gpt2", temperature=0, max_tokens=10, **there)
    expected = offline.chat([{"role": "user", "content": "the cat"}], max_tokens=10)
    assert chat.invoke("the cat").content == expected
    assert "".join(str(piece.content) for piece in chat.stream("the cat")) == expected

    writer = library.OpenAI(model="gpt2", temperature=0, max_tokens=8, **there)
    assert writer.invoke("the cat sat on") == offline.complete("the cat sat on", max_tokens=8)
    assert "".join(writer.stream("one")) == offline.complete("one", max_tokens=8)

    # Otherwise it would fetch a tokenizer of OpenAI's and send tokens, which mean nothing here.
    embeddings = library.OpenAIEmbeddings(model="bert", check_embedding_ctx_length=False, **there)
    vectors = np.array(embeddings.embed_documents(TEXTS), np.float32)
    bert = regard.load(root / "bert", "cpu")
    assert np.abs(vectors - bert.embed(TEXTS)).max() < 1e-6
    one = np.array(embeddings.embed_query("one"), np.float32)
    assert np.abs(one - bert.embed("one")).max() < 1e-6


def test_llamaindex_talks_streams_and_embeds(server: RunningServer, root: Path) -> None:
    llms = pytest.importorskip("llama_index.llms.openai_like", reason="LlamaIndex is not installed")
    vectors = pytest.importorskip(
        "llama_index.embeddings.openai_like", reason="LlamaIndex is not installed"
    )
    from llama_index.core.llms import ChatMessage

    there = {"api_base": f"{server.address}/v1", "api_key": "none", "max_retries": 0}
    offline = regard.load(root / "gpt2", "cpu", engine="torch")

    talker = llms.OpenAILike(
        model="gpt2", is_chat_model=True, temperature=0, max_tokens=10, **there
    )
    expected = offline.chat([{"role": "user", "content": "the cat"}], max_tokens=10)
    said = [ChatMessage(role="user", content="the cat")]
    assert talker.chat(said).message.content == expected
    assert "".join(piece.delta or "" for piece in talker.stream_chat(said)) == expected

    writer = llms.OpenAILike(
        model="gpt2", is_chat_model=False, temperature=0, max_tokens=8, **there
    )
    assert writer.complete("the cat sat on").text == offline.complete(
        "the cat sat on", max_tokens=8
    )

    embeddings = vectors.OpenAILikeEmbedding(model_name="bert", **there)
    rows = np.array(embeddings.get_text_embedding_batch(TEXTS), np.float32)
    assert np.abs(rows - regard.load(root / "bert", "cpu").embed(TEXTS)).max() < 1e-6
