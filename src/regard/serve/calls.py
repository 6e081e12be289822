"""Requests that are one call of the model, in an engine process: labels, vectors, explanations.

Those of the same kind that wait together are one call (`TOGETHER`): encoders work best on many.
They have a thread of their own, beside the threads that search.
"""

import base64
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from regard.api.model import Model
from regard.errors import MisuseError
from regard.serve.wire import WireMessage

if TYPE_CHECKING:
    from regard.explain.account import Account
    from regard.explain.heads import Attentions

MOST_TOGETHER = 256  # texts of one call

Send = Callable[[WireMessage], None]
FailCall = Callable[[int, Exception], None]


@dataclass(eq=False)
class ModelCall:
    """One request."""

    number: int
    task: str
    asked: WireMessage
    wanted: bool = True

    @property
    def texts(self) -> list[str]:
        texts: list[str] = self.asked.get("texts", [])
        return texts

    @cached_property
    def kind(self) -> tuple[Any, ...]:
        """Those of one kind may be one call; one that may not has a kind of its own."""
        others = {name: value for name, value in self.asked.items() if name != "texts"}
        if self.task not in TOGETHER or others.get("pairs"):
            return (self.number,)
        return (self.task, *sorted((name, repr(value)) for name, value in others.items()))


def embed(model: Model, asked: WireMessage) -> WireMessage:
    """Vectors as base64 of 32-bit floats: what clients ask for, and small on the line."""
    texts = asked["texts"]
    vectors = model.embed(texts)
    return {
        "vectors": [base64.b64encode(row.tobytes()).decode("ascii") for row in vectors],
        "tokens": _tokens(model, texts),
    }


def classify(model: Model, asked: WireMessage) -> WireMessage:
    texts: list[str] = asked["texts"]
    rows = model.classify(texts, pair=asked.get("pairs"), top=asked.get("top"), cut=asked["cut"])
    return {"labels": [[asdict(label) for label in row] for row in rows]}


def tag(model: Model, asked: WireMessage) -> WireMessage:
    texts: list[str] = asked["texts"]
    rows = model.tag(texts, cut=asked["cut"])
    return {"tags": [[asdict(one) for one in row] for row in rows]}


def fill(model: Model, asked: WireMessage) -> WireMessage:
    texts: list[str] = asked["texts"]
    rows = model.fill(texts, top=asked["top"])
    return {"masks": [[[asdict(c) for c in mask] for mask in row] for row in rows]}


def parse(model: Model, asked: WireMessage) -> WireMessage:
    texts: list[str] = asked["texts"]
    rows = model.parse(texts, beam=asked["beam"], alpha=asked["alpha"])
    return {
        "parses": [
            {
                "brackets": one.brackets,
                "words": one.words,
                "tags": one.tags,
                "score": one.score,
                "log_probability": one.log_probability,
            }
            for one in rows
        ]
    }


def see(model: Model, asked: WireMessage) -> WireMessage:
    pictures = [base64.b64decode(one) for one in asked["pictures"]]
    rows = model.see(pictures, top=asked["top"])
    return {"labels": [[asdict(label) for label in row] for row in rows]}


def caption(model: Model, asked: WireMessage) -> WireMessage:
    pictures = [base64.b64decode(one) for one in asked["pictures"]]
    rows = model.caption(pictures, n=int(asked["n"]), beam=asked["beam"])
    names = ("text", "score", "log_probability", "finished")
    return {
        "captions": [[{name: vars(one)[name] for name in names} for one in row] for row in rows]
    }


def similar(model: Model, asked: WireMessage) -> WireMessage:
    first: list[str] = asked["first"]
    return {"similarities": [float(x) for x in model.similar(first, asked["second"])]}


def answer(model: Model, asked: WireMessage) -> WireMessage:
    options = {"top": asked["top"], "threshold": asked.get("threshold")}
    rows = model.answer(asked["questions"], asked["context"], **options)
    return {"answers": [[asdict(one) for one in row] for row in rows]}


def summarize(model: Model, asked: WireMessage) -> WireMessage:
    rows = model.summaries(asked["texts"], length=asked.get("length"))
    listed = rows if isinstance(rows, list) else [rows]
    return {"summaries": [asdict(one) | {"lines": one.lines} for one in listed]}


def explain(model: Model, asked: WireMessage) -> WireMessage:
    """The numbers that the pictures are drawn from."""
    from regard.explain.heads import Attentions  # imports torch

    shown = model.explain(asked["text"], **asked["options"])
    assert not isinstance(shown, list)
    if isinstance(shown, Attentions):
        return _attention(shown, asked.get("kind"), asked.get("layer"), asked.get("head"))
    return _account(shown)


def _attention(
    shown: "Attentions", kind: str | None, layer: int | None, head: int | None
) -> WireMessage:
    if kind is not None and kind not in shown.kinds:
        raise MisuseError("kind", got=kind, expected=f"one of {', '.join(shown.kinds)}")
    found = shown.map(kind, layer)
    return {
        "view": "attention",
        "text": shown.source,
        "output": shown.output,
        "kind": found.kind,
        "layer": found.layer,
        "head": head,
        "rows": found.rows,
        "columns": found.columns,
        "weights": found.head(head).tolist(),
    }


def _account(shown: "Account") -> WireMessage:
    return {
        "view": "words",
        "text": shown.text,
        "answer": shown.answer,
        "quantity": shown.quantity,
        "words": shown.words,
        "gradients": shown.gradients.tolist(),
        "attention": shown.attention.tolist(),
        "verdict": shown.verdict,
    }


def search(model: Model, asked: WireMessage) -> WireMessage:
    """Passages of the index that this server was given; it is opened with the first query."""
    matches = _index(model, asked["index"]).search(asked["query"], asked["top"], asked["mode"])
    return {"matches": [asdict(match) for match in matches]}


@cache
def _index(model: Model, place: str) -> Any:
    from regard.search.query import open_index  # imports faiss and torch

    return open_index(place, model, device="auto")


def _tokens(model: Model, texts: Sequence[str]) -> list[int]:
    tokenizer = model.tokenizer_for("embed")
    return [len(tokenizer.encode(text).ids) for text in texts]


CALLS: dict[str, Callable[[Model, WireMessage], WireMessage]] = {
    "embed": embed,
    "classify": classify,
    "tag": tag,
    "fill": fill,
    "parse": parse,
    "see": see,
    "caption": caption,
    "similar": similar,
    "answer": answer,
    "summarize": summarize,
    "explain": explain,
    "search": search,
}
# Calls that may be put together: what each text has of its own in the answer.
TOGETHER = {"embed": ("vectors", "tokens"), "classify": ("labels",), "tag": ("tags",)}


class CallThread:
    """Calls one after the other; those that may be, and wait at the same time, together.

    Together is faster, and the last bits of a number depend on who else is there; `exact`: each is
    by itself. Every answer says whether it is what it would have been alone.
    """

    def __init__(self, model: Model, send: Send, fail: FailCall, exact: bool) -> None:
        self._model, self._send, self._fail, self._exact = model, send, fail, exact
        self._waiting: list[ModelCall] = []
        self._there = threading.Condition()
        threading.Thread(target=self._work, daemon=True).start()

    def add(self, call: ModelCall) -> None:
        with self._there:
            self._waiting.append(call)
            self._there.notify()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def _work(self) -> None:
        while True:
            with self._there:
                self._there.wait_for(lambda: self._waiting)
                calls = self._take()
            if calls:
                self._answer(calls)

    def _take(self) -> list[ModelCall]:
        """The oldest that is wanted, and those that may be one call with it."""
        self._waiting = [call for call in self._waiting if call.wanted]
        calls, size = self._waiting[:1], len(self._waiting[0].texts) if self._waiting else 0
        for call in [] if self._exact else self._waiting[1:]:
            if call.kind == calls[0].kind and size + len(call.texts) <= MOST_TOGETHER:
                calls.append(call)
                size += len(call.texts)
        self._waiting = [call for call in self._waiting if call not in calls]
        return calls

    def _answer(self, calls: list[ModelCall]) -> None:
        """One by one if something is wrong with one of them: that is nobody else's error."""
        try:
            answers = self._together(calls)
        except Exception as error:
            if len(calls) == 1:
                self._fail(calls[0].number, error)
                return
            for call in calls:
                self._answer([call])
            return
        for call, answer in zip(calls, answers, strict=True):
            self._send({"id": call.number, "answer": answer | {"exact": len(calls) == 1}})

    def _together(self, calls: list[ModelCall]) -> list[WireMessage]:
        task, asked = calls[0].task, calls[0].asked
        if len(calls) == 1:
            return [CALLS[task](self._model, asked)]
        texts = [text for call in calls for text in call.texts]
        whole = CALLS[task](self._model, asked | {"texts": texts})
        answers, begin = [], 0
        for call in calls:
            end = begin + len(call.texts)
            answers.append({name: whole[name][begin:end] for name in TOGETHER[task]})
            begin = end
        return answers
